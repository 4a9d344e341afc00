"""The calendar event of a booking, derived from its contract and nothing else (spec section 11.2; SCH-197, SCH-211).

Both sides derive it: the host to write it, the guest to see that nothing was slipped into it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sayso.core.durations import write_duration
from sayso.core.instants import parse_instant, write_instant
from sayso.core.zones import find_zone
from sayso.scheduling.terms.booking import BookingStatus, CalendarEvent, EventLocation
from sayso.scheduling.terms.identity import bare_id
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.place import AtGuest, Elsewhere, Place

__all__ = ("event_of",)

_EventStatus = Literal["confirmed", "tentative", "cancelled"]

_STATUS: dict[BookingStatus, _EventStatus] = {
    "pending_host": "tentative",
    "tentative": "tentative",
    "confirmed": "confirmed",
    "completed": "confirmed",
    "no_show": "confirmed",
    "declined": "cancelled",
    "expired": "cancelled",
    "cancelled": "cancelled",
}


def event_of(
    *, booking_id: str, terms: OfferClaims, sequence: int, status: BookingStatus, updated: datetime
) -> CalendarEvent:
    """The JSCalendar Event of a booking that stands on `terms`."""
    start = parse_instant(terms.start)
    local = start.astimezone(find_zone(terms.timezone)).replace(tzinfo=None, microsecond=0)
    return CalendarEvent(
        type_="Event",
        uid=f"{booking_id}@{bare_id(terms.iss)}.schcp",
        updated=write_instant(updated.replace(microsecond=0)),
        title=f"{terms.service.title} — {terms.title}",
        start=local.isoformat(),
        time_zone=terms.timezone,
        sequence=sequence,
        status=_STATUS[status],
        duration=None if terms.end is None else write_duration(parse_instant(terms.end) - start),
        show_without_time=None if terms.end is not None else False,
        locations=_locations(terms.place),
    )


def _locations(place: Place) -> dict[str, EventLocation] | None:
    if isinstance(place, Elsewhere):
        return {"1": EventLocation(name=place.name)}
    if isinstance(place, AtGuest):
        return {"1": EventLocation(name=f"{place.postal_code}, {place.country}")}
    return None
