"""The client over real sockets: every event once however the wire is cut, and every refusal with its code."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import repeat
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sayso.control.client.agent import AgentClient
from sayso.control.client.http import HubClient
from sayso.control.client.run import Answered, run_to_terminal
from sayso.control.hub.bindings.http import BODY_CAP, serving_hub
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry_loading import default_registry
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.listen import Address
from sayso.testing.provider import Call, Hangs, Say, Turn
from sayso.testing.tools import asking
from tests.control.client.proxies import cutting
from tests.control.conftest import Trace
from tests.control.houses import House, open_house

pytestmark = pytest.mark.anyio
IDS = SystemIds()


@asynccontextmanager
async def served(trace: Trace, turns: list[Turn], **more: Any) -> AsyncIterator[tuple[House, Address]]:
    acts = {"book": asking("limits")}
    async with (
        open_house(turns, acts, record=trace.record, **more) as house,
        serving_hub(house.hub, IDS, port=0) as address,
    ):
        yield house, address


def seen(envelopes: list[Envelope[Wire]]) -> list[int]:
    return [int(envelope.sequence or 0) for envelope in envelopes]


@pytest.mark.req("OAP-003", "OAP-043")
async def test_a_run_is_driven_from_submit_to_its_end(trace: Trace, agent_schema: Any) -> None:
    """Open, ask, answer with a document, read to the terminal, close; each envelope has its shape on this side too."""
    mine = Trace(agent_schema, is_partial=True)

    async def answer(asked: Envelope[PermissionRequested]) -> Answered:
        assert asked.payload.description == "limits, in words"
        return Answered(True, "a.b.c")

    async with (
        served(trace, [[Say("hi"), Call("book")], [Say("done")]]) as (house, address),
        HubClient(address.url, ids=IDS, record=mine.record) as client,
    ):
        capabilities = await client.capabilities("sayso")
        opened = await client.open("sayso", metadata={"why": "a test"})
        outcome = await run_to_terminal(client, opened.session_id, "go", answer)
        tools = await client.tools(opened.session_id)
        state = await client.state(opened.session_id)
        await client.close(opened.session_id)
    assert (outcome.stop_reason, outcome.tool_calls, state.status) == ("end_turn", 1, "idle")
    assert [tool.name for tool in tools.tools] == [tool.name for tool in capabilities.tools or ()]
    assert house.tools.calls[-1][1][0].document == "a.b.c"
    mine.verify()


@pytest.mark.req("OAP-017")
async def test_a_bare_grant_from_the_wire_reaches_the_source_without_a_document(trace: Trace) -> None:
    """Nothing on the way adds one, and nothing on the way refuses it: that is the kernel's."""

    async def answer(_asked: Envelope[PermissionRequested]) -> Answered:
        return Answered(True)

    async with (
        served(trace, [[Call("book")], [Say("done")]]) as (house, address),
        HubClient(address.url, ids=IDS) as client,
    ):
        await run_to_terminal(client, house.session_id, "go", answer)
    (given,) = house.tools.calls[-1][1]
    assert (given.granted, given.document) == (True, None)


@pytest.mark.req("OAP-042", "OAP-105")
@pytest.mark.parametrize("size", [1, 7, 64, 200, 333, 1000])
async def test_a_stream_cut_anywhere_gives_every_event_once(trace: Trace, size: int) -> None:
    """Cut inside the head, an event or between two; the fifth connection at the latest is left alone."""
    async with served(trace, [[Say(*"abcdefgh")]]) as (house, address):
        admitted = await house.client.submit(house.session_id, "go")
        cuts = iter([size, size * 2, size * 3, size * 4])
        async with cutting(address, cuts) as (url, cutter), HubClient(url, ids=IDS, first_pause=0.001) as client:
            events = client.events(house.session_id, run_id=str(admitted.run_id), after=0)
            got = [envelope async for envelope in events]
    assert (seen(got), cutter.connections > 2) == (list(range(1, 11)), True)


@pytest.mark.req("OAP-042")
async def test_a_stream_cut_after_every_event_still_comes_whole(trace: Trace) -> None:
    """A connection that always brings something is taken up for ever."""
    async with served(trace, [[Say(*"abcdefghijklmnop")]]) as (house, address):
        admitted = await house.client.submit(house.session_id, "go")
        async with cutting(address, repeat(900)) as (url, cutter), HubClient(url, ids=IDS, first_pause=0.001) as client:
            events = client.events(house.session_id, run_id=str(admitted.run_id), after=0)
            got = [envelope async for envelope in events]
    assert (seen(got), cutter.connections > 6) == (list(range(1, 19)), True)


