"""What a client can be told when it is made: strictness, judging, participant and transport; and its typed errors."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest

import sayso.client
from sayso.client import Client, DisconnectError, OverflowError, ReplayGapError, ServerError  # noqa: A004
from sayso.control.hub.bindings.http import hub_app
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerRefused, PeerUnreachable
from sayso.testing.provider import Call, Say, Turn
from tests.control.client.proxies import cutting
from tests.control.client.test_http import seen, served, speaking
from tests.control.conftest import Trace

pytestmark = pytest.mark.anyio


@pytest.mark.req("OAP-203", "OAP-204")
async def test_strict_resume_tells_where_the_stream_was_cut(trace: Trace) -> None:
    """Nothing is mended unseen; by hand the run comes whole, each event once."""
    got: list[Envelope[Wire]] = []
    cursors: list[tuple[str | None, int | None]] = []
    async with served(trace, [[Say(*"abcdefghijkl")]]) as (house, address):
        admitted = await house.client.submit(house.session_id, "go")
        run_id = str(admitted.run_id)
        async with cutting(address, repeat(1500)) as (url, _cutter), Client(url, strict_resume=True) as client:
            events = client.events(house.session_id, run_id=run_id, after=0)
            while not (got and got[-1].type == "run.completed"):
                try:
                    async for envelope in events:
                        got.append(envelope)
                except DisconnectError as cut:
                    cursors.append((cut.run_id, (cut.last_sequence or 0) - len(got)))
                    events = client.events_after(house.session_id, run_id, len(got))
    assert (seen(got), set(cursors)) == (list(range(1, 15)), {(run_id, 0)})
    assert len(cursors) > 1


@pytest.mark.req("OAP-204", "OAP-092")
async def test_strict_resume_tells_that_the_reader_fell_behind(trace: Trace) -> None:
    """With the cursor of what it really got; going on there loses nothing."""
    turns: list[Turn] = [[Call("book")], [Say(*(["x" * 20_000] * 300))]]
    async with served(trace, turns) as (house, address), Client(address.url, strict_resume=True) as client:
        admitted = await client.submit(house.session_id, "go")
        events = client.events(house.session_id, run_id=str(admitted.run_id), after=0)
        got = [await anext(events)]
        while not isinstance(got[-1].payload, PermissionRequested):
            got.append(await anext(events))
        await client.resolve(got[-1], granted=False)  # type: ignore[arg-type]
        while (await client.state(house.session_id)).status != "idle":
            await anyio.lowlevel.checkpoint()
        with pytest.raises(OverflowError) as lost:
            got += [envelope async for envelope in events]
        while True:
            try:
                async for envelope in client.events_after(house.session_id, lost.value.run_id, len(got)):
                    got.append(envelope)
            except OverflowError:
                continue
            break
    assert not isinstance(lost.value, ArithmeticError)
    assert (seen(got), got[-1].type) == (list(range(1, len(got) + 1)), "run.completed")


@pytest.mark.req("OAP-204")
async def test_a_gap_names_what_is_left(trace: Trace) -> None:
    """As numbers, so that a program can go on at the oldest."""
    async with served(trace, [[Say(*"abcdefgh")]], capacity=4) as (house, address):
        admitted = await house.client.submit(house.session_id, "go")
        while house.hub.session(house.session_id).is_running:
            await anyio.lowlevel.checkpoint()
        async with Client(address.url) as client:
            with pytest.raises(ReplayGapError) as gap:
                await anext(client.events(house.session_id, run_id=str(admitted.run_id), after=0))
    found = gap.value
    assert (found.run_id, found.oldest_available, found.latest_available) == (admitted.run_id, 7, 10)


@pytest.mark.req("OAP-204")
async def test_a_refusal_shows_its_code_and_details(trace: Trace) -> None:
    """And is of the house's own kind for another party's no, as every error here is of one of the two."""
    async with served(trace, []) as (house, address), Client(address.url) as client:
        with pytest.raises(ServerError) as refused:
            await client.submit(house.session_id, "go", delivery="btw")
    assert (refused.value.code, refused.value.details) == (
        "unsupported_feature",
        {"feature": "session.message.delivery.btw"},
    )
    assert issubclass(ServerError, PeerRefused)
    assert issubclass(DisconnectError, PeerUnreachable)


@pytest.mark.req("OAP-205")
async def test_somebody_else_cannot_answer_for_the_user(trace: Trace) -> None:
    """A client says who it is; the hub acts as `user` and takes nobody else's answer."""
    async with served(trace, [[Call("book")], [Say("x")]]) as (house, address):
        admitted = await house.client.submit(house.session_id, "go")
        async with Client(address.url, participant="lodger") as lodger, Client(address.url) as user:
            async for envelope in user.events(house.session_id, run_id=str(admitted.run_id), after=0):
                if isinstance(envelope.payload, PermissionRequested):
                    with pytest.raises(ServerError) as refused:
                        await lodger.resolve(envelope, granted=True)  # type: ignore[arg-type]
                    await user.resolve(envelope, granted=False)  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.refusal.reason) == ("resolution_rejected", "wrong_responder")


