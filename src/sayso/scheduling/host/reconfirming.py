"""Reconfirming: the unit of work around `rules.reconfirming`. What the clock does where nobody answers is `overdue`'s.

Spec section 23. The booker's no is their cancellation, under the mandate that would have said yes.
"""

from __future__ import annotations

from dataclasses import dataclass

from sayso.scheduling.host import allocations, bookings
from sayso.scheduling.host.admission import Operation, Plan
from sayso.scheduling.host.call import Call
from sayso.scheduling.host.contacts import check_admitted
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.looking import find_booking
from sayso.scheduling.host.managing import call_off
from sayso.scheduling.host.whole import keep_while_asked, read_whole
from sayso.scheduling.rules import reconfirming
from sayso.scheduling.rules.answering import Whole
from sayso.scheduling.rules.booking import BookingState
from sayso.scheduling.rules.reconfirming import SayAgain
from sayso.scheduling.terms.mandate_checks import Checked, check_mandate
from sayso.scheduling.terms.reconfirm import ReconfirmRequest
from sayso.store.unit import Unit

__all__ = ("RECONFIRM",)


@dataclass(frozen=True, slots=True)
class _Asked:
    whole: Whole
    checked: Checked


def _may_answer(unit: Unit, desk: Desk, call: Call[ReconfirmRequest]) -> _Asked:
    whole = read_whole(find_booking(unit, desk, call))
    checked = check_mandate(call.mandate, reconfirming.ask_to_reconfirm(desk.profile, whole, call.agent), unit.now)
    if call.request.answer == "yes":
        check_admitted(unit, desk, whole.booking.principal)
    return _Asked(whole, checked)


def _answer(unit: Unit, desk: Desk, call: Call[ReconfirmRequest], asked: _Asked) -> Plan:
    whole = asked.whole
    if call.request.answer == "no":
        reconfirming.check_asked(whole, call.request.offer_sha256, unit.now)
        return call_off(unit, desk, whole.booking, asked.checked)
    decision = reconfirming.reconfirm(
        whole,
        desk.pen,
        SayAgain(offer_sha256=call.request.offer_sha256, checked=asked.checked, receipt_id=desk.ids.new("r")),
        unit.now,
    )

    def write() -> None:
        bookings.save(unit, desk.host, decision.state)
        if decision.state.standing.state is BookingState.CONFIRMED:
            allocations.keep(unit, desk.host, decision.state.owner)
        keep_while_asked(unit, desk, decision.state)
        desk.keep_documents(unit, asked.checked.mandate, decision.state.receipt)

    return Plan(status=200, reply=decision.reply, records=decision.records, write=write)


RECONFIRM = Operation(ReconfirmRequest, _may_answer, _answer, lambda asked: asked.whole.booking.principal)
