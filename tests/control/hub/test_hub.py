"""The hub in process: opening, listing, closing, and the sweep at its end."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.client.local import LocalClient
from sayso.control.client.requests import open_request
from sayso.control.hub.hub import Hub
from sayso.control.hub.listings import SessionListing
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import PeerRefused, Refused
from sayso.testing.adapter import ScriptedAdapter
from sayso.testing.provider import Call, Hangs, Say
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.houses import NOON, open_house
from tests.control.protocol.talk import complete, start

pytestmark = pytest.mark.anyio


def hub(adapters: dict[str, Any], **more: Any) -> Hub:
    return Hub(Registry(adapters), clock=ManualClock(NOON), ids=CountingIds(), **more)


def code(response: Envelope[Wire]) -> str | None:
    return response.payload.error.code if isinstance(response.payload, ErrorResponse) else None


@pytest.mark.req("OAP-085", "OAP-102")
async def test_an_open_refuses_in_the_order_of_the_specification(trace: Trace) -> None:
    """The adapter exists, the adapter's own refusal, then the id is free."""
    ids, adapter = CountingIds(), ScriptedAdapter()
    async with hub({"peer": adapter}, record=trace.record) as opened:
        assert code(await opened.open("other", open_request(ids, session_id="s1"))) == "unknown_adapter"
        assert code(await opened.open("peer", open_request(ids, session_id="s1"))) is None
        adapter.refusal = Refused.because("unsupported_feature", "no")
        assert code(await opened.open("peer", open_request(ids, session_id="s1"))) == "unsupported_feature"
        adapter.refusal = None
        assert code(await opened.open("peer", open_request(ids, session_id="s1"))) == "session_exists"
        assert [session.is_closed for session in adapter.sessions] == [False, True]
        assert code(await opened.open("peer", open_request(ids))) is None
        assert len(await opened.sessions()) == 2


@pytest.mark.req("OAP-008")
async def test_an_open_whose_envelope_and_payload_differ_is_refused() -> None:
    """Before anything is opened."""
    adapter = ScriptedAdapter()
    request = open_request(CountingIds(), session_id="s1")
    mixed = Envelope(type=request.type, id="m1", payload=request.payload, session_id="s2")
    async with hub({"peer": adapter}) as opened:
        assert code(await opened.open("peer", mixed)) == "scope_mismatch"
    assert adapter.sessions == []


@pytest.mark.req("OAP-103", "OAP-109")
async def test_an_adapter_that_cannot_be_probed_is_listed_with_its_error() -> None:
    """The others are listed as ever; its capabilities are refused."""
    well, ill = ScriptedAdapter(), ScriptedAdapter()
    ill.probe_refusal = Refused.because("probe_failed", "not installed")
    async with hub({"well": well, "ill": ill}) as opened:
        listed = await opened.adapters()
        answer = await opened.capabilities("well")
        with pytest.raises(Refused) as refused:
            await opened.capabilities("ill")
    assert [(each.name, each.capability_revision, each.error) for each in listed] == [
        ("ill", None, "not installed"),
        ("well", "v1", None),
    ]
    assert isinstance(answer.payload, CapabilitiesResponse)
    assert (answer.in_reply_to, answer.capability_revision) == ("oap-request-1", "v1")
    assert refused.value.refusal.code == "probe_failed"


@pytest.mark.req("OAP-097", "OAP-109")
async def test_sessions_are_listed_by_id_with_whole_seconds() -> None:
    """Open and closed ones, with the time they were opened (OAP-097)."""
    ids = CountingIds()
    async with hub({"peer": ScriptedAdapter()}) as opened:
        for name in ("s2", "s1"):
            await opened.open("peer", open_request(ids, session_id=name))
        await opened.close("s2")
        await opened.open("peer", open_request(ids, session_id="s0"))
        listed = await opened.sessions()
    at = "2026-10-13T16:00:00Z"
    assert listed == [
        SessionListing(session_id=name, adapter="peer", status=status, created_at=at)
        for name, status in (("s0", "idle"), ("s1", "idle"), ("s2", "closed"))
    ]


@pytest.mark.req("OAP-107")
async def test_a_session_closes_once_and_not_under_a_live_run(trace: Trace) -> None:
    """Cancel first; after the close the session is only listed."""
    async with open_house([[Hangs()], [Say("done")]], record=trace.record) as house:
        admitted = await house.client.submit(house.session_id, "go")
        with pytest.raises(PeerRefused) as live:
            await house.client.close(house.session_id)
        await house.client.cancel(house.session_id, str(admitted.run_id))
        events = house.client.events(house.session_id, run_id=str(admitted.run_id), after=0)
        _ = [envelope async for envelope in events]
        await house.client.close(house.session_id)
        codes = [live.value.refusal.code]
        for again in (house.client.close(house.session_id), house.client.state(house.session_id)):
            with pytest.raises(PeerRefused) as gone:
                await again
            codes.append(gone.value.refusal.code)
    assert codes == ["run_active", "session_closed", "session_closed"]


