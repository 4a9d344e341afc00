"""Placing, reading, confirming and releasing a hold (spec sections 8 and 10; SCH-131, SCH-151, SCH-154, SCH-174)."""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.core.money import MoneyText
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.participant import Answers, InvitationTerms, Participants
from sayso.scheduling.terms.place import Place
from sayso.scheduling.terms.wire import (
    Digest,
    DurationText,
    IdempotencyKey,
    Instant,
    OpaqueId,
    Sentence,
    Token,
    UrlText,
)

__all__ = ("ConfirmRequest", "HoldRequest", "HoldStatus", "HoldView", "ReleaseRequest", "Settled")

HoldStatus = Literal["held", "confirmed", "released", "expired"]


class HoldRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`POST /holds`. Money is never asked for or sent: there is no member for it (SCH-097)."""

    idempotency_key: IdempotencyKey
    service_id: OpaqueId
    start: Instant
    ttl: DurationText
    resource_id: OpaqueId | None = None
    place: Place | None = None
    callback_url: UrlText | None = None
    participants: Participants = ()
    invitation: InvitationTerms | None = None
    answers: Answers | None = None


class HoldView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A hold as its agent sees it, on placing, reading and releasing alike. `offer` is the stored token, byte for byte.

    `booking_id` is there once the hold was confirmed, so that an agent whose answer was lost finds its booking.
    """

    hold_id: OpaqueId
    status: HoldStatus
    version: int
    service_id: OpaqueId
    start: Instant
    expires_at: Instant
    offer: Token
    end: Instant | None = None
    open_end: Literal[True] | None = None
    price: MoneyText | None = None
    total: MoneyText | None = None
    booking_id: OpaqueId | None = None


class ConfirmRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`POST /holds/{hold_id}/confirm`: yes to exactly these offer bytes (SCH-162).

    `guest` and `note` are for the host's staff alone, and a note only where `policies.notes` accepts one (SCH-207).
    """

    idempotency_key: IdempotencyKey
    offer_sha256: Digest
    guest: GuestDetails | None = None
    note: Sentence | None = None


class ReleaseRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /holds/{hold_id}/release`."""

    idempotency_key: IdempotencyKey


class Settled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The answer to everything that settles a booking, and to reading one: the booking and its newest receipt."""

    booking: Booking
    receipt: Token
