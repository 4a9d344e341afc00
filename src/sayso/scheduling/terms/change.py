"""Moving a booking in two steps: a change offer is asked for, then accepted by its own hash (spec section 13).

SCH-221 to SCH-223, SCH-231, SCH-232. In this version a change offer moves the start (and with it the end).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.core.money import MoneyText
from sayso.scheduling.terms.wire import Digest, DurationText, IdempotencyKey, Instant, OpaqueId, Token

__all__ = ("AbandonRequest", "AcceptRequest", "ChangeRequest", "ChangeStatus", "ChangeView")

ChangeStatus = Literal["offered", "awaiting_host", "made", "dropped", "lapsed", "declined"]


class ChangeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /bookings/{booking_id}/changes`: hold this other start and offer it."""

    idempotency_key: IdempotencyKey
    start: Instant
    ttl: DurationText


class ChangeView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A change offer as its agent sees it; `offer_id` is the offer's `jti`."""

    offer_id: OpaqueId
    booking_id: OpaqueId
    status: ChangeStatus
    version: int
    start: Instant
    expires_at: Instant
    offer: Token
    end: Instant | None = None
    open_end: Literal[True] | None = None
    price: MoneyText | None = None
    total: MoneyText | None = None


class AcceptRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /bookings/{booking_id}/changes/{offer_id}/accept`, answered by a `Settled`."""

    idempotency_key: IdempotencyKey
    offer_sha256: Digest


class AbandonRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /bookings/{booking_id}/changes/{offer_id}/abandon`, answered by the dropped `ChangeView`."""

    idempotency_key: IdempotencyKey
