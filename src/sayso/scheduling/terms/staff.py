"""What the host's staff send to their own endpoint, and see (spec section 21; SCH-184).

The routes are under `/host/`, signed like every request, by a key that the host's settings list. No mandate travels
with them: the host answers for itself.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.scheduling.terms.acceptance import AcceptanceToken
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.wire import DurationText, IdempotencyKey, Instant, OpaqueId, PrincipalUrn, Sentence, Token

__all__ = (
    "AnswerRequest",
    "CallOffRequest",
    "DeclineRequest",
    "DeskBooking",
    "DeskBookings",
    "MarkRequest",
    "ProposeRequest",
)


class AnswerRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`POST /host/bookings/{booking_id}/approve`: yes to the request, or to the move, that waits.

    `acceptance` is there at a person's calendar and only there: the yes as it was signed (SCH-180).
    """

    idempotency_key: IdempotencyKey
    acceptance: AcceptanceToken | None = None


class DeclineRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`POST /host/bookings/{booking_id}/decline`: no to it. `alternatives`: name other free times (SCH-179).

    At a person's calendar the no is signed, in `acceptance`, and its words with it (SCH-265).
    """

    idempotency_key: IdempotencyKey
    message: Sentence | None = None
    alternatives: bool = False
    acceptance: AcceptanceToken | None = None


class CallOffRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /host/bookings/{booking_id}/cancel`, with the reason the guest hears (SCH-217)."""

    idempotency_key: IdempotencyKey
    reason: Sentence


class MarkRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /host/bookings/{booking_id}/end`, `/attended` and `/no-show`: the act is the path (SCH-205, SCH-256)."""

    idempotency_key: IdempotencyKey


class ProposeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`POST /host/bookings/{booking_id}/propose` and `/counter`: another time, for the guest to accept (SCH-234..236).

    `open_for` is how long the guest may think about it, a day where it is left out.
    """

    idempotency_key: IdempotencyKey
    start: Instant
    resource_id: OpaqueId | None = None
    open_for: DurationText | None = None
    message: Sentence | None = None


class DeskBooking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A booking as the host sees it: the guest's id and words stand beside what both sides see.

    `answer_by` is until when the host has to answer: the request itself, or a move that waits. `details` and `note` are
    what the guest sent for the host's eyes when confirming. `to_sign`, in `GET B` of a person's calendar, is the offer
    that waits for the person's signed answer.
    """

    booking: Booking
    guest: PrincipalUrn
    receipt: Token
    answer_by: Instant | None = None
    message: Sentence | None = None
    details: GuestDetails | None = None
    note: Sentence | None = None
    to_sign: Token | None = None


class DeskBookings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`GET /host/bookings`: those that wait for an answer, then those to come, by start."""

    bookings: Annotated[tuple[DeskBooking, ...], Meta(max_length=100)]
