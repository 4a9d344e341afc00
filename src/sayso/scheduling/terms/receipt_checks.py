"""Whether a host's receipt proves the booking it came with (spec section 12.3; SCH-188 to SCH-193).

Pure. `verify_receipt` proves who signed and that receipt and booking say the same; `check_receipt_matches` that the
booking stands on the contract that was agreed, and how. A receipt that contradicts itself is refused: confirmed but
cancelled, moved at the old sequence, a total the contract does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import verify_jws
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.discovery_checks import published_key
from sayso.scheduling.terms.event import event_of
from sayso.scheduling.terms.offer_checks import VerifiedOffer, ends_of
from sayso.scheduling.terms.receipt import RECEIPT_TYP, ReceiptClaims, Settlement

__all__ = ("ExpectedReceipt", "VerifiedReceipt", "check_receipt_matches", "verify_receipt")

_LIVE = ("confirmed", "pending_host", "tentative")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedReceipt:
    """A receipt the host signed, in agreement with itself."""

    claims: ReceiptClaims
    token: str
    sha256: str

    @property
    def booking(self) -> Booking:
        return self.claims.booking

    @property
    def start(self) -> datetime:
        return parse_instant(self.claims.booking.start)

    @property
    def end(self) -> datetime | None:
        return None if self.claims.booking.end is None else parse_instant(self.claims.booking.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedReceipt:
    """What the agent did: which act, for whom, under which mandate, agreed how, at which sequence.

    `booking_id` is None at a first confirm, where the host names it; `mandate` and `approved` are None where the agent
    does not know them, as when it reads a booking back. `counted_under` is the buying mandate's jti.
    """

    act: Settlement
    principal: str
    sequence: int
    booking_id: str | None = None
    approved: Literal["offer", "limits"] | None = None
    mandate: str | None = None
    counted_under: str | None = None


def verify_receipt(token: str, document: Discovery, booking: Booking | None = None) -> VerifiedReceipt:
    """The receipt, signed with a key the host publishes; its booking equal to the one beside it, member by member.

    Refused: receipt_invalid with what is wrong, unknown_key.
    """
    try:
        verified = verify_jws(
            token, typ=RECEIPT_TYP, key=lambda header: published_key(document, header.kid), claims=ReceiptClaims
        )
        _check_claims(verified.claims, document, booking)
    except Refused as error:
        if error.refusal.reason in ("receipt_invalid", "unknown_key"):
            raise
        found = error.refusal
        raise refused(
            "receipt_invalid", f"The receipt of {document.title} does not hold: {found.message}", place=found.place
        ) from None
    return VerifiedReceipt(claims=verified.claims, token=token, sha256=sha256_b64u(token))


def _check_claims(claims: ReceiptClaims, document: Discovery, booking: Booking | None) -> None:
    inner = claims.booking
    if claims.iss != document.host or inner.host != document.host:
        raise _invalid("it is another host's", "$.iss")
    if booking is not None and booking != inner:
        raise _invalid("it is for another booking than the one beside it", "$.booking")
    ends_of(inner.end, open_end=inner.open_end)
    parse_instant(inner.start)
    _check_status(claims)
    if (inner.total is None) != (inner.lines is None):
        raise _invalid("a total and its lines stand together", "$.booking.total")


def _check_status(claims: ReceiptClaims) -> None:
    inner, act = claims.booking, claims.act
    if (inner.status == "cancelled") != (inner.cancelled is not None):
        raise _invalid("it says cancelled in one place only", "$.booking.cancelled")
    if (act == "cancelled") != (inner.status == "cancelled"):
        raise _invalid(f"it says {act} of a booking that is {inner.status}", "$.act")
    if act != "cancelled" and inner.status not in _LIVE:
        raise _invalid(f"it says {act} of a booking that is {inner.status}", "$.act")
    if act == "confirmed" and inner.sequence != 0:
        raise _invalid("it confirms at a later sequence than the first", "$.booking.sequence")
    if act == "changed" and inner.sequence < 1:
        raise _invalid("it says changed at the first sequence", "$.booking.sequence")


def check_receipt_matches(receipt: VerifiedReceipt, offer: VerifiedOffer, expected: ExpectedReceipt) -> None:
    """That the receipt is of this act on this contract, agreed this way. Refused: receipt_invalid."""
    claims, inner, terms = receipt.claims, receipt.booking, offer.claims
    facts = (
        (claims.act == expected.act, f"it says {claims.act} and not {expected.act}", "$.act"),
        (claims.aud == expected.principal, "it is addressed to somebody else", "$.aud"),
        (inner.booking_id == (expected.booking_id or inner.booking_id), "it is another booking's", "$.booking"),
        (inner.sequence == expected.sequence, "its sequence is not the next one", "$.booking.sequence"),
        (inner.offer_sha256 == offer.sha256, "it stands on another contract", "$.booking.offer_sha256"),
        (receipt.start == offer.start, "its start is not the contract's", "$.booking.start"),
        (receipt.end == offer.end, "its end is not the contract's", "$.booking.end"),
        (inner.service == terms.service, "its service is not the contract's", "$.booking.service"),
        (inner.place == terms.place, "its place is not the contract's", "$.booking.place"),
        (inner.resource_name == terms.resource_name, "it is with somebody else", "$.booking.resource_name"),
        (inner.total == terms.total, "its total is not the contract's", "$.booking.total"),
        (inner.lines == terms.lines, "its lines are not the contract's", "$.booking.lines"),
        (claims.retention == terms.retention, "its retention is not the contract's", "$.retention"),
        (expected.approved in (None, claims.consent.approved), "it misstates how the person agreed", "$.consent"),
        (expected.mandate in (None, claims.consent.mandate), "it names another mandate", "$.consent.mandate"),
        (expected.counted_under in (None, inner.mandate), "it counts under another mandate", "$.booking.mandate"),
        (_event_fits(inner, offer), "its calendar event is not the contract's", "$.booking.event"),
    )
    for holds, message, place in facts:
        if not holds:
            raise _invalid(message, place)


def _event_fits(booking: Booking, offer: VerifiedOffer) -> bool:
    wanted = event_of(
        booking_id=booking.booking_id,
        terms=offer.claims,
        sequence=booking.sequence,
        status=booking.status,
        updated=parse_instant(booking.event.updated),
    )
    return booking.event == wanted


def _invalid(message: str, place: str) -> Refused:
    return refused("receipt_invalid", f"The host's receipt does not hold: {message}.", place=place)
