"""Whether a rule is its owner's, whether it is in force, and what it covers (spec section 25; SCH-263, SCH-267).

Pure: tokens, the offer and the moment come in. Whether a rule was withdrawn is known to its calendar alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sayso.core import strictjson
from sayso.core.instants import from_epoch, parse_instant
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import read_jws, verify_jws
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Weekday
from sayso.scheduling.terms.identity import principal_urn, public_key, refuse_private_parts
from sayso.scheduling.terms.in_person import may_rule_answer
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.rule import RULE_TYP, RuleClaims

__all__ = (
    "LONGEST_RULE",
    "Rule",
    "check_rule_covers",
    "check_rule_in_force",
    "find_covering",
    "verify_rule",
    "weekdays_of",
)

LONGEST_RULE = 4096
"""Characters of the longest rule that is read."""

_SKEW = timedelta(seconds=30)
_DAYS: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule whose signature is its owner's."""

    claims: RuleClaims
    token: str
    sha256: str


def verify_rule(token: str) -> Rule:
    """The rule, signed by the key it carries and names as its issuer. Refused: rule_invalid, private_key_received."""
    try:
        if len(token) > LONGEST_RULE:
            raise refused("rule_invalid", f"A rule has at most {LONGEST_RULE} characters.")
        payload = read_jws(token).payload
        refuse_private_parts(strictjson.parse(payload))
        key = public_key(strictjson.decode(payload, RuleClaims).principal_jwk)
        claims = verify_jws(token, typ=RULE_TYP, key=key, claims=RuleClaims).claims
    except Refused as error:
        found = error.refusal
        if found.reason == "rule_invalid" or found.code == "private_key_received":
            raise
        raise refused("rule_invalid", f"The rule does not hold: {found.message}.", place=found.place) from None
    if claims.iss != principal_urn(key):
        raise refused("rule_invalid", "The rule's issuer is not the key it carries.", place="$.iss")
    if claims.consent.mode != "human_present":
        raise refused("rule_invalid", "Nobody was shown the rule before it was signed.", place="$.consent.mode")
    if claims.exp is not None and claims.exp <= claims.iat:
        raise refused("rule_invalid", "The rule ends before it begins.", place="$.exp")
    return Rule(claims=claims, token=token, sha256=sha256_b64u(token))


def check_rule_in_force(rule: Rule, at: datetime) -> None:
    """That the rule had begun by `at` and had not ended. At its very end it is over. Refused: rule_not_in_force."""
    claims = rule.claims
    if from_epoch(claims.iat) - at > _SKEW or (claims.exp is not None and at >= from_epoch(claims.exp)):
        raise refused("rule_not_in_force")


def check_rule_covers(rule: Rule, offer: OfferClaims) -> None:
    """That the rule is this calendar's owner's and covers what the offer says. Refused: rule_not_covering."""
    claims = rule.claims
    if claims.iss != offer.owner or claims.host != offer.iss:
        raise refused("rule_not_covering", "The rule is for another calendar.", place="$.host")
    if not may_rule_answer(offer):
        raise refused("rule_not_covering", "The guest asked for the person's own answer.")
    if claims.services is not None and offer.service.id not in claims.services:
        raise refused("rule_not_covering", "The rule is for other services.", place="$.services")
    if claims.organisers is not None and offer.aud not in claims.organisers:
        raise refused("rule_not_covering", "The rule is for other people.", place="$.organisers")
    if claims.weekdays is not None and not set(weekdays_of(offer)).issubset(claims.weekdays):
        raise refused("rule_not_covering", "The rule is for other days.", place="$.weekdays")


def find_covering(rules: Iterable[Rule], offer: OfferClaims, agent: str, at: datetime) -> Rule | None:
    """The first rule in force that names this agent and covers the offer; None where none does."""
    for rule in rules:
        if rule.claims.cnf.jkt != agent:
            continue
        try:
            check_rule_in_force(rule, at)
            check_rule_covers(rule, offer)
        except Refused:
            continue
        return rule
    return None


def weekdays_of(offer: OfferClaims) -> tuple[Weekday, ...]:
    """The weekdays an appointment touches on its calendar's own clock; of an open-ended one, that of its start.

    An end at midnight belongs to the day before it (SCH-267).
    """
    zone, start = find_zone(offer.timezone), parse_instant(offer.start)
    last = start if offer.end is None else parse_instant(offer.end) - _INSTANT
    days = [start.astimezone(zone).date()]
    while days[-1] < last.astimezone(zone).date() and len(days) < len(_DAYS):
        days.append(days[-1] + timedelta(days=1))
    return tuple(_DAYS[day.weekday()] for day in days)
