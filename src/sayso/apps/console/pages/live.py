"""What changed, told to an open page as it happens: names of parts, never what is in them.

The page then fetches those parts like any other. A stream ends with its sign-in, and after five minutes in any case:
the browser opens the next one, which is judged anew. Following a page keeps nobody signed in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
from starlette.types import ASGIApp

from sayso.apps.console.logins import find_login
from sayso.apps.console.visit import Visit
from sayso.core.frames import SseEvent
from sayso.ledger import heads
from sayso.net.eventstream import EventStream
from sayso.store.wake import Wake

__all__ = ("follow",)

_LONGEST = 300.0
_GATHERED = 0.25
"""Real seconds in which changes are told together: receipts may come by the hundred."""


async def follow(visit: Visit) -> ASGIApp:
    """The stream: `following` at its beginning, `gate` and `receipts` for changes, `end` when the sign-in is over."""
    return EventStream(_events(visit))


class _Changes:
    """Which parts changed since they were last told."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._any = anyio.Event()

    def add(self, name: str) -> None:
        self._names.add(name)
        self._any.set()

    async def take(self) -> list[str]:
        await self._any.wait()
        await anyio.sleep(_GATHERED)
        names, self._names, self._any = sorted(self._names), set(), anyio.Event()
        return names


async def _events(visit: Visit) -> AsyncIterator[SseEvent]:
    desk, changes = visit.desk, _Changes()
    channels = {
        "gate": "gate",
        "receipts": heads.channel(desk.ledger.log),
        "signed_out": f"console {desk.owner}",
    }
    marks = {channel: desk.store.wake.mark(channel) for channel in channels.values()}
    yield SseEvent(event="following", data=b"1")
    async with anyio.create_task_group() as group:
        for name, channel in channels.items():
            group.start_soon(_watch, desk.store.wake, channel, marks[channel], name, changes)
        with anyio.move_on_after(_LONGEST):
            while True:
                names = await changes.take()
                if not await _is_in_force(visit):
                    yield SseEvent(event="end", data=b"1")
                    break
                for name in names:
                    yield SseEvent(event=name, data=b"1")
        group.cancel_scope.cancel()


async def _watch(wake: Wake, channel: str, mark: int, name: str, changes: _Changes) -> None:
    while True:
        mark = await wake.wait(channel, mark)
        changes.add(name)


async def _is_in_force(visit: Visit) -> bool:
    desk, token = visit.desk, visit.login.token
    return await desk.store.reading(lambda view: find_login(view, desk.owner, token)) is not None
