"""Following a task to its end: what its agent is told while people and workers do their part.

The row is what waits, never this generator: it can be dropped at any move and taken up again by another process. A
stream whose key was revoked meanwhile, or whose agent was suspended, tells nothing more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio

from sayso.core.frames import SseEvent
from sayso.gateway.doors.a2a.states import of_proposal, updates
from sayso.gateway.doors.a2a.values import ENDED, Asked
from sayso.gateway.doors.a2a.write.answers import write_event
from sayso.gateway.listening import MayListen
from sayso.governance.gate import Gate
from sayso.governance.proposal import Proposal
from sayso.store.unit import Store

__all__ = ("MOST_STREAMS", "Following")

MOST_STREAMS = 8
"""Streams one agent may keep open on one process; the oldest gives way to a ninth, and can be taken up again."""


class _Place:
    """One open stream; it waits inside `scope`."""

    __slots__ = ("is_gone", "scope")

    def __init__(self) -> None:
        self.is_gone = False
        self.scope: anyio.CancelScope | None = None

    def give_way(self) -> None:
        self.is_gone = True
        if self.scope is not None:
            self.scope.cancel()


class Following:
    """The open streams of one process."""

    def __init__(self, store: Store, gate: Gate) -> None:
        self._store = store
        self._gate = gate
        self._open: dict[str, list[_Place]] = {}

    async def follow(self, asked: Asked, proposal: Proposal, may_listen: MayListen) -> AsyncIterator[SseEvent]:
        """Every state after the one given, until one that nothing leaves."""
        task, moves, place = of_proposal(proposal), proposal.moves, _Place()
        mine = self._open.setdefault(proposal.agent, [])
        while len(mine) >= MOST_STREAMS:
            mine.pop(0).give_way()
        mine.append(place)
        try:
            while task.status.state not in ENDED:
                moved = await self._next(place, proposal.id, moves)
                if moved is None or not await self._store.reading(may_listen):
                    return
                before, task, moves = task, of_proposal(moved), moved.moves
                for event in updates(before, task):
                    yield write_event(asked, event)
        finally:
            if place in mine:
                mine.remove(place)
            # A stream that gave way may end after all that came after it, when the list is another.
            if not mine and self._open.get(proposal.agent) is mine:
                del self._open[proposal.agent]

    async def _next(self, place: _Place, id_: str, moves: int) -> Proposal | None:
        """The next move; None once this stream gives way."""
        moved = None
        if not place.is_gone:
            with anyio.CancelScope() as place.scope:
                moved = await self._gate.wait(id_, moves)
        return None if place.is_gone else moved
