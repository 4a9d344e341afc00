"""A session's events on their way to the one host: unasked, past every terminal, and again on request (OAP-126, 128).

The stream is a follower of the session, so its mailbox is the session's journal: a slow host loses nothing that is
kept. A replay sets the follower back; nobody else writes this session's events meanwhile, so within a run their order
holds. A stream that ends otherwise than with the session says where it stood, because the pipe stays open and silence
would look like a slow agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from sayso.control.endpoint.lines import ReplayAccepted, ReplayGap, ReplayRequest, StreamLost
from sayso.control.hub.journal import Entry
from sayso.control.hub.machine import Cursor, Deliver, End, Ending
from sayso.control.hub.session import HubSession
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.strictjson import encode

__all__ = ("SessionStream",)

_NAME = "host"
Write = Callable[[bytes], Awaitable[bool]]


class SessionStream:
    """One session's stream. `limit` is the longest line in bytes."""

    def __init__(self, session: HubSession, write: Write, limit: int) -> None:
        self._session = session
        self._write = write
        self._limit = limit
        self._writing = anyio.Lock()
        self.over = anyio.Event()
        """Set while nothing streams; a stream that was lost is set going again by a replay."""

    def start(self, tasks: TaskGroup) -> None:
        """Streams what was told and will be."""
        self._session.follow(_NAME)
        tasks.start_soon(self._run)

    async def replay(self, asked: ReplayRequest, tasks: TaskGroup) -> None:
        """Answers a replay, and sets the stream back. Raises `Refused` as `HubSession.follow` does."""
        async with self._writing:
            run_id = asked.run_id or self._session.current_run or ""
            gap = self._session.follow(_NAME, Cursor(asked.after, asked.run_id or None))
            if gap is not None:
                oldest, latest = gap.bounds or (1, 0)
                await self._control(
                    ReplayGap(
                        id=asked.id, requested_after=asked.after, oldest_available=oldest, latest_available=latest
                    )
                )
                return
            await self._control(ReplayAccepted(id=asked.id, run_id=run_id, after=asked.after))
        if self.over.is_set():
            self.over = anyio.Event()
            tasks.start_soon(self._run)

    async def _run(self) -> None:
        while True:
            async with self._writing:
                effects = self._session.take(_NAME)
                for effect in effects:
                    if not await self._tell(effect):
                        self.over.set()
                        return
            if not effects:
                await self._session.woken(_NAME)

    async def _tell(self, effect: Deliver | End) -> bool:
        """Whether the stream goes on."""
        if isinstance(effect, End):
            if effect.why is not Ending.CLOSED:
                run_id, last = effect.at or (self._session.current_run or "", 0)
                await self._lose(run_id, last, "overflow")
            return False
        for entry in effect.entries:
            if not await self._tell_event(entry):
                return False
        return True

    async def _tell_event(self, entry: Entry) -> bool:
        if len(entry.data) <= self._limit:
            return await self._write(entry.data)
        self._session.unsubscribe(_NAME)
        await self._lose(entry.run_id, entry.sequence - 1, "frame_limit")
        return False

    async def _lose(self, run_id: str, after: int, code: Literal["overflow", "frame_limit"]) -> None:
        message = "an event does not fit into a line" if code == "frame_limit" else "the events are no longer kept"
        await self._control(StreamLost(run_id=run_id, after=after, code=code, message=message))

    async def _control(self, frame: Wire) -> None:
        await self._write(encode(frame))
