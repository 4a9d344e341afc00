"""Who says yes at a person's calendar, and how it is written down (spec section 25).

SCH-180, SCH-181, SCH-264 to SCH-266.

Pure. A yes is the owner's own signature over the offer, or that of the agent that a rule of theirs names, with the rule
beside it. Nobody else's is one: not the host's key, not a member of staff.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sayso.core.instants import epoch, write_instant
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft, Link
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.rules.profile import Signed
from sayso.scheduling.terms.acceptance import ACCEPTANCE_TYP, AcceptanceClaims
from sayso.scheduling.terms.acceptance_checks import Acceptance, verify_acceptance
from sayso.scheduling.terms.booking import Answered
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.identity import jwk_of
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.rule_checks import Rule, find_covering

__all__ = ("answer_record", "answered_by", "check_answer", "keep_record", "withdraw_record", "yes_by_rule")

PERSON_ANSWERED = declare("answer.by_person", "The owner of a person's calendar signed a yes or a no.")
RULE_ANSWERED = declare("answer.by_rule", "An agent said yes by a rule its person signed; they may not have seen it.")
RULE_KEPT = declare("rule.kept", "A person's calendar keeps a rule that its owner signed.")
RULE_WITHDRAWN = declare("rule.withdrawn", "A rule was withdrawn: nothing is answered by it any more.")


def yes_by_rule(
    rules: Iterable[Rule], terms: OfferClaims, offer: Signed, keeper: PrivateKey, acceptance_id: str, now: datetime
) -> Acceptance | None:
    """The keeper's yes to an offer that one of these rules covers; None where none does."""
    rule = find_covering(rules, terms, keeper.public.thumbprint, now)
    if rule is None:
        return None
    claims = AcceptanceClaims(
        iss=rule.claims.iss,
        offer_sha256=offer.sha256,
        answer="yes",
        iat=epoch(now),
        jti=acceptance_id,
        agent_jwk=jwk_of(keeper.public),
        rule=rule.token,
    )
    return verify_acceptance(sign_jws(claims, keeper, typ=ACCEPTANCE_TYP), terms, offer.sha256, now)


def check_answer(token: str | None, answer: str, terms: OfferClaims, offer: Signed, now: datetime) -> Acceptance:
    """The signed answer that was handed in, to exactly what waits. Whether its calendar keeps the rule in it is for the
    calendar to say. Refused: person_must_answer, and as `verify_acceptance`.
    """
    if token is None:
        raise refused("person_must_answer")
    found = verify_acceptance(token, terms, offer.sha256, now)
    if found.claims.answer != answer:
        raise refused("acceptance_invalid", f"It was signed to say {found.claims.answer}.", place="$.acceptance")
    return found


def answered_by(found: Acceptance, now: datetime) -> Answered:
    """What the booking says of who said yes, with the proof of it (SCH-266)."""
    return Answered(
        by=found.by,
        at=write_instant(now.replace(microsecond=0)),
        acceptance=found.token,
        may_be_unseen=True if found.rule is not None else None,
    )


def answer_record(found: Acceptance, booking_id: str) -> Draft:
    """What the calendar's own log keeps of an answer: hashes, and by whom."""
    rules = () if found.rule is None else (Link("rule", found.rule.sha256),)
    return Draft(
        kind=PERSON_ANSWERED if found.rule is None else RULE_ANSWERED,
        actor=found.claims.iss if found.rule is None else found.signer.thumbprint,
        links=(Link("acceptance", found.sha256), *rules),
        body={"booking_id": booking_id, "answer": found.claims.answer, "offer_sha256": found.claims.offer_sha256},
    )


def keep_record(rule: Rule) -> Draft:
    """That a rule is kept from now on."""
    return Draft(
        kind=RULE_KEPT,
        actor=rule.claims.iss,
        links=(Link("rule", rule.sha256),),
        body={"rule": rule.claims.jti, "agent": rule.claims.cnf.jkt},
    )


def withdraw_record(rule: Rule, host: str) -> Draft:
    """That nothing is answered by it any more."""
    return Draft(kind=RULE_WITHDRAWN, actor=host, links=(Link("rule", rule.sha256),), body={"rule": rule.claims.jti})