@pytest.mark.req("OAP-095")
async def test_a_reader_cut_off_before_the_run_began_gets_it_from_its_start(trace: Trace) -> None:
    """It lost its connection while nothing had come; what was told meanwhile is owed."""
    head = 300  # the head of the answer is longer than nothing and shorter than this; no event has come yet
    async with served(trace, [[Call("book")], [Say("x")]]) as (house, address):
        cuts = iter([head])
        async with cutting(address, cuts) as (url, cutter), HubClient(url, ids=IDS, first_pause=0.001) as client:
            got: list[Envelope[Wire]] = []

            async def read() -> None:
                async for envelope in client.events(house.session_id):
                    got.append(envelope)
                    if isinstance(envelope.payload, PermissionRequested):
                        await client.resolve(envelope, granted=False)  # type: ignore[arg-type]

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                while cutter.connections == 0:
                    await anyio.lowlevel.checkpoint()
                await anyio.wait_all_tasks_blocked()
                await house.client.submit(house.session_id, "go")
    assert seen(got) == list(range(1, len(got) + 1))
    assert got[-1].type == "run.completed"


@pytest.mark.req("OAP-042", "OAP-092")
async def test_an_overflow_is_resumed_unseen(trace: Trace) -> None:
    """A reader that pauses for longer than its mailbox lasts still gets every event once."""
    turns: list[Turn] = [[Call("book")], [Say(*(["x" * 20_000] * 300))]]
    async with served(trace, turns) as (house, address), HubClient(address.url, ids=IDS) as client:
        admitted = await client.submit(house.session_id, "go")
        events = client.events(house.session_id, run_id=str(admitted.run_id), after=0)
        got = [await anext(events)]
        while not isinstance(got[-1].payload, PermissionRequested):
            got.append(await anext(events))
        await client.resolve(got[-1], granted=False)  # type: ignore[arg-type]
        while (await client.state(house.session_id)).status != "idle":
            await anyio.lowlevel.checkpoint()
        got += [envelope async for envelope in events]
    assert seen(got) == list(range(1, len(got) + 1))
    assert (len(got) > 300, got[-1].type) == (True, "run.completed")


@pytest.mark.req("OAP-094")
async def test_a_gap_is_told_with_its_bounds_and_never_papered_over(trace: Trace) -> None:
    """The caller decides to go on behind the oldest that is left."""
    async with served(trace, [[Say(*"abcdefgh")]], capacity=4) as (house, address):
        admitted = await house.client.submit(house.session_id, "go")
        run_id = str(admitted.run_id)
        while house.hub.session(house.session_id).is_running:
            await anyio.lowlevel.checkpoint()
        async with HubClient(address.url, ids=IDS) as client:
            with pytest.raises(PeerRefused) as gap:
                _ = [envelope async for envelope in client.events(house.session_id, run_id=run_id, after=0)]
            details = gap.value.refusal.details
            oldest = int(details["oldest_available"])
            events = client.events(house.session_id, run_id=run_id, after=oldest - 1)
            rest = [envelope async for envelope in events]
    assert (gap.value.refusal.code, details) == ("replay_gap", {"oldest_available": 7, "latest_available": 10})
    assert seen(rest) == [7, 8, 9, 10]


@pytest.mark.req("OAP-007")
async def test_a_refusal_of_the_hub_arrives_with_its_code(trace: Trace) -> None:
    """As a typed error that names the hub."""
    async with served(trace, [[Hangs()]]) as (house, address), HubClient(address.url, ids=IDS) as client:
        for _ in range(9):  # one at work, eight behind it
            await client.submit(house.session_id, "go")
        codes = []
        for call in (
            client.submit(house.session_id, "more"),
            client.submit("other", "go"),
            client.cancel(house.session_id, "r9"),
            client.open("other"),
            client.capabilities("other"),
            client.close(house.session_id),
            client.submit(house.session_id, "go", delivery="btw"),
            anext(client.events("other")),
            anext(client.events(house.session_id, run_id="r9", after=0)),
        ):
            with pytest.raises(PeerRefused) as refused:
                await call
            assert refused.value.peer == address.url
            codes.append(refused.value.refusal.code)
    assert codes == [
        "run_active", "unknown_session", "run_not_found", "unknown_adapter", "unknown_adapter", "run_active",
        "unsupported_feature", "unknown_session", "run_not_found",
    ]  # fmt: skip


