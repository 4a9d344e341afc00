"""The hub in process: opening, listing, closing, and the sweep at its end."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sayso.control.client.local import LocalClient
from sayso.control.client.requests import open_request
from sayso.control.hub.hub import Hub, SessionListing
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
        assert code(await opened.open("other", open_request(ids, "s1", None))) == "unknown_adapter"
        assert code(await opened.open("peer", open_request(ids, "s1", None))) is None
        adapter.refusal = Refused.because("unsupported_feature", "no")
        assert code(await opened.open("peer", open_request(ids, "s1", None))) == "unsupported_feature"
        adapter.refusal = None
        assert code(await opened.open("peer", open_request(ids, "s1", None))) == "session_exists"
        assert [session.is_closed for session in adapter.sessions] == [False, True]
        assert code(await opened.open("peer", open_request(ids, None, None))) is None
        assert len(await opened.sessions()) == 2


@pytest.mark.req("OAP-008")
async def test_an_open_whose_envelope_and_payload_differ_is_refused() -> None:
    """Before anything is opened."""
    adapter = ScriptedAdapter()
    request = open_request(CountingIds(), "s1", None)
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


@pytest.mark.req("OAP-109")
async def test_sessions_are_listed_by_id_with_whole_seconds() -> None:
    """Only open ones, with the time they were opened."""
    ids = CountingIds()
    async with hub({"peer": ScriptedAdapter()}) as opened:
        for name in ("s2", "s1"):
            await opened.open("peer", open_request(ids, name, None))
        await opened.close("s2")
        await opened.open("peer", open_request(ids, "s0", None))
        listed = await opened.sessions()
    at = "2026-10-13T16:00:00Z"
    assert listed == [
        SessionListing(session_id=name, adapter="peer", status="idle", created_at=at) for name in ("s0", "s1")
    ]


@pytest.mark.req("OAP-107")
async def test_a_session_closes_once_and_not_under_a_live_run(trace: Trace) -> None:
    """Cancel first; after the close nobody knows the session."""
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
    assert codes == ["run_active", "unknown_session", "unknown_session"]


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
            await opened.open(name, open_request(ids, name, None))

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
        await opened.open("peer", open_request(CountingIds(), "s1", None))
        with pytest.raises(PeerRefused) as refused:
            await LocalClient(opened, ids=CountingIds()).tools("s1")
    details = {"feature": "action.tools.list", "reason": "unadvertised"}
    assert (refused.value.refusal.code, refused.value.refusal.details) == ("unsupported_feature", details)
