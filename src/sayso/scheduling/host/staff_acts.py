"""What staff do at the host's own desk: answer, decline, call off, end, mark, propose; over HTTP and on the spot.

Spec section 21; SCH-178, SCH-179, SCH-184, SCH-205, SCH-217, SCH-226, SCH-234..236, SCH-256. Who may is one question: a
key that the settings list under staff, or the host's own. Everything else is the path of any request (`admission`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, TypeVar

from msgspec import structs

from sayso.core import strictjson
from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant, write_local
from sayso.core.zones import find_zone
from sayso.proof.hashes import sha256
from sayso.scheduling.host import allocations, bookings, changes, guests
from sayso.scheduling.host.admission import Operation, Plan, perform
from sayso.scheduling.host.call import Call, NoBody
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.looking import day_around
from sayso.scheduling.host.personal import Answer, read_answer
from sayso.scheduling.host.whole import drop_open, keep_while_silent, read_whole, save_settled
from sayso.scheduling.rules import answering, change, moving
from sayso.scheduling.rules.answering import Whole
from sayso.scheduling.rules.booking import COUPLED
from sayso.scheduling.rules.change import ChangeState
from sayso.scheduling.rules.decision import Decision
from sayso.scheduling.rules.moving import OfferChange, StoredChange
from sayso.scheduling.rules.settling import StoredBooking
from sayso.scheduling.rules.spans import micros
from sayso.scheduling.terms.availability import Slot
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.staff import (
    AnswerRequest,
    CallOffRequest,
    DeclineRequest,
    DeskBooking,
    DeskBookings,
    MarkRequest,
    ProposeRequest,
)
from sayso.store.unit import Reading, Unit

__all__ = ("ACTS", "LIST_BOOKINGS", "READ_DESK_BOOKING", "STAFF_ROUTES", "at_desk", "read_bookings")

_MOST = 100
_OPEN_FOR = "P1D"

Q = TypeVar("Q")


@dataclass(frozen=True, slots=True)
class _Found:
    whole: Whole
    waiting: StoredChange | None
    """The guest's move that waits for the host, if one does."""


def _check_staff(desk: Desk, call: Call[Any]) -> None:
    if call.agent not in desk.staff:
        raise refused("not_staff")


def _find(unit: Reading, desk: Desk, call: Call[Any]) -> _Found:
    _check_staff(desk, call)
    made = bookings.find(unit, desk.host, call.named["booking_id"])
    if made is None:
        raise refused("no_such_booking")
    found = changes.find_open(unit, desk.host, made.booking_id)
    waiting = found if found is not None and found.machine.state is ChangeState.AWAITING else None
    return _Found(read_whole(made), waiting)


def _settled(unit: Unit, desk: Desk, before: StoredBooking, decision: Decision[StoredBooking, Settled]) -> Plan:
    """What every act on the booking itself writes: it, its receipt, and the end of what hung on it."""
    after = decision.state
    coupling = COUPLED[after.standing.state]

    def write() -> None:
        if not coupling.changes_stay_open:
            drop_open(unit, desk, before)
        save_settled(unit, desk, after)

    return Plan(status=200, reply=decision.reply, records=decision.records, write=write)


def _freed(unit: Unit, desk: Desk, before: StoredBooking, decision: Decision[StoredBooking, Settled]) -> Plan:
    """The same, and the booking's time is nobody's again."""
    plan = _settled(unit, desk, before, decision)

    def write() -> None:
        allocations.free(unit, desk.host, before.owner)
        if plan.write is not None:
            plan.write()

    return Plan(status=plan.status, reply=plan.reply, records=plan.records, write=write)


def _approve(unit: Unit, desk: Desk, call: Call[AnswerRequest], found: _Found) -> Plan:
    whole, made = found.whole, found.whole.booking
    if found.waiting is not None:
        return _approve_move(unit, desk, whole, found.waiting, call.request.acceptance)
    said = read_answer(unit, desk, call.request.acceptance, "yes", whole.terms, made.offer)
    decision = answering.approve(whole, desk.pen, desk.ids.new("r"), unit.now, said.answered(unit))

    def write() -> None:
        drop_open(unit, desk, made)
        save_settled(unit, desk, decision.state)
        allocations.keep(unit, desk.host, made.owner)
        keep_while_silent(unit, desk, decision.state)
        said.keep(unit, desk)

    records = (*decision.records, *said.records(made.booking_id))
    return Plan(status=200, reply=decision.reply, records=records, write=write)


