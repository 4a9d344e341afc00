"""From a document that an agent handed in to the mandate it would become (spec sections 6.7 and 15; SCH-086, SCH-104).

One function a kind of question. Each reads bytes, proves what can be proved against the host's own discovery document,
and answers with the claims to sign and the text to show. Nothing here signs; `app` does, and fetches the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sayso.core import strictjson
from sayso.core.durations import parse_duration
from sayso.core.instants import from_epoch, parse_instant
from sayso.core.money import read_money
from sayso.core.refusal import Refused
from sayso.proof.jws import read_jws
from sayso.scheduling.terms.attestation import AttestationClaims, vouchers
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import (
    Identity,
    limits_text,
    management_text,
    offer_text,
    unverified_identity,
    verified_identity,
)
from sayso.scheduling.terms.discovery import Discovery, find_service
from sayso.scheduling.terms.draft import LimitsDraft, ManagementDraft
from sayso.scheduling.terms.mandate import Constraints, Scope, audience, management_scope
from sayso.scheduling.terms.mandate_checks import LONGEST_BUYING, Mandate, verify_mandate
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.receipt import ReceiptClaims
from sayso.scheduling.terms.receipt_checks import VerifiedReceipt, verify_receipt
from sayso.scheduling.terms.spoken import either

__all__ = (
    "Prepared",
    "limits_mandate",
    "management_mandate",
    "named_host",
    "offer_mandate",
    "token_in",
    "unreliable",
    "with_attestations",
)

_MOST_ATTESTATIONS = 4
_OPEN_ENDED_FOR = timedelta(days=1)
_LIVE = ("confirmed", "pending_host", "tentative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A mandate that could be signed, and the text that says what it means. `expires` is an instant or a lifetime;
    `attestations` are what others say of the person, for the host to weigh.
    """

    text: str
    identity: Identity
    host: str | tuple[str, ...]
    agent: str
    scope: tuple[Scope, ...]
    constraints: Constraints
    expires: datetime | timedelta
    attestations: tuple[str, ...] = ()


def named_host(kind: str, data: bytes) -> str:
    """The host a document claims to be about, before anything of it is proved. Refused: document_invalid."""
    try:
        if kind == "limits":
            return strictjson.decode(data, LimitsDraft).host
        if kind == "offer":
            return strictjson.decode(read_jws(token_in(data)).payload, OfferClaims).iss
        if kind == "management":
            receipt = strictjson.decode(data, ManagementDraft).receipt
            return strictjson.decode(read_jws(receipt).payload, ReceiptClaims).iss
    except Refused as error:
        raise unreliable(error) from None
    raise refused("document_invalid", f"This key app knows no question of the kind {kind[:40]!r}.")


def limits_mandate(data: bytes, document: Discovery | None, now: datetime, *, revocable: bool = False) -> Prepared:
    """The buying mandate of a draft. With no document the text says so, and what it prepares is not signed."""
    try:
        draft = strictjson.decode(data, LimitsDraft)
        lifetime = parse_duration(draft.lifetime)
        opens, closes = parse_instant(draft.window.not_before), parse_instant(draft.window.not_after)
        if draft.max_price is not None:
            read_money(draft.max_price)
    except Refused as error:
        raise unreliable(error) from None
    if not timedelta(0) < lifetime <= LONGEST_BUYING:
        raise refused("document_invalid", "A permission to book lasts at most 31 days.", place="$.lifetime")
    if opens >= closes or closes <= now:
        raise refused("document_invalid", "The window is over, or ends before it begins.", place="$.window")
    if document is not None:
        _check_services(draft, document)
    return Prepared(
        text=limits_text(draft, document, revocable=revocable),
        identity=verified_identity(document) if document else unverified_identity(draft.host),
        host=draft.host,
        agent=draft.agent,
        scope=draft.scope,
        constraints=Constraints(
            services=draft.services,
            window=draft.window,
            max_price=draft.max_price,
            max_bookings=draft.max_bookings,
        ),
        expires=lifetime,
    )


def with_attestations(
    prepared: Prepared, held: Sequence[str], document: Discovery, principal: str, now: datetime
) -> Prepared:
    """The same with those statements that this host counts, and nothing that is of no use to it (SCH-282).

    The text says whose word is shown, and about what.
    """
    useful = [token for token in held if vouchers((token,), document.trust, principal, now)][:_MOST_ATTESTATIONS]
    if not useful:
        return prepared
    said = [strictjson.decode(read_jws(token).payload, AttestationClaims) for token in useful]
    words = either([f"{each.iss} ({each.assurance.replace('_', ' ')})" for each in said], "and")
    text = f"{prepared.text} I show {named(document.title)} what {words} says of me."
    return replace(prepared, text=text, attestations=tuple(useful))


