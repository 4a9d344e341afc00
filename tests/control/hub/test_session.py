"""A hub session over an adapter that misbehaves: no trace of ours is ever illegal, and no run is ever left open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest

from sayso.control.client.local import LocalClient
from sayso.control.client.requests import cancel_request, resolve_request, submit_request
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.hub.session import HubSession
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallRequested, PermissionChoice, PermissionRequested
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.run import RunFailed
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.refusal import Refusal, Refused
from sayso.testing.adapter import Event, ScriptedAdapter, ScriptedSession
from tests.control.conftest import Trace
from tests.control.houses import NOON
from tests.control.protocol.talk import ask, call, cancelled, complete, resolved, say, start

pytestmark = pytest.mark.anyio
IDS = SystemIds()


@dataclass
class Floor:
    client: LocalClient
    session: HubSession
    peer: ScriptedSession

    async def run(self) -> list[Envelope[Wire]]:
        """Submits and reads to the terminal."""
        admitted = await self.client.submit("s1", "go")
        return [envelope async for envelope in self.client.events("s1", run_id=str(admitted.run_id), after=0)]

    async def question(self) -> Envelope[PermissionRequested]:
        """Submits and reads up to the question."""
        await self.client.submit("s1", "go")
        async with aclosing(self.client.events("s1", run_id="r1", after=0)) as events:
            async for envelope in events:
                if isinstance(envelope.payload, PermissionRequested):
                    return envelope  # type: ignore[return-value]
        raise AssertionError("nobody was asked")


@asynccontextmanager
async def floor(trace: Trace, *script: list[Event]) -> AsyncIterator[Floor]:
    ids, adapter = CountingIds(), ScriptedAdapter(*script)
    registry, clock = Registry({"peer": adapter}), ManualClock(NOON)
    async with Hub(registry, clock=clock, ids=ids, record=trace.record, patience=0.2) as hub:
        client = LocalClient(hub, ids=ids)
        await client.open("peer", session_id="s1")
        yield Floor(client, hub.session("s1"), adapter.sessions[0])


def code(response: Envelope[Wire]) -> str | None:
    return response.payload.error.code if isinstance(response.payload, ErrorResponse) else None


def untitled(sequence: int) -> Envelope[Wire]:
    """A permission with an empty title, as a careless adapter would build it."""
    payload = PermissionRequested(
        interaction_id="i1",
        requested_by="agent",
        responded_by="user",
        session_id="s1",
        run_id="r1",
        title="",
        choices=(PermissionChoice(id="yes", label="Yes"),),
    )
    return Envelope(
        type="action.permission.requested",
        id="bad",
        payload=payload,
        session_id="s1",
        run_id="r1",
        tool_call_id="t1",
        sequence=sequence,
    )


def stray(sequence: int) -> Envelope[Wire]:
    """An event of a run that is not the one being read."""
    payload = ActionCallRequested(
        session_id="s1",
        run_id="r9",
        tool_call_id="t1",
        requested_by="agent",
        execution_owner="agent",
        name="look",
        arguments_json={},
    )
    return Envelope(
        type="action.call.requested",
        id="stray",
        payload=payload,
        session_id="s1",
        run_id="r9",
        tool_call_id="t1",
        sequence=sequence,
    )


@pytest.mark.req("OAP-013")
@pytest.mark.parametrize(
    ("events", "code_"),
    [
        ([start()], "adapter_failed"),
        ([], "adapter_failed"),
        ([start(), ZeroDivisionError("secret")], "adapter_failed"),
        ([start(), say(3), complete(4)], "protocol_violation"),
        ([start(), cancelled(2)], "protocol_violation"),
        ([start(), call(2, "requested"), complete(3)], "protocol_violation"),
        ([start(), untitled(2)], "protocol_violation"),
        ([start(), stray(2)], "protocol_violation"),
    ],
)
async def test_a_run_whose_adapter_cannot_be_believed_is_settled_by_inference(
    trace: Trace, events: list[Event], code_: str
) -> None:
    """Lost, broken, or told what may not come: closed, failed once, and nothing secret said (B08)."""
    async with floor(trace, events) as held:
        last = (await held.run())[-1].payload
    assert isinstance(last, RunFailed)
    assert (last.error.code, last.settled_by, "secret" in last.error.message) == (code_, "inferred", False)


@pytest.mark.req("OAP-013")
async def test_what_was_open_is_closed_before_a_lost_run_is_failed(trace: Trace) -> None:
    """The question, then the call that waited for it."""
    async with floor(trace, [start(), call(2, "requested"), ask(3)]) as held:
        types = [envelope.type for envelope in await held.run()]
    assert types[3:] == ["action.permission.resolved", "action.call.cancelled", "run.failed"]


async def test_an_adapter_that_lied_is_told_to_stop_and_not_heard_again(trace: Trace) -> None:
    """Its run is over for everybody; what it still tells is dropped, and the session takes the next message."""
    drained = anyio.Event()

    async def end() -> None:
        drained.set()

    async with floor(trace, [start(), say(9), say(2), complete(3), end], [ZeroDivisionError()]) as held:
        types = [envelope.type for envelope in await held.run()]
        await drained.wait()
        await anyio.wait_all_tasks_blocked()
        assert (types, held.peer.asked[-1]) == (["run.started", "run.failed"], "run.cancel.request")
        assert [envelope.type for envelope in await held.run()] == ["run.failed"]


@pytest.mark.req("OAP-007", "OAP-016")
async def test_an_adapters_refusal_is_relayed_and_allocates_nothing(trace: Trace) -> None:
    """Code, reason and details arrive as they were said."""
    async with floor(trace) as held:
        held.peer.fault = Refused(Refusal(code="run_active", message="busy", reason="one", details={"run": "r1"}))
        response = await held.session.submit(submit_request(IDS, "s1", "go", "auto"))
        assert not held.session.is_running
    assert isinstance(response.payload, ErrorResponse)
    error = response.payload.error
    assert (error.code, error.retriable, error.details) == ("run_active", True, {"run": "r1", "reason": "one"})


async def test_an_adapter_that_breaks_on_a_request_is_an_internal_error(trace: Trace) -> None:
    """The request is answered all the same, once."""
    async with floor(trace) as held:
        held.peer.fault = ZeroDivisionError("secret")
        response = await held.session.submit(submit_request(IDS, "s1", "go", "auto"))
    assert (code(response), "secret" in str(response)) == ("internal", False)


@pytest.mark.req("OAP-008")
async def test_a_request_for_another_session_is_refused(trace: Trace) -> None:
    """The address, the envelope and the payload are one scope."""
    async with floor(trace) as held:
        elsewhere = submit_request(IDS, "s2", "go", "auto")
        assert code(await held.session.submit(elsewhere)) == "scope_mismatch"
        mixed = Envelope(type=elsewhere.type, id="m1", payload=elsewhere.payload, session_id="s1")
        assert code(await held.session.submit(mixed)) == "scope_mismatch"
        assert held.peer.asked == []


@pytest.mark.req("OAP-014")
async def test_cancels_are_answered_by_where_the_run_stands(trace: Trace) -> None:
    """Unknown, live, ended."""
    gone = anyio.Event()

    async def wait() -> None:
        await gone.wait()

    async with floor(trace, [start(), wait, complete(2)]) as held:
        assert code(await held.session.cancel(cancel_request(IDS, "s1", "r9", None))) == "run_not_found"
        await held.client.submit("s1", "go")
        assert code(await held.session.cancel(cancel_request(IDS, "s1", "r1", None))) is None
        gone.set()
        _ = [envelope async for envelope in held.client.events("s1", run_id="r1", after=0)]
        assert code(await held.session.cancel(cancel_request(IDS, "s1", "r1", None))) == "run_terminal"


@pytest.mark.req("OAP-011")
async def test_the_answer_to_a_cancel_comes_before_the_cancelled_run(trace: Trace) -> None:
    """Also when the adapter tells the end while it still writes its answer."""
    asked = anyio.Event()

    async def until_asked() -> None:
        await asked.wait()

    async def slow_answer() -> None:
        asked.set()
        await anyio.wait_all_tasks_blocked()

    async with floor(trace, [start(), until_asked, cancelled(2)]) as held:
        await held.client.submit("s1", "go")
        held.peer.before_answer = slow_answer
        assert (await held.client.cancel("s1", "r1")).accepted
        types = [envelope.type async for envelope in held.client.events("s1", run_id="r1", after=0)]
    order = [name for name in trace.types() if name in ("run.cancel.response", "run.cancelled")]
    assert (types, order) == (["run.started", "run.cancelled"], ["run.cancel.response", "run.cancelled"])


@pytest.mark.req("OAP-017", "OAP-085")
async def test_an_answer_is_carried_once(trace: Trace) -> None:
    """Two surfaces answer in the same moment: the adapter hears one of them (B10)."""
    answered = anyio.Event()

    async def wait() -> None:
        await answered.wait()

    script = [start(), call(2, "requested"), ask(3), wait, resolved(4), call(5, "failed"), complete(6)]
    async with floor(trace, script) as held:
        asked = await held.question()
        held.peer.before_answer = anyio.wait_all_tasks_blocked
        codes: list[str | None] = []

        async def answer() -> None:
            request = resolve_request(IDS, asked, granted=True, signed=None, reason=None)
            codes.append(code(await held.session.resolve(request)))

        async with anyio.create_task_group() as surfaces:
            surfaces.start_soon(answer)
            surfaces.start_soon(answer)
        answered.set()
        _ = [envelope async for envelope in held.client.events("s1", run_id="r1", after=3)]
    assert sorted(map(str, codes)) == ["None", "resolution_rejected"]
    assert held.peer.asked.count("action.permission.resolve.request") == 1


async def test_an_answer_the_adapter_refused_may_be_given_again(trace: Trace) -> None:
    """A refusal settles nothing."""
    answered = anyio.Event()

    async def wait() -> None:
        await answered.wait()

    script = [start(), call(2, "requested"), ask(3), wait, resolved(4), call(5, "failed"), complete(6)]
    async with floor(trace, script) as held:
        asked = await held.question()
        held.peer.fault = Refused.because("resolution_rejected", "not like this")
        requests = [resolve_request(IDS, asked, granted=True, signed=None, reason=None) for _ in range(2)]
        first = await held.session.resolve(requests[0])
        held.peer.fault = None
        second = await held.session.resolve(requests[1])
        answered.set()
        _ = [envelope async for envelope in held.client.events("s1", run_id="r1", after=3)]
    assert (code(first), code(second)) == ("resolution_rejected", None)


@pytest.mark.req("OAP-013", "OAP-114")
async def test_the_hubs_end_settles_a_run_its_adapter_never_ends(trace: Trace) -> None:
    """It is cancelled, waited for, and failed by inference; the hub does not wait for ever."""
    async with floor(trace, [start(), anyio.sleep_forever]) as held:
        await held.client.submit("s1", "go")
    assert (trace.types()[-1], held.peer.is_closed) == ("run.failed", True)
    assert trace.types().count("run.cancel.response") == 1
