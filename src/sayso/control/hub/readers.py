"""Who reads a session: the readers' names, their turns, and the one that came with the open (OAP-091, 092).

What each of them gets is `hub.machine`'s; this wakes them. A reader that waits costs one event and no copy of anything.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio

from sayso.control.hub.machine import (
    Cursor,
    Deliver,
    Drop,
    Effect,
    End,
    Follow,
    HangUp,
    HubSessionMachine,
    Subscribe,
    Take,
    Wake,
)
from sayso.core.ids import Ids
from sayso.core.refusal import Refused

__all__ = ("HELD", "SessionReaders")

HELD = 30.0
"""Seconds a subscription of an open waits for its reader (OAP-091)."""


class SessionReaders:
    """The reading half of a session."""

    def __init__(self, machine: HubSessionMachine, *, ids: Ids, held: float) -> None:
        self._machine = machine
        self._ids = ids
        self._readers: dict[str, anyio.Event] = {}
        self._held: str | None = None
        self._held_for = held

    def _apply(self, command: object) -> list[Effect]:
        effects = self._machine.apply(command)
        for effect in effects:
            if isinstance(effect, Wake) and (woken := self._readers.get(effect.name)) is not None:
                woken.set()
        return effects

    def _hold(self) -> str:
        """A reader that begins now, for whoever comes without a cursor."""
        self._held = self.subscribe()
        return self._held

    def subscribe(self, cursor: Cursor | None = None) -> str:
        """A new reader's name, for `read`. Raises `Refused`: `run_not_found`, `replay_cursor_future`,
        `no_run_to_resume`, `session_closed`.
        """
        name = self._ids.new("reader")
        self._readers[name] = anyio.Event()
        try:
            self._apply(Subscribe(name, cursor))
        except Refused:
            del self._readers[name]
            raise
        return name

    def adopt(self) -> str | None:
        """The reader that came with the open, if nobody has taken it yet."""
        held, self._held = self._held, None
        return held

    async def _let_go(self, name: str) -> None:
        await anyio.sleep(self._held_for)
        if self._held == name:
            self._held = None
            self.unsubscribe(name)

    async def read(self, name: str) -> AsyncGenerator[Deliver | End]:
        """What this reader gets, in order; after an `End` there is nothing."""
        try:
            while True:
                effects = self._machine.apply(Take(name))
                for effect in effects:
                    if isinstance(effect, (Deliver, End)):
                        yield effect
                if effects and isinstance(effects[-1], End):
                    return
                if not effects and not await self._wait(name):
                    return
        finally:
            self.unsubscribe(name)

    async def _wait(self, name: str) -> bool:
        """Whether the reader is still one, once it has something to take."""
        woken = self._readers.get(name)
        if woken is None:
            return False
        await woken.wait()
        if name not in self._readers:
            return False
        self._readers[name] = anyio.Event()
        return True

    def follow(self, name: str, cursor: Cursor | None = None) -> End | None:
        """The one reader of a transport that has no other, for `take`: past every terminal, from the first event kept
        or from a cursor; called again it is set back. Answers the gap if the cursor is no longer kept, and then moves
        nothing. Raises `Refused` as `subscribe` does.
        """
        self._readers.setdefault(name, anyio.Event())
        effects = self._apply(Follow(name, cursor))
        return next((effect for effect in effects if isinstance(effect, End)), None)

    def take(self, name: str) -> list[Deliver | End]:
        """What a follower gets now; with nothing, `woken` waits for more."""
        return [effect for effect in self._machine.apply(Take(name)) if isinstance(effect, (Deliver, End))]

    async def woken(self, name: str) -> None:
        """Until a follower has something to take."""
        await self._wait(name)

    def unsubscribe(self, name: str) -> None:
        """A reader has gone."""
        woken = self._readers.pop(name, None)
        self._apply(Drop(name))
        if woken is not None:
            woken.set()

    def hang_up(self) -> None:
        """Ends all readers; the session goes on."""
        self._apply(HangUp())