def _check_services(draft: LimitsDraft, document: Discovery) -> None:
    if document.host != draft.host:
        raise refused("document_invalid", f"The host there is {document.host}.", place="$.host")
    for service_id in draft.services:
        if find_service(document, service_id) is None:
            raise refused("document_invalid", f"{named(document.title)} offers no {service_id}.", place="$.services")


def offer_mandate(data: bytes, document: Discovery | None, principal: str, now: datetime) -> Prepared:
    """The closed mandate over an offer, its hash taken here from the very bytes the text is written from."""
    try:
        token = token_in(data)
        if document is None:
            return _unproved_offer(token)
        offer = verify_offer(token, document)
    except Refused as error:
        if error.refusal.reason == "unknown_key":
            raise
        raise unreliable(error) from None
    claims = offer.claims
    if claims.aud != principal:
        raise refused("not_ours", "The offer was made to somebody else.")
    if from_epoch(claims.exp) <= now:
        raise refused("document_invalid", "The offer has expired.", place="$.exp")
    identity = verified_identity(document)
    return Prepared(
        text=offer_text(claims, identity),
        identity=identity,
        host=claims.iss,
        agent=claims.agent,
        scope=("book",) if claims.change is None else ("reschedule",),
        constraints=Constraints(
            offer_sha256=offer.sha256,
            bookings=None if claims.change is None else (claims.change.booking_id,),
        ),
        expires=from_epoch(claims.exp),
    )


def _unproved_offer(token: str) -> Prepared:
    claims = strictjson.decode(read_jws(token).payload, OfferClaims)
    identity = unverified_identity(claims.iss, claims.title)
    return Prepared(
        text=offer_text(claims, identity),
        identity=identity,
        host=claims.iss,
        agent=claims.agent,
        scope=("book",),
        constraints=Constraints(),
        expires=from_epoch(claims.exp),
    )


def management_mandate(
    data: bytes, document: Discovery, principal: str, now: datetime, *, revocable: bool = False
) -> Prepared:
    """The mandate to cancel and move one booking, bounded by the window and ceiling of the person's own limits."""
    try:
        draft = strictjson.decode(data, ManagementDraft)
        receipt = verify_receipt(draft.receipt, document)
        limits = verify_mandate(draft.mandate)
    except Refused as error:
        if error.refusal.reason == "unknown_key":
            raise
        raise unreliable(error) from None
    _check_management(receipt, limits, document, principal)
    booking = receipt.booking
    until = receipt.end or receipt.start + _OPEN_ENDED_FOR
    if booking.status not in _LIVE or until <= now:
        raise refused("document_invalid", "There is nothing left to cancel or move.", place="$.receipt")
    identity = verified_identity(document)
    bounds = limits.claims.constraints
    return Prepared(
        text=management_text(booking, bounds, identity, revocable=revocable),
        identity=identity,
        host=booking.host,
        agent=limits.claims.cnf.jkt,
        scope=management_scope(reconfirms=booking.reconfirm is not None),
        constraints=Constraints(bookings=(booking.booking_id,), window=bounds.window, max_price=bounds.max_price),
        expires=until,
    )


def _check_management(receipt: VerifiedReceipt, limits: Mandate, document: Discovery, principal: str) -> None:
    """The limits are this person's own, and the ones this booking was made under."""
    claims = limits.claims
    if receipt.claims.aud != principal or limits.principal != principal:
        raise refused("not_ours", "The receipt or the mandate is somebody else's.")
    if receipt.booking.mandate != claims.jti or document.host not in audience(claims):
        raise refused("document_invalid", "The booking was not made under that mandate.", place="$.mandate")


def token_in(data: bytes) -> str:
    """The token that a document is. Refused: document_invalid."""
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        raise refused("document_invalid") from None


def unreliable(error: Refused) -> Refused:
    """What made a document one that nothing is signed for, as this key app says it."""
    found = error.refusal
    if found.reason == "document_invalid":
        return error
    return refused("document_invalid", f"The document cannot be relied on: {found.message}", place=found.place)
