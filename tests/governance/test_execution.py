"""What was approved is carried out: judged again, written down before and after, asked midway, stopped in time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import anyio
import msgspec
import pytest

from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.governance import claims
from sayso.governance.consent import Answer, Consent, Evidence, Question
from sayso.governance.constitution import Ceilings, Constitution
from sayso.governance.execution import LEASE, Executor
from sayso.governance.machine import ProposalState as State
from sayso.governance.proposal import Proposal
from sayso.governance.running import MOST_TRIES
from sayso.proof.hashes import sha256_b64u
from sayso.store.statements import statement
from sayso.store.tables.governance import proposal as proposal_table
from sayso.store.unit import Unavailable
from sayso.testing.store import START
from tests.governance.house import (
    ADA,
    LIMITS,
    OFFER,
    OTHER,
    PERSON,
    SIGNED,
    SIGNED_OFFER,
    TURNS,
    VIEWER,
    House,
    Wanted,
    until,
)

pytestmark = pytest.mark.anyio


async def run(house: House, found: Proposal) -> Proposal:
    await house.executor().run_once()
    return await house.gate.find(found.id)


# -- the ordinary way


@pytest.mark.req("GTW-030", "GTW-033", "GTW-050", "GTW-051")
async def test_an_approved_act_runs_between_an_intent_and_an_outcome(house: House) -> None:
    """Five transitions, five chained receipts; the intent is durable when the operation is called."""
    found = await house.approved()
    before: list[str] = []

    async def look(_wanted: Wanted, consent: Consent | None) -> Mapping[str, Any]:
        before.extend(await house.kinds())
        return {"did": "tea"}

    house.body = look
    after = await run(house, found)
    assert before == ["proposed", "pending", "approved", "executing"]
    assert await house.kinds() == ["proposed", "pending", "approved", "executing", "executed"]
    assert (after.state, after.result, after.refusal) == (State.EXECUTED, {"did": "tea"}, None)
    intent, outcome = (await house.ledger.records())[-2:]
    assert (intent.actor, intent.body["attempt"], intent.body["evidence"]) == (ADA, 1, 3)
    assert (outcome.output_sha256, outcome.body["previous"]) == (sha256_b64u(b'{"did":"tea"}'), intent.seq)
    assert await house.executor().run_once() == 0


@pytest.mark.req("GTW-030", "GTW-033")
async def test_the_operation_gets_the_decision_as_consent(house: House) -> None:
    """Who, over exactly what, for which agent and call: the key that makes it idempotent."""
    found = await house.approved()
    after = await run(house, found)
    assert after.decision is not None
    ((name, consent),) = house.ran
    assert (name, consent) == (
        "note",
        Consent(
            by="person_1", evidence=Evidence.GATE_DECISION, subject_sha256=after.decision.subject_sha256,
            mode="human_present", agent=ADA, call_id=found.id,
        ),
    )  # fmt: skip


@pytest.mark.req("GTW-032")
async def test_a_yes_that_was_given_beforehand_is_never_a_persons(house: House) -> None:
    """A pipe that answers is `preapproved` in the stored decision and in the consent the act runs on."""
    found = await house.propose()
    piped = msgspec.structs.replace(PERSON, mode="preapproved")
    await house.gate.approve(found.id, piped, reason="a script said so")
    after = await run(house, found)
    ((_, consent),) = house.ran
    assert (after.state, after.decision and after.decision.mode, consent and consent.mode) == (
        State.EXECUTED, "preapproved", "preapproved",
    )  # fmt: skip


@pytest.mark.req("GTW-033")
async def test_stronger_evidence_takes_the_decisions_place(house: House) -> None:
    """An act on another party runs on what the person signed, still told apart by agent and call."""
    found = await house.approved("book")
    await run(house, found)
    ((_, consent),) = house.ran
    assert consent is not None
    assert (consent.evidence, consent.document, consent.agent, consent.call_id) == (
        Evidence.SIGNED_LIMITS, "signed limits", ADA, found.id
    )  # fmt: skip
    intent = (await house.ledger.records())[3]
    assert intent.links[0].sha256 == sha256_b64u("signed limits")


@pytest.mark.req("GTW-033")
@pytest.mark.parametrize(
    ("failure", "code", "by"),
    [
        (Refused.because("no_room", "it is full"), "no_room", None),
        (PeerRefused("a shop", Refusal(code="SLOT_TAKEN", message="taken")), "SLOT_TAKEN", "a shop"),
    ],
)
async def test_a_no_from_the_other_side_is_a_failure_with_its_code(
    house: House, failure: Exception, code: str, by: str | None
) -> None:
    """Known not to have happened, so it is not called unknown."""
    found = await house.approved()

    async def fails(_wanted: Wanted, _consent: Consent | None) -> Any:
        raise failure

    house.body = fails
    after = await run(house, found)
    assert after.refusal is not None
    assert (after.state, after.refusal.code, after.refusal.reason) == (State.FAILED, code, None)
    assert after.refusal.details.get("by") == by
    assert (await house.ledger.records())[-1].body["code"] == code


@pytest.mark.req("GTW-033")
async def test_a_bug_in_one_act_is_that_acts_failure(house: House) -> None:
    """The agent learns that it failed inside, and not how; another act goes on beside it."""
    broken, sound = await house.approved(what="bad"), await house.approved(what="good")

    async def fails(wanted: Wanted, _consent: Consent | None) -> Any:
        if wanted.what == "bad":
            raise KeyError("a secret path")
        return {"did": wanted.what}

    house.body = fails
    after = await run(house, broken)
    assert after.refusal is not None
    assert (after.state, after.refusal.code, after.refusal.reason) == (State.FAILED, "internal_error", "unknown")
    assert "secret" not in str(after.refusal)
    assert (await house.gate.find(sound.id)).state is State.EXECUTED


@pytest.mark.req("GTW-033")
@pytest.mark.parametrize("result", [{"big": 2**70}, {"odd": object()}, ["no object"]], ids=["big", "odd", "list"])
async def test_an_answer_that_cannot_be_kept_is_a_failure_inside(house: House, result: Any) -> None:
    """A row that could not be read back would stand in everybody's way."""
    found = await house.approved()

    async def odd(_wanted: Wanted, _consent: Consent | None) -> Any:
        return result

    house.body = odd
    after = await run(house, found)
    assert after.refusal is not None
    assert (after.state, after.refusal.code) == (State.FAILED, "internal_error")


