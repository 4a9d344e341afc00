"""A hub over an adapter that answers wrongly, breaks, hangs or speaks too soon: every request has one legal answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest

from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.client.local import LocalClient
from sayso.control.client.requests import cancel_request, open_request, submit_request
from sayso.control.hub import hub as hub_module
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ToolsListResponse
from sayso.control.protocol.payloads.compaction import RunCompactionStarted
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse, RunFailed
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse, SessionOpenRequest, SessionState
from sayso.control.protocol.payloads.steer import RunSteerApplied
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.refusal import Misuse, Refused
from sayso.testing.adapter import ScriptedAdapter, ScriptedSession
from tests.control.conftest import Trace
from tests.control.houses import NOON, watched
from tests.control.protocol.talk import cancelled, complete, of_run, say, start

pytestmark = pytest.mark.anyio
IDS = SystemIds()


def code(response: Envelope[Wire]) -> str | None:
    return response.payload.error.code if isinstance(response.payload, ErrorResponse) else None


@asynccontextmanager
async def hub(adapter: Any, trace: Trace | None = None, patience: float = 0.2) -> AsyncIterator[Hub]:
    record = trace.record if trace is not None else None
    registry = Registry({"peer": adapter})
    entering = Hub(registry, clock=ManualClock(NOON), ids=CountingIds(), record=record, patience=patience)
    async with watched(), entering as opened:
        yield opened


@asynccontextmanager
async def session(adapter: ScriptedAdapter, trace: Trace, **more: Any) -> AsyncIterator[tuple[Hub, ScriptedSession]]:
    async with hub(adapter, trace, **more) as opened:
        await opened.open("peer", open_request(IDS, session_id="s1"))
        yield opened, adapter.sessions[0]


async def events(opened: Hub, run_id: str) -> list[Envelope[Wire]]:
    client = LocalClient(opened, ids=IDS)
    return [envelope async for envelope in client.events("s1", run_id=run_id, after=0)]


@pytest.mark.req("OAP-007", "OAP-012")
@pytest.mark.parametrize(
    "change",
    [
        {"effective_delivery": "queue"},
        {"admission": "queued"},
        {"run_id": UNSET},
        {"requested_delivery": "queue"},
        {"session_id": "s2"},
        {"submission_id": 7},
    ],
)
async def test_an_answer_that_may_not_come_is_replaced_and_its_run_given_up(
    trace: Trace, change: dict[str, Any]
) -> None:
    """An admission that contradicts itself, its request or its session: nothing of it is admitted here."""
    adapter = ScriptedAdapter([start(), complete(2)])
    async with session(adapter, trace) as (opened, peer):
        submit = peer.submit

        async def wrongly(request: Envelope[Any]) -> MessageSubmitResponse:
            return msgspec.structs.replace(await submit(request), **change)

        peer.submit = wrongly  # type: ignore[method-assign]
        response = await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))
        await anyio.wait_all_tasks_blocked()
        assert not opened.session("s1").is_running
    given_up = [] if change.get("run_id") is UNSET else ["run.cancel.request"]
    assert (code(response), peer.asked) == ("protocol_violation", ["session.message.submit.request", *given_up])


@pytest.mark.req("OAP-007")
@pytest.mark.parametrize("answer", [None, {"accepted": True}, RunFailed])
async def test_an_answer_of_another_kind_is_an_answer_all_the_same(trace: Trace, answer: Any) -> None:
    """No exception of an adapter's making reaches a caller."""
    async with session(ScriptedAdapter([start(), say(2)]), trace) as (opened, peer):

        async def wrongly(request: Envelope[RunCancelRequest]) -> RunCancelResponse:
            return answer  # type: ignore[no-any-return]

        peer.cancel = wrongly  # type: ignore[method-assign]
        await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))
        response = await opened.session("s1").cancel(cancel_request(IDS, "s1", "r1", None))
    assert code(response) in ("protocol_violation", "internal", "session_closed", "run_terminal")


