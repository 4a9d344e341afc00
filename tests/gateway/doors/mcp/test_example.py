"""The example in the documents, run as it stands there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from sayso.core.clock import SystemClock
from sayso.gateway.doors.mcp.endpoint import MESSAGE_PATH
from sayso.governance.proposal import Decider
from tests.gateway.doors.mcp.speaking import speaking

SCRIPT = Path(__file__).parents[4] / "docs" / "examples" / "mcp_client.py"


@pytest.mark.anyio
@pytest.mark.req("GTW-002", "GTW-034")
async def test_the_example_calls_proposes_and_learns_the_outcome(tmp_path: Path) -> None:
    """In a process of its own, while a person decides here."""
    async with speaking(tmp_path, clock=SystemClock()) as (ada,):
        command = [sys.executable, str(SCRIPT), ada.url.removesuffix(MESSAGE_PATH), "take_note", '{"text": "milk"}']
        environment = {**os.environ, "SAYSO_AGENT_KEY": ada.key}
        with anyio.fail_after(90):
            async with await anyio.open_process(command, env=environment, stderr=None) as child:
                assert child.stdout is not None
                told = BufferedByteReceiveStream(child.stdout)
                assert "take_note" in await line(told)
                assert (await line(told)).startswith("answer Proposed, and waiting for a person until ")
                assert await line(told) == "proposal pending"
                (proposal,) = await ada.bench.gate.list()
                decider = Decider(id="per_1", name="Ada", role="owner")
                await ada.bench.gate.reject(proposal.id, decider, reason="not today")
                assert await line(told) == "proposal rejected"
            assert child.returncode == 0


async def line(stream: BufferedByteReceiveStream) -> str:
    return (await stream.receive_until(b"\n", 65_536)).decode().strip()
