"""Compactions at work: asked for, wanted by a threshold, cancelled, failed; every trace is judged at its end."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.control.protocol.payloads.content import text_of
from sayso.control.protocol.payloads.inference import InferenceCreateRequest
from sayso.control.protocol.payloads.session import CompactionPolicy
from sayso.core.ids import CountingIds
from sayso.core.refusal import PeerRefused
from sayso.testing.provider import Call, Fails, Hangs, Say, Step, Turn
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.loop.stage import Stage, staged

pytestmark = pytest.mark.anyio
LONG = "word " * 30_000
"""About 37,500 tokens."""


def is_summing(request: InferenceCreateRequest) -> bool:
    return text_of(request.messages[0].content).startswith("You are given the record")


def answering(*summary: Step) -> Turn:
    """Answers, and writes this when a summary is asked for."""

    def turn(request: InferenceCreateRequest) -> list[Step]:
        return list(summary) if is_summing(request) else [Say("noted")]

    return turn


async def compacting(stage: Stage, until: str | None = None, **wishes: Any) -> tuple[str, Any]:
    admitted = await stage.client.compact(stage.id, **wishes)
    return str(admitted.run_id), await stage.read(str(admitted.run_id), until)


@pytest.mark.req("OAP-162")
async def test_a_requested_compaction_keeps_what_is_asked_for_and_the_session_goes_on(trace: Trace) -> None:
    """Summarised with the session's model; the next run reads the summary in place of what was said."""
    turns = [answering(Say("the milk was noted"))] * 5
    async with staged(turns, record=trace.record) as stage:
        for said in ("milk", "bread", "tea"):
            await stage.begin(said)
        run_id, ended = await compacting(stage, focus="the shopping")
        await stage.begin("and?")
        summing, after = stage.provider.requests[-2:]
    assert (ended.payload.stop_reason, text_of(ended.payload.final_response.content)) == (
        "compacted", "the milk was noted",
    )  # fmt: skip
    assert stage.types(run_id) == [
        "run.started", "run.compaction.started", "run.compaction.ended", "run.completed",
    ]  # fmt: skip
    assert (summing.model_ref, summing.tools) == (after.model_ref, summing.tools)
    assert "the shopping" in text_of(summing.messages[0].content)
    history = [text_of(message.content) for message in after.messages[1:]]
    assert "the milk was noted" in history[0]
    assert history[-1] == "and?"
    assert len(history) < 7


@pytest.mark.req("OAP-162")
async def test_a_threshold_compacts_inside_the_run_that_would_be_too_long(trace: Trace) -> None:
    """Between turns, told in that run, which then goes on."""
    opens = {"compaction_policy": CompactionPolicy(kind="tokens", tokens=90_000)}
    turns = [answering(Say("three long things"))] * 9
    async with staged(turns, record=trace.record, opens=opens) as stage:
        runs = [(await stage.begin(f"{number} {LONG}"))[0] for number in range(3)]
        limits = [len(stage.types(run_id)) for run_id in runs]
    assert [stage.types(run_id).count("run.compaction.started") for run_id in runs] == [0, 0, 1]
    started = next(each for each in stage.seen[runs[2]] if each.type == "run.compaction.started")
    assert (started.payload.reason, limits[2]) == ("threshold", limits[0] + 2)  # type: ignore[attr-defined]
    assert "three long things" in text_of(stage.provider.requests[-1].messages[1].content)


@pytest.mark.req("OAP-162")
async def test_auto_is_eighty_percent_of_the_window_and_off_is_never(trace: Trace) -> None:
    """The window is the model's, as the provider lists it: 128,000 tokens."""
    counts, ids = [], CountingIds()  # one trace for three hubs
    for policy in (None, CompactionPolicy(kind="off"), CompactionPolicy(kind="share", share_percent=50)):
        opens = {} if policy is None else {"compaction_policy": policy}
        async with staged([answering(Say("short"))] * 9, record=trace.record, opens=opens, ids=ids) as stage:
            for number in range(3):
                await stage.begin(f"{number} {LONG}")
            counts.append(sum(map(is_summing, stage.provider.requests)))
    assert counts == [1, 0, 1]


@pytest.mark.req("OAP-159", "OAP-162")
async def test_a_cancelled_compaction_leaves_history_as_it_was(trace: Trace) -> None:
    """It ends cancelled, then its run does, and the next run knows everything."""
    turns = [answering(Say("x"))] * 3 + [[Hangs()], [Say("all there")]]
    async with staged(turns, record=trace.record) as stage:
        for said in ("milk", "bread", "tea"):
            await stage.begin(said)
        run_id, _ = await compacting(stage, "run.compaction.started")
        with pytest.raises(PeerRefused) as refused:
            await stage.client.submit(stage.id, "psst", delivery="steer")
        await stage.client.cancel(stage.id, run_id)
        ended = await stage.read(run_id)
        await stage.begin("and?")
        said_then = [text_of(message.content) for message in stage.provider.requests[-1].messages]
    assert (stage.types(run_id)[-2], ended.type) == ("run.compaction.ended", "run.cancelled")
    assert refused.value.refusal.reason == "not_steerable"
    assert [word for word in ("milk", "bread", "tea") if word in said_then] == ["milk", "bread", "tea"]


@pytest.mark.req("OAP-162")
async def test_a_failed_compaction_fails_its_run_with_the_providers_error(trace: Trace) -> None:
    """And the session goes on."""
    turns = [answering(Fails("rate_limited"))] * 5
    async with staged(turns, record=trace.record) as stage:
        for said in ("milk", "bread", "tea"):
            await stage.begin(said)
        run_id, ended = await compacting(stage)
        _, again = await stage.begin("and?")
    assert (ended.payload.error.code, again.type) == ("rate_limited", "run.completed")
    assert stage.types(run_id)[-2] == "run.compaction.ended"


@pytest.mark.req("OAP-160", "OAP-162")
async def test_a_compaction_waits_in_line_and_goes_on_with_a_turn_when_asked_to(trace: Trace) -> None:
    """Reserved behind a run like a message; `continue` takes steers, for a turn follows."""
    turns: list[Turn] = [[Say("one")], [Call("book")], [Say("two")], [Say("the sum")], [Say("on it goes")]]
    async with staged(turns, {"book": asking("limits")}, record=trace.record) as stage:
        await stage.begin("first")
        run_id, asked = await stage.begin("second", until="action.permission.requested")
        queued = await stage.client.compact(stage.id, go_on=True)
        await stage.client.resolve(asked, granted=True)  # type: ignore[arg-type]
        await stage.read(run_id)
        ended = await stage.read(str(queued.run_id))
    assert (queued.admission, ended.payload.stop_reason) == ("queued", "end_turn")  # type: ignore[attr-defined]
    assert text_of(ended.payload.final_response.content) == "on it goes"  # type: ignore[attr-defined]
