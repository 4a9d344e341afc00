"""People who walk in or call: the host itself takes time for them, from what is kept back or from what is free.

SCH-146, and the paper's rule that bookings made off the protocol share the calendar of those made by agents. No
mandate, no offer, no receipt: nothing was agreed with anybody's agent, and nobody's name is kept.
"""

from __future__ import annotations

from datetime import datetime

from sayso.core.instants import parse_instant, write_instant, write_local
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.scheduling.rules.allocate import AllocationAsk, Granted, NotFree, allocate
from sayso.scheduling.rules.decision import Decision
from sayso.scheduling.rules.picture import Picture
from sayso.scheduling.rules.profile import HostProfile
from sayso.scheduling.rules.slots import not_free
from sayso.scheduling.rules.spans import instant, micros
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.walk_in import WalkInRequest, WalkInView

__all__ = ("given_up", "take")

WALK_IN_TAKEN = declare("walk_in.taken", "The host took time for somebody who walked in or called.")
WALK_IN_GIVEN_UP = declare("walk_in.given_up", "Time taken for somebody who walked in or called was given up.")


def take(
    profile: HostProfile, picture: Picture, request: WalkInRequest, walk_in_id: str, now: datetime
) -> Decision[Granted, WalkInView]:
    """The time granted. Refused: unknown_service, unknown_resource, slot_taken, not_bookable."""
    service, start = profile.service(request.service_id), parse_instant(request.start)
    if request.resource_id is not None and request.resource_id not in service.choose_from:
        raise refused("unknown_resource", place="$.resource_id")
    granted = allocate(AllocationAsk(service, micros(start), request.resource_id, origin="people"), picture, now)
    if isinstance(granted, NotFree):
        raise not_free(profile, service, granted)
    until = instant(granted.until)
    body = {
        "walk_in_id": walk_in_id,
        "service_id": service.id,
        "start": write_instant(start),
        "until": write_instant(until),
    }
    zone = profile.premises.zone
    return Decision(
        state=granted,
        records=(Draft(kind=WALK_IN_TAKEN, actor=profile.host, body=body),),
        reply=WalkInView(
            walk_in_id=walk_in_id,
            service_id=service.id,
            start=write_local(start, zone),
            until=write_local(until, zone),
        ),
    )


def given_up(profile: HostProfile, walk_in_id: str) -> Decision[None, WalkInView]:
    """The record and the answer of time given up again."""
    record = Draft(kind=WALK_IN_GIVEN_UP, actor=profile.host, body={"walk_in_id": walk_in_id})
    return Decision(state=None, records=(record,), reply=WalkInView(walk_in_id=walk_in_id))