@pytest.mark.req("OAP-013", "OAP-057", "OAP-073")
async def test_a_lost_run_closes_its_compaction_and_its_steers_too(trace: Trace) -> None:
    """Whatever is coupled to a run ends before it, also when nobody is left to say so (B08)."""
    lost, steered = anyio.Event(), anyio.Event()

    async def until_steered() -> None:
        await steered.wait()

    async def until_lost() -> None:
        await lost.wait()

    begun = RunCompactionStarted(session_id="s1", run_id="r1", compaction_id="c1", reason="threshold")
    compacting: Envelope[Wire] = Envelope(
        type="run.compaction.started", id="k1", payload=begun, session_id="s1", run_id="r1", sequence=2
    )
    async with session(ScriptedAdapter([start(), until_steered, compacting, until_lost]), trace) as (opened, peer):
        await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))
        await anyio.wait_all_tasks_blocked()
        peer.submit = steering(peer)  # type: ignore[method-assign]
        await opened.session("s1").submit(submit_request(IDS, "s1", "on", "steer"))
        steered.set()
        await anyio.wait_all_tasks_blocked()
        lost.set()
        told = [envelope.type for envelope in await events(opened, "r1")]
    assert told[2:] == ["run.compaction.ended", "run.steer.dropped", "run.failed"]


def steering(peer: ScriptedSession) -> Any:
    async def steer(request: Envelope[Any]) -> MessageSubmitResponse:
        return MessageSubmitResponse(
            session_id="s1",
            accepted=True,
            submission_id="sub9",
            requested_delivery="steer",
            effective_delivery="steer",
            admission="steered",
            run_id="r1",
            target_sequence=1,
        )

    return steer


@pytest.mark.req("OAP-096", "OAP-011")
async def test_what_a_steer_caused_may_be_told_before_it_is_answered(trace: Trace) -> None:
    """An adapter that tells the effect inside the call: the effect waits for the answer, and nothing is lost."""
    told = anyio.Event()
    name = "st1"
    applied: Envelope[Wire] = Envelope(
        type="run.steer.applied",
        id="a1",
        payload=RunSteerApplied(
            session_id="s1", run_id="r1", submission_id="sub9", request_id=name, message_ids=("m1",), boundary="turn"
        ),
        session_id="s1",
        run_id="r1",
        sequence=2,
    )

    async def until_told() -> None:
        await told.wait()

    async with session(ScriptedAdapter([start(), until_told, applied, complete(3)]), trace) as (opened, peer):
        await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))
        await anyio.wait_all_tasks_blocked()

        async def slowly(request: Envelope[Any]) -> MessageSubmitResponse:
            told.set()
            await anyio.wait_all_tasks_blocked()
            answer: MessageSubmitResponse = await steering(peer)(request)
            return answer

        peer.submit = slowly  # type: ignore[method-assign]
        asked = msgspec.structs.replace(submit_request(IDS, "s1", "on", "steer"), id=name)
        response = await opened.session("s1").submit(asked)
        opened.published("s1", name)
        got = [envelope.type for envelope in await events(opened, "r1")]
    order = trace.types()
    assert (code(response), got) == (None, ["run.started", "run.steer.applied", "run.completed"])
    assert order.index("run.steer.applied") > len(order) - 1 - order[::-1].index("session.message.submit.response")


@pytest.mark.req("OAP-007", "OAP-085")
async def test_a_caller_that_gives_up_leaves_no_request_without_its_answer(trace: Trace) -> None:
    """The exchange goes on without it: the run is admitted, read to its end and replayed."""
    go = anyio.Event()
    async with session(ScriptedAdapter([start(), complete(2)]), trace) as (opened, peer):
        peer.before_answer = go.wait
        with anyio.CancelScope() as impatient:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(opened.session("s1").submit, submit_request(IDS, "s1", "go", "auto"))
                await anyio.wait_all_tasks_blocked()
                impatient.cancel()
        assert trace.types()[-1] == "session.message.submit.request"
        go.set()
        await anyio.wait_all_tasks_blocked()
        assert [envelope.type for envelope in await events(opened, "r1")] == ["run.started", "run.completed"]


