"""Opens sources on the two servers beside this file."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sayso.control.loop.contract import (
    PermissionMode,
    SourceTerms,
    ToolAnswer,
    ToolCall,
    ToolDone,
    ToolOutcome,
    ToolSource,
)
from sayso.control.mcp_sources.limits import Limits, Operator
from sayso.control.mcp_sources.opener import McpOpener
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.core.clock import Clock, SystemClock
from sayso.net.child import Patience, Program, spawn

HERE = Path(__file__).parent


VOUCHED = Operator()
"""An operator who configured a source and says no more of it."""


def pipe(server: str, *words: str, source_id: str = "far", environment: Sequence[str] = ()) -> ToolSourceAttachment:
    """A server as a child, by the name of its file."""
    return ToolSourceAttachment(
        id=source_id,
        kind="process",
        command=sys.executable,
        args=(str(HERE / f"{server}.py"), *words),
        environment=tuple(environment),
    )


def place(url: str) -> ToolSourceAttachment:
    return ToolSourceAttachment(id="far", kind="remote", endpoint=url)


@asynccontextmanager
async def opened(
    attachment: ToolSourceAttachment,
    *,
    permission: PermissionMode = "bypass",
    clock: Clock | None = None,
    operator: Operator | None = VOUCHED,
    workspace: Path | None = None,
    **limits: Any,
) -> AsyncIterator[ToolSource]:
    opener = McpOpener(attachment, environ={}, clock=clock or SystemClock(), operator=operator, limits=Limits(**limits))
    terms = SourceTerms(session_id="s1", permission=permission, workspace=workspace)
    async with opener.open(terms) as source:
        assert source is not None
        yield source


def a_call(tool: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(call_id, tool, arguments, "s1", "r1")


async def called(source: ToolSource, tool: str, *answers: ToolAnswer, **arguments: Any) -> ToolOutcome:
    return await source.call(a_call(f"far__{tool}", **arguments), answers)


async def result_of(source: ToolSource, tool: str, **arguments: Any) -> Any:
    outcome = await called(source, tool, **arguments)
    assert isinstance(outcome, ToolDone)
    return outcome.result


@asynccontextmanager
async def listening(way: str) -> AsyncIterator[str]:
    """The official server over HTTP in a process of its own; gives its URL."""
    command = (sys.executable, str(HERE / "official.py"), way)
    # It does not go by itself when its input ends.
    program = Program(command=command, environment=dict(os.environ), patience=Patience(eof=0.0))
    async with spawn(program) as child:
        port = await child.read_line()
        assert port is not None, child.stderr_tail
        yield f"http://127.0.0.1:{int(port)}/mcp"
