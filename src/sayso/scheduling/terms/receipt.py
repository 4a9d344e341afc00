"""The host-signed record of what was agreed and how (spec section 12; SCH-188 to SCH-195).

`schcp-receipt+jwt`. `BookingReceipt` rather than receipt: the bare word belongs to the house's own log.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.wire import DurationText, HostName, OpaqueId, PrincipalUrn, Seconds

__all__ = ("RECEIPT_TYP", "Agreement", "ReceiptClaims", "Settlement")

RECEIPT_TYP = "schcp-receipt+jwt"

Settlement = Literal[
    "requested",
    "confirmed",
    "changed",
    "cancelled",
    "declined",
    "expired",
    "move_requested",
    "move_declined",
    "proposed",
    "proposal_over",
    "ended",
    "completed",
    "no_show",
    "attended",
    "answered",
    "reconfirmed",
]
"""The change of state a receipt proves (SCH-195)."""


class Agreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the person agreed to the contract the booking stands on (SCH-189, SCH-190).

    `approved` is `offer` when the principal's key signed that offer's hash, `limits` when an open mandate covered it,
    `contract` when they signed a meeting contract naming it. `mandate` is the jti of the mandate their key signed and
    `mode` repeats its consent mode.
    """

    approved: Literal["offer", "limits", "contract"]
    mandate: OpaqueId
    mode: Literal["human_present", "preapproved"]


class ReceiptClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole booking, signed. There is no member in which a charge could stand (SCH-193)."""

    iss: HostName
    aud: PrincipalUrn
    iat: Seconds
    jti: OpaqueId
    act: Settlement
    booking: Booking
    consent: Agreement
    retention: DurationText