@pytest.mark.req("GTW-033")
@pytest.mark.parametrize("act", ["book", "ring"])
async def test_a_database_that_is_away_is_no_outcome(house: House, clock: ManualClock, act: str) -> None:
    """The lease ends, and what the act promised decides: once more, or a person looks."""
    found = await house.approved(act)

    async def away(wanted: Wanted, _consent: Consent | None) -> Mapping[str, Any]:
        if len(house.ran) == 1:
            raise Unavailable("the database does not answer")
        return {"did": wanted.what}

    house.body = away
    assert (await run(house, found)).state is State.EXECUTING
    clock.advance(LEASE)
    after = await run(house, found)
    assert after.state is (State.EXECUTED if act == "book" else State.FAILED)


# -- judged again


@pytest.mark.req("GTW-031", "GTW-032")
@pytest.mark.parametrize("standing", ["suspended", "unknown"])
async def test_a_suspended_or_unknown_agents_approval_does_not_run(house: House, standing: str) -> None:
    """Article III, at the moment it would begin; the approval is used up by that."""
    found = await house.approved()
    if standing == "suspended":
        house.suspended.add(ADA)
    else:
        house.gate.standing = lambda _view, _agent: None
    after = await run(house, found)
    assert after.refusal is not None
    assert (after.state, after.refusal.reason, after.refusal.details) == (State.FAILED, "standing", {"article": "III"})
    assert (house.ran, (await house.kinds())[-1]) == ([], "failed")
    assert (await house.ledger.records())[-1].article == "III"
    house.suspended.clear()
    assert (await run(house, found)).state is State.FAILED


