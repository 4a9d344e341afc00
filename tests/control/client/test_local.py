"""The in-process client: the same words as over the wire, and the same refusals."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sayso.control.client.requests import answered, submit_request
from sayso.control.hub.answers import answer
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested, ToolsListResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import SessionState
from sayso.core.ids import CountingIds
from sayso.core.refusal import PeerRefused
from sayso.testing.provider import Call, Hangs, Say
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.houses import open_house

pytestmark = pytest.mark.anyio


@pytest.mark.req("OAP-042", "OAP-092")
async def test_a_reader_that_pauses_gets_every_event_once(trace: Trace) -> None:
    """Its overflow is resumed unseen."""
    acts = {"book": asking("limits")}
    async with open_house([[Call("book")], [Say(*("x" * 300))]], acts, record=trace.record) as house:
        admitted = await house.client.submit(house.session_id, "go")
        events = house.client.events(house.session_id, run_id=str(admitted.run_id), after=0)
        got: list[Envelope[Wire]] = [await anext(events)]
        while not isinstance(got[-1].payload, PermissionRequested):
            got.append(await anext(events))
        await house.client.resolve(got[-1], granted=False)  # type: ignore[arg-type]
        while house.hub.session(house.session_id).is_running:
            await anyio.lowlevel.checkpoint()
        got += [envelope async for envelope in events]
    assert [envelope.sequence for envelope in got] == list(range(1, len(got) + 1))
    assert (len(got) > 300, got[-1].type) == (True, "run.completed")


@pytest.mark.req("OAP-094")
async def test_a_gap_is_told_with_its_bounds(trace: Trace) -> None:
    """As over the wire."""
    async with open_house([[Say(*"abcdefgh")]], record=trace.record, capacity=4) as house:
        admitted = await house.client.submit(house.session_id, "go")
        while house.hub.session(house.session_id).is_running:
            await anyio.lowlevel.checkpoint()
        with pytest.raises(PeerRefused) as gap:
            await anext(house.client.events(house.session_id, run_id=str(admitted.run_id), after=0))
    assert gap.value.refusal.details == {"oldest_available": 7, "latest_available": 10}


async def test_a_reader_that_joins_late_gets_what_comes(trace: Trace) -> None:
    """Without a cursor nothing old is replayed."""
    async with open_house([[Hangs()]], record=trace.record) as house:
        admitted = await house.client.submit(house.session_id, "go")
        await anyio.wait_all_tasks_blocked()
        got: list[str] = []

        async def read() -> None:
            got.extend([envelope.type async for envelope in house.client.events(house.session_id)])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await house.client.cancel(house.session_id, str(admitted.run_id))
    assert got == ["run.status.updated", "run.cancelled"]


@pytest.mark.req("OAP-007")
async def test_refusals_arrive_with_their_codes(trace: Trace) -> None:
    """Whether they were answered with an envelope or raised."""
    async with open_house([[Hangs()]], record=trace.record) as house:
        for _ in range(9):  # one at work, eight behind it
            await house.client.submit(house.session_id, "go")
        calls: list[Any] = [
            house.client.submit(house.session_id, "more"),
            house.client.submit("other", "go"),
            house.client.state("other"),
            house.client.tools("other"),
            house.client.capabilities("other"),
            house.client.open("other"),
            house.client.close(house.session_id),
            anext(house.client.events(house.session_id, run_id="r9", after=0)),
        ]
        codes = []
        for call in calls:
            with pytest.raises(PeerRefused) as refused:
                await call
            codes.append(refused.value.refusal.code)
    assert codes == [
        "run_active", "unknown_session", "unknown_session", "unknown_session", "unknown_adapter", "unknown_adapter",
        "run_active", "run_not_found",
    ]  # fmt: skip


async def test_what_the_adapter_is_and_offers_can_be_asked(trace: Trace) -> None:
    """Capabilities, tools and state."""
    async with open_house([], {"book": asking("limits")}, record=trace.record) as house, house.client as client:
        capabilities = await client.capabilities("sayso")
        tools = await client.tools(house.session_id)
        state = await client.state(house.session_id)
    assert isinstance(tools, ToolsListResponse)
    assert tools.tools == capabilities.tools
    assert isinstance(state, SessionState)
    assert state.status == "idle"


def test_an_answer_of_another_type_is_a_violation() -> None:
    """A client believes no payload it did not ask for."""
    ids = CountingIds()
    request = submit_request(ids, "s1", "go", "auto")
    wrong = answer(request, SessionState(session_id="s1", status="idle"), ids)
    with pytest.raises(PeerRefused) as refused:
        answered(wrong, ToolsListResponse, "the hub")
    assert refused.value.refusal.code == "protocol_violation"
