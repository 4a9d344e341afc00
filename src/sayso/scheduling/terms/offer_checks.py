"""Whether a host's offer may be put before a person (spec section 9.6; SCH-158, SCH-165 to SCH-167, SCH-222).

Pure. `verify_offer` proves who signed and that the terms are whole; `check_offer_matches` that they are the hold's or
the change's they came with. The closed claims already refuse any term this protocol does not know, a fee for
cancelling included.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sayso.core.durations import parse_duration
from sayso.core.instants import epoch, parse_instant
from sayso.core.money import MoneyText, add, read_money
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import verify_jws
from sayso.scheduling.terms.change import ChangeView
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.discovery_checks import published_key, signing_key
from sayso.scheduling.terms.hold import HoldView
from sayso.scheduling.terms.offer import OFFER_TYP, Change, OfferClaims
from sayso.scheduling.terms.participant import ALONE, Company
from sayso.scheduling.terms.participant_checks import asks_along, check_invitation

__all__ = ("ExpectedOffer", "VerifiedOffer", "check_offer_matches", "ends_of", "verify_offer")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedOffer:
    """An offer the host signed, whole and consistent. `sha256` is the contract's hash."""

    claims: OfferClaims
    token: str
    sha256: str

    @property
    def start(self) -> datetime:
        return parse_instant(self.claims.start)

    @property
    def end(self) -> datetime | None:
        return None if self.claims.end is None else parse_instant(self.claims.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedOffer:
    """What the agent asked for. `change` is the booking and the contract hash a change offer must be chained to;
    `resource_name` whom or what the person asked for in particular.
    """

    principal: str
    agent: str
    service_id: str
    start: datetime
    change: Change | None = None
    resource_name: str | None = None
    company: Company = ALONE


def verify_offer(token: str, document: Discovery, *, is_new: bool = True) -> VerifiedOffer:
    """The offer, signed by a key the host publishes for signing, closed, its lines adding up.

    An offer that is the contract of a booking already (`is_new` false) may stand under a retired key.

    Refused: offer_invalid with what is wrong, unknown_key.
    """
    chosen = signing_key if is_new else published_key
    try:
        verified = verify_jws(token, typ=OFFER_TYP, key=lambda header: chosen(document, header.kid), claims=OfferClaims)
        _check_terms(verified.claims, document)
    except Refused as error:
        if error.refusal.reason in ("offer_invalid", "unknown_key"):
            raise
        found = error.refusal
        raise refused(
            "offer_invalid", f"The offer of {document.title} does not hold: {found.message}", place=found.place
        ) from None
    return VerifiedOffer(claims=verified.claims, token=token, sha256=sha256_b64u(token))


def _check_terms(claims: OfferClaims, document: Discovery) -> None:
    if claims.iss != document.host:
        raise _invalid("it is another host's", "$.iss")
    _check_owner(claims, document)
    if claims.exp <= claims.iat:
        raise _invalid("it ends before it begins", "$.exp")
    if (claims.hold_id is None) == (claims.change is None):
        raise _invalid("it names neither a hold nor a change, or both", "$.hold_id")
    find_zone(claims.timezone)
    parse_duration(claims.retention)
    start, end = parse_instant(claims.start), ends_of(claims.end, open_end=claims.open_end)
    if end is not None and end <= start:
        raise _invalid("it ends before it starts", "$.end")
    if claims.answer_by is not None:
        parse_instant(claims.answer_by)
    check_invitation(claims)
    _check_reconfirm(claims, start)
    _check_money(claims)


def _check_reconfirm(claims: OfferClaims, start: datetime) -> None:
    asked = claims.reconfirm
    if asked is not None and not parse_instant(asked.opens) < parse_instant(asked.by) <= start:
        raise _invalid("it asks to reconfirm at no time before the start", "$.reconfirm")


def _check_owner(claims: OfferClaims, document: Discovery) -> None:
    """A person's calendar says whose it is, and asks that person unless it is they who book (SCH-021, SCH-187)."""
    if (claims.owner is not None) != (document.kind == "person"):
        raise _invalid(f"it does not say whose calendar that of a {document.kind} is", "$.owner")
    if claims.owner is not None and claims.answer_by is None and claims.aud != claims.owner:
        raise _invalid("it confirms without asking the person", "$.answer_by")


def ends_of(end: str | None, *, open_end: bool | None) -> datetime | None:
    """The end, or None for an open one. Refused: offer_invalid when neither or both are stated (SCH-255)."""
    if (end is None) == (open_end is None):
        raise _invalid("it states neither an end nor an open end, or both", "$.end")
    return None if end is None else parse_instant(end)


def _check_money(claims: OfferClaims) -> None:
    if claims.total is None and claims.lines is None:
        return
    if claims.total is None or claims.lines is None:
        raise _invalid("a total and its lines stand together", "$.total")
    total = read_money(claims.total)
    lines = [read_money(line.amount) for line in claims.lines]
    found = lines[0]
    for amount in lines[1:]:
        found = add(found, amount)
    if found != total:
        raise _invalid(f"its lines add up to {found} and not to {total}", "$.lines")


def check_offer_matches(offer: VerifiedOffer, view: HoldView | ChangeView, expected: ExpectedOffer) -> None:
    """That the offer is this guest's and says what the answer around it says. Refused: offer_invalid."""
    claims = offer.claims
    facts = (
        (claims.aud == expected.principal, "it is addressed to somebody else", "$.aud"),
        (claims.agent == expected.agent, "it names another agent", "$.agent"),
        (claims.service.id == expected.service_id, "it is for another service", "$.service"),
        (claims.change == expected.change, "it does not continue the contract it should", "$.change"),
        (expected.resource_name in (None, claims.resource_name), "it is with somebody else", "$.resource_name"),
        (asks_along(claims, expected.company), "it asks others along, or on other terms", "$.participants"),
        (offer.start == expected.start, "it is for another time than was asked for", "$.start"),
        (offer.start == parse_instant(view.start), "its start is not the hold's", "$.start"),
        (offer.end == ends_of(view.end, open_end=view.open_end), "its end is not the hold's", "$.end"),
        (claims.exp == epoch(parse_instant(view.expires_at)), "it does not expire with the hold", "$.exp"),
        (_same_money(claims.total, view.total), "its total is not the hold's", "$.total"),
        (_names(offer, view), "it names another hold", "$.hold_id"),
    )
    for holds, message, place in facts:
        if not holds:
            raise _invalid(message, place)


def _names(offer: VerifiedOffer, view: HoldView | ChangeView) -> bool:
    if isinstance(view, HoldView):
        return offer.claims.hold_id == view.hold_id
    return offer.claims.jti == view.offer_id


def _same_money(left: MoneyText | None, right: MoneyText | None) -> bool:
    return left == right


def _invalid(message: str, place: str) -> Refused:
    return refused("offer_invalid", f"The host's offer does not hold: {message}.", place=place)