@pytest.mark.req("GTW-031", "GTW-032")
@pytest.mark.parametrize("allowed", [True, False])
async def test_a_changed_constitution_judges_it_anew(house: House, allowed: bool) -> None:
    """What the new one allows runs, and the receipt says under which; what it refuses does not."""
    found = await house.approved()
    changed = Constitution.load(Ceilings(seconds=60 if allowed else 59))
    changed.tag = "2.1 other words"
    gate = house.open_gate(changed, CountingIds())
    await Executor(store=house.store, gate=gate, clock=house.clock, worker="w").run_once()
    after = await gate.find(found.id)
    assert after.state is (State.EXECUTED if allowed else State.FAILED)
    if allowed:
        assert (await house.ledger.records())[3].body["rejudged"] == "2.1 other words"
    else:
        assert house.ran == []
        assert after.refusal is not None
        assert after.refusal.details == {"article": "VII"}


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize(
    "changed",
    [
        {"arguments": b'{"what":"coffee"}'},
        {"arguments": b'{"what":"coffee"}', "arguments_sha256": sha256_b64u(b'{"what":"coffee"}')},
        {"act": "keep"},
        {"agent": "agent_bea"},
    ],
    ids=lambda changed: "+".join(changed),
)
async def test_what_was_changed_after_the_decision_does_not_run(house: House, changed: dict[str, Any]) -> None:
    """An approval covers exactly what the person was shown, byte for byte."""
    found = await house.approved()
    await house.store.unit(lambda unit: unit.execute(statement(proposal_table.update(), *changed), changed))
    after = await run(house, found)
    assert after.refusal is not None
    assert (after.state, after.refusal.code, house.ran) == (State.FAILED, "approval_mismatch", [])


@pytest.mark.req("GTW-032", "GTW-033")
async def test_evidence_that_is_gone_when_it_counts_does_not_run(house: House) -> None:
    """The sources are asked again: what was signed may have been revoked since."""
    found = await house.approved("book")
    house.sources.clear()
    after = await run(house, found)
    assert after.refusal is not None
    assert (after.state, after.refusal.code, house.ran) == (State.FAILED, "consent_required", [])


async def test_an_act_that_is_registered_no_more_fails_and_says_so(house: House) -> None:
    """Code changed between the decision and the run."""
    found = await house.approved()
    house.registry._acts.pop("note")
    after = await run(house, found)
    assert after.refusal is not None
    assert (after.state, after.refusal.code) == (State.FAILED, "unclassified_act")


# -- a second question


@pytest.mark.req("GTW-032")
async def test_a_question_midway_waits_with_its_own_deadline_and_goes_on(house: House) -> None:
    """executing, awaiting_person, executing, executed: the operation is called again with the stronger evidence."""
    found = await house.approved("book", "offer")
    asked = await run(house, found)
    expected = msgspec.structs.replace(OFFER, expires=START + timedelta(minutes=10))
    assert (asked.state, asked.question, asked.expires_at) == (State.AWAITING_PERSON, expected, expected.expires)
    assert await house.gate.question(found.id) == expected
    assert (await house.ledger.records())[-1].body["text_sha256"] == sha256_b64u(b"I take it.")
    assert await house.executor().run_once() == 0
    await house.gate.answer(found.id, OTHER, SIGNED_OFFER)
    after = await run(house, found)
    assert (after.state, after.question, after.answers) == (State.EXECUTED, None, (SIGNED, SIGNED_OFFER))
    assert [consent.evidence for _, consent in house.ran if consent] == [Evidence.SIGNED_LIMITS, Evidence.SIGNED_ACT]
    kinds = (await house.kinds())[3:]
    assert kinds == ["executing", "awaiting_person", "answered", "executing", "executed"]
    assert (await house.ledger.records())[5].actor == "person_2"
    assert house.effects.all() == [found.id]


