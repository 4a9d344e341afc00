"""The endpoint binding over a child process: any program that reads and writes envelopes, one a line (OAP-198)."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sayso.control.conformance.port import Binding, Port
from sayso.core.refusal import Refused
from sayso.net.child import Cause, Child, Program, spawn

__all__ = ("ENDPOINT", "ChildLauncher", "ChildPort")

ENDPOINT = Binding(name="endpoint over stdio")


class ChildPort:
    """One started program."""

    def __init__(self, child: Child, binding: Binding = ENDPOINT) -> None:
        self._child = child
        self._binding = binding

    @property
    def binding(self) -> Binding:
        return self._binding

    async def send(self, line: bytes) -> None:
        await self._child.write_line(line)

    async def receive(self) -> bytes | None:
        line = await self._child.read_line()
        ending = self._child.ending
        if line is None and ending is not None and ending.cause is not Cause.CLOSED_BY_US:
            if ending.refusal is not None:
                raise Refused(ending.refusal)
            if ending.unfinished:
                raise Refused.because("malformed_line", "its last line has no end")
        return line

    async def close_session(self, session_id: str) -> None:
        raise Refused.because("unsupported_feature", "a session of an endpoint ends with its pipe", place=session_id)

    def hang_up(self) -> None:
        self._child.close_input()

    def terminate(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._child.pid, signal.SIGTERM)

    async def exit_code(self) -> int | None:
        ending = await self._child.ended()
        return ending.exit_code if ending.cause is Cause.EXITED else None

    @property
    def last_words(self) -> str:
        return self._child.stderr_tail


class ChildLauncher:
    """Starts the program afresh for each connection, and ends it and its whole group behind it."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @property
    def binding(self) -> Binding:
        return ENDPOINT

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Port]:
        async with spawn(self._program) as child:
            yield ChildPort(child)
