"""A subscription as server-sent events (OAP-105, 110): envelopes under their sequence, and three named signals."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from sayso.control.hub.machine import Deliver, End, Ending
from sayso.control.hub.session import HubSession
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.signals import (
    OVERFLOW,
    REPLAY_GAP,
    SUBSCRIBED,
    JoinedSignal,
    OverflowSignal,
    ReplayGapSignal,
)
from sayso.core.frames import SseEvent
from sayso.core.strictjson import encode

__all__ = ("event_stream",)


async def event_stream(session: HubSession, reader: str) -> AsyncGenerator[SseEvent]:
    """The events of one reader. A terminal and a closed session end the stream without a word."""
    async with aclosing(session.read(reader)) as effects:
        async for effect in effects:
            for event in _events(session.id, effect):
                yield event


def _events(session_id: str, effect: Deliver | End) -> Iterator[SseEvent]:
    if isinstance(effect, End):
        yield from _ending(session_id, effect)
        return
    if effect.joined is not None:
        run_id, last = effect.joined
        yield _signal(SUBSCRIBED, JoinedSignal(session_id=session_id, run_id=run_id, joined_after=last))
    for entry in effect.entries:
        yield SseEvent(entry.data, id=str(entry.sequence))


def _ending(session_id: str, effect: End) -> Iterator[SseEvent]:
    run_id, last = effect.at or ("", 0)
    if effect.why is Ending.OVERFLOW:
        yield _signal(OVERFLOW, OverflowSignal(session_id=session_id, run_id=run_id, last_sequence=last))
    elif effect.why is Ending.GAP and effect.bounds is not None:
        oldest, latest = effect.bounds
        gap = ReplayGapSignal(session_id=session_id, run_id=run_id, oldest_available=oldest, latest_available=latest)
        yield _signal(REPLAY_GAP, gap)


def _signal(name: str, signal: Wire) -> SseEvent:
    return SseEvent(encode(signal), event=name)
