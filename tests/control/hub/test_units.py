"""What a hub carries besides a plain run, over HTTP and the reference adapter: every trace is judged at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from sayso.adapters import Descriptor
from sayso.client import Client, ServerError, Session
from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.client.local import LocalClient
from sayso.control.client.requests import submit_request
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallRequested, PermissionRequested
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputRequested
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import CompactionPolicy, OpenMessage, SessionState
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from tests.control.conftest import Trace
from tests.control.houses import watched

pytestmark = pytest.mark.anyio
NOON = datetime(2026, 10, 13, 16, tzinfo=UTC)


@asynccontextmanager
async def served(trace: Trace, **more: Any) -> AsyncIterator[Client]:
    ids, clock = CountingIds(), ManualClock(NOON)
    registry = Registry({"memory": MemoryAdapter(clock=clock, ids=ids)})
    async with (
        watched(),
        Hub(registry, clock=clock, ids=ids, record=trace.record, **more) as hub,
        serving_hub(hub, ids, port=0) as address,
        Client(address.url, judged=True) as client,
    ):
        yield client


async def types(session: Session, run_id: object) -> list[str]:
    """The types of a run's events, each of its interactions answered."""
    return [envelope.type async for envelope in answering(session, run_id)]


async def answering(session: Session, run_id: object) -> AsyncIterator[Envelope[Any]]:
    async for envelope in session.events(run_id=str(run_id), after=0):
        yield envelope
        await answer(session, envelope)


async def answer(session: Session, envelope: Envelope[Any]) -> None:
    if isinstance(envelope.payload, PermissionRequested):
        await session.resolve(envelope, granted=True)
    elif isinstance(envelope.payload, UserInputRequested):
        answers = [
            UserAnswer(question_id=question.id, selected_option_ids=(question.options[0].id,))
            if question.options
            else UserAnswer(question_id=question.id, text="because")
            for question in envelope.payload.questions
        ]
        await session.answer(envelope, answers)


async def told(session: Session, run_id: object, type_: str) -> None:
    """Until the run has told an event of this type."""
    async for envelope in session.events(run_id=str(run_id), after=0):
        if envelope.type == type_:
            return


def message(text: str) -> OpenMessage:
    return OpenMessage(messages=(Message(role="user", content=text),), delivery="auto")


@pytest.mark.req("OAP-038", "OAP-017", "OAP-106")
async def test_both_gates_of_one_run_are_answered_over_http(trace: Trace) -> None:
    """A permission and a question to the person, each by its own kind of answer."""
    async with served(trace) as client:
        session = await client.start("memory")
        seen = await types(session, (await session.submit("hello")).run_id)
    assert seen[-1] == "run.completed"
    assert [seen.count(kind) for kind in ("action.permission.resolved", "user.input.resolved")] == [1, 1]


@pytest.mark.req("OAP-052", "OAP-053", "OAP-055")
async def test_a_reservation_is_listed_and_promoted_when_the_run_ends(trace: Trace) -> None:
    """One stream goes on into the run that was waiting."""
    async with served(trace) as client:
        session = await client.start("memory")
        first = await session.submit("script: hold")
        await told(session, first.run_id, "content.delta")
        second = await session.submit("script: plain", delivery="queue")
        with pytest.raises(ServerError) as full:
            await session.submit("script: plain", delivery="queue")
        state = await session.state()
        got: list[tuple[str, object]] = []
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                async for envelope in session.events():
                    got.append((envelope.type, envelope.run_id))

            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await session.cancel(str(first.run_id))
    assert (second.admission, full.value.code) == ("queued", "run_active")
    listed = [(run.run_id, run.queue_position or 0) for run in state.active_runs or ()]
    assert (listed, state.active_run_id) == ([(first.run_id, 0), (second.run_id, 1)], first.run_id)
    ended = got.index(("run.cancelled", first.run_id))
    assert (got[ended + 1], got[-1]) == (("run.started", second.run_id), ("run.completed", second.run_id))


@pytest.mark.req("OAP-053")
async def test_a_reservation_is_cancelled_before_it_runs(trace: Trace) -> None:
    """B15: its own terminal is all it tells, and the run before it goes on."""
    async with served(trace) as client:
        session = await client.start("memory")
        first = await session.submit("script: hold")
        await told(session, first.run_id, "content.delta")
        second = await session.submit("script: plain", delivery="queue")
        await session.cancel(str(second.run_id))
        assert await types(session, second.run_id) == ["run.cancelled"]
        third = await session.submit("script: plain", delivery="queue")
        await session.cancel(str(first.run_id))
        assert (await types(session, first.run_id))[-1] == "run.cancelled"
        assert (await types(session, third.run_id))[-1] == "run.completed"


