"""A hub that breaks the protocol: foreign runs and sessions, uncorrelated answers; and cuts between two runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from sayso.client import Client, ServerError
from sayso.control.client import pipe
from sayso.control.client.pipe import EndpointPipe
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.ids import SystemIds
from sayso.net.child import Program
from tests.control.houses import watched
from tests.control.protocol.talk import envelope, of_run, say

pytestmark = pytest.mark.anyio
OK = b"HTTP/1.1 %d OK\r\nconnection: close\r\n"


def stream(*events: Envelope[Wire], is_whole: bool = True) -> bytes:
    """An answer with these events; one that is cut says more bytes than come."""
    body = b"".join(b"id: %d\ndata: %s\n\n" % (int(e.sequence or 0), write_envelope(e)) for e in events)
    length = len(body) + (0 if is_whole else 1)
    return OK % 200 + b"content-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % length + body


def answer(status: int, value: Envelope[Wire]) -> bytes:
    body = write_envelope(value)
    return OK % status + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


@asynccontextmanager
async def hub(*answers: bytes) -> AsyncIterator[tuple[str, list[str]]]:
    """A server that gives these answers in their order, and the request lines it got."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    asked: list[str] = []

    async def serve(client: Any) -> None:
        async with client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await client.receive()
            asked.append(head.split(b"\r\n")[0].decode())
            await client.send(answers[len(asked) - 1])

    async with watched(), listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield f"http://127.0.0.1:{port}", asked
        tasks.cancel_scope.cancel()


def ended(run_id: str, sequence: int, type_: str = "run.cancelled") -> Envelope[Wire]:
    return of_run(run_id, sequence, type_)


def begins(run_id: str) -> Envelope[Wire]:
    return of_run(run_id, 1, "run.started", status="running")


async def numbers(client: Client, **cursor: Any) -> list[tuple[object, object]]:
    return [(each.run_id, each.sequence) async for each in client.events("s1", **cursor)]


@pytest.mark.req("OAP-203")
@pytest.mark.parametrize(
    "events",
    [
        (begins("r1"), begins("r2")),
        (begins("r1"), ended("r2", 2)),
        (begins("r1"), say(3)),
        (begins("r1"), say(1)),
        (begins("r1"), ended("r1", 2), ended("r2", 2)),
        (envelope("run.started", {"session_id": "s9", "run_id": "r1", "status": "running"},
                  session_id="s9", run_id="r1", sequence=1),),
    ],
)  # fmt: skip
async def test_an_event_out_of_its_run_its_session_or_its_order_is_refused(events: tuple[Envelope[Wire], ...]) -> None:
    """Another run begins when this one is over; before that, all it can tell is its own end."""
    async with hub(stream(*events)) as (url, _asked), Client(url, first_pause=0) as client:
        with pytest.raises(ServerError) as refused:
            await numbers(client, after=0)
    assert refused.value.code == "protocol_violation"


@pytest.mark.req("OAP-053", "OAP-203")
async def test_the_end_of_a_reservation_comes_between_and_moves_no_cursor() -> None:
    """Told to whoever follows the session, not to who reads the other run; a cut behind it is resumed in that run."""
    first = stream(begins("r1"), ended("r2", 1), is_whole=False)
    async with hub(first, stream(ended("r1", 2))) as (url, asked), Client(url, first_pause=0) as client:
        whole = await numbers(client, after=0)
    async with hub(first, stream(ended("r1", 2))) as (url, _), Client(url, first_pause=0) as client:
        one = await numbers(client, run_id="r1", after=0)
    assert (whole, one) == ([("r1", 1), ("r2", 1), ("r1", 2)], [("r1", 1), ("r1", 2)])
    assert "after=1&run_id=r1" in asked[1]


@pytest.mark.req("OAP-095", "OAP-203")
async def test_a_cut_between_two_runs_goes_on_into_the_next() -> None:
    """The session says which run is under way; who named a run is done with its end."""
    payload = {"session_id": "s1", "status": "running", "active_run_id": "r2"}
    state = envelope("session.state.response", payload, session_id="s1", in_reply_to="oap-request-1")
    over = stream(begins("r1"), ended("r1", 2), is_whole=False)
    answers = (over, answer(200, state), stream(begins("r2"), ended("r2", 2)))
    async with hub(*answers) as (url, asked), Client(url, first_pause=0) as client:
        whole = await numbers(client, after=0)
    async with hub(*answers) as (url, _), Client(url, first_pause=0) as client:
        one = await numbers(client, run_id="r1", after=0)
    assert whole == [("r1", 1), ("r1", 2), ("r2", 1), ("r2", 2)]
    assert (one, "after=0&run_id=r2" in asked[2]) == ([("r1", 1), ("r1", 2)], True)


@pytest.mark.req("OAP-007", "OAP-203", "OAP-204")
async def test_a_refusal_under_the_hubs_own_id_keeps_its_code_and_a_strangers_does_not() -> None:
    """What was refused on its head alone could not name the request; what names another request answers nothing."""
    refusal = {"error": {"code": "request_too_large", "message": "no"}}
    for reply_to, code in (("oap-request-7", "request_too_large"), ("somebody-elses", "protocol_violation")):
        refused = envelope("error.response", refusal, in_reply_to=reply_to)
        async with hub(answer(413, refused)) as (url, _), Client(url) as client:
            with pytest.raises(ServerError) as no:
                await client.submit("s1", "go")
        assert no.value.code == code
    elsewhere = envelope(
        "session.state.response", {"session_id": "s9", "status": "idle"}, session_id="s9", in_reply_to="oap-request-1"
    )
    async with hub(answer(200, elsewhere)) as (url, _), Client(url) as client:
        with pytest.raises(ServerError) as foreign:
            await client.state("s1")
    assert foreign.value.code == "protocol_violation"


@pytest.mark.req("OAP-042", "OAP-128")
async def test_runs_that_nobody_reads_are_forgotten_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes, whole; a run that is being read stays; read later, what was forgotten is to be replayed."""
    monkeypatch.setattr(pipe, "RUNS", 3)
    held = EndpointPipe(Program(command=["true"], environment={}), ids=SystemIds())
    held.run("r0").readers += 1
    for number in range(1, 6):
        held._take(write_envelope(begins(f"r{number}")))
    assert list(held._runs) == ["r0", "r4", "r5"]
    assert (held.run("r5").take() is not None, held.run("r1").is_lost) == (True, True)
