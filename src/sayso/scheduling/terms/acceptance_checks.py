"""Whether a signed answer is the owner's, or a rule's, to exactly this offer (spec section 25; SCH-264).

Pure, and for anybody: the calendar that is answered, the guest whose receipt carries it, and whoever is shown both
later. `at` is when the calendar took the answer: its own clock there, `answered.at` of a receipt everywhere else. A yes
by rule has to be within the rule at that moment and at the moment it is dated, so that no backdating revives a rule
that has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sayso.core import strictjson
from sayso.core.instants import from_epoch
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import read_jws, verify_jws
from sayso.proof.keys import PublicKey
from sayso.scheduling.terms.acceptance import ACCEPTANCE_TYP, AcceptanceClaims
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.identity import principal_urn, public_key, refuse_private_parts
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.rule_checks import Rule, check_rule_covers, check_rule_in_force, verify_rule

__all__ = ("LONGEST_ACCEPTANCE", "Acceptance", "read_rule_words", "verify_acceptance")

LONGEST_ACCEPTANCE = 8192
"""Characters of the longest acceptance that is read."""

_SKEW = timedelta(seconds=30)
_RULES = ("rule_invalid", "rule_not_in_force", "rule_not_covering")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """An answer that holds. `signer` is the key that made it: the owner's, or the agent's that the rule names."""

    claims: AcceptanceClaims
    token: str
    sha256: str
    signer: PublicKey
    rule: Rule | None = None

    @property
    def by(self) -> Literal["person", "rule"]:
        return "person" if self.rule is None else "rule"


def verify_acceptance(token: str, offer: OfferClaims, offer_sha256: str, at: datetime) -> Acceptance:
    """The answer to that offer, by its calendar's owner or by a rule of theirs.

    `offer` is one that its host signed (`verify_offer`), `offer_sha256` the hash of its token. Refused:
    acceptance_invalid, rule_invalid, rule_not_in_force, rule_not_covering, private_key_received.
    """
    try:
        if len(token) > LONGEST_ACCEPTANCE:
            raise refused("acceptance_invalid", f"An acceptance has at most {LONGEST_ACCEPTANCE} characters.")
        payload = read_jws(token).payload
        refuse_private_parts(strictjson.parse(payload))
        unproved = strictjson.decode(payload, AcceptanceClaims)
        rule, signer = _signer(unproved)
        claims = verify_jws(token, typ=ACCEPTANCE_TYP, key=signer, claims=AcceptanceClaims).claims
    except Refused as error:
        found = error.refusal
        if found.reason in ("acceptance_invalid", *_RULES) or found.code == "private_key_received":
            raise
        raise refused("acceptance_invalid", f"The answer does not hold: {found.message}.", place=found.place) from None
    _check_answer(claims, offer, offer_sha256, at)
    if rule is not None:
        check_rule_covers(rule, offer)
        check_rule_in_force(rule, from_epoch(claims.iat))
        check_rule_in_force(rule, at)
    return Acceptance(claims=claims, token=token, sha256=sha256_b64u(token), signer=signer, rule=rule)


def read_rule_words(token: str) -> str | None:
    """The person's own words of the rule in an answer that was verified before; None where there is no rule in it."""
    rule = strictjson.decode(read_jws(token).payload, AcceptanceClaims).rule
    return None if rule is None else verify_rule(rule).claims.words


def _signer(claims: AcceptanceClaims) -> tuple[Rule | None, PublicKey]:
    """Whose signature it has to be: the owner's own, or that of the agent which the rule names."""
    if claims.rule is None:
        if claims.principal_jwk is None or claims.consent is None or claims.agent_jwk is not None:
            raise _invalid("it is neither the person's own nor by a rule", "$.principal_jwk")
        if claims.consent.mode != "human_present":
            raise _invalid("it was answered beforehand, and not by the person", "$.consent.mode")
        key = public_key(claims.principal_jwk)
        if claims.iss != principal_urn(key):
            raise _invalid("its issuer is not the key it carries", "$.iss")
        return None, key
    if claims.agent_jwk is None or claims.principal_jwk is not None or claims.consent is not None:
        raise _invalid("a yes by rule is the agent's, and shows its key alone", "$.agent_jwk")
    if claims.answer != "yes" or claims.message is not None:
        raise _invalid("a rule only ever says yes; a no is the person's own", "$.answer")
    rule, key = verify_rule(claims.rule), public_key(claims.agent_jwk)
    if rule.claims.iss != claims.iss:
        raise _invalid("the rule is somebody else's", "$.rule")
    if rule.claims.cnf.jkt != key.thumbprint:
        raise _invalid("the rule names another agent", "$.agent_jwk")
    return rule, key


def _check_answer(claims: AcceptanceClaims, offer: OfferClaims, offer_sha256: str, at: datetime) -> None:
    if claims.iss != offer.owner:
        raise _invalid("the calendar is somebody else's", "$.iss")
    if claims.offer_sha256 != offer_sha256:
        raise _invalid("it answers another offer", "$.offer_sha256")
    dated = from_epoch(claims.iat)
    if from_epoch(offer.iat) - dated > _SKEW:
        raise _invalid("it is dated before the offer it answers", "$.iat")
    if dated - at > _SKEW:
        raise _invalid("it is dated in the future", "$.iat")
    if claims.answer == "yes" and claims.message is not None:
        raise _invalid("words go with a no", "$.message")


def _invalid(message: str, place: str) -> Refused:
    return refused("acceptance_invalid", f"The answer does not hold: {message}.", place=place)