@pytest.mark.req("OAP-056", "OAP-057", "OAP-096")
async def test_a_steer_is_answered_before_what_it_caused(trace: Trace) -> None:
    """It makes no run, and settles in the run it guides, by the id of its request."""
    async with served(trace) as client:
        session = await client.start("memory")
        first = await session.submit("script: hold")
        await told(session, first.run_id, "content.delta")
        got: list[Envelope[Wire]] = []
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                async for envelope in session.events(run_id=str(first.run_id), after=0):
                    got.append(envelope)

            tasks.start_soon(read)
            steered = await session.submit("go on", delivery="steer")
    applied = next(envelope for envelope in got if envelope.type == "run.steer.applied")
    submits = [e for e in trace.envelopes if e.type == "session.message.submit.request"]
    assert (steered.admission, steered.run_id) == ("steered", first.run_id)
    assert applied.payload.request_id == submits[-1].id  # type: ignore[attr-defined]
    assert int(steered.target_sequence or 0) < int(applied.sequence or 0)
    assert got[-1].type == "run.completed"
    order = [envelope.type for envelope in trace.envelopes]
    assert order.index("run.steer.applied") > len(order) - 1 - order[::-1].index("session.message.submit.response")


@pytest.mark.req("OAP-096")
async def test_an_answer_that_never_goes_out_holds_nothing_for_ever(trace: Trace) -> None:
    """Whoever carries the answer may die before it says so; then a deadline frees what waits, in order."""
    ids, clock = CountingIds(), ManualClock(NOON)
    registry = Registry({"memory": MemoryAdapter(clock=clock, ids=ids)})
    async with watched(), Hub(registry, clock=clock, ids=ids, record=trace.record, patience=0.05) as hub:
        client = LocalClient(hub, ids=ids)
        opened = await client.open("memory")
        first = await client.submit(opened.session_id, "script: hold")
        seen: list[object] = []
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                async for envelope in client.events(opened.session_id, run_id=str(first.run_id), after=0):
                    seen.append(envelope.sequence)

            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await hub.session(opened.session_id).submit(submit_request(ids, opened.session_id, "on", "steer"))
    assert seen == list(range(1, len(seen) + 1))


@pytest.mark.req("OAP-091")
async def test_an_open_may_bring_its_message_and_its_reader(trace: Trace) -> None:
    """The message is acknowledged in the state; the first reader without a cursor gets the run from its start."""
    async with served(trace) as client:
        opened = await client.open("memory", subscribe=True, message=message("script: plain"))
        session = await client.attach(opened.session_id)
        (run,) = opened.active_runs or ()
        requests = [e.id for e in trace.envelopes if e.type == "session.open.request"]
        seen = [envelope.sequence async for envelope in session.events()]
    assert list(run.admitted_submit_requests or ()) == requests
    assert seen == list(range(1, len(seen) + 1))


@pytest.mark.req("OAP-091")
async def test_a_reader_that_never_comes_is_let_go(trace: Trace) -> None:
    """Whoever reads after that begins where the session is then."""
    async with served(trace, held=0.0) as client:
        opened = await client.open("memory", subscribe=True)
        session = await client.attach(opened.session_id)
        run = await session.submit("script: hold")
        await told(session, run.run_id, "content.delta")
        got: list[object] = []
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                got.extend([envelope.sequence async for envelope in session.events()])

            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await session.cancel(str(run.run_id))
    assert got[0] != 1


@pytest.mark.req("OAP-091")
async def test_an_open_whose_message_is_refused_opens_nothing(trace: Trace) -> None:
    """All or nothing: no session is listed, nothing was admitted, and another open may follow."""
    async with served(trace) as client:
        refused = OpenMessage(messages=message("x").messages, delivery="auto", model_id="no-such-model")
        with pytest.raises(ServerError) as no:
            await client.open("memory", session_id="mine", message=refused)
        listed = (await client.sessions()).sessions
        opened: SessionState = await client.open("memory", message=message("script: plain"))
        session = await client.attach(opened.session_id)
        await types(session, str((opened.active_runs or ())[0].run_id))
    assert (no.value.code, listed) == ("model_not_found", ())


@pytest.mark.req("OAP-067", "OAP-068", "OAP-070", "OAP-108")
async def test_models_are_listed_and_switched(trace: Trace) -> None:
    """The switch is for later runs; an unlisted model is refused by its name."""
    async with served(trace) as client:
        session = await client.start("memory")
        before = await session.models()
        switched = await session.switch_model("memory-large")
        after = await session.models()
        with pytest.raises(ServerError) as unknown:
            await session.switch_model("no-such-model")
        started = await session.submit("script: plain")
        await types(session, started.run_id)
    assert [model.id for model in before.models] == ["memory-small", "memory-large"]
    assert (before.current_model_id, after.current_model_id) == ("memory-small", "memory-large")
    assert (switched.previous_model_id, unknown.value.code) == ("memory-small", "model_not_found")


