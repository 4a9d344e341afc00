"""Compactions: asked for as runs of their own, and inside another run when the history has grown."""

from __future__ import annotations

import pytest

from tests.control.adapters.reference.stage import Stage, refused, staged
from tests.control.conftest import Trace

pytestmark = pytest.mark.anyio

BRACKET = ["run.compaction.started", "run.compaction.ended"]


async def talked(stage: Stage, text: str = "x" * 400) -> None:
    """A completed run, so that there is a history."""
    run = (await stage.submit(f"script: plain {text}")).run_id
    await stage.read(run)


@pytest.mark.req("OAP-072")
async def test_a_compaction_is_a_run_that_completes_with_its_summary(stage: Stage) -> None:
    """Bracketed once, the same id, the summary as final response; the history is what the summary says."""
    await talked(stage)
    answer = await stage.compact(focus="colours")
    assert (answer.admission, answer.requested_delivery, answer.status) == ("started", "auto", "running")
    assert await stage.read(answer.run_id) == ["run.started", *BRACKET, "run.completed"]
    (started,), (ended,) = (stage.payloads(answer.run_id, name) for name in BRACKET)
    (done,) = stage.payloads(answer.run_id, "run.completed")
    assert (started["reason"], ended["outcome"], started["compaction_id"]) == (
        "requested",
        "completed",
        ended["compaction_id"],
    )
    assert (done["stop_reason"], done["final_response"]) == ("compacted", ended["summary"])
    assert ended["summary"]["content"] == "Summary of 2 messages about colours"
    assert ended["history_tokens"] < started["history_tokens"]


@pytest.mark.req("OAP-072")
async def test_a_compaction_with_continue_goes_on_to_a_reply(stage: Stage) -> None:
    """And may be steered meanwhile."""
    run = (await stage.compact(**{"continue": True})).run_id
    assert await stage.read(run) == ["run.started", *BRACKET, "content.delta", "run.completed"]
    assert stage.payloads(run, "run.completed")[0]["stop_reason"] == "end_turn"
    held = (await stage.compact(**{"continue": True, "focus": "script: hold"})).run_id
    await stage.read(held)
    assert (await stage.submit("left", delivery="steer")).admission == "steered"
    await stage.cancel(held)
    assert (await stage.read(held))[-3:] == ["run.compaction.ended", "run.steer.dropped", "run.cancelled"]


@pytest.mark.req("OAP-072", "OAP-073")
@pytest.mark.parametrize("focus", ["script: fail", "script: hold"])
async def test_history_changes_only_when_a_compaction_completed(stage: Stage, focus: str) -> None:
    """A failed one fails its run with its own error, a cancelled one closes before the terminal."""
    await talked(stage)
    before = stage.session._session.history
    run = (await stage.compact(focus=focus)).run_id
    if focus == "script: hold":
        await stage.read(run)
        await stage.cancel(run)
    types = await stage.read(run)
    outcome = stage.payloads(run, "run.compaction.ended")[0]["outcome"]
    assert (types[-1], outcome) in [("run.failed", "failed"), ("run.cancelled", "cancelled")]
    if outcome == "failed":
        error = stage.payloads(run, "run.compaction.ended")[0]["error"]
        assert stage.payloads(run, "run.failed")[0]["error"] == error
    assert stage.session._session.history == before


@pytest.mark.req("OAP-072")
async def test_a_compaction_is_queued_like_a_message_and_never_steers(stage: Stage) -> None:
    """The same ladder, the same bound."""
    run = (await stage.submit("script: hold")).run_id
    await stage.read(run)
    queued = await stage.compact()
    assert (queued.admission, queued.delivery_resolution) == ("queued", "session_busy")
    for delivery, reason in (("steer", "unsatisfiable"), ("btw", "unadvertised")):
        details = {"feature": f"session.message.delivery.{delivery}", "reason": reason}
        assert await refused(stage.compact(delivery=delivery)) == ("unsupported_feature", details)
    await stage.cancel(run)
    await stage.read(run)
    assert (await stage.read(queued.run_id))[-1] == "run.completed"


@pytest.mark.req("OAP-073", "OAP-074")
@pytest.mark.parametrize(
    ("policy", "compacts"),
    [
        ({"kind": "tokens", "tokens": 50}, True),
        ({"kind": "tokens", "tokens": 5000}, False),
        ({"kind": "share", "share_percent": 5}, True),
        ({"kind": "auto"}, False),
        ({"kind": "off"}, False),
    ],
)
async def test_a_run_compacts_first_where_the_policy_says_so(
    trace: Trace, policy: dict[str, object], compacts: bool
) -> None:
    """At the start of the next run, inside it, and only past the policy's own point."""
    async with staged(trace, opened={"compaction_policy": policy}) as stage:
        await talked(stage)
        run = (await stage.submit("script: plain")).run_id
        types = await stage.read(run)
        assert types == ["run.started", *(BRACKET if compacts else []), "content.delta", "run.completed"]
        if compacts:
            assert stage.payloads(run, "run.compaction.started")[0]["reason"] == "threshold"


@pytest.mark.req("OAP-073")
async def test_an_overflow_is_answered_inside_the_run(stage: Stage) -> None:
    """Whatever the policy, and the run goes on."""
    run = (await stage.submit("script: overflow")).run_id
    assert await stage.read(run) == ["run.started", "content.delta", *BRACKET, "run.completed"]
    assert stage.payloads(run, "run.compaction.started")[0]["reason"] == "overflow"