def _approve_move(unit: Unit, desk: Desk, whole: Whole, waiting: StoredChange, acceptance: str | None) -> Plan:
    made = whole.booking
    terms = bookings.own_offer(waiting.offer.token)
    said = read_answer(unit, desk, acceptance, "yes", terms, waiting.offer)
    decision = moving.approve(
        made, waiting, terms, whole.last, desk.pen, desk.ids.new("r"), unit.now, said.answered(unit)
    )
    moved = decision.state

    def write() -> None:
        changes.save(unit, desk.host, moved.change)
        allocations.free(unit, desk.host, made.owner)
        allocations.follow(unit, desk.host, moved.change.offer_id, change.COUPLED[moved.change.machine.state])
        keep_while_silent(unit, desk, moved.booking)
        guests.follow_move(unit, desk.host, moved.booking)
        save_settled(unit, desk, moved.booking)
        said.keep(unit, desk)

    records = (*decision.records, *said.records(made.booking_id))
    return Plan(status=200, reply=decision.reply, records=records, write=write)


def _decline(unit: Unit, desk: Desk, call: Call[DeclineRequest], found: _Found) -> Plan:
    whole, ask = found.whole, call.request
    if found.waiting is not None:
        offer = found.waiting.offer
        said = read_answer(unit, desk, ask.acceptance, "no", bookings.own_offer(offer.token), offer)
        after, decision = _refuse_move(unit, desk, whole, found.waiting, _words(said, ask))
        plan = Plan(status=200, reply=decision.reply, records=decision.records, write=after)
        return _signed(unit, desk, said, plan, whole)
    said = read_answer(unit, desk, ask.acceptance, "no", whole.terms, whole.booking.offer)
    alternatives = _other_times(unit, desk, whole) if ask.alternatives else ()
    decision = answering.decline(
        whole, desk.pen, desk.ids.new("r"), unit.now,
        message=_words(said, ask), alternatives=alternatives, by="host" if said.signed is None else "person",
    )  # fmt: skip
    return _signed(unit, desk, said, _freed(unit, desk, whole.booking, decision), whole)


def _words(said: Answer, ask: DeclineRequest) -> str | None:
    """What the guest hears with a no: at a person's calendar, what the person signed and nothing else."""
    if said.signed is None:
        return ask.message
    if ask.message not in (None, said.signed.claims.message):
        raise refused("acceptance_invalid", "Other words were signed.", place="$.message")
    return said.signed.claims.message


def _signed(unit: Unit, desk: Desk, said: Answer, plan: Plan, whole: Whole) -> Plan:
    """The same, with the signed answer kept beside it."""

    def write() -> None:
        if plan.write is not None:
            plan.write()
        said.keep(unit, desk)

    return replace(plan, records=(*plan.records, *said.records(whole.booking.booking_id)), write=write)


def _refuse_move(
    unit: Unit, desk: Desk, whole: Whole, waiting: StoredChange, message: str | None
) -> tuple[Callable[[], None], Decision[StoredBooking, Settled]]:
    start = bookings.own_offer(waiting.offer.token).start
    after, decision = answering.refuse_move(
        whole, waiting, start, desk.pen, desk.ids.new("r"), unit.now, reason="declined_by_host", message=message
    )

    def write() -> None:
        changes.save(unit, desk.host, after)
        allocations.follow(unit, desk.host, after.offer_id, change.COUPLED[after.machine.state])
        save_settled(unit, desk, decision.state)

    return write, decision


def _other_times(unit: Unit, desk: Desk, whole: Whole) -> tuple[Slot, ...]:
    profile, terms = desk.profile, whole.terms
    service = profile.premises.services.get(terms.service.id)
    if service is None:
        return ()
    span = day_around(profile.premises, micros(parse_instant(terms.start)))
    picture = allocations.read_picture(unit, desk.host, profile.premises, span)
    return answering.other_times(profile, service, picture, terms.start, unit.now)


