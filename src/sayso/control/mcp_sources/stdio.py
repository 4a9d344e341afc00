"""MCP over the pipes of a child: one message a line, and a child that is gone when its source is (B01-B09).

The child is `net.child`'s: a process group of its own, nothing inherited, stderr drained into a bounded tail, lines cut
by bytes within a bound. A line that does not begin as JSON would is noise that people print by mistake: it is skipped
and counted. One that does and is no message ends the connection: whosever answer it was, nobody would ever get it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from mcp.shared.message import SessionMessage

from sayso.control.mcp_sources.limits import Limits
from sayso.control.mcp_sources.messages import Ends, Lost, join, read_message, write_message
from sayso.core.refusal import PeerUnreachable, Refusal, Refused
from sayso.net.child import Child, Program, spawn

__all__ = ("over_stdio",)

_TAIL_SHOWN = 600
_LEAST_SECRET = 6
_STARTS = (b"{", b"[")


@asynccontextmanager
async def over_stdio(program: Program, limits: Limits, lost: Lost) -> AsyncIterator[Ends]:
    """A child and the streams to it. Refused `cannot_start`."""
    async with spawn(program) as child:
        ends = join()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, child, program, ends, limits, lost)
                tasks.start_soon(_write, child, ends)
                yield ends
                tasks.cancel_scope.cancel()
        finally:
            ends.close()


async def _read(child: Child, program: Program, ends: Ends, limits: Limits, lost: Lost) -> None:
    """Takes its lines to the end, and tells the end before the stream shows it."""
    async with ends.inbound:
        try:
            await _take_lines(child, ends, limits)
            ending = await child.ended()
            why = ending.refusal or Refusal(code="open_failed", message=str(ending))
        except Refused as refused:
            why = refused.refusal
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the session is gone, and whoever ended it knows why
        lost(_told(why, child, program))


async def _take_lines(child: Child, ends: Ends, limits: Limits) -> None:
    noise = 0
    async for line in child.lines():
        if line.lstrip().startswith(_STARTS):
            message = read_message(line)
            ends.owed.take(message)
            await ends.inbound.send(SessionMessage(message))
            continue
        noise += bool(line.strip())
        if noise > limits.noise_lines:
            raise Refused.because("protocol_violation", "it writes lines that are no messages", reason="noise")


async def _write(child: Child, ends: Ends) -> None:
    async with ends.outbound:
        async for message in ends.outbound:
            try:
                await child.write_line(write_message(message.message))
                ends.owed.give(message.message)
            except PeerUnreachable:
                return  # the reader tells why
            except Refused:
                continue  # over the bound, and nothing was written; a call is measured before it comes here


def _told(why: Refusal, child: Child, program: Program) -> Refusal:
    """Why it is gone, with its exit code and the last of its stderr, the values it was given struck out."""
    tail = child.stderr_tail
    secrets = {value for value in program.environment.values() if len(value) >= _LEAST_SECRET}
    for secret in sorted(secrets, key=len, reverse=True):
        tail = tail.replace(secret, "[...]")
    ending = child.ending
    details: dict[str, object] = {"stderr": tail[-_TAIL_SHOWN:].strip()} if tail.strip() else {}
    if ending is not None and ending.exit_code is not None:
        details["exit_code"] = ending.exit_code
    return Refusal(code="protocol_violation" if why.code != "open_failed" else why.code,
                   message=_of_it(why), reason=why.reason, details=details)  # fmt: skip


def _of_it(why: Refusal) -> str:
    return f"it wrote {why.message}" if why.code == "line_too_long" else why.message
