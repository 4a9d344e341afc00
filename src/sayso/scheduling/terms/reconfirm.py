"""Saying again that one is coming: what an offer binds its booker to, and the message that answers it.

Spec section 23; SCH-248, SCH-249, SCH-252. The terms stand in the signed offer, so no reminder has to arrive for them
to hold: who accepted the offer knows between which moments to answer, and what silence does.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from sayso.core.instants import parse_instant
from sayso.scheduling.terms.wire import Digest, DurationText, IdempotencyKey, Instant

__all__ = ("ReconfirmPolicy", "ReconfirmRequest", "Reconfirmation", "Silence", "lapses_at")

Silence = Literal["lapses", "stands"]
"""What becomes of a booking whose booker says nothing: it is over and its time free, or it stays as it is."""


class ReconfirmPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a host asks: from `opens` before the start until `due` before it; `opens` is the longer of the two."""

    opens: DurationText
    due: DurationText
    silence: Silence


class Reconfirmation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one contract binds its booker to: to answer from `opens` on and before `by`, never after the start."""

    opens: Instant
    by: Instant
    silence: Silence


class ReconfirmRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /bookings/{booking_id}/reconfirm`: yes, still coming under these terms; or no, and the time is free."""

    idempotency_key: IdempotencyKey
    offer_sha256: Digest
    answer: Literal["yes", "no"]


def lapses_at(terms: Reconfirmation | None) -> datetime | None:
    """The instant at which silence ends a booking on these terms, or None where it does not."""
    return None if terms is None or terms.silence == "stands" else parse_instant(terms.by)
