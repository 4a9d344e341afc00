"""A run of the memory adapter from its admission to its terminal: both gates, the client's tool, cancel and close."""

from __future__ import annotations

import pytest

from sayso.control.protocol.payloads.session import SessionState
from tests.control.adapters.reference.stage import Stage, refused, staged
from tests.control.conftest import Trace

pytestmark = pytest.mark.anyio

ASKED = ["run.started", "content.delta", "action.call.requested", "action.permission.requested", "run.status.updated"]
PERMITTED = ["action.permission.resolved", "run.status.updated", "action.call.started", "action.call.completed"]
QUESTIONED = ["user.input.requested", "run.status.updated"]
ANSWERED = ["user.input.resolved", "run.status.updated", "run.completed"]
ECHO = {"name": "echo", "input_schema": {"type": "object"}, "execution_owner": "user", "source": "memory"}


@pytest.mark.req("OAP-012", "OAP-013", "OAP-017", "OAP-038", "OAP-041")
async def test_one_run_opens_a_permission_and_a_question_and_ends_once(stage: Stage) -> None:
    """The reference path: every event in its order, nothing behind the terminal."""
    run = (await stage.submit("paint")).run_id
    assert await stage.read(run) == ASKED
    await stage.permit(run)
    assert await stage.read(run) == [*ASKED, *PERMITTED, *QUESTIONED]
    await stage.reply(run)
    assert await stage.read(run) == [*ASKED, *PERMITTED, *QUESTIONED, *ANSWERED]
    (completed,) = stage.payloads(run, "run.completed")
    assert (completed["final_response"]["content"], completed["settled_by"]) == ("Done: paint", "observed")


@pytest.mark.req("OAP-017", "OAP-038")
async def test_a_denied_tool_never_starts_and_the_run_goes_on(stage: Stage) -> None:
    """A no closes the permission and the call, and says so."""
    run = (await stage.submit()).run_id
    await stage.read(run)
    await stage.permit(run, granted=False, choice_id="deny")
    told = await stage.read(run)
    assert told[len(ASKED) :] == ["action.permission.resolved", "run.status.updated", "action.call.failed", *QUESTIONED]
    assert stage.payloads(run, "action.call.failed")[0]["error"]["code"] == "permission_denied"
    await stage.decline(run)
    assert (await stage.read(run))[-3:] == ANSWERED


@pytest.mark.req("OAP-017")
async def test_a_permission_may_rewrite_the_arguments(stage: Stage) -> None:
    """What runs is what was granted."""
    run = (await stage.submit("a")).run_id
    await stage.read(run)
    await stage.permit(run, updated_arguments_json={"text": "b"})
    await stage.read(run)
    assert stage.payloads(run, "action.call.started")[0]["arguments_json"] == {"text": "b"}
    assert stage.payloads(run, "action.call.completed")[0]["result"]["arguments"] == {"text": "b"}
    await stage.cancel(run)
    await stage.read(run)


@pytest.mark.req("OAP-017")
@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"interaction_id": "other"}, "unknown_interaction"),
        ({"responded_by": "someone"}, "wrong_responder"),
        ({"requested_by": "someone"}, "wrong_responder"),
        ({"granted": True, "choice_id": "deny"}, "invalid_answer"),
    ],
)
async def test_a_permission_is_answered_by_its_responder_and_by_one_of_its_choices(
    trace: Trace, more: dict[str, object], reason: str
) -> None:
    """B10: nothing else counts, and the run still waits."""
    async with staged(trace) as stage:
        run = (await stage.submit()).run_id
        await stage.read(run)
        assert await refused(stage.permit(run, **more)) == ("resolution_rejected", {"reason": reason})
        assert await stage.read(run) == ASKED


@pytest.mark.req("OAP-017")
async def test_the_second_answer_is_refused(trace: Trace) -> None:
    """B10: the first one counted."""
    async with staged(trace) as stage:
        run = (await stage.submit()).run_id
        await stage.read(run)
        await stage.permit(run)
        assert await refused(stage.permit(run)) == ("resolution_rejected", {"reason": "unknown_interaction"})


