"""What goes wrong around a run: it ends typed, and the session goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.local import LocalClient
from sayso.control.client.requests import open_request
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.loop.contract import SourceTerms, ToolAnswer, ToolAsks, ToolCall, ToolDone, ToolOutcome, ToolSource
from sayso.control.loop.saved import SavedConversations
from sayso.control.loop.sources import OpenSources
from sayso.control.protocol.payloads.content import ToolResultPart
from sayso.control.provider.planner.provider import MODEL, OfflinePlanner
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.refusal import Refused
from sayso.testing.provider import Call, Hangs, Say, ScriptedProvider
from tests.control.conftest import Trace
from tests.control.houses import NOON, watched
from tests.control.loop.stage import ONE, staged

pytestmark = pytest.mark.anyio
HALF = "half a character: \ud800"


def talks(folder: Path) -> SavedConversations:
    return SavedConversations(folder, clock=ManualClock(NOON))


# --- tools -----------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-155", "OAP-164")
@pytest.mark.parametrize(
    "outcome",
    [ToolDone({"name": HALF}), ToolDone({"it": object()}), ToolAsks("May I?", HALF), ToolDone([{"a": [HALF]}], True)],
)
async def test_an_answer_that_cannot_be_written_ends_its_run_and_not_the_hub(
    trace: Trace, tmp_path: Path, outcome: ToolOutcome
) -> None:
    """With a conversation that is kept; the next run of the session works."""

    async def act(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        return outcome

    turns = [[Call("look")], [Say("well")]]
    async with staged(turns, {"look": act}, record=trace.record, conversations=talks(tmp_path)) as stage:
        _, ended = await stage.begin()
        _, after = await stage.begin("again")
    assert (ended.type, ended.payload.error.code) == ("run.failed", "internal")  # type: ignore[attr-defined]
    assert after.type == "run.completed"


@pytest.mark.req("OAP-164")
@pytest.mark.parametrize("is_asking", [True, False])
async def test_the_model_reads_whether_a_call_that_was_cut_off_may_be_done(trace: Trace, is_asking: bool) -> None:
    """One that had begun may be; one that waited for its person's yes is not."""
    begun = anyio.Event()

    async def act(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        if is_asking:
            return ToolAsks("May I?", "in words")
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    turns = [[Call("book", {}, "c1"), Call("book", {}, "c2")], [Say("I see")]]
    async with staged(turns, {"book": act}, record=trace.record) as stage:
        run_id, _ = await stage.begin(until="action.permission.requested" if is_asking else "action.call.requested")
        if not is_asking:
            await begun.wait()
        await stage.client.cancel(stage.id, run_id)
        await stage.read(run_id)
        await stage.begin("and now")
    told = [part for message in stage.provider.requests[1].messages for part in message.content]
    said = {part.tool_call_id: part.result for part in told if isinstance(part, ToolResultPart)}
    assert {name: result["error"] for name, result in said.items()} == {"c1": "interrupted", "c2": "interrupted"}  # type: ignore[index]
    assert ["may be done" in str(said[name]) for name in ("c1", "c2")] == [not is_asking, False]


@pytest.mark.req("OAP-072", "OAP-155")
async def test_an_id_is_used_once_although_a_compaction_forgot_its_call(trace: Trace, tmp_path: Path) -> None:
    """Some models count from zero in every turn; the conversation that is taken up remembers too."""

    async def act(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        return ToolDone({})

    turns = [[Call("look", {}, "0")], [Say("looked")], [Say("in short")], [Call("look", {}, "0")], [Say("ok")]]
    more = [[Call("look", {}, "0")], [Say("again")]]
    kept: dict[str, Any] = {"record": trace.record, "conversations": talks(tmp_path), "opens": {"session_id": "s1"}}
    async with staged([*turns, *more], {"look": act}, **kept) as stage:
        await stage.begin()
        compacted = await stage.client.compact(stage.id)
        await stage.read(str(compacted.run_id))
        await stage.begin("again")
        await stage.client.close("s1")
        await stage.client.open("sayso", session_id="s1", reopen=True)
        await stage.begin("and again")
    assert [call.tool_call_id for call, _ in stage.tools.calls] == ["0", "0.2", "0.3"]


# --- the host --------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-155", "OAP-160")
async def test_a_start_that_the_host_cannot_write_fails_its_run_and_the_line_goes_on(trace: Trace) -> None:
    """At once or from the queue; the session takes the next message."""
    faults: list[Exception | None] = [None, OSError("the settings are gone"), None, OSError("still"), None]

    def system() -> str:
        if (fault := faults.pop(0)) is not None:
            raise fault
        return "now: noon"

    ids, clock = CountingIds(), ManualClock(NOON)
    provider = ScriptedProvider([[Hangs()], [Say("two")], [Say("four")]], ids=ids)
    loop = OwnLoop(provider, clock=clock, ids=ids, model_ref=ONE, system=system)
    async with watched(), Hub(Registry({"sayso": loop}), clock=clock, ids=ids, record=trace.record) as hub:
        client = LocalClient(hub, ids=ids)
        session_id = (await client.open("sayso")).session_id

        async def end_of(run_id: object) -> str:
            return [event.type async for event in client.events(session_id, run_id=str(run_id), after=0)][-1]

        runs = [(await client.submit(session_id, str(number))).run_id for number in range(3)]
        await client.cancel(session_id, str(runs[0]))
        ends = [await end_of(run_id) for run_id in runs]
        for number in (3, 4):
            ends.append(await end_of((await client.submit(session_id, str(number))).run_id))
    assert ends == ["run.cancelled", "run.failed", "run.completed", "run.failed", "run.completed"]


class Stuck:
    """A source that never opens, beside one that does."""

    def __init__(self, name: str, *, hangs: bool) -> None:
        self.id = name
        self.hangs = hangs
        self.began, self.ended = anyio.Event(), anyio.Event()

    @asynccontextmanager
    async def open(self, terms: SourceTerms) -> AsyncIterator[ToolSource | None]:
        try:
            self.began.set()
            if self.hangs:
                await anyio.sleep_forever()
            yield None
        finally:
            self.ended.set()


@pytest.mark.req("OAP-082", "OAP-155")
async def test_sources_that_do_not_open_in_time_refuse_the_session_and_are_ended() -> None:
    """What hangs is cancelled, and what had opened is closed."""
    good, bad = Stuck("good", hangs=False), Stuck("bad", hangs=True)
    async with watched(), anyio.create_task_group() as tasks:
        with pytest.raises(Refused) as refused:
            await OpenSources([good, bad], SourceTerms(session_id="s1"), patience=0.01).open(tasks)
        await good.ended.wait()
        await bad.ended.wait()
    assert (refused.value.refusal.code, refused.value.refusal.reason) == ("open_failed", "timeout")


@pytest.mark.req("OAP-082", "OAP-155")
async def test_who_gives_up_an_open_leaves_nothing_opening() -> None:
    """The task that holds the sources ends with the request."""
    bad = Stuck("bad", hangs=True)
    loop = OwnLoop(ScriptedProvider([]), clock=ManualClock(NOON), ids=SystemIds(), model_ref=ONE, openers=[bad])
    async with watched(), anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as asking:
            asking.start_soon(loop.open, open_request(SystemIds()), "s1", tasks)
            await bad.began.wait()
            asking.cancel_scope.cancel()
        await anyio.wait_all_tasks_blocked()
        has_ended = bad.ended.is_set()
        tasks.cancel_scope.cancel()
    assert has_ended


@pytest.mark.req("OAP-164")
async def test_a_close_that_is_given_up_lets_the_conversation_go(tmp_path: Path) -> None:
    """A run whose tool does not let go keeps its session from ending, not the next one from going on."""
    stuck = anyio.Event()

    async def act(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        with anyio.CancelScope(shield=True):
            await stuck.wait()
        return ToolDone({})

    opens = {"session_id": "s1"}
    async with staged([[Call("look")]], {"look": act}, conversations=talks(tmp_path), opens=opens) as stage:
        await stage.begin(until="action.call.requested")
        session = stage.hub.session("s1").adapter
        async with anyio.create_task_group() as closing:
            closing.start_soon(session.close)
            await anyio.wait_all_tasks_blocked()
            closing.cancel_scope.cancel()
        try:
            _, again = await talks(tmp_path).resume(next(tmp_path.iterdir()).stem)
            await again.close()
        finally:
            stuck.set()


@pytest.mark.req("OAP-130", "OAP-159")
async def test_a_provider_that_breaks_at_a_cancel_is_left_and_the_run_ends(trace: Trace) -> None:
    """Its stream is closed on it, and the session goes on."""
    async with staged([[Hangs()], [Say("ok")]], record=trace.record) as stage:

        async def breaks(_request: Any) -> Any:
            raise OSError("the wire is gone")

        stage.provider.cancel = breaks  # type: ignore[method-assign]
        run_id, _ = await stage.begin(until="run.started")
        await anyio.wait_all_tasks_blocked()
        await stage.client.cancel(stage.id, run_id)
        ends = [(await stage.read(run_id)).type, (await stage.begin("again"))[1].type]
    assert ends == ["run.cancelled", "run.completed"]


# --- a model that cannot ---------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-072", "OAP-162")
async def test_the_offline_planner_refuses_to_summarise_and_history_stays(trace: Trace) -> None:
    """Its own help would otherwise stand in place of the conversation."""
    ids, clock = CountingIds(), ManualClock(NOON)
    loop = OwnLoop(OfflinePlanner(ids), clock=clock, ids=ids, model_ref=MODEL, system=lambda: "now: noon")
    async with Hub(Registry({"sayso": loop}), clock=clock, ids=ids, record=trace.record) as hub:
        client = LocalClient(hub, ids=ids)
        session_id = (await client.open("sayso")).session_id
        for number in range(2):
            said = await client.submit(session_id, f"hello {number}")
            assert [event async for event in client.events(session_id, run_id=str(said.run_id), after=0)]
        asked = await client.compact(session_id)
        events = [event async for event in client.events(session_id, run_id=str(asked.run_id), after=0)]
    assert [event.type for event in events] == [
        "run.started", "run.compaction.started", "run.compaction.ended", "run.failed",
    ]  # fmt: skip
    outcome: Any = events[2].payload
    assert (outcome.outcome, outcome.error.code, outcome.summary) == ("failed", "unsupported_feature", outcome.summary)
