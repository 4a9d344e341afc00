"""What the owner of a calendar is asked to sign: a rule, or the answer to what waits (spec section 25.4; SCH-025).

From a document's bytes to the claims that would be signed and the text that says what they mean. The hash of an offer
is taken here, over the very bytes the text is written from, and the offer has to be the calendar's own (SCH-104). `app`
shows and signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec

from sayso.core import strictjson
from sayso.core.instants import epoch, parse_instant
from sayso.core.refusal import Refused
from sayso.proof.jws import read_jws, sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.keyapp.documents import unreliable
from sayso.scheduling.terms.acceptance import ACCEPTANCE_TYP, AcceptanceClaims, AnswerDraft
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import Identity, verified_identity
from sayso.scheduling.terms.discovery import Discovery, find_service
from sayso.scheduling.terms.identity import jwk_of, principal_urn
from sayso.scheduling.terms.mandate import Bound, ConsentMode, ConsentRecord
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.personal_text import answer_text, rule_text
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.rule import RULE_TYP, RuleClaims, RuleDraft

__all__ = ("KINDS", "OwnDocument", "named_calendar", "read_own", "sign_own")

KINDS = ("rule", "answer")
"""The kinds of question about one's own calendar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDocument:
    """A rule or an answer that could be signed, and the text that says what it means.

    `agent` is the key that a rule names; None for an answer, which names none.
    """

    text: str
    identity: Identity
    draft: RuleDraft | AnswerDraft
    offer_sha256: str | None = None
    agent: str | None = None
    ends: datetime | None = None


def named_calendar(kind: str, data: bytes) -> str:
    """The calendar a document claims to be about, before anything of it is proved. Refused: document_invalid."""
    try:
        if kind == "rule":
            return strictjson.decode(data, RuleDraft).host
        offer = strictjson.decode(data, AnswerDraft).offer
        return strictjson.decode(read_jws(offer).payload, OfferClaims).iss
    except Refused as error:
        raise unreliable(error) from None


def read_own(kind: str, data: bytes, document: Discovery, principal: str, now: datetime) -> OwnDocument:
    """What the document would become. Refused: document_invalid, not_ours, unknown_key."""
    if document.kind != "person":
        raise refused("document_invalid", f"{named(document.title)} is nobody's own calendar.")
    return _rule(data, document, now) if kind == "rule" else _answer(data, document, principal)


def _rule(data: bytes, document: Discovery, now: datetime) -> OwnDocument:
    try:
        draft = strictjson.decode(data, RuleDraft)
        ends = None if draft.expires is None else parse_instant(draft.expires)
    except Refused as error:
        raise unreliable(error) from None
    if draft.host != document.host:
        raise refused("document_invalid", f"The calendar there is {document.host}.", place="$.host")
    if ends is not None and ends <= now:
        raise refused("document_invalid", "The rule is over already.", place="$.expires")
    for service_id in draft.services or ():
        if find_service(document, service_id) is None:
            raise refused("document_invalid", f"{named(document.title)} offers no {service_id}.", place="$.services")
    identity = verified_identity(document)
    return OwnDocument(
        text=rule_text(draft, document, identity), identity=identity, draft=draft, agent=draft.agent, ends=ends
    )


def _answer(data: bytes, document: Discovery, principal: str) -> OwnDocument:
    try:
        draft = strictjson.decode(data, AnswerDraft)
        offer = verify_offer(draft.offer, document, is_new=False)
    except Refused as error:
        if error.refusal.reason == "unknown_key":
            raise
        raise unreliable(error) from None
    if offer.claims.owner != principal:
        raise refused("not_ours", "The calendar is somebody else's.")
    if draft.answer == "yes" and draft.message is not None:
        raise refused("document_invalid", "Words go with a no.", place="$.message")
    identity = verified_identity(document)
    return OwnDocument(
        text=answer_text(offer.claims, draft.answer, draft.message, identity),
        identity=identity,
        draft=draft,
        offer_sha256=offer.sha256,
    )


def sign_own(own: OwnDocument, key: PrivateKey, mode: ConsentMode, document_id: str, now: datetime) -> str:
    """The rule or the answer, as a compact JWS. Refused: document_invalid, when the rule would be over."""
    consent = ConsentRecord(mode=mode, statement=own.text)
    owner, jwk, draft = principal_urn(key.public), jwk_of(key.public), own.draft
    claims: msgspec.Struct
    if isinstance(draft, AnswerDraft):
        if own.offer_sha256 is None:
            raise refused("document_invalid")
        claims = AcceptanceClaims(
            iss=owner,
            offer_sha256=own.offer_sha256,
            answer=draft.answer,
            iat=epoch(now),
            jti=document_id,
            principal_jwk=jwk,
            consent=consent,
            message=draft.message,
        )
        return sign_jws(claims, key, typ=ACCEPTANCE_TYP)
    if own.ends is not None and own.ends <= now:
        raise refused("document_invalid", "The rule is over already.", place="$.expires")
    claims = RuleClaims(
        iss=owner,
        host=draft.host,
        iat=epoch(now),
        jti=document_id,
        cnf=Bound(jkt=draft.agent),
        principal_jwk=jwk,
        words=draft.words,
        consent=consent,
        exp=None if own.ends is None else epoch(own.ends),
        services=draft.services,
        weekdays=draft.weekdays,
        organisers=draft.organisers,
    )
    return sign_jws(claims, key, typ=RULE_TYP)
