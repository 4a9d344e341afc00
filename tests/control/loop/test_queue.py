"""Runs of one session in line: eight reservations, promoted in order, cancelled in place; and steers into the first."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from sayso.control.client.requests import cancel_request, submit_request
from sayso.control.protocol.payloads.content import text_of
from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerRefused
from sayso.testing.provider import Call, Hangs, Say
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.loop.stage import TWO, Stage, staged

pytestmark = pytest.mark.anyio
IDS = SystemIds()


async def fill(stage: Stage) -> list[str]:
    """One at work and eight behind it."""
    return [str((await stage.client.submit(stage.id, f"message {number}")).run_id) for number in range(9)]


@pytest.mark.req("OAP-160")
async def test_eight_wait_and_start_in_order_whatever_became_of_the_first(trace: Trace) -> None:
    """The first is cancelled, the queue is kept: B, C and the rest, each with its own end (B15)."""
    turns = [[Hangs()], *([Say(f"answer {number}")] for number in range(8))]
    async with staged(turns, record=trace.record) as stage:
        limits = (await stage.client.capabilities("sayso")).limits
        assert limits
        assert (limits.max_queued_runs_per_session, limits.max_active_runs_per_session) == (8, 9)
        runs = await fill(stage)
        with pytest.raises(PeerRefused) as full:
            await stage.client.submit(stage.id, "one too many")
        state = await stage.client.state(stage.id)
        await stage.client.cancel(stage.id, runs[0])
        ends = [(await stage.read(run_id)).type for run_id in runs]
    assert full.value.refusal.code == "run_active"
    assert [each.queue_position or 0 for each in state.active_runs or ()] == list(range(9))
    assert ends == ["run.cancelled", *["run.completed"] * 8]
    started = [each.run_id for each in trace.envelopes if each.type == "run.started"]
    assert started == runs
    said = [text_of(request.messages[-1].content) for request in stage.provider.requests]
    assert said == [f"message {number}" for number in range(9)]


@pytest.mark.req("OAP-160")
async def test_a_cancelled_reservation_frees_its_place_within_that_request(trace: Trace) -> None:
    """The next request, sent right behind the cancel, finds room; the cancelled one tells its one event."""
    async with staged([[Hangs()]], record=trace.record) as stage:
        runs = await fill(stage)
        session = stage.hub.session(stage.id)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.cancel, cancel_request(IDS, stage.id, runs[4], "not this one"))
            tasks.start_soon(session.submit, submit_request(IDS, stage.id, "instead", "queue"))
        state = await stage.client.state(stage.id)
        ended = await stage.read(runs[4])
    assert (ended.type, ended.payload.reason, ended.sequence) == ("run.cancelled", "not this one", 1)  # type: ignore[attr-defined]
    listed = [each.run_id for each in state.active_runs or ()]
    assert (len(listed), runs[4] in listed, listed[:4]) == (9, False, runs[:4])


@pytest.mark.req("OAP-160", "OAP-163")
async def test_a_reservation_starts_with_the_model_in_force_then(trace: Trace) -> None:
    """A switch moves later starts, promotions among them, and never the run at work."""
    turns = [[Call("book")], [Say("one")], [Say("two")]]
    async with staged(turns, {"book": asking("limits")}, record=trace.record) as stage:
        first, asked = await stage.begin(until="action.permission.requested")
        second = str((await stage.client.submit(stage.id, "then", delivery="queue")).run_id)
        await stage.client.switch_model(stage.id, TWO)
        await stage.client.resolve(asked, granted=True)  # type: ignore[arg-type]
        ends = [await stage.read(run_id) for run_id in (first, second)]
        state = await stage.client.state(stage.id)
    assert [end.payload.model_id for end in ends] == ["scripted/one", TWO]  # type: ignore[attr-defined]
    assert [request.model_ref for request in stage.provider.requests] == ["scripted/one", "scripted/one", TWO]
    assert state.current_model_id == TWO
    assert "session.state.updated" in trace.types()


@pytest.mark.req("OAP-155")
async def test_a_steer_is_heard_by_the_run_it_went_into(trace: Trace) -> None:
    """Admitted without a run of its own, held until its answer is out, told once, before the target's end."""
    turns = [[Call("book")], [Say("as you wish")]]
    async with staged(turns, {"book": asking("limits")}, record=trace.record) as stage:
        run_id, asked = await stage.begin(until="action.permission.requested")
        steered = await stage.client.submit(stage.id, "make it Friday", delivery="steer")
        state = await stage.client.state(stage.id)
        await stage.client.resolve(asked, granted=True)  # type: ignore[arg-type]
        await stage.read(run_id)
    assert (steered.admission, steered.run_id) == ("steered", run_id)
    assert [len(each.pending_steers or ()) for each in state.active_runs or ()] == [1]
    assert stage.types(run_id).count("run.steer.applied") == 1
    last = stage.provider.requests[-1].messages[-1]
    assert (last.role, text_of(last.content)) == ("user", "make it Friday")


