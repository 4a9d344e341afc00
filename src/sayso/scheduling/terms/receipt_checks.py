"""Whether a host's receipt proves the booking it came with (spec section 12.3; SCH-188 to SCH-193).

Pure. `verify_receipt` proves who signed and that receipt and booking say the same; `check_receipt_matches` that the
booking stands on the contract that was agreed, and how. A receipt that contradicts itself is refused: confirmed but
cancelled, moved at the old sequence, a total the contract does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import verify_jws
from sayso.scheduling.terms.acceptance_checks import verify_acceptance
from sayso.scheduling.terms.booking import Booking, BookingStatus
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.discovery_checks import published_key
from sayso.scheduling.terms.event import event_of
from sayso.scheduling.terms.offer_checks import VerifiedOffer, ends_of
from sayso.scheduling.terms.participant_checks import check_answers, fits_contract
from sayso.scheduling.terms.receipt import RECEIPT_TYP, ReceiptClaims, Settlement
from sayso.scheduling.terms.reconfirm import lapses_at

__all__ = ("ExpectedReceipt", "VerifiedReceipt", "check_receipt_matches", "verify_receipt")

_FITS: Mapping[Settlement, frozenset[BookingStatus]] = {
    "requested": frozenset({"pending_host", "tentative"}),
    "confirmed": frozenset({"confirmed"}),
    "changed": frozenset({"confirmed", "tentative"}),
    "cancelled": frozenset({"cancelled"}),
    "declined": frozenset({"declined"}),
    "expired": frozenset({"expired"}),
    "move_requested": frozenset({"confirmed"}),
    "move_declined": frozenset({"confirmed"}),
    "proposed": frozenset({"confirmed", "pending_host"}),
    "proposal_over": frozenset({"confirmed", "pending_host"}),
    "ended": frozenset({"completed"}),
    "completed": frozenset({"completed"}),
    "no_show": frozenset({"no_show"}),
    "attended": frozenset({"completed"}),
    "answered": frozenset({"tentative", "pending_host", "confirmed"}),
    "reconfirmed": frozenset({"confirmed", "tentative"}),
}
"""Which statuses each act can leave a booking in."""


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
    """What the agent did: which act (None where it reads what others may have done), for whom, under which mandate,
    agreed how, at which sequence.

    `booking_id` is None at a first confirm, where the host names it; `mandate` and `approved` are None where the agent
    does not know them, as when it reads a booking back. `counted_under` is the buying mandate's jti.
    """

    act: Settlement | None
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
    _check_answered(inner, document)


def _check_answered(inner: Booking, document: Discovery) -> None:
    """A business answers for itself; at a person's calendar the person does, or a rule of theirs (SCH-181, SCH-187)."""
    said, place = inner.answered, "$.booking.answered"
    if said is None:
        if inner.status in ("confirmed", "completed", "no_show"):
            raise _invalid("nobody said yes for the host", place)
        return
    if (said.by == "host") != (document.kind == "business"):
        raise _invalid(f"{said.by} answered for a {document.kind}", place)
    if (said.acceptance is None) != (said.at is None):
        raise _invalid("a signed answer and its moment stand together", place)
    if said.by == "host" and said.acceptance is not None:
        raise _invalid("a business signs no acceptance of its own booking", place)
    if (said.by == "rule") != (said.may_be_unseen is not None) or (said.by == "rule" and said.acceptance is None):
        raise _invalid("a yes by rule is shown with it, as one the person may not have seen", place)


def _check_proof(inner: Booking, guest: str, offer: VerifiedOffer) -> None:
    """The signed answer is to this contract; only owners book their own calendar without one (SCH-264, SCH-228)."""
    said, terms = inner.answered, offer.claims
    if said is None or said.by == "host":
        return
    if said.acceptance is None or said.at is None:
        if terms.owner is None or terms.owner != guest:
            raise _invalid("nobody signed a yes", "$.booking.answered")
        return
    try:
        found = verify_acceptance(said.acceptance, terms, offer.sha256, parse_instant(said.at))
    except Refused as error:
        raise _invalid(f"the yes in it does not hold: {error.refusal.message}", "$.booking.answered") from None
    if found.by != said.by or found.claims.answer != "yes":
        raise _invalid("it misstates who said yes", "$.booking.answered")