@pytest.mark.req("GTW-032")
async def test_a_question_midway_that_nobody_answers_expires(house: House, clock: ManualClock) -> None:
    """At the hold's deadline, not the gate's; a late answer is refused."""
    found = await house.approved("book", "offer")
    await run(house, found)
    clock.advance(timedelta(minutes=10))
    with pytest.raises(Refused) as refused:
        await house.gate.answer(found.id, PERSON, SIGNED_OFFER)
    assert refused.value.refusal.code == "proposal_expired"
    after = await run(house, found)
    assert (after.state, after.question, house.effects.all()) == (State.EXPIRED, None, [])


@pytest.mark.req("GTW-032")
async def test_a_no_to_the_question_midway_is_told_to_the_source_and_ends_it(house: House) -> None:
    """The source may have something to give back; the proposal fails as the person's no."""
    found = await house.approved("book", "offer")
    await run(house, found)
    await house.gate.answer(found.id, PERSON, Answer(granted=False))
    after = await run(house, found)
    assert after.refusal is not None
    assert (after.state, after.refusal.code, len(house.ran)) == (State.FAILED, "consent_refused", 1)


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize(
    ("by", "answer", "code"),
    [
        (VIEWER, SIGNED_OFFER, "refused_by_constitution"),
        (PERSON, Answer(granted=True, document="signed limits"), "bad_signature"),
        (PERSON, Answer(granted=True), "bad_signature"),
    ],
)
async def test_an_answer_midway_is_checked_before_it_is_kept(house: House, by: Any, answer: Answer, code: str) -> None:
    """By the constitution and by the source; the question stays open."""
    found = await house.approved("book", "offer")
    await run(house, found)
    with pytest.raises(Refused) as refused:
        await house.gate.answer(found.id, by, answer)
    assert refused.value.refusal.code == code
    assert (await house.gate.find(found.id)).answers == (SIGNED,)
    assert (await house.gate.find(found.id)).state is State.AWAITING_PERSON


async def test_an_answer_that_nobody_asked_for_is_refused(house: House) -> None:
    """Before the act began, and after it ended."""
    found = await house.approved("book")
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            await house.gate.answer(found.id, PERSON, SIGNED_OFFER)
        assert refused.value.refusal.code == "nothing_asked"
        await run(house, found)


async def test_a_source_that_asks_again_before_the_run_is_a_question_midway(house: House) -> None:
    """What was signed is no longer there: the person is asked, and nothing has run."""
    found = await house.approved("book")

    class Forgets:
        async def consent(self, name: str, _arguments: Any, answers: Any) -> Question | None:
            return LIMITS if name == "book" and len(answers) < 2 else None

    house.sources.insert(0, Forgets())
    after = await run(house, found)
    assert (after.state, after.question, house.ran) == (State.AWAITING_PERSON, LIMITS, [])
    assert after.expires_at == START + timedelta(hours=1)
    assert (await house.kinds())[-2:] == ["executing", "awaiting_person"]


# -- time and leases


async def until_asleep(clock: ManualClock, sleepers: int) -> None:
    await until(lambda: clock.sleepers >= sleepers)


@pytest.mark.req("GTW-033")
@pytest.mark.parametrize("act", ["note", "keep", "ring"])
async def test_an_act_that_takes_too_long_is_stopped(house: House, clock: ManualClock, act: str) -> None:
    """Article VII: cancelled at its limit, and whether it took effect is unknown unless a probe can tell."""
    found = await house.approved(act)
    stopped: list[str] = []

    async def hangs(_wanted: Wanted, consent: Consent | None) -> Any:
        assert consent is not None
        if act == "keep":
            house.effects.happen(str(consent.call_id))
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append("stopped")

    house.body = hangs
    async with anyio.create_task_group() as group:
        group.start_soon(house.executor(lease=timedelta(hours=1)).run_once)
        await until(lambda: house.ran)
        await until_asleep(clock, 2)
        clock.advance(timedelta(seconds=60))
    after = await house.gate.find(found.id)
    assert stopped == ["stopped"]
    if act == "keep":
        assert (after.state, after.result) == (State.EXECUTED, {"did": "tea"})
        assert (await house.ledger.records())[-1].body["probed"] is True
    else:
        assert after.refusal is not None
        assert (after.state, after.refusal.code, after.refusal.reason) == (State.FAILED, "time_limit", "unknown")


