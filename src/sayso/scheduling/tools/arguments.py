"""The arguments of each operation, as closed types whose JSON Schemas a language model reads (spec section 16.1).

Times may be written with an offset, or as the host's own local time without one; nothing vaguer (SCH-077).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = (
    "AnswerInvitation",
    "ApproveAndBook",
    "BookSlot",
    "BookingStatus",
    "BookingStatusOf",
    "CancelBooking",
    "Ceiling",
    "ChangeBooking",
    "Companion",
    "DiscoverHost",
    "FindSlots",
    "HoldSlot",
    "JoinWaitlist",
    "LeaveWaitlist",
    "ReconfirmBooking",
    "RequestLimits",
    "WaitlistStatus",
    "Whichever",
)

_HOST = "A host as discover_host names it: `maple-street-auto@maplestreetauto.example`, or just its domain."
_MOMENT = (
    "Date and time: `2026-10-15T13:00` means the host's own local time; with an offset, "
    "`2026-10-15T13:00:00-04:00`, it means that instant."
)

HostText = Annotated[str, Meta(min_length=3, max_length=320, description=_HOST)]
ServiceId = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", description="A service_id from discover_host.")]
Somebody = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="Only if the person asked for somebody or something in particular: a name from `choose_from`.",
    ),
]
Note = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=500,
        description="The person's own words for the host. They cannot be taken back: add nothing to them.",
    ),
]
HoldId = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", description="A hold_id from hold_slot.")]
BookingId = Annotated[
    str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", description="A booking_id from approve_and_book or booking_status.")
]
Moment = Annotated[
    str,
    Meta(
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?$",
        description=_MOMENT,
    ),
]


class DiscoverHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which host to look at; leave it out to see every host this person has added."""

    host: HostText | None = None


class FindSlots(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A service, and the range in which the appointment may start."""

    host: HostText
    service_id: ServiceId
    earliest_start: Annotated[Moment, Meta(extra_json_schema={"title": "Earliest start"})]
    latest_start: Annotated[Moment, Meta(extra_json_schema={"title": "Latest start, itself included"})]
    named: Somebody | None = msgspec.field(name="with", default=None)


class Ceiling(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The most the person wants to pay, all in; without a currency it is the host's."""

    amount: Annotated[str, Meta(pattern="^(0|[1-9][0-9]{0,11})([.][0-9]{1,4})?$", description="`100` or `100.00`.")]
    currency: Annotated[str, Meta(pattern="^[A-Z]{3}$", description="ISO 4217, such as CAD.")] | None = None


class Companion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Somebody asked along, who answers for themselves. `attendee` only where it is not they who come."""

    name: Annotated[str, Meta(min_length=1, max_length=80, description="As the person calls them.")]
    principal: Annotated[
        str,
        Meta(
            pattern="^urn:schcp:principal:jwk-thumbprint:[A-Za-z0-9_-]{43}$",
            description="Who they are: their own `sayso keyapp show` says it. Never invent one.",
        ),
    ]
    required: Annotated[bool, Meta(description="Whether nothing is booked without their yes.")] = True
    attendee: Annotated[str, Meta(min_length=1, max_length=80, description="Who comes: their child.")] | None = None


class HoldSlot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A slot, and the limits the person gave: they become what the person is asked to sign."""

    host: HostText
    service_id: ServiceId
    start: Annotated[Moment, Meta(extra_json_schema={"title": "The start of a slot from find_slots"})]
    earliest_start: (
        Annotated[Moment, Meta(extra_json_schema={"title": "The earliest start the person would accept"})] | None
    ) = None
    latest_start: (
        Annotated[Moment, Meta(extra_json_schema={"title": "The latest start the person would accept"})] | None
    ) = None
    max_price: Ceiling | None = None
    asked_start: (
        Annotated[Moment, Meta(extra_json_schema={"title": "The time the person named, if they named one"})] | None
    ) = None
    named: Somebody | None = msgspec.field(name="with", default=None)
    participants: Annotated[tuple[Companion, ...], Meta(max_length=16)] = ()
    answer_within: (
        Annotated[str, Meta(pattern="^P[0-9DWTHMS]{2,30}$", description="How long they have: `PT2H`, `P1D`.")] | None
    ) = None
    silence: (
        Annotated[
            Literal["yes", "no"],
            Meta(description="What no answer of a required one counts as. Ask the person; `no` unless they said."),
        ]
        | None
    ) = None
    in_person: Annotated[bool, Meta(description="true: only the person whose calendar it is may answer.")] = False


class BookSlot(HoldSlot, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A slot to book, and the limits the person gave: they become what the person is asked to sign."""

    note: Note | None = None

    def to_hold(self) -> HoldSlot:
        """What is held for it."""
        return HoldSlot(**{name: getattr(self, name) for name in HoldSlot.__struct_fields__})


class AnswerInvitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An invitation to somebody else's booking, and what the person says to it; without an answer it is only read."""

    host: HostText
    booking_id: Annotated[
        str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", description="The booking, as whoever invites told the person.")
    ]
    answer: Annotated[Literal["yes", "no"], Meta(description="The person's own word, never yours.")] | None = None


class ApproveAndBook(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The hold to book, and a note only if the person dictated one and the host accepts notes."""

    hold_id: HoldId
    note: Note | None = None


class CancelBooking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The booking to cancel, and a message only if the person dictated one."""

    booking_id: BookingId
    message: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=500,
                description="The person's own words for the host. It cannot be taken back: add nothing to it.",
            ),
        ]
        | None
    ) = None


class ChangeBooking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The booking to move, and its new start."""

    booking_id: BookingId
    start: Annotated[Moment, Meta(extra_json_schema={"title": "The start of a slot from find_slots"})]


class ReconfirmBooking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The booking whose host asks whether the person is still coming, and whether they are not."""

    booking_id: BookingId
    decline: Annotated[bool, Meta(description="true: the person is not coming, and the time becomes free.")] = False


class BookingStatus(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One booking, or all of them when left out."""

    booking_id: BookingId | None = None


class BookingStatusOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One booking, by its id."""

    booking_id: BookingId


EntryId = Annotated[
    str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", description="An entry_id from join_waitlist or waitlist_status.")
]


class JoinWaitlist(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A service, the range of starts the person would accept, and their ceiling: what they are asked to sign."""

    host: HostText
    service_id: ServiceId
    earliest_start: Annotated[Moment, Meta(extra_json_schema={"title": "Earliest start"})]
    latest_start: Annotated[Moment, Meta(extra_json_schema={"title": "Latest start, itself included"})]
    max_price: Ceiling | None = None


class LeaveWaitlist(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The entry to give up."""

    entry_id: EntryId


class WaitlistStatus(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry, or all of them when left out."""

    entry_id: EntryId | None = None


class Whichever(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of the hosts where the appointment may come to be, and the service there."""

    host: HostText
    service_id: ServiceId


class RequestLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Several hosts, one appointment: the range of starts the person would accept, and their ceiling."""

    hosts: Annotated[
        tuple[Whichever, ...],
        Meta(min_length=2, max_length=8, description="The hosts where the one appointment may come to be."),
    ]
    earliest_start: Annotated[Moment, Meta(extra_json_schema={"title": "Earliest start"})]
    latest_start: Annotated[Moment, Meta(extra_json_schema={"title": "Latest start, itself included"})]
    max_price: Ceiling | None = None