@pytest.mark.req("OAP-098", "OAP-100")
async def test_a_session_whose_submit_is_with_the_adapter_does_not_close(trace: Trace) -> None:
    """It may become a run: no run is ever admitted into a closed session."""
    go = anyio.Event()
    async with session(ScriptedAdapter([start(), complete(2)]), trace) as (opened, peer):
        peer.before_answer = go.wait
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opened.session("s1").submit, submit_request(IDS, "s1", "go", "auto"))
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(Refused) as refused:
                await opened.close("s1")
            go.set()
        await events(opened, "r1")
        await opened.close("s1")
    assert refused.value.refusal.code == "run_active"


@pytest.mark.req("OAP-100")
async def test_the_end_of_the_hub_answers_what_its_adapter_never_does(trace: Trace) -> None:
    """A submit that hangs is refused as closed; nothing is admitted behind the sweep."""
    responses: list[str | None] = []
    async with session(ScriptedAdapter([start()]), trace) as (opened, peer), anyio.create_task_group() as tasks:
        held = opened.session("s1")
        peer.before_answer = anyio.sleep_forever

        async def submit() -> None:
            responses.append(code(await held.submit(submit_request(IDS, "s1", "go", "auto"))))

        tasks.start_soon(submit)
        await anyio.wait_all_tasks_blocked()
        await opened.close_sessions()
        assert code(await held.submit(submit_request(IDS, "s1", "more", "auto"))) == "session_closed"
        assert code(await opened.open("peer", open_request(IDS))) == "open_failed"
        listed = [(each.session_id, each.status) for each in await opened.sessions()]
    assert (responses, listed) == (["session_closed"], [("s1", "closed")])


@pytest.mark.req("OAP-097", "OAP-103")
async def test_a_probe_that_breaks_or_hangs_is_listed_with_its_error() -> None:
    """Whatever an adapter does when it is asked, the listing is whole and nothing of it leaks."""
    adapter, asked = ScriptedAdapter(), ScriptedAdapter()
    registry = Registry({"breaks": adapter, "hangs": asked, "well": ScriptedAdapter()})

    async def breaks() -> Any:
        raise ZeroDivisionError("secret")

    adapter.probe, asked.probe = breaks, anyio.sleep_forever  # type: ignore[method-assign,assignment]
    async with watched(), Hub(registry, clock=ManualClock(NOON), ids=CountingIds(), patience=0.05) as opened:
        listed = {each.name: each for each in await opened.adapters()}
        for name in ("breaks", "hangs"):
            with pytest.raises(Refused) as refused:
                await opened.capabilities(name)
            assert refused.value.refusal.code == "probe_failed"
            assert code(await opened.open(name, open_request(IDS))) == "probe_failed"
    assert list(listed) == ["breaks", "hangs", "well"]
    assert [bool(each.error) for each in listed.values()] == [True, True, False]
    assert "secret" not in str(listed)