@pytest.mark.req("GTW-033")
async def test_a_lease_is_renewed_while_its_act_runs(house: House, clock: ManualClock) -> None:
    """Nobody else claims it, however long it takes within its limit."""
    found = await house.approved()
    go = anyio.Event()

    async def waits(_wanted: Wanted, _consent: Consent | None) -> Mapping[str, Any]:
        await go.wait()
        return {"did": "tea"}

    house.body = waits
    async with anyio.create_task_group() as group:
        group.start_soon(house.executor("w1").run_once)
        await until(lambda: house.ran)
        for _ in range(6):
            due = await house.store.reading(lambda view: claims.next_due(view, house.gate.owner))
            await until_asleep(clock, 2)
            clock.advance(LEASE / 3)
            for _ in range(TURNS):
                if due != await house.store.reading(lambda view: claims.next_due(view, house.gate.owner)):
                    break
            else:
                raise AssertionError("the lease was not renewed")
        assert await house.executor("w2").run_once() == 0
        go.set()
    assert (await house.gate.find(found.id)).state is State.EXECUTED
    assert len(house.ran) == 1


def asleep(house: House) -> tuple[Executor, ManualClock]:
    """A worker of a process that is stopped: its own clock stands still, so that it renews nothing."""
    stopped = ManualClock(START)
    return Executor(store=house.store, gate=house.gate, clock=stopped, worker="w1"), stopped


@pytest.mark.req("GTW-033")
async def test_a_worker_that_lost_its_lease_writes_no_outcome(house: House, clock: ManualClock) -> None:
    """A process that slept through its lease: its act is another's now, and that one's outcome stands."""
    found = await house.approved()

    async def body(_wanted: Wanted, _consent: Consent | None) -> Mapping[str, Any]:
        if len(house.ran) == 1:
            clock.advance(LEASE)
            assert await house.executor("w2").run_once() == 1
            return {"did": "late"}
        return {"did": "first"}

    house.body = body
    await asleep(house)[0].run_once()
    after = await house.gate.find(found.id)
    assert (after.state, after.result) == (State.EXECUTED, {"did": "first"})
    assert (await house.kinds()).count("executed") == 1


@pytest.mark.req("GTW-033")
async def test_a_worker_that_learns_of_its_lost_lease_stops_its_act(house: House, clock: ManualClock) -> None:
    """It is cancelled, and what the other one is doing goes on."""
    found = await house.approved()
    sleeper, stopped = asleep(house)
    go, seen = anyio.Event(), []

    async def body(_wanted: Wanted, _consent: Consent | None) -> Mapping[str, Any]:
        mine = len(house.ran)
        try:
            await go.wait()
        finally:
            seen.append(mine)
        return {"did": "second"}

    house.body = body
    async with anyio.create_task_group() as group:
        group.start_soon(sleeper.run_once)
        await until(lambda: house.ran)
        clock.advance(LEASE)
        group.start_soon(house.executor("w2").run_once)
        await until(lambda: len(house.ran) == 2)
        await until_asleep(stopped, 2)
        stopped.advance(LEASE / 3)
        await until(lambda: seen)
        go.set()
    assert seen == [1, 2]
    assert (await house.gate.find(found.id)).result == {"did": "second"}


@pytest.mark.req("GTW-033")
async def test_an_act_nobody_answered_is_run_again_a_little_later(house: House, clock: ManualClock) -> None:
    """Where a second run cannot harm; the waits double, and in the end a person is told that nobody knows."""
    found = await house.approved()

    async def silent(_wanted: Wanted, _consent: Consent | None) -> Any:
        raise PeerUnreachable("a shop", "no answer")

    house.body = silent
    waits = []
    while (await run(house, found)).state is State.EXECUTING:
        due = await house.store.reading(lambda view: claims.next_due(view, house.gate.owner))
        assert due is not None
        waits.append((due - clock.now()).total_seconds())
        clock.set(due)
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60]
    assert len(waits) == MOST_TRIES == len(house.ran) - 1
    after = await house.gate.find(found.id)
    assert after.refusal is not None
    assert (after.state, after.refusal.code, after.refusal.reason) == (State.FAILED, "peer_unreachable", "unknown")