def _check_status(claims: ReceiptClaims) -> None:
    inner, act = claims.booking, claims.act
    if (inner.status == "cancelled") != (inner.cancelled is not None):
        raise _invalid("it says cancelled in one place only", "$.booking.cancelled")
    if inner.status not in _FITS[act]:
        raise _invalid(f"it says {act} of a booking that is {inner.status}", "$.act")
    if act == "confirmed" and inner.sequence != 0:
        raise _invalid("it confirms at a later sequence than the first", "$.booking.sequence")
    if act == "changed" and inner.sequence < 1:
        raise _invalid("it says changed at the first sequence", "$.booking.sequence")
    _check_waiting(claims)


def _check_waiting(claims: ReceiptClaims) -> None:
    """What waits or was refused inside a booking never is the contract it stands on (SCH-193, SCH-230)."""
    inner, act = claims.booking, claims.act
    contract = inner.offer_sha256
    if (inner.declined is not None) != (inner.status == "declined"):
        raise _invalid("it says declined in one place only", "$.booking.declined")
    waits = inner.awaiting_host
    if waits is not None and (inner.status != "confirmed" or waits.offer_sha256 == contract):
        raise _invalid("it says that a move waits while showing it made", "$.booking.awaiting_host")
    if act == "move_requested" and waits is None:
        raise _invalid("it says that a move waits and shows none", "$.booking.awaiting_host")
    refused_move = inner.declined_change
    if refused_move is not None and refused_move.offer_sha256 == contract:
        raise _invalid("it says that a move was refused while showing it made", "$.booking.declined_change")
    if act == "move_declined" and (refused_move is None or waits is not None):
        raise _invalid("it says that a move was refused and shows none", "$.booking.declined_change")
    if (act == "proposed") and (inner.proposed is None or inner.proposed.offer_sha256 == contract):
        raise _invalid("it says that the host proposes a time and shows none", "$.booking.proposed")
    if inner.ended is not None and (inner.status not in ("completed", "no_show") or not inner.open_end):
        raise _invalid("it says ended of a booking that was not ended", "$.booking.ended")
    if inner.attended is not None and inner.status != "completed":
        raise _invalid("it says that the guest came to what is not over", "$.booking.attended")
    _check_reconfirmed(claims)
    check_answers(inner)


def _check_reconfirmed(claims: ReceiptClaims) -> None:
    """Nobody reconfirms what does not ask for it, and nothing lapses that silence leaves standing (SCH-248)."""
    inner, act = claims.booking, claims.act
    if (inner.reconfirmed is not None and inner.reconfirm is None) or (
        act == "reconfirmed" and inner.reconfirmed is None
    ):
        raise _invalid("it says reconfirmed in one place only", "$.booking.reconfirmed")
    may_lapse = inner.status == "expired" and inner.reconfirmed is None and lapses_at(inner.reconfirm) is not None
    if inner.unreconfirmed is not None and not may_lapse:
        raise _invalid("it says that silence ended what it does not end", "$.booking.unreconfirmed")


def check_receipt_matches(receipt: VerifiedReceipt, offer: VerifiedOffer, expected: ExpectedReceipt) -> None:
    """That the receipt is of this act on this contract, agreed this way. Refused: receipt_invalid."""
    claims, inner, terms = receipt.claims, receipt.booking, offer.claims
    facts = (
        (expected.act in (None, claims.act), f"it says {claims.act} and not {expected.act}", "$.act"),
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
        (fits_contract(inner, terms), "it names other participants than the contract", "$.booking.participants"),
        (inner.reconfirm == terms.reconfirm, "its reconfirmation is not the contract's", "$.booking.reconfirm"),
        (claims.retention == terms.retention, "its retention is not the contract's", "$.retention"),
        (expected.approved in (None, claims.consent.approved), "it misstates how the person agreed", "$.consent"),
        (expected.mandate in (None, claims.consent.mandate), "it names another mandate", "$.consent.mandate"),
        (expected.counted_under in (None, inner.mandate), "it counts under another mandate", "$.booking.mandate"),
        (_event_fits(inner, offer), "its calendar event is not the contract's", "$.booking.event"),
    )
    for holds, message, place in facts:
        if not holds:
            raise _invalid(message, place)
    _check_proof(inner, claims.aud, offer)


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
