"""The fake sign-in flows: their order, their ends, and the absence of any credential."""

from __future__ import annotations

import json
from typing import Any

import anyio
import msgspec
import pytest

from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.adapters.reference.logins import LOGIN_PROVIDERS, TABLE, FlowState
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.auth import (
    AuthLoginCancelRequest,
    AuthLoginStartRequest,
    AuthProvidersRequest,
)
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from tests.control.adapters.reference.stage import refused
from tests.control.conftest import Trace
from tests.control.houses import NOON

pytestmark = pytest.mark.anyio


class Desk:
    """Asks, and records what is said in the order it counts."""

    def __init__(self, trace: Trace) -> None:
        self.adapter = MemoryAdapter(clock=ManualClock(NOON), ids=CountingIds())
        self.trace = trace
        self._asked = 0

    def _record(self, type_: str, request: Wire, reply: Wire) -> None:
        self._asked += 1
        name = f"q{self._asked}"
        self.trace.record(Envelope(type=f"{type_}.request", id=name, payload=request))
        self.trace.record(Envelope(type=f"{type_}.response", id=f"a{name}", payload=reply, in_reply_to=name))

    async def statuses(self) -> dict[str, str]:
        reply = await self.adapter.auth_providers()
        self._record("auth.providers", AuthProvidersRequest(), reply)
        return {row.id: row.auth_status for row in reply.providers}

    async def login(self, provider_id: str) -> str:
        payload = AuthLoginStartRequest(provider_id=provider_id)
        reply = await self.adapter.login(Envelope(type="auth.login.start.request", id="x", payload=payload))
        self._record("auth.login.start", payload, reply)
        return reply.flow_id

    async def cancel(self, flow_id: str) -> bool:
        payload = AuthLoginCancelRequest(flow_id=flow_id)
        reply = await self.adapter.cancel_login(Envelope(type="auth.login.cancel.request", id="x", payload=payload))
        self._record("auth.login.cancel", payload, reply)
        return reply.accepted

    async def events(self, flow_id: str) -> list[tuple[int, str, Any]]:
        got = []
        async for envelope in self.adapter.login_events(flow_id):
            self.trace.record(envelope)
            payload: Any = envelope.payload
            got.append((envelope.sequence, envelope.type, getattr(payload, "kind", None) or payload.status))
        return got


@pytest.fixture
def desk(trace: Trace) -> Desk:
    return Desk(trace)


@pytest.mark.req("OAP-076", "OAP-077")
async def test_a_flow_shows_an_address_and_settles_with_its_last_number(desk: Desk) -> None:
    """Contiguous from 1 in its own domain; a fresh reading of the rows shows the success."""
    assert (await desk.statuses())["memory-browser"] == "login_required"
    flow = await desk.login("memory-browser")
    assert await desk.events(flow) == [
        (1, "auth.login.event", "url"),
        (2, "auth.login.event", "progress"),
        (3, "auth.login.completed", "success"),
    ]
    assert (await desk.statuses())["memory-browser"] == "authenticated"


@pytest.mark.req("OAP-077")
async def test_a_flow_that_needs_something_typed_fails_instead_of_waiting(desk: Desk) -> None:
    """There is no prompt of the host here, and no envelope could carry the answer."""
    flow = await desk.login("memory-code")
    assert await desk.events(flow) == [(1, "auth.login.completed", "failed")]
    error = desk.trace.envelopes[-1].payload.error  # type: ignore[attr-defined]
    assert (error.code, (await desk.statuses())["memory-code"]) == ("auth_input_unavailable", "login_required")


@pytest.mark.req("OAP-076", "OAP-077")
async def test_a_waiting_flow_is_cancelled_once(desk: Desk) -> None:
    """Others may see that it is under way; a second cancel and one of a settled flow change nothing."""
    flow = await desk.login("memory-patient")
    assert (await desk.statuses())["memory-patient"] == "login_in_progress"
    async with anyio.create_task_group() as tasks:
        got: list[Any] = []

        async def read() -> None:
            got.extend(await desk.events(flow))

        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        assert await desk.cancel(flow)
    assert got == [(1, "auth.login.event", "url"), (2, "auth.login.completed", "cancelled")]
    assert not await desk.cancel(flow)
    assert (await desk.statuses())["memory-patient"] == "login_required"


@pytest.mark.req("OAP-076")
async def test_unknown_providers_and_flows_are_refused_by_name(desk: Desk) -> None:
    """No flow is allocated."""
    start = Envelope(type="auth.login.start.request", id="x", payload=AuthLoginStartRequest(provider_id="nobody"))
    stop = Envelope(type="auth.login.cancel.request", id="x", payload=AuthLoginCancelRequest(flow_id="flow9"))
    assert await refused(desk.adapter.login(start)) == ("unknown_provider", {"provider_id": "nobody"})
    assert (await refused(desk.adapter.cancel_login(stop)))[0] == "unknown_login"
    assert (await refused(anext(desk.adapter.login_events("flow9"))))[0] == "unknown_login"
    assert await desk.login("memory-browser") == "flow1"
    await desk.events("flow1")


@pytest.mark.req("OAP-078")
async def test_every_row_says_how_a_credential_is_taken_and_nothing_says_what_it_is(desk: Desk) -> None:
    """No member of any of the eight types could carry one."""
    rows = (await desk.adapter.auth_providers()).providers
    assert {row.id: row.auth_kinds for row in rows} == {name: row.kinds for name, row in LOGIN_PROVIDERS.items()}
    for provider in LOGIN_PROVIDERS:
        flow = await desk.login(provider)
        if provider == "memory-patient":
            await desk.cancel(flow)
        await desk.events(flow)
    said = json.dumps([msgspec.to_builtins(each.payload) for each in desk.trace.envelopes])
    assert not any(word in said for word in ('"answer"', '"token"', '"code":"auth_code', '"api_key":'))


def test_the_table_of_flows_is_whole() -> None:
    """Every way a provider's flow goes begins, what waits can be cancelled, and nothing leaves a settled flow."""
    ways = {row.goes for row in LOGIN_PROVIDERS.values()}
    assert set(TABLE) == {*((FlowState.ABSENT, way) for way in ways), (FlowState.WAITING, "cancel")}
