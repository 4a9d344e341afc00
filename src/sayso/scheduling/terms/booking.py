"""A booking, its calendar event, and the messages that cancel it (spec section 11; SCH-196 to SCH-198, SCH-211)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.core.money import MoneyText
from sayso.scheduling.terms.acceptance import AcceptanceToken
from sayso.scheduling.terms.availability import Slot
from sayso.scheduling.terms.offer import Line, OfferedService
from sayso.scheduling.terms.participant import MOST_PARTICIPANTS, BookedParticipant
from sayso.scheduling.terms.place import Place
from sayso.scheduling.terms.reconfirm import Reconfirmation
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

__all__ = (
    "Answered",
    "AwaitingHost",
    "Booking",
    "BookingStatus",
    "CalendarEvent",
    "CancelRequest",
    "Cancelled",
    "Declined",
    "DeclinedChange",
    "EventLocation",
    "Proposed",
)

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


class Answered(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Who said yes for the host: the person, a rule they signed, or a business (SCH-181).

    At a person's calendar `acceptance` is the signed answer and `at` when the calendar took it; both are absent where
    the guest is the owner. What a rule answered the person may not have seen yet (SCH-266).
    """

    by: Literal["person", "rule", "host"]
    at: Instant | None = None
    acceptance: AcceptanceToken | None = None
    may_be_unseen: Literal[True] | None = None


class Cancelled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Who called it off, when, and in a host's case why, in its own words (SCH-217). No amount can stand here."""

    by: Literal["guest", "host"]
    at: Instant
    reason: Sentence | None = None


class Declined(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The host's no to a request, perhaps with its words and other times; the declined one is never among them. Or that
    of a required participant, whose entry says whose it was (SCH-244).

    SCH-179. `person` is the owner of a person's calendar, who signed it (SCH-265).
    """

    by: Literal["host", "person", "participant"]
    at: Instant
    message: Sentence | None = None
    alternatives: Annotated[tuple[Slot, ...], Meta(max_length=5)] = ()


class AwaitingHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A move that the guest accepted and the host has until `answer_by` to answer (SCH-204, SCH-224, SCH-233)."""

    offer_sha256: Digest
    start: Instant
    answer_by: Instant


class DeclinedChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The most recent move that the host refused or left unanswered, and why (SCH-227, SCH-233)."""

    offer_sha256: Digest
    start: Instant
    at: Instant
    reason: Literal["declined_by_host", "not_answered"]
    message: Sentence | None = None


class Proposed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Another time that the host itself offers for this booking; the guest accepts it by its hash (SCH-234..236)."""

    offer_id: OpaqueId
    offer_sha256: Digest
    start: Instant
    expires_at: Instant
    message: Sentence | None = None


class Booking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What was agreed and how it stands. Updates order by (sequence, version) (SCH-007).

    `mandate` is the jti of the root mandate whose `max_bookings` this booking counts under: the hold's (SCH-190).
    `ended` is when the host ended one without an agreed end; `attended` its mark that the guest came (SCH-209).
    `reconfirm` is the contract's, `reconfirmed` when the booker said yes again; `unreconfirmed` says that it lapsed
    because they did not (SCH-248).
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
    declined: Declined | None = None
    awaiting_host: AwaitingHost | None = None
    declined_change: DeclinedChange | None = None
    proposed: Proposed | None = None
    ended: Instant | None = None
    attended: Literal[True] | None = None
    participants: Annotated[tuple[BookedParticipant, ...], Meta(max_length=MOST_PARTICIPANTS)] = ()
    reconfirm: Reconfirmation | None = None
    reconfirmed: Instant | None = None
    unreconfirmed: Literal[True] | None = None


class CancelRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`POST /bookings/{booking_id}/cancel`, free at any time before the start (SCH-213, SCH-220)."""

    idempotency_key: IdempotencyKey
    message: Sentence | None = None
