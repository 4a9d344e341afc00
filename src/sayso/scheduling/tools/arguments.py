"""The arguments of each operation, as closed types whose JSON Schemas a language model reads (spec section 16.1).

Times may be written with an offset, or as the host's own local time without one; nothing vaguer (SCH-077).
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = (
    "ApproveAndBook",
    "BookingStatus",
    "CancelBooking",
    "Ceiling",
    "ChangeBooking",
    "DiscoverHost",
    "FindSlots",
    "HoldSlot",
    "JoinWaitlist",
    "LeaveWaitlist",
    "WaitlistStatus",
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


class ApproveAndBook(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The hold to book."""

    hold_id: HoldId


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


class BookingStatus(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One booking, or all of them when left out."""

    booking_id: BookingId | None = None


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
