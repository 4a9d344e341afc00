"""How an endpoint ends: its exit codes are part of the binding, and no run gets an end that nobody saw (OAP-129).

Each of these has a connection of its own, except the first, which ends the script's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from sayso.control.conformance import core
from sayso.control.conformance.checks import Failed, Silent, Skipped
from sayso.control.conformance.driving import drive, is_terminal, is_waiting
from sayso.control.conformance.host import hosting
from sayso.control.conformance.port import Launcher
from sayso.control.conformance.talk import Talk
from sayso.control.protocol.signals import TERMINALS
from sayso.core import strictjson

__all__ = ("Act", "Ends", "ends_clean")

Act = Callable[[Talk], Awaitable[str | None]]


async def ends_clean(talk: Talk) -> str | None:
    """At the end of its input the endpoint ends by itself, with exit code 0."""
    _need_process(talk)
    talk.host.port.hang_up()
    await _exited(talk, is_clean=True)
    return None


class Ends:
    """The checks that need a fresh connection."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher

    async def in_flight(self, talk: Talk) -> str | None:
        """A run that waits when the input ends is over with its session, and nobody makes up an end for it."""
        async with self._fresh(talk) as other:
            await core.open_session(other)
            run, _ = await other.admit(other.submission())
            if is_terminal(await drive(other, run, until=is_waiting)):
                raise Skipped("the run ended before the input could")
            other.host.port.hang_up()
            await _exited(other, is_clean=True)
            ends = [each.type for each in other.host.seen.runs[run.id] if each.type in TERMINALS]
            if ends:
                raise Failed(f"the host had hung up on a run that waited, and it was given the end `{ends[0]}`")
        return None

    async def signalled(self, talk: Talk) -> str | None:
        """SIGTERM is the end of input: exit code 0."""
        async with self._fresh(talk) as other:
            other.host.port.terminate()
            await _exited(other, is_clean=True)
        return None

    async def malformed(self, talk: Talk) -> str | None:
        """A line that is no JSON leaves the boundaries in doubt: the endpoint ends, and not with 0."""
        async with self._fresh(talk) as other:
            await other.host.write(b"this is no JSON")
            return await _exited(other, is_clean=False)

    async def unaddressed(self, talk: Talk) -> str | None:
        """An envelope without an id could not be answered: the endpoint ends, and not with 0."""
        async with self._fresh(talk) as other:
            request = other.request("capabilities.request", {})
            del request["id"]
            await other.host.write(strictjson.encode(request))
            return await _exited(other, is_clean=False)

    @asynccontextmanager
    async def _fresh(self, talk: Talk) -> AsyncIterator[Talk]:
        _need_process(talk)
        async with self._launcher.connect() as port, hosting(port, talk.host.budget) as host:
            other = Talk(host, talk.ids, model=talk.model)
            if port.binding.carries("protocol.initialize.request"):
                await core.initialize(other)
            await core.capabilities(other)
            yield other


def _need_process(talk: Talk) -> None:
    if not talk.host.port.binding.has_process:
        raise Skipped("this binding has no process to end")


async def _exited(talk: Talk, *, is_clean: bool) -> str | None:
    code: int | None = None
    with anyio.move_on_after(talk.host.budget) as scope:
        await talk.host.look(lambda: True if talk.host.is_over else None, "its end")
        code = await talk.host.port.exit_code()
    if scope.cancelled_caught:
        raise Silent(f"it did not end within {talk.host.budget:g} s")
    if is_clean != (code == 0):
        words = talk.host.port.last_words.strip().splitlines()[-1:]
        said = f": {words[0][:200]!r}" if words else ""
        wanted = "0" if is_clean else "another code than 0"
        raise Failed(f"it ended with {'no exit' if code is None else code} instead of {wanted}{said}")
    return f"exit code {code}"
