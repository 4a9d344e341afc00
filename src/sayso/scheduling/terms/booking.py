"""A booking, its calendar event, and the messages that cancel it (spec section 11; SCH-196 to SCH-198, SCH-211)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.core.money import MoneyText
from sayso.scheduling.terms.offer import Line, OfferedService
from sayso.scheduling.terms.place import Place
from sayso.scheduling.terms.wire import (
    Digest,
    DurationText,
    HostName,
    IdempotencyKey,
    Instant,
    LocalInstant,
    OpaqueId,
    Sentence,
    UtcInstant,
    Words,
    ZoneName,
)

__all__ = ("Answered", "Booking", "BookingStatus", "CalendarEvent", "CancelRequest", "Cancelled", "EventLocation")

BookingStatus = Literal[
    "pending_host", "tentative", "confirmed", "declined", "expired", "cancelled", "completed", "no_show"
]


class EventLocation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A JSCalendar Location with a name and no more."""

    type_: Literal["Location"] = msgspec.field(name="@type", default="Location")
    name: Words


class CalendarEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The appointment as a JSCalendar Event (RFC 8984), without its scheduling members (SCH-004, SCH-197, SCH-211).

    An open end has no `duration`; our own `open_end` stands beside the event.
    """

    type_: Literal["Event"] = msgspec.field(name="@type")
    uid: Annotated[str, Meta(max_length=160)]
    updated: UtcInstant
    title: Annotated[str, Meta(max_length=410)]
    start: LocalInstant
    time_zone: ZoneName = msgspec.field(name="timeZone")
    sequence: Annotated[int, Meta(ge=0)]
    status: Literal["confirmed", "tentative", "cancelled"]
    duration: DurationText | None = None
    show_without_time: Literal[False] | None = msgspec.field(name="showWithoutTime", default=None)
    locations: Annotated[dict[str, EventLocation], Meta(max_length=1)] | None = None


class Answered(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who said yes for the host: the person, a rule they signed, or a business (SCH-181)."""

    by: Literal["person", "rule", "host"]


class Cancelled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Who called it off, when, and in a host's case why, in its own words (SCH-217). No amount can stand here."""

    by: Literal["guest", "host"]
    at: Instant
    reason: Sentence | None = None


class Booking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What was agreed and how it stands. Updates order by (sequence, version) (SCH-007).

    `mandate` is the jti of the root mandate whose `max_bookings` this booking counts under: the hold's (SCH-190).
    """

    booking_id: OpaqueId
    status: BookingStatus
    sequence: Annotated[int, Meta(ge=0)]
    version: Annotated[int, Meta(ge=0)]
    host: HostName
    service: OfferedService
    start: Instant
    place: Place
    offer_sha256: Digest
    event: CalendarEvent
    mandate: OpaqueId
    end: Instant | None = None
    open_end: Literal[True] | None = None
    resource_name: Words | None = None
    total: MoneyText | None = None
    lines: Annotated[tuple[Line, ...], Meta(min_length=1, max_length=50)] | None = None
    answered: Answered | None = None
    cancelled: Cancelled | None = None


class CancelRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`POST /bookings/{booking_id}/cancel`, free at any time before the start (SCH-213, SCH-220)."""

    idempotency_key: IdempotencyKey
    message: Sentence | None = None
