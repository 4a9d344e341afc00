"""One run at a time and one reservation behind it: places, promotion, cancel before the start, steers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.control.adapters.reference.stage import Stage, refused

pytestmark = pytest.mark.anyio


def admission(answer: Any) -> tuple[str, str, str, object]:
    return answer.admission, answer.effective_delivery, answer.status, answer.delivery_resolution or None


@pytest.mark.req("OAP-012", "OAP-015", "OAP-052", "OAP-054")
async def test_a_busy_session_takes_one_reservation_and_then_no_more(stage: Stage) -> None:
    """`auto` starts where it can and queues where it must; the bound that was disclosed is the bound."""
    first = await stage.submit()
    second = await stage.submit()
    assert admission(first) == ("started", "start", "running", "session_idle")
    assert admission(second) == ("queued", "queue", "queued", "session_busy")
    for delivery in ("auto", "queue"):
        assert (await refused(stage.submit(delivery=delivery)))[0] == "run_active"
    assert (await refused(stage.compact()))[0] == "run_active"


@pytest.mark.req("OAP-052")
async def test_an_explicit_queue_is_a_reservation_first_even_when_nothing_runs(stage: Stage) -> None:
    """Admitted as queued, promoted at once."""
    answer = await stage.submit("script: plain", delivery="queue")
    assert admission(answer) == ("queued", "queue", "queued", None)
    assert await stage.read(answer.run_id) == ["run.started", "content.delta", "run.completed"]


@pytest.mark.req("OAP-053")
@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
async def test_a_reservation_starts_when_the_run_before_it_is_over(stage: Stage, end: str) -> None:
    """B15: however that run ended; its terminal stands before the next start."""
    script = {"complete": "script: stubborn", "fail": "script: gates", "cancel": "script: hold"}[end]
    first = (await stage.submit(script)).run_id
    second = (await stage.submit("script: plain")).run_id
    await stage.read(first)
    assert await stage.read(second) == []
    await stage.cancel(first)
    await stage.read(first)
    assert (await stage.read(second))[0] == "run.started"
    types = [(each.run_id, each.type) for each in stage.trace.envelopes if each.sequence]
    ending = next(place for place, (run, _) in enumerate(types) if run == second) - 1
    assert types[ending][0] == first
    assert types[ending][1].startswith("run.c")


@pytest.mark.req("OAP-013", "OAP-053")
async def test_a_reservation_is_cancelled_before_it_starts_and_frees_its_place(stage: Stage) -> None:
    """B15: one terminal, first and only; the run before it and the one behind it go their way."""
    first = (await stage.submit("script: hold")).run_id
    await stage.read(first)
    second = (await stage.submit()).run_id
    await stage.cancel(second)
    assert await stage.read(second) == ["run.cancelled"]
    third = (await stage.submit("script: plain")).run_id
    await stage.cancel(first)
    await stage.read(first)
    assert (await stage.read(third))[-1] == "run.completed"


@pytest.mark.req("OAP-054")
async def test_a_cancelled_reservation_holds_its_place_until_its_end_was_read(stage: Stage) -> None:
    """Whoever looks at the trace must see the place free before it is given away."""
    first = (await stage.submit("script: hold")).run_id
    await stage.read(first)
    second = (await stage.submit()).run_id
    await stage.cancel(second)
    assert (await refused(stage.submit()))[0] == "run_active"
    await stage.read(second)
    assert (await stage.submit()).admission == "queued"


@pytest.mark.req("OAP-052", "OAP-054")
async def test_a_promoted_run_holds_its_place_until_its_start_was_read(stage: Stage) -> None:
    """In one breath: an explicit queue on an idle session, then another; by the trace the first still waits."""
    first = (await stage.submit("script: hold", delivery="queue")).run_id
    assert (await refused(stage.submit()))[0] == "run_active"
    await stage.read(first)
    assert (await stage.submit()).admission == "queued"


@pytest.mark.req("OAP-056", "OAP-057")
async def test_a_steer_joins_the_started_run_and_settles_in_its_sequence(stage: Stage) -> None:
    """It makes no run; it is applied where the run goes on, under the id of its own request."""
    run = (await stage.submit()).run_id
    await stage.read(run)
    answer = await stage.submit("left", request_id="turn", delivery="steer", target_run_id=run)
    assert (answer.admission, answer.effective_delivery, answer.run_id, answer.target_sequence) == (
        "steered",
        "steer",
        run,
        5,
    )
    pending = (await stage.session.state()).active_runs[0].pending_steers  # type: ignore[index]
    assert [steer.request_id for steer in pending] == ["turn"]
    await stage.permit(run)
    await stage.read(run)
    (applied,) = stage.payloads(run, "run.steer.applied")
    assert (applied["request_id"], applied["boundary"], applied["message_ids"]) == (
        "turn",
        "tool_result",
        answer.message_ids,
    )
    await stage.reply(run)
    await stage.read(run)
    assert "Steered: left" in stage.payloads(run, "run.completed")[0]["final_response"]["content"]


@pytest.mark.req("OAP-057")
async def test_a_steer_that_was_not_applied_is_dropped_before_the_terminal(stage: Stage) -> None:
    """Nobody waits for a steer for ever."""
    run = (await stage.submit()).run_id
    await stage.read(run)
    await stage.submit("left", request_id="turn", delivery="steer")
    await stage.cancel(run)
    assert (await stage.read(run))[-2:] == ["run.steer.dropped", "run.cancelled"]
    (dropped,) = stage.payloads(run, "run.steer.dropped")
    assert (dropped["request_id"], dropped["reason"]["code"]) == ("turn", "run_terminated")


@pytest.mark.req("OAP-056")
async def test_a_steer_needs_a_started_run_that_takes_it(stage: Stage) -> None:
    """None, an unknown one, a reserved one, an ended one and a compaction are five reasons."""
    reasons = [(await refused(stage.submit(delivery="steer")))[1]["reason"]]
    done = (await stage.submit("script: plain")).run_id
    await stage.read(done)
    compaction = (await stage.compact(focus="script: hold")).run_id
    await stage.read(compaction)
    reserved = (await stage.submit()).run_id
    for target in ("r9", done, reserved, compaction):
        reasons.append((await refused(stage.submit(delivery="steer", target_run_id=target)))[1]["reason"])
    assert reasons == ["no_started_run", "unknown_run", "run_terminal", "not_started", "not_steerable"]
    await stage.cancel(reserved)
    await stage.cancel(compaction)


@pytest.mark.req("OAP-056")
@pytest.mark.parametrize(
    ("control", "feature"),
    [
        ({"model_id": "memory-small"}, "run.model_selection"),
        ({"instructions": ""}, "run.instructions"),
        ({"tool_choice": {}, "output_schema": {}}, "run.structured_output"),
    ],
)
async def test_a_steer_carries_no_run_controls(stage: Stage, control: dict[str, object], feature: str) -> None:
    """What the target was admitted with holds until its end."""
    run = (await stage.submit("script: hold")).run_id
    await stage.read(run)
    code, details = await refused(stage.submit(delivery="steer", **control))
    assert (code, details["feature"], details["reason"]) == ("unsupported_feature", feature, "unsatisfiable")


@pytest.mark.req("OAP-015", "OAP-057")
async def test_auto_never_steers_and_side_runs_are_not_offered(stage: Stage) -> None:
    """A mode that was not advertised is refused by its name."""
    run = (await stage.submit("script: hold")).run_id
    await stage.read(run)
    assert (await stage.submit()).admission == "queued"
    code, details = await refused(stage.submit(delivery="btw"))
    assert (code, details) == (
        "unsupported_feature",
        {"feature": "session.message.delivery.btw", "reason": "unadvertised"},
    )
    assert (await refused(stage.submit(target_run_id=run)))[0] == "invalid_submission"
