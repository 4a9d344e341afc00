"""One script over every binding, in process, HTTP, the hub's pipes, the endpoint's: the run is the same (OAP-040)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import anyio
import httpx2
import pytest

from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.hub import Hub
from sayso.control.hub.machine import Cursor, Deliver
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.core.clock import ManualClock
from sayso.core.frames import SseDecoder
from sayso.core.ids import CountingIds
from tests.control.endpoint.host import host_of as endpoint_host
from tests.control.endpoint.test_endpoint import answers
from tests.control.houses import NOON
from tests.control.hub.bindings.stdio_host import host_of as hub_host
from tests.control.wire import grants, opens, submits, wire

pytestmark = pytest.mark.anyio
Line = dict[str, Any]
Send = Callable[[Envelope[Any]], Awaitable[Line]]
JSON = {"content-type": "application/json"}


def hub_of() -> Hub:
    clock, ids = ManualClock(NOON), CountingIds()
    return Hub(Registry({"memory": MemoryAdapter(clock=clock, ids=ids)}), clock=clock, ids=ids)


async def script(send: Send, events: AsyncIterator[Line]) -> list[Line]:
    """The run's events, both gates answered, then what was answered to the requests."""
    told = []
    answered = [await send(opens("s1")), await send(submits("s1"))]
    async for event in events:
        told.append(event)
        if event["type"] == "action.permission.requested":
            answered.append(await send(grants(event)))
        if event["type"] == "user.input.requested":
            answered.append(await send(answers(event)))
        if event["type"] == "run.completed":
            break
    return [{name: each.get(name) for name in ("type", "sequence", "payload")} for each in (*told, *answered)]


async def in_process() -> list[Line]:
    async with hub_of() as hub:

        async def send(request: Envelope[Any]) -> Line:
            if request.type == "session.open.request":
                return wire(await hub.open("memory", request))
            session = hub.session("s1")
            act = session.submit if "submit" in request.type else session.resolve
            return wire(await act(request))

        async def events() -> AsyncIterator[Line]:
            session = hub.session("s1")
            async with aclosing(session.read(session.subscribe(Cursor(0)))) as effects:
                async for effect in effects:
                    for entry in effect.entries if isinstance(effect, Deliver) else ():
                        yield json.loads(entry.data)

        return await script(send, events())


async def over_http() -> list[Line]:
    async with (
        hub_of() as hub,
        serving_hub(hub, CountingIds(), port=0) as address,
        httpx2.AsyncClient(base_url=address.url, trust_env=False) as http,
    ):

        async def send(request: Envelope[Any]) -> Line:
            kind = {"session.open": "/adapters/memory/sessions", "session.message.submit": "/sessions/s1/submit"}
            path = kind.get(request.type.removesuffix(".request"), "/sessions/s1/resolve")
            found: Line = (await http.post(path, content=write_envelope(request), headers=JSON)).json()
            return found

        async def events() -> AsyncIterator[Line]:
            decoder = SseDecoder()
            async with http.stream("GET", "/sessions/s1/events?after=0") as response:
                async for chunk in response.aiter_bytes():
                    for event in decoder.feed(chunk):
                        yield json.loads(event.data)

        return await script(send, events())


async def over_hub_stdio() -> list[Line]:
    async with hub_of() as hub, hub_host(hub) as host:

        async def send(request: Envelope[Any]) -> Line:
            op = {"session.open": "open", "session.message.submit": "submit"}
            name = op.get(request.type.removesuffix(".request"), "resolve")
            where = {"adapter": "memory"} if name == "open" else {"session_id": "s1"}
            found: Line = (await host.ask(name, request, **where))["result"]
            return found

        async def events() -> AsyncIterator[Line]:
            host.send({"id": 900, "op": "events", "session_id": "s1", "after": 0})
            await host.answer(900)
            while (line := await host.read()) is not None:
                if line.get("event") == "envelope":
                    yield line["envelope"]

        return await script(send, events())


async def over_endpoint() -> list[Line]:
    async with hub_of() as hub, endpoint_host(hub, "memory") as host:

        async def events() -> AsyncIterator[Line]:
            while True:
                yield await host.until(lambda line: "sequence" in line)

        return await script(host.ask, events())


@pytest.mark.req("OAP-040", "OAP-003")
@pytest.mark.parametrize("binding", [over_http, over_hub_stdio, over_endpoint])
async def test_a_run_is_the_same_over_every_binding(binding: Callable[[], Awaitable[list[Line]]]) -> None:
    """Same types, same numbers, same payloads, in the same order; only the ids of envelopes are each binding's own."""
    with anyio.fail_after(60):
        expected = await in_process()
        assert await binding() == expected
    assert [each["type"] for each in expected if each["sequence"] == 1] == ["run.started"]
