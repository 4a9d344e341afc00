"""A run's events over HTTP, each once and in order, however the connection fares (OAP-203).

A stream is resumed behind the last event that was seen whole: an event counts once its blank line arrived. Only a
terminal, a closed session or a refusal ends a stream. Under strict resume nothing is taken up unseen: a cut is a
`DisconnectError` and a lost mailbox an `OverflowError`, each with the cursor to go on at.

Who names a run gets that run's events, to its terminal. Who names none follows the session into the runs that were
admitted by then; between two of its events may stand the one event of a reservation that ended before its turn. Any
other event out of its run or its order is the hub's breach.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

import anyio
import httpx2

from sayso.control.client.errors import DisconnectError, OverflowError, ReplayGapError, ServerError  # noqa: A004
from sayso.control.client.wire import HubWire, session_path
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import SessionState
from sayso.control.protocol.signals import (
    OVERFLOW,
    REPLAY_GAP,
    SUBSCRIBED,
    TERMINALS,
    JoinedSignal,
    OverflowSignal,
    ReplayGapSignal,
)
from sayso.core import strictjson
from sayso.core.frames import SseEvent
from sayso.core.refusal import Refused
from sayso.net.eventstream import read_events

__all__ = ("FIRST_PAUSE", "Position", "run_events")

_ATTEMPTS = 6
"""How often a stream is taken up again without a single new event before the hub counts as gone."""
FIRST_PAUSE = 0.05
"""Seconds before a cut stream is taken up again; they double with each attempt in vain."""

T = TypeVar("T", bound=Wire)


@dataclass(slots=True)
class Position:
    """Where a stream stands: the cursor to resume at, and whether it is over. `only` is the run that was named."""

    run_id: str | None
    after: int | None
    is_over: bool = False
    was_open: bool = False
    only: str | None = None

    def __post_init__(self) -> None:
        self.only = self.run_id
        if self.only is not None and self.after is None:
            self.after = 0  # a run that is named is read from its start, whatever it has told by now

    @property
    def query(self) -> dict[str, str]:
        """The cursor as the hub takes it."""
        if self.after is None:
            return {}
        return {"after": str(self.after), **({"run_id": self.run_id} if self.run_id else {})}


async def run_events(
    wire: HubWire, session_id: str, position: Position, *, is_strict: bool, first_pause: float
) -> AsyncGenerator[Envelope[Wire]]:
    """The events from `position` on. Raises `ServerError`, `ReplayGapError`, `DisconnectError`, and under strict resume
    `OverflowError`.
    """
    failures = 0
    while not position.is_over:
        try:
            async with aclosing(_connection(wire, session_id, position, is_strict=is_strict)) as envelopes:
                async for envelope in envelopes:
                    failures = 0
                    yield envelope
        except (httpx2.TransportError, OSError) as error:
            if position.is_over:
                # Cut between two runs: whether there is another one, the session knows.
                await _go_on(wire, session_id, position)
                continue
            failures += 1
            if is_strict or failures >= _ATTEMPTS:
                raise DisconnectError(wire.peer, type(error).__name__, position.run_id, position.after) from None
            await anyio.sleep(first_pause * 2**failures)


async def _go_on(wire: HubWire, session_id: str, position: Position) -> None:
    """Sets the position to the start of the run that is under way, if one is and it was not named otherwise."""
    if position.only is not None:
        return
    state = (await wire.ask(f"{session_path(session_id)}/state", SessionState)).payload
    run_id = state.active_run_id or next((run.run_id for run in state.active_runs or ()), None)
    if run_id not in (None, position.run_id):
        position.run_id, position.after, position.is_over = run_id, 0, False


async def _connection(
    wire: HubWire, session_id: str, position: Position, *, is_strict: bool
) -> AsyncGenerator[Envelope[Wire]]:
    """One connection's events; moves `position` behind each, and marks it over when nothing can follow."""
    url = f"{session_path(session_id)}/events"
    async with wire.http.stream("GET", url, params=position.query) as response:
        if response.status_code != 200:
            _refuse(wire, await response.aread(), position)
            return
        is_first, position.was_open = not position.was_open, True
        async for event in _read(wire, response):
            if event.event == "message":
                envelope = _event(wire, event, session_id, position)
                if position.only in (None, envelope.run_id):
                    yield envelope
                if position.is_over and position.only is not None:
                    return
            elif _signalled(wire, event, position, is_first=is_first, is_strict=is_strict):
                return
    if not position.is_over:
        raise httpx2.RemoteProtocolError("the stream ended before its run")


async def _read(wire: HubWire, response: httpx2.Response) -> AsyncGenerator[SseEvent]:
    try:
        async for event in read_events(response.aiter_raw()):
            yield event
    except Refused as refused:
        raise ServerError(wire.peer, refused.refusal) from None


def _event(wire: HubWire, event: SseEvent, session_id: str, position: Position) -> Envelope[Wire]:
    envelope = wire.envelope(event.data)
    run_id, sequence = str(envelope.run_id), int(envelope.sequence or 0)
    if event.id != str(sequence):
        raise wire.violation("an event stands under another number than its own")
    if envelope.session_id != session_id:
        raise wire.violation("an event of another session came")
    if position.only not in (None, run_id) and not position.after:
        return envelope  # a reservation that was named waits its turn: what is told before it is another's
    is_ours = position.run_id in (None, run_id)
    is_end = envelope.type in TERMINALS
    if position.after is not None:
        # Another run begins when ours is over; before that, all it can tell is its end.
        expected = position.after + 1 if is_ours else 1
        if sequence != expected or not (is_ours or position.is_over or is_end):
            raise wire.violation(f"event {sequence} of {run_id} came where event {expected} was due")
    if is_ours or position.is_over:
        position.run_id, position.after, position.is_over = run_id, sequence, is_end
    return envelope


def _signalled(wire: HubWire, event: SseEvent, position: Position, *, is_first: bool, is_strict: bool) -> bool:
    """Whether this signal ends the connection."""
    if event.event == REPLAY_GAP:
        gap = _decoded(wire, event.data, ReplayGapSignal)
        raise ReplayGapError(wire.peer, gap.run_id, gap.oldest_available, gap.latest_available)
    if event.event == SUBSCRIBED:
        joined = _decoded(wire, event.data, JoinedSignal)
        position.run_id = joined.run_id
        # The first connection asked for what comes now. A later one lost a connection on which nothing had come
        # yet: the run began meanwhile, and what it has told is owed from its start.
        position.after = joined.joined_after if is_first else 0
        return not is_first
    if event.event != OVERFLOW:
        return False
    lost = _decoded(wire, event.data, OverflowSignal)
    if is_strict:
        raise OverflowError(wire.peer, lost.run_id, lost.last_sequence)
    if position.after is None and lost.run_id:
        position.run_id, position.after = lost.run_id, lost.last_sequence
    return True


def _decoded(wire: HubWire, data: bytes, type_: type[T]) -> T:
    try:
        return strictjson.decode(data, type_)
    except Refused as refused:
        raise ServerError(wire.peer, refused.refusal) from None


def _refuse(wire: HubWire, body: bytes, position: Position) -> None:
    refused = wire.refused(body)
    if refused.code in ("unknown_session", "session_closed") and position.was_open:
        position.is_over = True  # it was closed while we listened, which ends a stream without a word
        return
    raise refused
