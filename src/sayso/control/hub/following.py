"""One subscription of a hub in process, as its events and the two typed ends a host acts on (OAP-042, OAP-206)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from sayso.control.client.errors import OverflowError, ReplayGapError  # noqa: A004 - the protocol's word for it
from sayso.control.hub.machine import Deliver, End, Ending
from sayso.control.hub.session import HubSession
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire

__all__ = ("HUB", "followed")

HUB = "the hub"
"""Who it is that an error of a hub in this process speaks of."""


async def followed(session: HubSession, reader: str) -> AsyncGenerator[Envelope[Wire]]:
    """The reader's events to their end. Raises `OverflowError`, `ReplayGapError`."""
    async with aclosing(session.read(reader)) as effects:
        async for effect in effects:
            if isinstance(effect, Deliver):
                for entry in effect.entries:
                    yield entry.envelope
            else:
                _raise(effect)


def _raise(end: End) -> None:
    run_id, last = end.at or ("", 0)
    if end.why is Ending.OVERFLOW:
        raise OverflowError(HUB, run_id, last)
    if end.why is Ending.GAP and end.bounds is not None:
        raise ReplayGapError(HUB, run_id, *end.bounds)
