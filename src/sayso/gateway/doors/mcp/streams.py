"""Event streams: what a legacy session hears on GET, and what a modern subscription hears (MCP, transports).

Both tell one thing, that a proposal has moved and is worth reading again. A stream waits on the store's wake channels,
so it hears of moves that any process made. It ends by itself after a while, and without a further word once its key
may not listen any more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

import anyio

from sayso.core.clock import Clock
from sayso.core.frames import SseEvent
from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue, encode
from sayso.gateway.crossing import Agent
from sayso.gateway.doors.mcp.codes import TOO_MANY_STREAMS
from sayso.gateway.doors.mcp.read.revisions import SUBSCRIPTION_KEY, has
from sayso.gateway.doors.mcp.sessions import McpSession, Sessions, channel
from sayso.gateway.doors.mcp.write.listing import updated
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.listening import MayListen
from sayso.store.unit import Store

__all__ = ("LASTS", "MOST_STREAMS", "Heard", "Streams", "read_event_id", "sse_event")

LASTS = timedelta(minutes=10)
MOST_STREAMS = 8
"""Streams of one agent in one process: each waits, and none costs anything of a rate while it does."""
_PRIMES = "2025-11-25"
"""The revision whose streams begin with an id to come back to."""
_EVENT_ID = re.compile(r"get-([0-9]{1,9})")


class Heard(Protocol):
    """What can be listened to."""

    async def moves(self, uri: str, agent: Agent) -> int:
        """How often a resource has moved. Refused: `unknown_resource`."""
        ...

    def channel(self, uri: str) -> str | None:
        """The wake channel of its moves, where it has any."""
        ...


def read_event_id(text: str | None) -> int | None:
    """The number in a Last-Event-ID of ours; None for none, and for what we never sent."""
    found = _EVENT_ID.fullmatch(text or "")
    return None if found is None else int(found[1])


@dataclass(frozen=True, slots=True)
class Streams:
    """Makes the streams of one gateway, and counts those of each agent that are open in this process."""

    sessions: Sessions
    heard: Heard
    store: Store
    clock: Clock
    opened: Counter[str] = field(default_factory=Counter)

    def demand_room(self, agent: Agent) -> None:
        """Refused `too_many_streams` where an agent has as many open as it may."""
        if self.opened[agent.id] >= MOST_STREAMS:
            raise Refused(refusal(TOO_MANY_STREAMS))

    @contextmanager
    def _counted(self, agent: Agent) -> Iterator[bool]:
        """Counts a stream in; False where several found room at once and this one has none."""
        self.opened[agent.id] += 1
        try:
            yield self.opened[agent.id] <= MOST_STREAMS
        finally:
            self.opened[agent.id] -= 1
            if not self.opened[agent.id]:
                del self.opened[agent.id]

    async def of_session(
        self, session: McpSession, agent: Agent, may_listen: MayListen, last_event: int | None
    ) -> AsyncIterator[SseEvent]:
        """What a session listens to, until it ends. After `last_event` nothing is left out."""
        with self._counted(agent) as has_room:
            if not has_room:
                return
            async for event in self._of_session(session, agent, may_listen, last_event):
                yield event

    async def _of_session(
        self, session: McpSession, agent: Agent, may_listen: MayListen, last_event: int | None
    ) -> AsyncIterator[SseEvent]:
        until, own = self.clock.now() + LASTS, channel(session.id)
        is_first = True
        while self.clock.now() < until:
            marks = {own: self.store.wake.mark(own)}
            try:
                found = await self.sessions.subscriptions(session.id, agent.id)
            except Refused:
                return  # the session ended
            if not await self.store.reading(may_listen):
                return
            marks |= self._marks([each.uri for each in found])
            if is_first:
                is_first = False
                if has(session.version, _PRIMES):
                    yield SseEvent(b"", id=f"get-{max((each.event for each in found), default=0)}")
                lost = [each for each in found if last_event is not None and each.event > last_event]
                for each in sorted(lost, key=lambda one: one.event):
                    yield sse_event(updated(each.uri), f"get-{each.event}")
            for each in found:
                moves = await self._moves(each.uri, agent)
                if moves > each.told and (number := await self.sessions.tell(session.id, each.uri, moves)) is not None:
                    yield sse_event(updated(each.uri), f"get-{number}")
            await self._wait(marks, until)

    async def of_subscription(
        self,
        told: Mapping[str, int],
        agent: Agent,
        may_listen: MayListen,
        meta: Mapping[str, JsonValue],
        last: JsonValue,
    ) -> AsyncIterator[SseEvent]:
        """What a subscription asked for, from the moves in `told` on; then `last`, which ends it in good order."""
        until, known = self.clock.now() + LASTS, dict(told)
        with self._counted(agent) as has_room:
            while has_room and self.clock.now() < until:
                marks = self._marks(list(known))
                if not await self.store.reading(may_listen):
                    return
                for uri, before in list(known.items()):
                    moves = await self._moves(uri, agent)
                    if moves > before:
                        known[uri] = moves
                        yield sse_event(updated(uri, {SUBSCRIPTION_KEY: meta[SUBSCRIPTION_KEY]}))
                await self._wait(marks, until)
            yield sse_event(last)

    async def _moves(self, uri: str, agent: Agent) -> int:
        if self.heard.channel(uri) is None:
            return 0  # it never moves, and need not be read to know that
        try:
            return await self.heard.moves(uri, agent)
        except Refused:
            return 0  # it is gone, and there is nothing to tell of it

    def _marks(self, uris: Sequence[str]) -> dict[str, int]:
        channels = [found for uri in uris if (found := self.heard.channel(uri)) is not None]
        return {each: self.store.wake.mark(each) for each in channels}

    async def _wait(self, marks: Mapping[str, int], until: datetime) -> None:
        """Returns once one of the channels was announced after its mark, or the stream's time is over."""
        async with anyio.create_task_group() as group:

            async def on(each: str, mark: int) -> None:
                await self.store.wake.wait(each, mark)
                group.cancel_scope.cancel()

            async def end() -> None:
                await self.clock.sleep_until(until)
                group.cancel_scope.cancel()

            for each, mark in marks.items():
                group.start_soon(on, each, mark)
            group.start_soon(end)


def sse_event(message: JsonValue, id_: str | None = None) -> SseEvent:
    """A message as an event."""
    return SseEvent(encode(message), id=id_)