@pytest.mark.req("OAP-096", "OAP-155")
async def test_a_steer_right_behind_the_message_it_is_for_waits_until_its_run_was_seen_to_start(trace: Trace) -> None:
    """Both sent at once: the run is believed, and hears it."""
    async with staged([[Call("book")], [Say("so be it")]], {"book": asking()}, record=trace.record) as stage:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.client.submit, stage.id, "go")
            tasks.start_soon(partial(stage.client.submit, stage.id, "rather so", delivery="steer"))
        run_id = str(stage.hub.session(stage.id).current_run)
        ended = await stage.read(run_id)
    assert ended.type == "run.completed"
    assert text_of(stage.provider.requests[1].messages[-1].content) == "rather so"


@pytest.mark.req("OAP-155")
@pytest.mark.parametrize("reason", ["no_started_run", "unknown_run", "not_started", "run_terminal"])
async def test_a_steer_without_a_run_that_takes_it_is_refused_with_the_reason(trace: Trace, reason: str) -> None:
    """It never becomes a run."""
    async with staged([[Say("done")], [Hangs()]], record=trace.record) as stage:
        ended, _ = await stage.begin()
        target = {"unknown_run": "r9", "run_terminal": ended}.get(reason)
        if reason == "not_started":
            await stage.client.submit(stage.id, "long")
            target = str((await stage.client.submit(stage.id, "then")).run_id)
        with pytest.raises(PeerRefused) as refused:
            await stage.client.submit(
                stage.id, "psst", delivery="steer", **({"target_run_id": target} if target else {})
            )
    assert (refused.value.refusal.code, refused.value.refusal.reason) == ("invalid_steer_target", reason)


@pytest.mark.req("OAP-159")
async def test_after_a_cancel_the_session_takes_the_next_message(trace: Trace) -> None:
    """Its open prompt is closed first; what was said stays said, and every call has its one result (B13, B14)."""
    turns = [[Call("book", tool_call_id="c1")], [Say("again")]]
    async with staged(turns, {"book": asking("limits")}, record=trace.record) as stage:
        run_id, _ = await stage.begin(until="action.permission.requested")
        await stage.client.cancel(stage.id, run_id)
        await stage.read(run_id)
        _, ended = await stage.begin("next")
    assert stage.types(run_id)[-3:] == ["action.permission.resolved", "action.call.cancelled", "run.cancelled"]
    assert ended.type == "run.completed"
    roles = [message.role for message in stage.provider.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]


@pytest.mark.req("OAP-161")
async def test_a_run_is_read_again_from_any_cursor_and_an_unknown_one_is_not_found(trace: Trace) -> None:
    """By the adapter's own unit, beside what a hub keeps."""
    async with staged([[Say("a", "b")]], record=trace.record) as stage:
        run_id, _ = await stage.begin()
        adapter = stage.hub.session(stage.id).adapter
        again = [envelope async for envelope in adapter.resume(run_id, 2)]  # type: ignore[attr-defined]
    assert again == stage.seen[run_id][2:]


@pytest.mark.req("OAP-155")
async def test_a_long_session_holds_its_history_once_and_its_state_stays_small(trace: Trace) -> None:
    """Runs that are over keep nothing of what was said, and only the latest are named."""
    async with staged([[Say("ok")]] * 70, record=trace.record) as stage:
        for number in range(70):
            await stage.begin(f"message {number}")
        state = await stage.client.state(stage.id)
        runs = stage.hub.session(stage.id).adapter._runs  # type: ignore[attr-defined]
        held = sum(len(driver.run.messages) for driver in runs.drivers.values())
    assert (held, len(stage.provider.requests[-1].messages)) == (0, 140)
    assert state.as_of
    assert len(state.as_of.settled or ()) == 64
