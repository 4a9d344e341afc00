"""Reading: what is free, a hold, a booking. Nothing is reserved and nothing changes but the nonce and the rate bucket.

Protocol sections 7, 8.4 and 11.3; SCH-008, SCH-110..118, SCH-151, SCH-210.
"""

from __future__ import annotations

from datetime import timedelta

from sayso.core.instants import parse_instant, write_instant, write_local
from sayso.core.refusal import Refused
from sayso.scheduling.host import allocations, bookings, holds
from sayso.scheduling.host.admission import Operation, Plan
from sayso.scheduling.host.call import Call, NoBody
from sayso.scheduling.host.contacts import check_admitted
from sayso.scheduling.host.desk import AVAILABILITY_LIMIT, Desk
from sayso.scheduling.host.due import settle_if_due
from sayso.scheduling.rules.availability import AvailabilityAsk, availability
from sayso.scheduling.rules.moving import ask_to_manage
from sayso.scheduling.rules.opening import day_span, local_date
from sayso.scheduling.rules.placing import StoredHold, hold_view
from sayso.scheduling.rules.premises import Premises
from sayso.scheduling.rules.settling import StoredBooking
from sayso.scheduling.rules.slots import write_slots
from sayso.scheduling.rules.spans import DAY, Span, instant, length, micros
from sayso.scheduling.terms.availability import MAX_SLOTS, MAX_WINDOW_DAYS, AvailabilityAnswer, AvailabilityRequest
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.mandate_checks import Action, check_mandate, check_shown
from sayso.store.buckets import Limited, charge
from sayso.store.unit import Reading, Unit

__all__ = ("READ_BOOKING", "READ_HOLD", "SHOW_AVAILABILITY", "day_around", "find_booking", "find_own_hold", "may_read")

_LONGEST_WINDOW = timedelta(days=MAX_WINDOW_DAYS)


def day_around(premises: Premises, start: int) -> Span:
    """The local day of an instant, with a day after it: buffers may run past closing."""
    span = day_span(local_date(start, premises.zone), premises.zone)
    return Span(span.start, span.end + DAY)


def find_own_hold(view: Reading, desk: Desk, call: Call[object]) -> StoredHold:
    """The hold the path names, if this agent placed it; anybody else's does not exist. Refused: no_such_hold."""
    found = holds.find(view, desk.host, call.named["hold_id"])
    if found is None or found.agent != call.agent:
        raise refused("no_such_hold")
    return found


def find_booking(view: Reading, desk: Desk, call: Call[object]) -> StoredBooking:
    """The booking the path names, if it is this principal's or was made by this agent. Refused: no_such_booking."""
    found = bookings.find(view, desk.host, call.named["booking_id"])
    presented = call.presented
    is_theirs = not isinstance(presented, Refused) and found is not None and presented.principal == found.principal
    if found is None or not (is_theirs or found.agent == call.agent):
        raise refused("no_such_booking")
    return found


def _charge(unit: Unit, desk: Desk, call: Call[AvailabilityRequest]) -> None:
    # An operator counts across its hosts, too: one agent reads sixty times a minute whatever it reads (SCH-118).
    counted = [desk.host] if desk.operator is None else [desk.host, desk.operator]
    verdict = charge(unit, [(f"{whose} availability {call.agent}", AVAILABILITY_LIMIT) for whose in counted])
    if isinstance(verdict, Limited):
        raise refused("rate_limited", details={"retry_after": verdict.retry_after})
    if desk.profile.access == "contacts":
        # Even a look shows when somebody is at home: who asks is told by a mandate, and by nothing else (SCH-040).
        check_shown(call.mandate, desk.host, call.agent, unit.now)
        check_admitted(unit, desk, call.mandate.principal)


def _show(unit: Unit, desk: Desk, call: Call[AvailabilityRequest], _grounds: None) -> Plan:
    profile, request = desk.profile, call.request
    service = profile.service(request.service_id)
    if request.resource_id is not None and request.resource_id not in service.choose_from:
        raise refused("unknown_resource", place="$.resource_id")
    start, end = parse_instant(request.window.start), parse_instant(request.window.end)
    if not timedelta(0) < end - start <= _LONGEST_WINDOW:
        raise refused("window_invalid", place="$.window")
    if service.duration is not None and end - start < service.duration:
        raise refused("window_too_short", place="$.window")
    ask = AvailabilityAsk(service, Span(micros(start), micros(end)), request.resource_id)
    picture = allocations.read_picture(unit, desk.host, profile.premises, _reach(profile.premises, ask.window, unit))
    slots = availability(picture, ask, unit.now)
    more = slots[MAX_SLOTS] if len(slots) > MAX_SLOTS else None
    return Plan(
        status=200,
        reply=AvailabilityAnswer(
            timezone=profile.premises.zone.key,
            slots=write_slots(profile, service, slots[:MAX_SLOTS]),
            as_of=write_instant(unit.now),
            more_from=None if more is None else write_local(instant(more.start), profile.premises.zone),
        ),
    )


def _reach(premises: Premises, window: Span, view: Reading) -> Span:
    """What has to be known to judge a window: its whole local days, as far as the horizon, and a day after."""
    horizon = micros(view.now) + length(premises.horizon)
    return Span(min(window.start, horizon) - DAY, min(window.end, horizon) + 2 * DAY)


def _read_hold(unit: Unit, desk: Desk, call: Call[NoBody], held: StoredHold) -> Plan:
    return Plan(status=200, reply=hold_view(held, bookings.own_offer(held.offer.token), unit.now))


def may_read(unit: Unit, desk: Desk, call: Call[NoBody]) -> StoredBooking:
    """The agent that made the booking may, and whoever holds a mandate that covers it (SCH-210)."""
    found = settle_if_due(unit, desk, find_booking(unit, desk, call))
    if found.agent == call.agent:
        return found
    try:
        check_mandate(call.mandate, ask_to_manage(desk.profile, found, call.agent, Action.CANCEL), unit.now)
    except Refused:
        # Either scope over the booking covers reading it.
        check_mandate(call.mandate, ask_to_manage(desk.profile, found, call.agent, Action.REQUEST_CHANGE), unit.now)
    return found


def _read_booking(unit: Unit, desk: Desk, call: Call[NoBody], found: StoredBooking) -> Plan:
    # As the newest receipt has it: what is shown and what is proven cannot differ.
    return Plan(status=200, reply=Settled(booking=bookings.own_receipt(found.receipt).booking, receipt=found.receipt))


SHOW_AVAILABILITY = Operation(AvailabilityRequest, _charge, _show)
READ_HOLD = Operation(NoBody, find_own_hold, _read_hold)
READ_BOOKING = Operation(NoBody, may_read, _read_booking)