@pytest.mark.req("OAP-090", "OAP-091")
@pytest.mark.parametrize("where", ["open", "state", "submit", "tale"])
async def test_an_open_that_breaks_half_way_leaves_nothing_open(where: str) -> None:
    """Broken, or told a state that cannot be: the adapter's session is closed and the id is free again."""
    adapter = ScriptedAdapter()
    opening = adapter.open

    async def breaks(*_arguments: Any) -> Any:
        raise ZeroDivisionError("secret")

    async def another(*_arguments: Any) -> Any:
        return SessionState(session_id="other", status="idle")

    async def open_broken(request: Envelope[SessionOpenRequest], session_id: str, tasks: Any) -> Any:
        peer = await opening(request, session_id, tasks)
        if where == "open":
            raise ZeroDivisionError("secret")
        setattr(peer, "state" if where == "tale" else where, another if where == "tale" else breaks)
        return peer

    async with hub(adapter) as opened:
        adapter.open = open_broken  # type: ignore[method-assign]
        settings: Any = {"message": {"messages": [{"role": "user", "content": "go"}], "delivery": "auto"}}
        asked = msgspec.convert({"session_id": "s1", **settings}, SessionOpenRequest)
        request = Envelope(type="session.open.request", id="o1", payload=asked)
        response = await opened.open("peer", request)
        adapter.open = opening  # type: ignore[method-assign]
        assert await opened.sessions() == []
        assert code(await opened.open("peer", open_request(IDS, session_id="s1"))) is None
    codes = {"open": "open_failed", "submit": "open_failed"}
    assert (code(response), "secret" in str(response)) == (codes.get(where, "state_failed"), False)
    assert [each.is_closed for each in adapter.sessions[:1]] == [where != "open"]


@pytest.mark.req("OAP-066")
async def test_a_missing_list_of_tools_is_an_empty_one() -> None:
    """What an adapter says of nothing is that there is nothing; what is no catalog at all is refused."""
    ids = CountingIds()

    class Silent(MemoryAdapter):
        said: Any = None

        async def open(self, request: Any, session_id: str, tasks: Any) -> Any:
            opened = await super().open(request, session_id, tasks)

            async def tools(_request: Any) -> Any:
                return self.said

            opened.tools = tools  # type: ignore[method-assign]
            return opened

    adapter = Silent(clock=ManualClock(NOON), ids=ids)
    async with hub(adapter) as opened:
        await opened.open("peer", open_request(ids, session_id="s1"))
        empty = await opened.tools("s1")
        adapter.said = ToolsListResponse(session_id="s1", tools=({"no": "tool"},))  # type: ignore[arg-type]
        with pytest.raises(Refused) as refused:
            await opened.tools("s1")
    assert (empty.payload, empty.capability_revision) == (
        ToolsListResponse(session_id="s1", tools=()),
        (await adapter.probe()).revision,
    )
    assert refused.value.refusal.code == "tools_failed"


@pytest.mark.req("OAP-113")
async def test_a_transports_own_code_is_never_an_adapters(trace: Trace) -> None:
    """`busy` says that a pipe is full; over HTTP it would be a lie."""
    async with session(ScriptedAdapter(), trace) as (opened, peer):
        peer.fault = Refused.because("busy", "send this request again")
        response = await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))
    assert code(response) == "internal"


async def test_an_adapter_that_breaks_when_it_is_given_up_ends_nothing(trace: Trace) -> None:
    """It lied, was told to stop, and broke: the session takes the next message."""
    adapter = ScriptedAdapter([start(), complete(9)], [start(), complete(2)])
    adapter._script = ([start(), complete(9)], [ZeroDivisionError()])
    async with session(adapter, trace) as (opened, peer):

        async def breaks(_request: Any) -> Any:
            raise ZeroDivisionError("secret")

        peer.cancel = breaks  # type: ignore[method-assign]
        for run_id in ("r1", "r2"):
            await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))
            assert (await events(opened, run_id))[-1].type == "run.failed"


async def test_an_event_that_is_no_envelope_is_no_event(trace: Trace) -> None:
    """Nor is one whose payload cannot be written: its run fails, once."""
    broken: Any = Envelope(type="content.delta", id="x", payload=object(), session_id="s1", run_id="r1", sequence=2)  # type: ignore[type-var]
    for thing in ("no envelope", broken):
        own = Trace(trace._schema)

        async def lying(_run_id: str, thing: Any = thing) -> AsyncIterator[Any]:
            yield start()
            yield thing

        async with session(ScriptedAdapter(), own) as (opened, peer):
            peer.events = lying  # type: ignore[method-assign]
            await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))
            last = (await events(opened, "r1"))[-1].payload
        own.verify()
        assert isinstance(last, RunFailed)
        assert last.error.code == "protocol_violation"


