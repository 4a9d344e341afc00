"""A participant's own key app: what is signed about somebody else's booking (spec section 24.3; SCH-243, SCH-244).

Three kinds of question. `invitation` lets the agent read one invitation, and nothing more; `coming` and `not_coming`
are the two answers, each over the contract's own bytes; a no has the scope `cancel` alone and cannot be turned into a
yes. The offer is made to the booker, so it is the participants' list that has to name the person.
"""

from __future__ import annotations

from datetime import datetime

from sayso.core import strictjson
from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.proof.jws import read_jws
from sayso.scheduling.keyapp.documents import Prepared, token_in, unreliable
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.draft import InvitationDraft
from sayso.scheduling.terms.invitation_text import READS_FOR, coming_text, invitation_text, not_coming_text
from sayso.scheduling.terms.mandate import Constraints, Scope
from sayso.scheduling.terms.mandate_checks import LONGEST_BUYING
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.offer_checks import VerifiedOffer, verify_offer

__all__ = ("INVITED", "inviting_host", "read_invited")

INVITED = ("invitation", "coming", "not_coming")
"""The kinds of question that a participant is asked."""


def inviting_host(kind: str, data: bytes) -> str:
    """The host a document claims to be about, before anything of it is proved. Refused: document_invalid."""
    try:
        if kind == "invitation":
            return strictjson.decode(data, InvitationDraft).host
        return strictjson.decode(read_jws(token_in(data)).payload, OfferClaims).iss
    except Refused as error:
        raise unreliable(error) from None


def read_invited(
    kind: str,
    data: bytes,
    document: Discovery | None,
    principal: str,
    agent: str,
    now: datetime,
    *,
    revocable: bool = False,
) -> Prepared:
    """The mandate to read, or the answer, that a document stands for. `agent` is the one key this key app signs for.

    Refused: unverified, where the host cannot be asked; not_ours, where the person is not among those asked along;
    document_invalid; unknown_key.
    """
    if document is None:
        raise refused("unverified")
    if kind == "invitation":
        return _to_read(data, document, revocable=revocable)
    try:
        offer = verify_offer(token_in(data), document, is_new=False)
    except Refused as error:
        if error.refusal.reason == "unknown_key":
            raise
        raise unreliable(error) from None
    return _answer(kind, offer, document, principal, agent, now)


def _to_read(data: bytes, document: Discovery, *, revocable: bool) -> Prepared:
    try:
        draft = strictjson.decode(data, InvitationDraft)
    except Refused as error:
        raise unreliable(error) from None
    if document.host != draft.host:
        raise refused("document_invalid", f"The host there is {document.host}.", place="$.host")
    identity = verified_identity(document)
    return Prepared(
        text=invitation_text(draft, identity, revocable=revocable),
        identity=identity,
        host=draft.host,
        agent=draft.agent,
        # With `bookings` this scope reaches nothing: it shows who is asking, and that is all (6.3).
        scope=("book",),
        constraints=Constraints(bookings=(draft.booking_id,)),
        expires=READS_FOR,
    )


def _answer(
    kind: str, offer: VerifiedOffer, document: Discovery, principal: str, agent: str, now: datetime
) -> Prepared:
    claims = offer.claims
    entry = next((each for each in claims.participants if each.principal == principal), None)
    if entry is None or claims.invitation is None:
        raise refused("not_ours", "You are not among those who are asked along.")
    answer_by = parse_instant(claims.invitation.answer_by)
    if answer_by <= now:
        raise refused("document_invalid", "The time to answer is over.", place="$.invitation.answer_by")
    identity = verified_identity(document)
    accepts = kind == "coming"
    bookings = (claims.change.booking_id,) if accepts and claims.change is not None else None
    yes: tuple[Scope, ...] = ("book",) if claims.change is None else ("reschedule",)
    text = coming_text if accepts else not_coming_text
    return Prepared(
        text=text(claims, identity, entry),
        identity=identity,
        host=claims.iss,
        agent=agent,
        scope=yes if accepts else ("cancel",),
        constraints=Constraints(offer_sha256=offer.sha256, bookings=bookings),
        expires=min(answer_by, now + LONGEST_BUYING),
    )