def _call_off(unit: Unit, desk: Desk, call: Call[CallOffRequest], found: _Found) -> Plan:
    whole = found.whole
    decision = answering.cancel_by_host(whole, desk.pen, desk.ids.new("r"), unit.now, reason=call.request.reason)
    return _freed(unit, desk, whole.booking, decision)


def _end(unit: Unit, desk: Desk, call: Call[MarkRequest], found: _Found) -> Plan:
    whole = found.whole
    decision = answering.end(whole, desk.pen, desk.ids.new("r"), unit.now)
    service = desk.profile.premises.services.get(whole.terms.service.id)
    buffer = timedelta(0) if service is None else service.buffer

    def write() -> None:
        save_settled(unit, desk, decision.state)
        allocations.cut(unit, desk.host, whole.booking.owner, decision.state.standing.until + buffer)

    return Plan(status=200, reply=decision.reply, records=decision.records, write=write)


def _attended(unit: Unit, desk: Desk, call: Call[MarkRequest], found: _Found) -> Plan:
    whole = found.whole
    return _settled(unit, desk, whole.booking, answering.mark_attended(whole, desk.pen, desk.ids.new("r"), unit.now))


def _no_show(unit: Unit, desk: Desk, call: Call[MarkRequest], found: _Found) -> Plan:
    whole = found.whole
    return _settled(unit, desk, whole.booking, answering.mark_no_show(whole, desk.pen, desk.ids.new("r"), unit.now))


def _propose(unit: Unit, desk: Desk, call: Call[ProposeRequest], found: _Found) -> Plan:
    if found.waiting is not None:
        raise refused("move_awaits_host", "A move of this booking waits for your answer: approve, decline or counter.")
    return _offer_time(unit, desk, call.request, found.whole, None)


def _counter(unit: Unit, desk: Desk, call: Call[ProposeRequest], found: _Found) -> Plan:
    """Instead of yes or no: another time. A move that waits is declined by it, a request goes on waiting (SCH-235)."""
    whole = found.whole
    if desk.profile.is_person:
        raise refused("no_counter")
    if found.waiting is not None:
        write, decision = _refuse_move(unit, desk, whole, found.waiting, call.request.message)
        after = Whole(booking=decision.state, terms=whole.terms, last=bookings.own_receipt(decision.state.receipt))
        plan = _offer_time(unit, desk, call.request, after, found.waiting)

        def both() -> None:
            write()
            if plan.write is not None:
                plan.write()

        return Plan(status=plan.status, reply=plan.reply, records=(*decision.records, *plan.records), write=both)
    if not answering.is_waiting(whole, unit.now):
        raise refused("nothing_to_answer")
    return _offer_time(unit, desk, call.request, whole, None)


def _offer_time(unit: Unit, desk: Desk, ask: ProposeRequest, whole: Whole, refused_move: StoredChange | None) -> Plan:
    profile, made = desk.profile, whole.booking
    start = parse_instant(ask.start)
    _check_named(desk, whole, ask.resource_id)
    earlier = changes.find_open(unit, desk.host, made.booking_id)
    if earlier is not None and refused_move is None and whole.last.booking.proposed is None:
        raise refused("offer_outstanding")
    span = day_around(profile.premises, micros(start))
    offered = moving.offer(
        profile,
        desk.pen,
        made,
        whole.terms,
        allocations.read_picture(unit, desk.host, profile.premises, span),
        OfferChange(
            start=start,
            ttl=parse_duration(ask.open_for or _OPEN_FOR),
            offer_id=desk.ids.new("o"),
            agent=made.agent,
            units=allocations.units_of(unit, desk.host, made.owner),
            by_host=True,
            named=ask.resource_id,
        ),
        unit.now,
    )
    made_offer = offered.state
    local = write_local(start, find_zone(whole.terms.timezone))
    shown = answering.propose(whole, made_offer.change, local, desk.pen, desk.ids.new("r"), unit.now, ask.message)

    def write() -> None:
        if earlier is not None and refused_move is None:
            drop_open(unit, desk, made)
        changes.add(unit, desk.host, made_offer.change)
        expires_at = made_offer.change.machine.expires_at
        owner = made_offer.change.offer_id
        allocations.take(unit, desk.host, made_offer.granted, owner=owner, family=made.hold_id, expires_at=expires_at)
        desk.keep_own(unit, made_offer.change.offer.token)
        save_settled(unit, desk, shown.state)

    return Plan(status=200, reply=shown.reply, records=(*offered.records, *shown.records), write=write)