async def test_our_own_misuse_is_never_swallowed(trace: Trace) -> None:
    """It reaches whoever asked, and the request has its answer in the trace."""
    async with session(ScriptedAdapter(), trace) as (opened, peer):
        peer.fault = Misuse("called in the wrong order")
        with pytest.raises(Misuse):
            await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))
    assert trace.types()[-1] == "error.response"


@pytest.mark.req("OAP-011", "OAP-053")
async def test_a_run_that_starts_while_the_one_before_still_ends_waits_its_turn(trace: Trace) -> None:
    """Its end waits for the answer to a cancel; the next run, told in the same moment, comes behind it."""
    asked = anyio.Event()

    async def until_asked() -> None:
        await asked.wait()

    reply = {"stop_reason": "end_turn", "final_response": {"role": "assistant", "content": "done"}}
    second = [of_run("r2", 1, "run.started", status="running"), of_run("r2", 2, "run.completed", **reply)]
    adapter = ScriptedAdapter([start(), until_asked, cancelled(2)], [until_asked, *second])
    async with session(adapter, trace, patience=5) as (opened, peer):
        await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))
        await anyio.wait_all_tasks_blocked()
        submit = peer.submit

        async def queueing(request: Envelope[Any]) -> MessageSubmitResponse:
            queued: dict[str, Any] = {"effective_delivery": "queue", "admission": "queued", "status": "queued"}
            return msgspec.structs.replace(await submit(request), **queued)

        async def slowly() -> None:
            asked.set()
            await anyio.wait_all_tasks_blocked()

        peer.submit = queueing  # type: ignore[method-assign]
        await opened.session("s1").submit(submit_request(IDS, "s1", "more", "queue"))
        peer.before_answer = slowly
        response = await opened.session("s1").cancel(cancel_request(IDS, "s1", "r1", None))
        got = [envelope.type for envelope in await events(opened, "r2")]
    order = [name for name in trace.types() if name.startswith("run.")]
    assert (code(response), got) == (None, ["run.started", "run.completed"])
    assert order[-4:] == ["run.cancel.response", "run.cancelled", "run.started", "run.completed"]


@pytest.mark.req("OAP-081", "OAP-091")
async def test_an_open_that_was_taken_back_leaves_no_record() -> None:
    """Its id is free: what never was cannot be reopened, and a create under it is no second one."""
    adapter = MemoryAdapter(clock=ManualClock(NOON), ids=CountingIds())

    def breaks(_session: Any) -> str:
        raise ZeroDivisionError("secret")

    async with hub(adapter) as opened:
        native_id = adapter.native_id
        adapter.native_id = breaks  # type: ignore[method-assign]
        response = await opened.open("peer", open_request(IDS, session_id="s1"))
        adapter.native_id = native_id  # type: ignore[method-assign]
        listed, page = await opened.sessions(), await opened.history()
    assert (code(response), listed, page.sessions) == ("open_failed", [], ())


@pytest.mark.req("OAP-100")
async def test_an_adapter_that_never_closes_does_not_keep_the_hub(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the window is over its run is failed for it, its readers end, and the hub with them."""
    monkeypatch.setattr(hub_module, "_SWEEP_SECONDS", 0.1)
    got: list[str] = []
    adapter = ScriptedAdapter([start(), anyio.sleep_forever])
    async with watched(), anyio.create_task_group() as tasks, session(adapter, trace) as (opened, peer):
        peer.close = anyio.sleep_forever  # type: ignore[method-assign]
        await opened.session("s1").submit(submit_request(IDS, "s1", "go", "auto"))

        async def read() -> None:
            got.extend([envelope.type async for envelope in opened.subscribe("s1", run_id="r1", after=0)])

        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
    assert got == ["run.started", "run.failed"]