@pytest.mark.req("OAP-114")
async def test_the_end_of_the_hub_cancels_what_is_live_and_releases_holds(trace: Trace) -> None:
    """A person was being asked when the program ended."""
    async with open_house([[Call("book")]], {"book": asking("limits")}, record=trace.record) as house:
        await house.client.submit(house.session_id, "go")
        await anyio.wait_all_tasks_blocked()
        assert (await house.client.state(house.session_id)).status == "waiting_for_input"
    assert trace.types()[-4:] == [
        "run.status.updated", "action.permission.resolved", "action.call.cancelled", "run.cancelled",
    ]  # fmt: skip
    assert len(house.tools.abandoned) == 1


async def test_what_fails_inside_the_block_comes_out_as_it_is() -> None:
    """The hub's own task group wraps nothing of the caller's."""
    with pytest.raises(ZeroDivisionError):
        async with hub({"peer": ScriptedAdapter()}):
            raise ZeroDivisionError


async def test_a_session_that_cannot_close_does_not_keep_the_others_open(trace: Trace) -> None:
    """The sweep goes on."""
    broken, well = ScriptedAdapter(), ScriptedAdapter()
    ids = CountingIds()
    async with hub({"broken": broken, "well": well}, record=trace.record) as opened:
        for name in ("broken", "well"):
            await opened.open(name, open_request(ids, session_id=name))

        async def fails() -> None:
            raise ZeroDivisionError

        broken.sessions[0].close = fails  # type: ignore[method-assign]
    assert well.sessions[0].is_closed


@pytest.mark.req("OAP-092")
async def test_several_sessions_run_side_by_side(trace: Trace) -> None:
    """Each with its own numbers; the trace of all is legal."""
    async with open_house([[Say(str(number))] for number in range(6)], record=trace.record) as house:
        others = [await house.client.open("sayso") for _ in range(5)]
        ended: list[str] = []

        async def run(session_id: str) -> None:
            admitted = await house.client.submit(session_id, "go")
            events = house.client.events(session_id, run_id=str(admitted.run_id), after=0)
            ended.append([envelope.type async for envelope in events][-1])

        async with anyio.create_task_group() as tasks:
            for session_id in (house.session_id, *(other.session_id for other in others)):
                tasks.start_soon(run, session_id)
    assert ended == ["run.completed"] * 6


async def test_tools_of_an_adapter_that_lists_none_are_refused_by_name() -> None:
    """The unit is optional, and says so."""
    async with hub({"peer": ScriptedAdapter([start(), complete(2)])}) as opened:
        await opened.open("peer", open_request(CountingIds(), session_id="s1"))
        with pytest.raises(PeerRefused) as refused:
            await LocalClient(opened, ids=CountingIds()).tools("s1")
    details = {"feature": "action.tools.list", "reason": "unadvertised"}
    assert (refused.value.refusal.code, refused.value.refusal.details) == ("unsupported_feature", details)


@pytest.mark.req("OAP-066")
async def test_a_catalog_of_another_session_is_refused() -> None:
    """Whatever the adapter answers, no binding sees it."""
    ids = CountingIds()

    class Mixed(MemoryAdapter):
        async def open(self, request: Any, session_id: str, tasks: Any) -> Any:
            opened = await super().open(request, session_id, tasks)
            other = await super().open(open_request(ids), "another", tasks)
            opened.models = other.models  # type: ignore[method-assign]
            opened.tools = other.tools  # type: ignore[method-assign]
            return opened

    async with hub({"mixed": Mixed(clock=ManualClock(NOON), ids=ids)}) as opened:
        await opened.open("mixed", open_request(ids, session_id="s1"))
        for asked in (opened.models("s1"), opened.tools("s1")):
            with pytest.raises(Refused) as refused:
                await asked
            assert refused.value.refusal.code == "scope_mismatch"


@pytest.mark.req("OAP-100")
async def test_the_sweep_promotes_nothing(trace: Trace) -> None:
    """What waits is cancelled before what it waits for."""
    ids = CountingIds()
    adapter = MemoryAdapter(clock=ManualClock(NOON), ids=ids)
    async with hub({"memory": adapter}, record=trace.record) as opened:
        client = LocalClient(opened, ids=ids)
        session = await client.open("memory")
        first = await client.submit(session.session_id, "script: hold")
        second = await client.submit(session.session_id, "script: plain", delivery="queue")
        await anyio.wait_all_tasks_blocked()
    assert trace.types(str(first.run_id))[-1] == "run.cancelled"
    assert trace.types(str(second.run_id)) == ["run.cancelled"]


@pytest.mark.req("OAP-100")
@pytest.mark.parametrize(("refusals", "is_closed"), [(2, True), (3, False)])
async def test_a_session_whose_run_refuses_the_close_is_tried_three_times(refusals: int, is_closed: bool) -> None:
    """Its live run is cancelled before each."""
    adapter, left = ScriptedAdapter(), [refusals]
    async with hub({"peer": adapter}) as opened:
        await opened.open("peer", open_request(CountingIds(), session_id="s1"))
        (session,) = adapter.sessions
        close = session.close

        async def busy() -> None:
            if left[0]:
                left[0] -= 1
                raise Refused.because("run_active", "not yet")
            await close()

        session.close = busy  # type: ignore[method-assign]
    assert (session.is_closed, left) == (is_closed, [0])