def _check_named(desk: Desk, whole: Whole, resource_id: str | None) -> None:
    """Somebody else may be proposed only among those whom guests can choose."""
    if resource_id is not None and resource_id not in desk.profile.service(whole.terms.service.id).choose_from:
        raise refused("unknown_resource", place="$.resource_id")


def _list(unit: Unit, desk: Desk, call: Call[NoBody], _grounds: None) -> Plan:
    return Plan(status=200, reply=DeskBookings(bookings=tuple(read_bookings(unit, desk))))


def _show(unit: Unit, desk: Desk, call: Call[NoBody], found: _Found) -> Plan:
    shown = _desk_booking(unit, desk, found.whole)
    if desk.profile.is_person and shown.answer_by is not None:
        waits = found.whole.booking.offer if found.waiting is None else found.waiting.offer
        shown = structs.replace(shown, to_sign=waits.token)
    return Plan(status=200, reply=shown)


def read_bookings(view: Reading, desk: Desk, *, everything: bool = False) -> list[DeskBooking]:
    """Those that wait for an answer, then those to come; with `everything` all, the latest first. At most 100."""
    found = bookings.newest(view, desk.host, _MOST) if everything else bookings.coming(view, desk.host, _MOST)
    return [_desk_booking(view, desk, read_whole(made)) for made in found]


def _desk_booking(view: Reading, desk: Desk, whole: Whole) -> DeskBooking:
    expected = guests.find(view, desk.host, whole.booking.booking_id)
    made, shown = whole.booking, whole.last.booking
    waits_until = None if shown.awaiting_host is None else shown.awaiting_host.answer_by
    if shown.status == "pending_host":
        waits_until = whole.terms.answer_by
    return DeskBooking(
        booking=shown,
        guest=made.principal,
        receipt=made.receipt,
        answer_by=waits_until,
        message=made.message,
        details=expected.details,
        note=expected.note,
    )


def _of_staff(request: type[Q], decide: Callable[[Unit, Desk, Call[Q], _Found], Plan]) -> Operation[Q, _Found]:
    """One act of staff. Its idempotency keys are the host's own."""
    return Operation(request, _find, decide, lambda found: found.whole.terms.iss)


ACTS: Final[Mapping[str, Operation[Any, Any]]] = {
    "approve": _of_staff(AnswerRequest, _approve),
    "decline": _of_staff(DeclineRequest, _decline),
    "counter": _of_staff(ProposeRequest, _counter),
    "propose": _of_staff(ProposeRequest, _propose),
    "cancel": _of_staff(CallOffRequest, _call_off),
    "end": _of_staff(MarkRequest, _end),
    "attended": _of_staff(MarkRequest, _attended),
    "no-show": _of_staff(MarkRequest, _no_show),
}
"""Each act by its name, which is also the end of its path."""

LIST_BOOKINGS: Final = Operation(NoBody, lambda _unit, desk, call: _check_staff(desk, call), _list)
READ_DESK_BOOKING: Final = Operation(NoBody, _find, _show)

STAFF_ROUTES: Final[Mapping[str, Mapping[str, Operation[Any, Any]]]] = {
    "/host/bookings": {"GET": LIST_BOOKINGS},
    "/host/bookings/{booking_id}": {"GET": READ_DESK_BOOKING},
    **{f"/host/bookings/{{booking_id}}/{name}": {"POST": act} for name, act in ACTS.items()},
}


def at_desk(unit: Unit, desk: Desk, act: str, booking_id: str, request: object) -> Settled:
    """One act on the spot, by whoever holds the host's key. Refused as over HTTP."""
    call: Call[object] = Call(
        agent=desk.pen.kid,
        nonce="",
        nonce_until=unit.now,
        operation=f"desk {act}",
        body_sha256=sha256(strictjson.encode(request)),
        mandate_sha256=sha256(b""),
        named={"booking_id": booking_id},
        request=request,
        presented=refused("mandate_missing"),
    )
    reply = perform(unit, desk, ACTS[act], call)
    assert isinstance(reply, Settled)
    return reply
