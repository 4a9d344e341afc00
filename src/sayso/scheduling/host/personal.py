"""Answers at a person's calendar: signed by its owner, or by its keeper under a rule (spec section 25).

SCH-180, SCH-187, SCH-228, SCH-264, SCH-265. The units of work around `rules.personal`: which rules are in force is read
in the transaction that answers, and the signed answer is kept as evidence beside the records of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sayso.core.refusal import Refused
from sayso.ledger.evidence import put_evidence
from sayso.ledger.rules.evidence import KEY_SET, SIGNED
from sayso.ledger.rules.record import Draft
from sayso.scheduling.host import bookings, changes, signed_rules
from sayso.scheduling.host.contacts import check_admitted
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.documents import key_set_bytes
from sayso.scheduling.host.whole import read_whole
from sayso.scheduling.rules import answering, moving
from sayso.scheduling.rules.booking import BookingState
from sayso.scheduling.rules.change import ChangeState
from sayso.scheduling.rules.moving import Moved
from sayso.scheduling.rules.personal import answer_record, answered_by, check_answer, yes_by_rule
from sayso.scheduling.rules.profile import Signed
from sayso.scheduling.rules.settling import StoredBooking
from sayso.scheduling.terms.acceptance_checks import Acceptance
from sayso.scheduling.terms.booking import Answered
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.identity import public_key
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.rule_checks import Rule
from sayso.store.unit import Reading, Unit

__all__ = (
    "Answer",
    "SettledByRule",
    "answer_at_once",
    "check_asks",
    "keep_rule_evidence",
    "move_at_once",
    "read_answer",
    "to_sign",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A signed answer, or that of a business, which needs none."""

    signed: Acceptance | None

    def answered(self, unit: Unit) -> Answered | None:
        """What the booking says of it; None at a business."""
        return None if self.signed is None else answered_by(self.signed, unit.now)

    def records(self, booking_id: str) -> tuple[Draft, ...]:
        """What the log keeps of it."""
        return () if self.signed is None else (answer_record(self.signed, booking_id),)

    def keep(self, unit: Unit, desk: Desk) -> None:
        """Keeps it, and the rule in it, as evidence."""
        if self.signed is not None:
            _keep_evidence(unit, desk, self.signed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledByRule:
    """A request that a rule answered in the transaction that made it."""

    booking: StoredBooking
    reply: Settled
    records: tuple[Draft, ...]
    answer: Answer


def check_asks(desk: Desk, terms: OfferClaims) -> None:
    """That at a person's calendar an offer states by when the person answers, whatever the settings were when it was
    made. Refused: person_must_answer.
    """
    if desk.profile.is_person and terms.answer_by is None and terms.aud != desk.profile.owner:
        raise refused("person_must_answer")


def to_sign(view: Reading, desk: Desk, booking_id: str) -> str:
    """The offer that waits for the person's answer: the move's, else the request's. Refused: no_such_booking,
    nothing_to_answer.
    """
    made = bookings.find(view, desk.host, booking_id)
    if made is None:
        raise refused("no_such_booking")
    found = changes.find_open(view, desk.host, booking_id)
    if found is not None and found.machine.state is ChangeState.AWAITING:
        return found.offer.token
    if not answering.is_waiting(read_whole(made), view.now):
        raise refused("nothing_to_answer")
    return made.offer.token


def read_answer(
    view: Reading, desk: Desk, token: str | None, answer: Literal["yes", "no"], terms: OfferClaims, offer: Signed
) -> Answer:
    """The answer that was handed in, which at a person's calendar has to be signed. Refused: as `check_answer`; by a
    rule also rule_not_in_force, and not_a_contact where the guest is none any more.
    """
    if not desk.profile.is_person:
        if token is not None:
            raise refused("acceptance_invalid", "This host answers for itself.", place="$.acceptance")
        return Answer(None)
    found = check_answer(token, answer, terms, offer, view.now)
    if found.rule is not None:
        check_admitted(view, desk, terms.aud)
        if not signed_rules.is_kept(view, desk.host, found.rule):
            raise refused("rule_not_in_force")
    return Answer(found)


def answer_at_once(unit: Unit, desk: Desk, made: StoredBooking) -> SettledByRule | None:
    """A request that has just been made, answered by a rule in force that covers it; None where the person is asked."""
    if made.standing.state is not BookingState.PENDING_HOST:
        return None
    whole = read_whole(made)
    found = _yes(unit, desk, whole.terms, made.offer)
    if found is None:
        return None
    decision = answering.approve(whole, desk.pen, desk.ids.new("r"), unit.now, answered_by(found, unit.now))
    return SettledByRule(
        booking=decision.state,
        reply=decision.reply,
        records=(*decision.records, answer_record(found, made.booking_id)),
        answer=Answer(found),
    )


def move_at_once(unit: Unit, desk: Desk, asked: Moved) -> tuple[Moved, SettledByRule] | None:
    """The same for a move that the guest has just accepted (SCH-228)."""
    if asked.change.machine.state is not ChangeState.AWAITING:
        return None
    terms = bookings.own_offer(asked.change.offer.token)
    found = _yes(unit, desk, terms, asked.change.offer)
    if found is None:
        return None
    decision = moving.approve(
        asked.booking,
        asked.change,
        terms,
        bookings.own_receipt(asked.booking.receipt),
        desk.pen,
        desk.ids.new("r"),
        unit.now,
        answered_by(found, unit.now),
    )
    return decision.state, SettledByRule(
        booking=decision.state.booking,
        reply=decision.reply,
        records=(*decision.records, answer_record(found, asked.booking.booking_id)),
        answer=Answer(found),
    )


def _yes(unit: Unit, desk: Desk, terms: OfferClaims, offer: Signed) -> Acceptance | None:
    if not desk.profile.is_person or desk.keeper is None:
        return None
    try:
        check_admitted(unit, desk, terms.aud)  # who asked before may be no contact any more, once participants answered
    except Refused:
        return None
    rules = signed_rules.in_force(unit, desk.host)
    return yes_by_rule(rules, terms, offer, desk.keeper, desk.ids.new("a"), unit.now)


def _keep_evidence(unit: Unit, desk: Desk, found: Acceptance) -> None:
    keys = put_evidence(unit, desk.log, KEY_SET, key_set_bytes(found.signer))
    put_evidence(unit, desk.log, SIGNED, found.token.encode("ascii"), verified_by=keys)
    if found.rule is not None:
        keep_rule_evidence(unit, desk, found.rule)


def keep_rule_evidence(unit: Unit, desk: Desk, rule: Rule) -> None:
    """Keeps a rule with the key that verifies it."""
    keys = put_evidence(unit, desk.log, KEY_SET, key_set_bytes(public_key(rule.claims.principal_jwk)))
    put_evidence(unit, desk.log, SIGNED, rule.token.encode("ascii"), verified_by=keys)