@pytest.mark.req("OAP-072", "OAP-104")
async def test_a_compaction_is_a_run_by_the_submit_route(trace: Trace) -> None:
    """Bracketed by its two events, completed with the summary."""
    async with served(trace) as client:
        session = await client.start("memory", compaction_policy=CompactionPolicy(kind="off"))
        await types(session, (await session.submit("script: plain")).run_id)
        compacting = await session.compact(focus="the point")
        seen = await types(session, compacting.run_id)
    assert [seen[0], *seen[1:3], seen[-1]] == [
        "run.started", "run.compaction.started", "run.compaction.ended", "run.completed",
    ]  # fmt: skip


@pytest.mark.req("OAP-082", "OAP-083", "OAP-084", "OAP-106")
async def test_a_tool_of_the_client_is_called_and_answered(trace: Trace) -> None:
    """Taken, then ended; what comes after that does not count and says why."""
    tool = ToolDefinition(
        name="look_up",
        description="Looks something up",
        input_schema={"type": "object"},
        execution_owner="user",
        source="memory",
    )
    answers = []
    async with served(trace) as client:
        session = await client.start("memory", tools=[tool])
        admitted = await session.submit("script: tools")
        async for envelope in session.events(run_id=str(admitted.run_id), after=0):
            await answer(session, envelope)
            if isinstance(envelope.payload, ActionCallRequested) and envelope.payload.name == "look_up":
                answers = [
                    await client.take_call(envelope),  # type: ignore[arg-type]
                    await client.end_call(envelope, {"found": 1}),  # type: ignore[arg-type]
                    await client.end_call(envelope, {"found": 2}),  # type: ignore[arg-type]
                ]
    assert [(said.accepted, said.reason or None) for said in answers] == [
        (True, None), (True, None), (False, "already_resolved"),
    ]  # fmt: skip


@pytest.mark.req("OAP-079", "OAP-080", "OAP-098")
async def test_a_closed_session_is_refused_listed_and_reopened(trace: Trace) -> None:
    """Its conversation comes back, its runs do not."""
    async with served(trace) as client:
        session = await client.start("memory", session_id="mine")
        await types(session, (await session.submit("script: plain")).run_id)
        await session.close()
        codes = []
        for call in (
            session.close(),
            session.state(),
            anext(session.events()),
            client.open("memory", session_id="mine"),
        ):
            with pytest.raises(ServerError) as refused:
                await call
            codes.append(refused.value.code)
        reopened = await client.open("memory", session_id="mine", reopen=True)
        again = await client.attach("mine")
        await types(again, (await again.submit("script: plain")).run_id)
        listed = [(each.session_id, each.status) for each in (await client.sessions()).sessions]
    assert codes == ["session_closed", "session_closed", "session_closed", "session_exists"]
    assert reopened.recovery is not UNSET
    assert reopened.recovery.recovered is True
    assert listed == [("mine", "idle")]


@pytest.mark.req("OAP-071", "OAP-108")
async def test_a_provider_is_attached_by_the_settings_route(trace: Trace) -> None:
    """Its models join the catalog for later runs; one nobody has is refused, and nothing changed."""
    async with served(trace) as client:
        session = await client.start("memory")
        before = [model.id for model in (await session.models()).models]
        with pytest.raises(ServerError):
            await client.attach_provider(session.id, "mine", "no-such-provider")
        attached = await client.attach_provider(session.id, "mine", "memory-extra")
        after = [model.id for model in (await session.models()).models]
    assert (attached.session_id, after[: len(before)]) == (session.id, before)
    assert len(after) > len(before)


class Degraded(MemoryAdapter):
    """Lists its models and tools as an approximation, and says so."""

    async def probe(self) -> Descriptor:
        found = await super().probe()
        features = dict(found.capabilities.features or {})
        for key in ("models.list", "action.tools.list"):
            features[key] = msgspec.structs.replace(features[key], level="degraded")
        return Descriptor("degraded-1", msgspec.structs.replace(found.capabilities, features=features))


@pytest.mark.req("OAP-069", "OAP-108")
async def test_a_degraded_catalog_needs_its_leave_over_a_socket_and_in_process() -> None:
    """Each client's method and each route can carry it; without it the refusal names the feature."""
    ids = CountingIds()
    adapter = Degraded(clock=ManualClock(NOON), ids=ids)
    async with (
        watched(),
        Hub(Registry({"memory": adapter}), clock=ManualClock(NOON), ids=ids) as hub,
        serving_hub(hub, ids, port=0) as address,
        Client(address.url) as far,
        LocalClient(hub) as near,
    ):
        for client in (far, near):
            session = await client.start("memory")
            assert await session.models(allow_degraded=["models.list"])
            assert await session.tools(allow_degraded=["action.tools.list"])
            for asked, key in ((session.models(), "models.list"), (session.tools(), "action.tools.list")):
                with pytest.raises(ServerError) as refused:
                    await asked
                assert (refused.value.code, refused.value.details["feature"]) == ("capability_degraded", key)