@pytest.mark.req("OAP-205")
@pytest.mark.parametrize("judged", [True, False])
async def test_a_judging_client_refuses_what_may_not_come_now(judged: bool) -> None:
    """Each event has its shape and its number; only the law says that a call nobody asked for cannot complete."""
    call = (
        '{"protocol":"open-agent-protocol","version":"0.1","profile":"open-agent-protocol.agent-control-core",'
        '"type":"action.call.started","id":"e2","session_id":"s1","run_id":"r1","tool_call_id":"c1","sequence":1,'
        '"payload":{"session_id":"s1","run_id":"r1","tool_call_id":"c1","execution_owner":"agent","name":"x",'
        '"requested_by":"agent"}}'
    )
    async with speaking(f"id: 1\ndata: {call}\n\n".encode()) as url, Client(url, judged=judged) as client:
        events = client.events("s1", run_id="r1", after=0)
        if not judged:
            assert (await anext(events)).type == "action.call.started"
            return
        with pytest.raises(ServerError) as refused:
            await anext(events)
    assert refused.value.code == "protocol_violation"


@pytest.mark.req("OAP-205")
async def test_a_judging_client_has_no_quarrel_with_our_hub(trace: Trace) -> None:
    """Two streams of one run bring each event twice, which is no second event."""
    async with (
        served(trace, [[Say(*"abc")]]) as (house, address),
        Client(address.url, judged=True) as client,
    ):
        admitted = await client.submit(house.session_id, "go")
        for _ in range(2):
            events = client.events(house.session_id, run_id=str(admitted.run_id), after=0)
            assert seen([envelope async for envelope in events])[-1] == 5
        await client.close(house.session_id)


@pytest.mark.req("OAP-205")
async def test_a_transport_can_be_handed_in(trace: Trace) -> None:
    """Here the application itself, without a socket."""
    async with served(trace, []) as (house, _address):
        transport = httpx2.ASGITransport(hub_app(house.hub, SystemIds()))
        async with Client("http://127.0.0.1", transport=transport) as client:
            listed = await client.sessions()
            names = [adapter.name for adapter in (await client.adapters()).adapters]
    assert ([session.session_id for session in listed.sessions], names) == ([house.session_id], ["sayso"])


@pytest.mark.req("OAP-065")
async def test_an_attaching_open_pins_what_the_adapter_said_and_no_other_open_asks(trace: Trace) -> None:
    """One probe, and only where the request was written for the answer."""
    sent: list[Envelope[Any]] = []
    async with served(trace, []) as (_house, address), Client(address.url, record=sent.append) as client:
        await client.open("sayso")
        plain = [(envelope.type, envelope.capability_revision or None) for envelope in sent]
        del sent[:]
        with pytest.raises(ServerError):
            await client.open("sayso", tool_sources=[ToolSourceAttachment(id="files", kind="process")])
    asked, request, _refused = sent
    assert plain[0] == ("session.open.request", None)
    assert [envelope.type for envelope in sent] == ["capabilities.response", "session.open.request", "error.response"]
    assert request.capability_revision == asked.capability_revision


@pytest.mark.req("OAP-207")
def test_the_public_module_offers_what_it_says() -> None:
    """Every name is there, and is documented."""
    for name in sayso.client.__all__:
        assert getattr(sayso.client, name).__doc__, name