async def test_a_hub_that_is_not_there_is_unreachable() -> None:
    """For a question, and for a stream after its bounded attempts."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    await listener.aclose()
    async with HubClient(f"http://127.0.0.1:{port}", ids=IDS, first_pause=0) as client:
        with pytest.raises(PeerUnreachable):
            await client.state("s1")
        with pytest.raises(PeerUnreachable):
            await anext(client.events("s1"))


async def test_a_stream_ends_quietly_when_its_session_is_closed(trace: Trace) -> None:
    """The hub says nothing, and asked again it knows no such session."""
    async with served(trace, []) as (house, address), HubClient(address.url, ids=IDS) as client:
        got: list[list[Envelope[Wire]]] = []

        async def read() -> None:
            got.append([envelope async for envelope in client.events(house.session_id)])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await client.close(house.session_id)
    assert got == [[]]


async def test_text_that_is_no_text_is_refused_before_it_is_sent() -> None:
    """Half a surrogate pair, as a terminal may hand it over; an unknown delivery."""
    async with HubClient("http://127.0.0.1:9", ids=IDS) as client:
        for said, delivery in (("\udcff", "auto"), ("go", "now")):
            with pytest.raises(Refused) as refused:
                await client.submit("s1", said, delivery=delivery)
            assert refused.value.refusal.code == "invalid_submission"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'id: 2\ndata: {"sequence":1}\n\n', "schema_invalid"),
        (b"data: {\n\n", "malformed_json"),
        (b"event: oap-replay-gap\ndata: []\n\n", "schema_invalid"),
        (b'event: oap-subscribed\ndata: {"run_id":"r1"}\n\n', "schema_invalid"),
        (b'event: oap-subscribed\ndata: {"a":1,"a":2}\n\n', "malformed_json"),
    ],
)
async def test_a_hub_that_breaks_the_protocol_is_refused(body: bytes, code: str) -> None:
    """Strict on this side too: nothing half read is handed on."""
    async with speaking(body) as url, HubClient(url, ids=IDS, first_pause=0.001) as client:
        with pytest.raises(PeerRefused) as refused:
            await anext(client.events("s1"))
    assert refused.value.refusal.code == code


@pytest.mark.parametrize("numbers", [(1, 1), (1, 3), (2, 1)])
async def test_events_out_of_their_order_are_refused(numbers: tuple[int, int]) -> None:
    """Twice, missing, or backwards: behind the cursor there is one right next event."""
    delta = (
        '{{"protocol":"open-agent-protocol","version":"0.1","profile":"open-agent-protocol.agent-control-core",'
        '"type":"content.delta","id":"e{0}{1}","session_id":"s1","run_id":"r1","sequence":{0},'
        '"payload":{{"session_id":"s1","run_id":"r1","part":{{"type":"text","text":"x"}}}}}}'
    )
    body = "".join(f"id: {n}\ndata: {delta.format(n, i)}\n\n" for i, n in enumerate(numbers)).encode()
    async with speaking(body) as url, HubClient(url, ids=IDS, first_pause=0.001) as client:
        with pytest.raises(PeerRefused) as refused:
            _ = [envelope async for envelope in client.events("s1", run_id="r1", after=0)]
    assert refused.value.refusal.code == "protocol_violation"


@asynccontextmanager
async def speaking(body: bytes) -> AsyncIterator[str]:
    """A server that answers every request with this event stream and keeps it open."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def answer(client: Any) -> None:
        async with client:
            await client.receive()
            await client.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + body)
            await anyio.sleep_forever()

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        yield f"http://127.0.0.1:{port}"
        tasks.cancel_scope.cancel()


@pytest.mark.req("OAP-203", "OAP-053")
async def test_a_reservation_that_is_named_is_read_when_its_turn_comes() -> None:
    """What the run before it tells meanwhile is another's, and no breach."""
    async with (
        Hub(default_registry()) as hub,
        serving_hub(hub, IDS, port=0) as address,
        HubClient(address.url, ids=IDS) as client,
    ):
        session = await client.start("memory")
        first = await session.submit("script: hold")
        second = await session.submit("script: plain", delivery="queue")
        got: list[Envelope[Wire]] = []

        async def read() -> None:
            got.extend([envelope async for envelope in session.events(run_id=second.run_id, after=0)])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            while not hub.session(session.id)._readers:
                await anyio.lowlevel.checkpoint()
            await session.cancel(first.run_id)
    assert {envelope.run_id for envelope in got} == {second.run_id}
    assert (seen(got), got[-1].type) == (list(range(1, len(got) + 1)), "run.completed")


@pytest.mark.req("OAP-203")
async def test_a_run_that_is_named_is_read_from_its_start(trace: Trace) -> None:
    """Also when it has ended, over a socket and in process; one that never was is refused and not waited for."""
    async with served(trace, [[Say("a")]]) as (house, address), HubClient(address.url, ids=IDS) as remote:
        admitted = await house.client.submit(house.session_id, "go")
        while house.hub.session(house.session_id).is_running:
            await anyio.lowlevel.checkpoint()
        clients: tuple[AgentClient, ...] = (remote, house.client)
        for client in clients:
            events = client.events(house.session_id, run_id=str(admitted.run_id))
            assert seen([envelope async for envelope in events]) == [1, 2, 3]
            with pytest.raises(PeerRefused) as refused:
                await anext(client.events(house.session_id, run_id="never"))
            assert refused.value.refusal.code == "run_not_found"


@pytest.mark.req("OAP-204", "OAP-113")
async def test_a_request_that_no_hub_takes_is_not_sent(trace: Trace) -> None:
    """The hub would close on it, perhaps before its refusal was read; the client goes on."""
    async with served(trace, []) as (house, address), HubClient(address.url, ids=IDS) as client:
        with pytest.raises(Refused) as refused:
            await client.submit(house.session_id, "x" * BODY_CAP)
        assert (await client.state(house.session_id)).status == "idle"
    assert refused.value.refusal.code == "request_too_large"
