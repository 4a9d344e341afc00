"""Waiting for time to come free: joining a host's waitlist, reading an entry, leaving (spec section 20).

SCH-237 to SCH-242, SCH-250. Time that comes free is offered as a hold the host places, so what an agent confirms is an
ordinary hold with an ordinary offer; the entry only says how it came about.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.scheduling.terms.availability import Window
from sayso.scheduling.terms.hold import HoldView
from sayso.scheduling.terms.place import Place
from sayso.scheduling.terms.wire import IdempotencyKey, Instant, OpaqueId, UrlText

__all__ = ("EntryStatus", "JoinRequest", "LeaveRequest", "WaitlistEntry")

EntryStatus = Literal["waiting", "offered", "taken", "left", "lapsed"]


class JoinRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`POST /waitlist`: any time of this service within this window."""

    idempotency_key: IdempotencyKey
    service_id: OpaqueId
    window: Window
    resource_id: OpaqueId | None = None
    place: Place | None = None
    callback_url: UrlText | None = None


class WaitlistEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An entry as its agent sees it, on joining, reading and leaving alike.

    `expires_at` is when waiting ends by itself: the last possible start, or earlier the mandate's end. `hold` is there
    once time was offered, with its own expiry and, once confirmed, its booking.
    """

    entry_id: OpaqueId
    status: EntryStatus
    version: int
    service_id: OpaqueId
    window: Window
    joined_at: Instant
    expires_at: Instant
    resource_id: OpaqueId | None = None
    hold: HoldView | None = None


class LeaveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /waitlist/{entry_id}/leave`; an offered hold is given back with it."""

    idempotency_key: IdempotencyKey