@pytest.mark.req("OAP-017")
@pytest.mark.parametrize(
    "answers",
    [
        [{"question_id": "why", "text": "so"}],
        [{"question_id": "colour", "text": "red"}],
        [{"question_id": "colour", "selected_option_ids": ["green"]}],
        [{"question_id": "colour", "selected_option_ids": ["red", "blue"]}],
        [{"question_id": "colour", "selected_option_ids": ["red"]}, {"question_id": "who", "text": "I"}],
        [{"question_id": "colour", "selected_option_ids": ["red"]}] * 2,
        [
            {"question_id": "colour", "selected_option_ids": ["red"]},
            {"question_id": "why", "selected_option_ids": ["so"]},
        ],
    ],
)
async def test_answers_that_do_not_fit_their_questions_are_refused(
    trace: Trace, answers: list[dict[str, object]]
) -> None:
    """Missing, foreign, double, and of the wrong kind: the questions stay open."""
    async with staged(trace) as stage:
        run = (await stage.submit("script: gates", tool_choice={"mode": "none"})).run_id
        before = await stage.read(run)
        code, details = await refused(stage.reply(run, *answers))
        assert (code, details["reason"]) == ("resolution_rejected", "invalid_answer")
        assert await stage.read(run) == before


@pytest.mark.req("OAP-082", "OAP-083", "OAP-084")
async def test_a_tool_of_the_client_is_started_and_ended_by_its_word(trace: Trace) -> None:
    """Started on evidence alone; the terminal carries the result as it was given, and the request it came from."""
    async with staged(trace, opened={"tools": [ECHO]}) as stage:
        run = (await stage.submit("script: tools", tool_choice={"allowed": ["echo"]})).run_id
        assert (await stage.read(run))[-2:] == ["action.call.requested", "run.status.updated"]
        waiting = (await stage.session.state()).active_runs[0]  # type: ignore[index]
        await stage.call(run, started={})
        assert (await stage.read(run))[-1] == "action.call.started"
        acknowledged = (await stage.session.state()).active_runs[0]  # type: ignore[index]
        await stage.call(run, result={"said": None})
        await stage.read(run)
        (asked,), (done,) = stage.payloads(run, "action.call.requested"), stage.payloads(run, "action.call.completed")
        assert (asked["execution_owner"], asked["responded_by"], done["result"]) == ("user", "user", {"said": None})
        interaction = asked["interaction_id"]
        assert (waiting.pending_interactions, waiting.acknowledged_interactions) == ((interaction,), ())
        assert (acknowledged.pending_interactions, acknowledged.acknowledged_interactions) == (
            (interaction,),
            (interaction,),
        )
        resolves = [each.id for each in trace.envelopes if each.type == "action.call.resolve.request"]
        assert done["request_id"] == resolves[-1]


@pytest.mark.req("OAP-083", "OAP-084")
async def test_a_result_alone_starts_and_ends_the_call(trace: Trace) -> None:
    """The result is itself the evidence that the tool ran; an error fails the call, and the run goes on."""
    async with staged(trace, opened={"tools": [ECHO]}) as stage:
        run = (await stage.submit("script: tools", tool_choice={"mode": "named", "name": "echo"})).run_id
        await stage.read(run)
        await stage.call(run, error={"code": "tool_failed", "message": "no"})
        assert (await stage.read(run))[-4:] == [
            "action.call.started",
            "action.call.failed",
            "run.status.updated",
            "run.completed",
        ]
        starts, fails = stage.payloads(run, "action.call.started"), stage.payloads(run, "action.call.failed")
        assert starts[0]["request_id"] == fails[0]["request_id"]


@pytest.mark.req("OAP-083")
async def test_a_word_about_a_call_that_cannot_count_says_why(trace: Trace) -> None:
    """Ranked: unknown, foreign, settled, repeated; a settled one names its event."""
    async with staged(trace, opened={"tools": [ECHO]}) as stage:
        run = (await stage.submit("script: tools", tool_choice={"allowed": ["echo"]})).run_id
        await stage.read(run)
        said = [
            await stage.call(run, result=1, interaction_id="other", responded_by="someone"),
            await stage.call(run, result=1, responded_by="someone"),
            await stage.call(run, started={}),
            await stage.call(run, started={}),
            await stage.call(run, result=1),
            await stage.call(run, result=1, responded_by="someone"),
            await stage.call(run, result=1),
        ]
        await stage.read(run)
        assert [reply.reason or "accepted" for reply in said] == [
            "unknown_interaction",
            "wrong_responder",
            "accepted",
            "repeated_acknowledgement",
            "accepted",
            "wrong_responder",
            "already_resolved",
        ]
        assert said[-1].details.settlement_id == stage.last(run, "action.call.completed").id


