"""The one path of every signed request through its unit of work (protocol sections 5.5 and 5.6).

In order: the nonce is spent; what is due has lapsed; the operation looks whether what the path names exists for this
caller and whether the mandate allows it (again, on every retry: SCH-068); the idempotency slot is claimed; the
operation decides, and its plan is written. All of it commits together, a refusal included: the nonce stays spent.

An operation refuses only while it decides. `Plan.write` runs after everything was decided and refuses nothing, so that
no refusal can leave half a change behind (SCH-341).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from sayso.core import b64u, strictjson
from sayso.core.refusal import Refused
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256
from sayso.scheduling.host.answers import is_stored, refusal_answer, refuse
from sayso.scheduling.host.call import Answer, Call
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.due import lapse_due
from sayso.scheduling.host.entries import has_waiting
from sayso.scheduling.host.waiting import serve
from sayso.store import nonces, replay
from sayso.store.unit import Unit

__all__ = ("Operation", "Plan", "admit", "perform")

Q = TypeVar("Q")
G = TypeVar("G")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was decided: the answer, the records of it, and the rows to write."""

    status: int
    reply: msgspec.Struct
    records: tuple[Draft, ...] = ()
    write: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Operation(Generic[Q, G]):
    """One route. `ground` finds what the path names and judges the mandate; `decide` does the rest.

    `principal` names whose idempotency key it is. `changes` tells routes that change something from reads, `frees`
    those that may leave time for whoever waits from those that do nothing but take some.
    """

    request: type[Q]
    ground: Callable[[Unit, Desk, Call[Q]], G]
    decide: Callable[[Unit, Desk, Call[Q], G], Plan]
    principal: Callable[[G], str] | None = None
    frees: bool = True

    @property
    def changes(self) -> bool:
        return self.principal is not None


def admit(unit: Unit, desk: Desk, operation: Operation[Q, G], call: Call[Q]) -> Answer:
    """Serves one request inside one unit of work."""
    if operation.changes:
        unit.lock(desk.lock)
    try:
        # The scope holds the host, so that hosts can be spread over several databases.
        fresh = nonces.spend(unit, f"{desk.host} {call.agent}", call.nonce, call.nonce_until)
    except Refused as refused:
        return refusal_answer(refused.refusal, desk.contact)
    if not fresh:
        return refusal_answer(refuse("replayed_nonce"), desk.contact)
    try:
        if operation.principal is None:
            _let_waiters_first(unit, desk)
            return _carry_out(unit, desk, call, operation.decide(unit, desk, call, operation.ground(unit, desk, call)))
        lapse_due(unit, desk)
        grounds = operation.ground(unit, desk, call)
    except Refused as refused:
        return refusal_answer(refused.refusal, desk.contact)
    return _once(unit, desk, operation, call, grounds, operation.principal(grounds))


def _once(unit: Unit, desk: Desk, operation: Operation[Q, G], call: Call[Q], grounds: G, principal: str) -> Answer:
    """The idempotency slot around a change (SCH-063..071)."""
    key: str = getattr(call.request, "idempotency_key")  # noqa: B009 - every request that changes something has one
    slot = replay.slot(desk.host, call.agent, principal, call.operation, key)
    match replay.claim(unit, slot, call.body_sha256 + call.mandate_sha256, unit.now + desk.replay_window):
        case replay.Stored(status, body):
            return Answer(status=status, body=body, is_replay=True)
        case replay.Conflict() | replay.Running():
            return refusal_answer(refuse("key_reused", place="$.idempotency_key"), desk.contact)
    try:
        plan = operation.decide(unit, desk, call, grounds)
    except Refused as refused:
        answer = refusal_answer(refused.refusal, desk.contact)
        if is_stored(refused.refusal):
            replay.keep(unit, slot, answer.status, answer.body)
        else:
            replay.release(unit, slot)
        return answer
    answer = _carry_out(unit, desk, call, plan)
    if operation.frees:
        serve(unit, desk)
    replay.keep(unit, slot, answer.status, answer.body)
    return answer


def perform(unit: Unit, desk: Desk, operation: Operation[Q, G], call: Call[Q]) -> msgspec.Struct:
    """An act at the desk itself: the same unit of work without a signed request around it; the reply. Refused as over
    HTTP, and then only what the clock ended has been written.
    """
    unit.lock(desk.lock)
    lapse_due(unit, desk)
    plan = operation.decide(unit, desk, call, operation.ground(unit, desk, call))
    _carry_out(unit, desk, call, plan)
    serve(unit, desk)
    return plan.reply


def _let_waiters_first(unit: Unit, desk: Desk) -> None:
    """What has run out goes to whoever waits before anybody else can see that it is free (SCH-239)."""
    if has_waiting(unit, desk.host):
        unit.lock(desk.lock)
        lapse_due(unit, desk)


def _carry_out(unit: Unit, desk: Desk, call: Call[Q], plan: Plan) -> Answer:
    body = strictjson.encode(plan.reply)
    if plan.write is not None:
        plan.write()
    if plan.records:
        seen = {"inputs_sha256": b64u.encode(call.body_sha256), "output_sha256": b64u.encode(sha256(body))}
        desk.record(unit, (msgspec.structs.replace(draft, **seen) for draft in plan.records))
    return Answer(status=plan.status, body=body)
