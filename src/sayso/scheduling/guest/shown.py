"""A kept booking as its newest checked receipt shows it: what waits, what was refused, what the host proposes.

Receipts were verified before they were kept, so their signatures are not looked at again here.
"""

from __future__ import annotations

from typing import TypeVar

from sayso.core.refusal import Corrupt, Refused
from sayso.core.strictjson import decode
from sayso.proof.jws import read_jws
from sayso.scheduling.guest.kept import KeptBooking
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant_checks import waits_for_participants
from sayso.scheduling.terms.receipt import ReceiptClaims, Settlement

__all__ = ("first_act", "is_answered_at_once", "shown", "waits_for_host", "waits_for_others")

C = TypeVar("C")


def shown(booking: KeptBooking) -> Booking:
    """The booking inside its newest receipt."""
    return _own(booking.receipt, ReceiptClaims).booking


def waits_for_host(offer: str) -> bool:
    """Whether accepting this offer asks the host, instead of settling it: it states until when the host answers."""
    return _own(offer, OfferClaims).answer_by is not None


def first_act(offer: str) -> Settlement:
    """What the receipt of accepting a hold's offer has to say (SCH-176)."""
    return "requested" if waits_for_others(offer) else "confirmed"


def waits_for_others(offer: str) -> bool:
    """Whether accepting this offer leaves something to be answered: by the host, or by required participants."""
    return waits_for_host(offer) or waits_for_participants(_own(offer, OfferClaims))


def is_answered_at_once(booking: Booking, offer_sha256: str) -> bool:
    """Whether it says that a person's calendar answered an offer in the moment it was accepted, which only a rule does;
    the receipt has to prove it (SCH-264).
    """
    return booking.offer_sha256 == offer_sha256 and booking.answered is not None and booking.answered.by == "rule"


def _own(token: str, claims: type[C]) -> C:
    try:
        return decode(read_jws(token).payload, claims)
    except Refused as unreadable:
        raise Corrupt("a kept document cannot be read", unreadable.refusal.place or "$") from unreadable