@pytest.mark.req("OAP-013", "OAP-014")
@pytest.mark.parametrize("steps", [0, 1, 2])
async def test_a_cancel_closes_what_is_open_before_the_terminal(trace: Trace, steps: int) -> None:
    """At a permission, at questions, in a tool of the client: the gate, the call, then the run."""
    async with staged(trace, opened={"tools": [ECHO]}) as stage:
        run = (await stage.submit()).run_id
        await stage.read(run)
        if steps > 0:
            await stage.permit(run)
            await stage.read(run)
        if steps > 1:
            await stage.call(run, started={})
            await stage.call(run, result=1)
            await stage.read(run)
        before = len(await stage.read(run))
        answer = await stage.cancel(run)
        expected = {
            0: ["action.permission.resolved", "action.call.cancelled"],
            1: ["action.call.cancelled"],
            2: ["user.input.resolved"],
        }[steps]
        assert answer.status == "cancelling"
        assert (await stage.read(run))[before:] == ["run.status.updated", *expected, "run.cancelled"]


@pytest.mark.req("OAP-014")
async def test_a_repeated_cancel_is_harmless_and_a_late_one_is_refused(stage: Stage) -> None:
    """B13, B14: a cancelled run answers again, a completed one does not, a later run is not touched."""
    first = (await stage.submit("script: hold")).run_id
    await stage.cancel(first)
    await stage.read(first)
    assert (await stage.cancel(first)).status == "cancelled"
    second = (await stage.submit("script: plain")).run_id
    await stage.read(second)
    assert [(await refused(stage.cancel(run)))[0] for run in (second, "r9")] == ["run_terminal", "run_not_found"]


@pytest.mark.req("OAP-014")
async def test_completion_may_win_over_an_accepted_cancel(stage: Stage) -> None:
    """B13: the answer to a cancel is intent; what really happened is told."""
    run = (await stage.submit("script: stubborn")).run_id
    await stage.read(run)
    assert (await stage.cancel(run)).accepted
    assert (await stage.read(run))[-2:] == ["run.status.updated", "run.completed"]


async def test_a_script_may_fail_the_run(stage: Stage) -> None:
    """A typed error, and the session is free again."""
    run = (await stage.submit("script: fail")).run_id
    assert (await stage.read(run))[-1] == "run.failed"
    assert (await stage.session.state()).status == "idle"


@pytest.mark.req("OAP-013", "OAP-041")
async def test_a_close_fails_what_is_live_and_a_second_does_nothing(stage: Stage) -> None:
    """Nobody accepted a cancel, so nothing is cancelled; what was open closes first."""
    first, second = (await stage.submit()).run_id, (await stage.submit(delivery="queue")).run_id
    await stage.read(first)
    await stage.read(second)
    await stage.session.close()
    await stage.session.close()
    assert (await stage.read(first))[len(ASKED) :] == [
        "action.permission.resolved",
        "action.call.cancelled",
        "run.failed",
    ]
    assert await stage.read(second) == ["run.failed"]
    assert await refused(stage.submit()) == ("session_closed", {})


@pytest.mark.req("OAP-055")
async def test_the_state_lists_what_is_not_over(stage: Stage) -> None:
    """In the order of admission, with places in the queue, open interactions and where each was captured."""
    first = (await stage.submit(request_id="m1")).run_id
    await stage.read(first)
    second = (await stage.submit("b", request_id="m2")).run_id
    state: SessionState = await stage.session.state()
    shown = [
        (run.run_id, run.status, run.queue_position or None, run.as_of_sequence, run.admitted_submit_requests)
        for run in state.active_runs or ()
    ]
    assert (state.status, state.active_run_id) == ("waiting_for_input", first)
    assert shown == [(first, "waiting_for_input", None, 5, ("m1",)), (second, "queued", 1, 0, ("m2",))]
    assert [len(run.pending_interactions or ()) for run in state.active_runs or ()] == [1, 0]
    await stage.cancel(second)
    await stage.read(second)
    await stage.cancel(first)
    await stage.read(first)
    settled = (await stage.session.state()).as_of
    assert settled
    assert [(each.run_id, each.sequence) for each in settled.settled or ()] == [(first, 9), (second, 1)]