@pytest.mark.req("GTW-033")
async def test_an_act_that_must_not_run_twice_is_not_tried_again(house: House) -> None:
    """Its silence is reported at once."""
    found = await house.approved("ring")

    async def silent(_wanted: Wanted, _consent: Consent | None) -> Any:
        raise PeerUnreachable("a shop", "no answer")

    house.body = silent
    after = await run(house, found)
    assert after.refusal is not None
    assert (after.state, after.refusal.reason, len(house.ran)) == (State.FAILED, "unknown", 1)


@pytest.mark.req("GTW-033")
async def test_a_source_that_cannot_be_reached_is_asked_again(house: House, clock: ManualClock) -> None:
    """Nothing was begun, so nothing is unknown."""
    found = await house.approved("book")
    calls = 0

    class Away:
        async def consent(self, *_: Any) -> None:
            nonlocal calls
            calls += 1
            if calls == 1:
                raise PeerUnreachable("a host", "no answer")

    house.sources.insert(0, Away())
    assert (await run(house, found)).state is State.APPROVED
    clock.advance(timedelta(seconds=2))
    assert (await run(house, found)).state is State.EXECUTED


# -- the loop


@pytest.mark.req("GTW-033", "GTW-034")
async def test_a_running_executor_is_woken_by_an_approval(house: House, clock: ManualClock) -> None:
    """And sweeps deadlines; nobody has to ask it to."""
    forgotten = await house.propose(what="forgotten")
    async with anyio.create_task_group() as group:
        group.start_soon(house.executor().run)
        found = await house.approved()
        assert (await house.gate.wait(found.id, 3)).state is State.EXECUTED
        await until_asleep(clock, 1)
        clock.advance(timedelta(hours=24))
        assert (await house.gate.wait(forgotten.id, 1)).state is State.EXPIRED
        group.cancel_scope.cancel()


async def test_a_full_executor_claims_when_a_slot_is_free(house: House) -> None:
    """No more at once than it may, and all of them in the end."""
    found = [await house.approved(what=str(number)) for number in range(5)]
    at_once: list[int] = []

    async def body(_wanted: Wanted, _consent: Consent | None) -> Mapping[str, Any]:
        at_once.append(len(house.ran))
        await anyio.lowlevel.checkpoint()
        return {}

    house.body = body
    executor = house.executor(at_once=2)
    async with anyio.create_task_group() as group:
        group.start_soon(executor.run)
        for each in found:
            assert (await house.gate.wait(each.id, 3)).state is State.EXECUTED
        group.cancel_scope.cancel()
    assert len(house.ran) == 5


@pytest.mark.req("GTW-033")
async def test_what_a_stopped_executor_left_is_finished_by_the_next(house: House, clock: ManualClock) -> None:
    """Cancelled in the middle of a run: its lease ends, and the act is taken up under the same call id."""
    found = await house.approved()
    first = True

    async def body(_wanted: Wanted, consent: Consent | None) -> Mapping[str, Any]:
        nonlocal first
        if first:
            first = False
            await anyio.sleep_forever()
        return {"call": str(consent and consent.call_id)}

    house.body = body
    async with anyio.create_task_group() as group:
        group.start_soon(house.executor("w1").run)
        await until(lambda: house.ran)
        group.cancel_scope.cancel()
    assert await house.executor("w2").run_once() == 0
    clock.advance(LEASE)
    after = await run(house, found)
    assert (after.state, after.result) == (State.EXECUTED, {"call": found.id})
    assert [record.body.get("attempt") for record in await house.ledger.records()][3:] == [1, 2, 2]
