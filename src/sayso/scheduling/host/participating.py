"""Participants at the host's door: reading an invitation, and answering it (spec section 24.3 to 24.5).

SCH-194, SCH-243, SCH-244. Everything goes by the participant's own mandate: the agent that made the booking has none of
theirs, so it can neither read in their place nor answer for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sayso.core.refusal import Refused
from sayso.scheduling.host import bookings
from sayso.scheduling.host.admission import Operation, Plan
from sayso.scheduling.host.call import Call, NoBody
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.due import settle_if_due
from sayso.scheduling.host.personal import answer_at_once
from sayso.scheduling.host.whole import follow_answers, read_whole, save_settled
from sayso.scheduling.rules import inviting
from sayso.scheduling.rules.answering import Whole
from sayso.scheduling.rules.inviting import AnswerInvitation
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.mandate_checks import Checked, check_mandate, check_shown
from sayso.scheduling.terms.participant import AnswerInvitationRequest, BookedParticipant
from sayso.store.unit import Unit

__all__ = ("ANSWER_INVITATION", "READ_INVITATION")


@dataclass(frozen=True, slots=True)
class _Invited:
    whole: Whole
    entry: BookedParticipant


@dataclass(frozen=True, slots=True)
class _Answering:
    whole: Whole
    entry: BookedParticipant
    checked: Checked


def _find(unit: Unit, desk: Desk, call: Call[object]) -> _Invited:
    """The booking as one of its participants finds it; for everybody else there is none. Refused: no_such_booking."""
    presented = call.presented
    made = bookings.find(unit, desk.host, call.named["booking_id"])
    if made is None or isinstance(presented, Refused):
        raise refused("no_such_booking")
    whole = read_whole(settle_if_due(unit, desk, made))
    entry = inviting.find_participant(whole, presented.principal)
    if entry is None:
        raise refused("no_such_booking")
    return _Invited(whole, entry)


def _may_read(unit: Unit, desk: Desk, call: Call[NoBody]) -> _Invited:
    found = _find(unit, desk, call)
    check_shown(call.mandate, desk.host, call.agent, unit.now)
    if not inviting.may_read_invitation(found.whole, call.mandate):
        raise refused("booking_not_covered")
    return found


def _read(unit: Unit, desk: Desk, call: Call[NoBody], found: _Invited) -> Plan:
    return Plan(status=200, reply=inviting.invitation_view(found.whole))


def _may_answer(unit: Unit, desk: Desk, call: Call[AnswerInvitationRequest]) -> _Answering:
    found = _find(unit, desk, call)
    ask = inviting.ask_to_answer(
        found.whole, call.mandate, call.agent, call.request.answer, desk.profile.closed_mandate
    )
    return _Answering(found.whole, found.entry, check_mandate(call.mandate, ask, unit.now))


def _answer(unit: Unit, desk: Desk, call: Call[AnswerInvitationRequest], found: _Answering) -> Plan:
    before = found.whole.booking
    decision = inviting.answer(
        found.whole,
        found.entry,
        desk.pen,
        AnswerInvitation(
            said=call.request.answer,
            offer_sha256=call.request.offer_sha256,
            checked=found.checked,
            receipt_id=desk.ids.new("r"),
        ),
        unit.now,
    )

    # At a person's calendar a rule may say the host's yes in the moment it is asked, unless the guest wants the person.
    at_once = answer_at_once(unit, desk, decision.state)
    after = decision.state if at_once is None else at_once.booking

    def write() -> None:
        save_settled(unit, desk, after)
        follow_answers(unit, desk, before, after)
        desk.keep_documents(unit, found.checked.mandate, after.offer.token)
        if at_once is not None:
            desk.keep_own(unit, decision.state.receipt)
            at_once.answer.keep(unit, desk)

    if at_once is not None:
        view = inviting.invitation_view(read_whole(after))
        return Plan(status=200, reply=view, records=(*decision.records, *at_once.records), write=write)
    return Plan(status=200, reply=decision.reply, records=decision.records, write=write)


READ_INVITATION: Final = Operation(NoBody, _may_read, _read)
ANSWER_INVITATION: Final = Operation(AnswerInvitationRequest, _may_answer, _answer, lambda found: found.entry.principal)
