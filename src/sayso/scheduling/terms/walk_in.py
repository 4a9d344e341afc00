"""What the host's staff send when somebody walks in or calls, and the answer (spec section 7.4; SCH-146)."""

from __future__ import annotations

import msgspec

from sayso.scheduling.terms.wire import IdempotencyKey, Instant, OpaqueId

__all__ = ("GiveUpWalkInRequest", "WalkInRequest", "WalkInView")


class WalkInRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`POST /host/walk-ins`: a service from a start, at any clock time from now on; nobody's name."""

    idempotency_key: IdempotencyKey
    service_id: OpaqueId
    start: Instant
    resource_id: OpaqueId | None = None


class GiveUpWalkInRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /host/walk-ins/{walk_in_id}/give-up`: they did not wait, or did not come."""

    idempotency_key: IdempotencyKey


class WalkInView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The time taken, or given up; `until` is the end of the service, or of the time set aside."""

    walk_in_id: OpaqueId
    service_id: OpaqueId | None = None
    start: Instant | None = None
    until: Instant | None = None
