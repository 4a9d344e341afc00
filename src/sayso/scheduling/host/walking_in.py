"""Taking time for people who walk in or call, and giving it up: acts of the host's staff (spec section 7.4; SCH-146).

The rows are allocations like all others, told apart by where they came from and by the id that owns them.
"""

from __future__ import annotations

from typing import Any, Final

from sayso.core import strictjson
from sayso.core.instants import parse_instant
from sayso.proof.hashes import sha256
from sayso.scheduling.host import allocations
from sayso.scheduling.host.admission import Operation, Plan, perform
from sayso.scheduling.host.call import Call
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.looking import day_around
from sayso.scheduling.rules import walking_in
from sayso.scheduling.rules.spans import micros
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.walk_in import GiveUpWalkInRequest, WalkInRequest, WalkInView
from sayso.store.unit import Unit

__all__ = ("GIVE_UP_WALK_IN", "TAKE_WALK_IN", "at_counter")

_OWNED = "w_"
"""What the ids of walk-ins begin with, so that no hold or booking is given up as one."""


def _by_staff(unit: Unit, desk: Desk, call: Call[Any]) -> str:
    """Whose idempotency keys these are: the host's own. Refused: not_staff."""
    if call.agent not in desk.staff:
        raise refused("not_staff")
    return desk.host


def _take(unit: Unit, desk: Desk, call: Call[WalkInRequest], _host: str) -> Plan:
    premises = desk.profile.premises
    span = day_around(premises, micros(parse_instant(call.request.start)))
    picture = allocations.read_picture(unit, desk.host, premises, span)
    owner = desk.ids.new("w")
    decision = walking_in.take(desk.profile, picture, call.request, owner, unit.now)

    def write() -> None:
        granted = decision.state
        allocations.take(unit, desk.host, granted, owner=owner, family=owner, expires_at=None, origin="people")

    return Plan(status=201, reply=decision.reply, records=decision.records, write=write)


def _give_up(unit: Unit, desk: Desk, call: Call[GiveUpWalkInRequest], _host: str) -> Plan:
    owner = call.named["walk_in_id"]
    if not owner.startswith(_OWNED) or not allocations.units_of(unit, desk.host, owner):
        raise refused("no_such_walk_in")
    decision = walking_in.given_up(desk.profile, owner)
    return Plan(
        status=200,
        reply=decision.reply,
        records=decision.records,
        write=lambda: allocations.free(unit, desk.host, owner),
    )


TAKE_WALK_IN: Final = Operation(WalkInRequest, _by_staff, _take, lambda host: host)
GIVE_UP_WALK_IN: Final = Operation(GiveUpWalkInRequest, _by_staff, _give_up, lambda host: host)


def at_counter(
    unit: Unit, desk: Desk, request: WalkInRequest | GiveUpWalkInRequest, walk_in_id: str | None = None
) -> WalkInView:
    """Either act on the spot, by whoever holds the host's key. Refused as over HTTP."""
    call: Call[Any] = Call(
        agent=desk.pen.kid,
        nonce="",
        nonce_until=unit.now,
        operation="counter",
        body_sha256=sha256(strictjson.encode(request)),
        mandate_sha256=sha256(b""),
        named={} if walk_in_id is None else {"walk_in_id": walk_in_id},
        request=request,
        presented=refused("mandate_missing"),
    )
    operation: Operation[Any, str] = TAKE_WALK_IN if isinstance(request, WalkInRequest) else GIVE_UP_WALK_IN
    reply = perform(unit, desk, operation, call)
    assert isinstance(reply, WalkInView)
    return reply
