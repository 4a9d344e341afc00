"""The hub's routes over real sockets: what is refused and in which order, and what a stream carries."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import anyio
import httpx2
import msgspec
import pytest

from sayso.control.client.requests import cancel_request, open_request, submit_request, switch_request
from sayso.control.hub.bindings.http import BODY_CAP, hub_app, serving_hub
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import ManualClock
from sayso.core.frames import SseDecoder, SseEvent
from sayso.core.ids import CountingIds, SystemIds
from sayso.net.listen import Address
from sayso.testing.provider import Call, Hangs, Say, Turn
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.houses import NOON, House, open_house

pytestmark = pytest.mark.anyio
IDS = SystemIds()
JSON = {"content-type": "application/json"}


@dataclass
class Door:
    house: House
    http: httpx2.AsyncClient
    address: Address
    schema: Any

    @property
    def path(self) -> str:
        return f"/sessions/{self.house.session_id}"

    async def post(self, path: str, envelope: Envelope[Wire]) -> tuple[int, dict[str, Any]]:
        return self.read(await self.http.post(path, content=write_envelope(envelope), headers=JSON))

    async def get(self, path: str) -> tuple[int, dict[str, Any]]:
        return self.read(await self.http.get(path))

    def read(self, response: httpx2.Response) -> tuple[int, dict[str, Any]]:
        """Status and envelope; every envelope has its upstream shape."""
        value = response.json()
        assert self.schema.is_valid(value), value
        return response.status_code, value

    async def head(self, head: bytes) -> bytes:
        """The status that answers a request of which only the head is sent."""
        async with await anyio.connect_tcp(self.address.host, self.address.port) as stream:
            await stream.send(f"POST {self.path}/submit HTTP/1.1\r\n".encode() + head + b"\r\n\r\n")
            return (await stream.receive()).split(b" ", 2)[1]

    async def submit(self) -> str:
        _, value = await self.post(f"{self.path}/submit", submit_request(IDS, self.house.session_id, "go", "auto"))
        return str(value["payload"]["run_id"])

    async def events(self, query: str = "", **headers: str) -> list[SseEvent]:
        """A whole stream."""
        response = await self.http.get(f"{self.path}/events{query}", headers=headers)
        assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream")
        return SseDecoder().feed(response.content)


@asynccontextmanager
async def door(trace: Trace, turns: list[Turn], schema: Any, **more: Any) -> AsyncIterator[Door]:
    acts = {"book": asking("limits")}
    async with (
        open_house(turns, acts, record=trace.record, **more) as house,
        serving_hub(house.hub, IDS, port=0) as address,
        httpx2.AsyncClient(base_url=address.url, trust_env=False) as http,
    ):
        yield Door(house, http, address, schema)


def error(answer: tuple[int, dict[str, Any]]) -> tuple[int, str]:
    status, value = answer
    assert value["type"] == "error.response"
    return status, value["payload"]["error"]["code"]


ROUTES = [
    ("GET", "/adapters"), ("GET", "/adapters/sayso/capabilities"), ("POST", "/adapters/sayso/sessions"),
    ("GET", "/sessions"), ("GET", "/sessions/s/state"), ("GET", "/sessions/s/tools"), ("GET", "/sessions/s/events"),
    ("POST", "/sessions/s/submit"), ("POST", "/sessions/s/resolve"), ("POST", "/sessions/s/cancel"),
    ("POST", "/sessions/s/close"), ("GET", "/not/a/route"),
]  # fmt: skip


@pytest.mark.req("OAP-112")
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_web_page_is_refused_on_every_route(trace: Trace, agent_schema: Any, method: str, path: str) -> None:
    """Any Origin, also our own, also `null`; and a foreign Host, which a rebound name would send (B26)."""
    async with door(trace, [], agent_schema) as at:
        for origin in ("https://evil.example", at.address.url, "null"):
            headers = {"origin": origin, "host": "evil.example"}
            answer = at.read(await at.http.request(method, path, headers=headers))
            assert error(answer) == (403, "cross_origin_request")
        for host in ("evil.example:6270", "127.0.0.1.evil.example", "[::1]"):
            answer = at.read(await at.http.request(method, path, headers={"host": host}))
            assert error(answer) == (403, "unrecognized_host")


@pytest.mark.req("OAP-112", "OAP-113")
async def test_the_head_is_judged_before_a_body_is_waited_for(trace: Trace, agent_schema: Any) -> None:
    """A request that announces a body and never sends it is answered all the same."""
    async with door(trace, [], agent_schema) as at:
        heads = [
            (b"Origin: https://evil.example\r\nHost: localhost", b"403"),
            (b"Host: evil.example", b"403"),
            (b"Host: localhost\r\nContent-Type: text/plain", b"415"),
        ]
        for head, status in heads:
            assert await at.head(head + b"\r\nContent-Length: 4096") == status


@pytest.mark.req("OAP-113")
async def test_a_body_over_the_cap_is_refused_by_its_announced_length(trace: Trace, agent_schema: Any) -> None:
    """Sixteen mebibytes are waited for, one byte more is not."""
    async with door(trace, [], agent_schema) as at:
        head = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        assert await at.head(head + str(BODY_CAP + 1).encode()) == b"413"
        with anyio.move_on_after(0.05) as waiting:
            await at.head(head + str(BODY_CAP).encode())
        assert waiting.cancelled_caught


@pytest.mark.req("OAP-113")
@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
async def test_a_body_is_json_by_its_media_type(trace: Trace, agent_schema: Any, media_type: str) -> None:
    """What a form of a web page could send is refused before it is read."""
    async with door(trace, [], agent_schema) as at:
        headers = {"content-type": media_type} if media_type else {}
        response = await at.http.post(f"{at.path}/submit", content=b"{}", headers=headers)
        assert error(at.read(response)) == (415, "unsupported_media_type")


@pytest.mark.req("OAP-113")
async def test_any_charset_is_admitted_and_ignored(trace: Trace, agent_schema: Any) -> None:
    """JSON is UTF-8, whatever the header says."""
    async with door(trace, [[Say("done")]], agent_schema) as at:
        body = write_envelope(submit_request(IDS, at.house.session_id, "grüß", "auto"))
        headers = {"content-type": "Application/JSON; charset=latin1"}
        status, value = at.read(await at.http.post(f"{at.path}/submit", content=body, headers=headers))
        await at.events("?after=0")
        assert (status, value["type"]) == (200, "session.message.submit.response")
    assert at.house.provider.requests[0].messages[-1].content == "grüß"


@pytest.mark.req("OAP-007", "OAP-020", "OAP-113")
@pytest.mark.parametrize(
    ("body", "code", "reply_to"),
    [
        (b"{", "malformed_json", None),
        (b'{"id":"q7","id":"q8"}', "malformed_json", None),
        (b'{"id":"q7","n":1e400}', "malformed_json", None),
        (b'{"id":"q7","t":"\xff"}', "malformed_json", None),
        (b"[1,2]", "schema_invalid", None),
        (b'{"id":"q7"}', "schema_invalid", "q7"),
        (b'{"id":7}', "schema_invalid", None),
        (b'{"id":""}', "schema_invalid", None),
    ],
)
async def test_a_body_that_is_no_envelope_is_refused_with_the_id_it_had(
    trace: Trace, agent_schema: Any, body: bytes, code: str, reply_to: str | None
) -> None:
    """Correlated as far as it could be read, else by an id minted here; never a 500."""
    async with door(trace, [], agent_schema) as at:
        answer = at.read(await at.http.post(f"{at.path}/submit", content=body, headers=JSON))
        assert error(answer) == (400, code)
        named = answer[1]["in_reply_to"]
        assert named == reply_to if reply_to else named.startswith("oap-request-")


@pytest.mark.req("OAP-104", "OAP-113")
async def test_an_envelope_of_another_type_is_refused_on_a_route(trace: Trace, agent_schema: Any) -> None:
    """Correlated with the envelope it refuses."""
    async with door(trace, [], agent_schema) as at:
        wrong = cancel_request(IDS, at.house.session_id, "r1", None)
        answer = await at.post(f"{at.path}/submit", wrong)
        assert (error(answer), answer[1]["in_reply_to"]) == ((400, "type_mismatch"), wrong.id)


@pytest.mark.req("OAP-102", "OAP-104", "OAP-108", "OAP-109")
async def test_a_session_is_opened_listed_read_and_closed(trace: Trace, agent_schema: Any) -> None:
    """The whole life over the wire, and a second close that finds nothing."""
    async with door(trace, [[Say("done")]], agent_schema) as at:
        request = open_request(IDS, session_id="s7", metadata={"why": "a test"})
        status, opened = await at.post("/adapters/sayso/sessions", request)
        assert (status, opened["in_reply_to"], opened["payload"]["session_id"]) == (200, request.id, "s7")
        listed = (await at.http.get("/sessions")).json()["sessions"]
        assert sorted(each["session_id"] for each in listed) == sorted(["s7", at.house.session_id])
        adapters = (await at.http.get("/adapters")).json()["adapters"]
        assert [each["name"] for each in adapters] == ["sayso"]
        _, capabilities = await at.get("/adapters/sayso/capabilities")
        revisions = {each["capability_revision"] for each in (capabilities, adapters[0], opened)}
        assert len(revisions) == 1
        _, state = await at.get("/sessions/s7/state")
        assert (state["payload"]["status"], state["in_reply_to"].startswith("oap-request-")) == ("idle", True)
        _, tools = await at.get("/sessions/s7/tools")
        assert [tool["name"] for tool in tools["payload"]["tools"]] == ["book", "request_user_input"]
        closed = await at.http.post("/sessions/s7/close")
        assert (closed.status_code, closed.content) == (204, b"")
        again = at.read(await at.http.post("/sessions/s7/close"))
        assert error(again) == (409, "session_closed")
        assert again[1]["session_id"] == "s7"


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/adapters/other/capabilities", (404, "unknown_adapter")),
        ("GET", "/sessions/other/state", (404, "unknown_session")),
        ("GET", "/sessions/other/events", (404, "unknown_session")),
        ("POST", "/sessions/other/close", (404, "unknown_session")),
    ],
)
@pytest.mark.req("OAP-004")
async def test_unknown_names_are_refused_as_such(
    trace: Trace, agent_schema: Any, method: str, path: str, expected: tuple[int, str]
) -> None:
    """And a path that is no route is a bare 404."""
    async with door(trace, [], agent_schema) as at:
        assert error(at.read(await at.http.request(method, path))) == expected
        bare = await at.http.get("/nothing/here")
        assert (bare.status_code, b"error.response" in bare.content) == (404, False)


@pytest.mark.req("OAP-105", "OAP-110")
async def test_a_stream_carries_envelopes_under_their_numbers_and_ends_with_the_run(
    trace: Trace, agent_schema: Any
) -> None:
    """From the run's start, every event once; nothing else on the wire."""
    async with door(trace, [[Say("a", "b")]], agent_schema) as at:
        await at.submit()
        events = await at.events("?after=0")
    assert [(event.event, event.id) for event in events] == [("message", str(n)) for n in range(1, 5)]
    values = [json.loads(event.data) for event in events]
    assert [value["type"] for value in values] == ["run.started", "content.delta", "content.delta", "run.completed"]
    assert [agent_schema.is_valid(value) for value in values] == [True] * 4


@pytest.mark.req("OAP-093", "OAP-111")
async def test_a_cursor_comes_from_the_query_before_the_header(trace: Trace, agent_schema: Any) -> None:
    """And with a run, from that run."""
    async with door(trace, [[Say("a", "b")], [Say("c")]], agent_schema) as at:
        first = await at.submit()
        await at.events("?after=0")
        await at.submit()
        await at.events("?after=0")

        async def numbers(query: str = "", **headers: str) -> list[str | None]:
            return [event.id for event in await at.events(query, **headers)]

        assert await numbers(**{"last-event-id": "1"}) == ["2", "3"]
        assert await numbers("?after=2", **{"last-event-id": "0"}) == ["3"]
        assert await numbers(f"?after=2&run_id={first}") == ["3", "4"]
        assert await numbers(f"?run_id={first}", **{"last-event-id": "3"}) == ["4"]
        assert await numbers("?after=3") == []


@pytest.mark.req("OAP-093", "OAP-111")
async def test_cursors_that_name_no_position_are_refused(trace: Trace, agent_schema: Any) -> None:
    """Malformed, ambiguous, without a run, beyond the end, of no run."""
    async with door(trace, [[Say("a")]], agent_schema) as at:
        path = f"{at.path}/events"
        assert error(await at.get(f"{path}?after=0")) == (409, "no_run_to_resume")
        await at.submit()
        await at.events("?after=0")
        wrong = ("after=x", "after=-1", "after=1.0", "after=", "after=1&after=2", "run_id=r1", f"after={9**30}")
        for query in wrong:
            assert error(await at.get(f"{path}?{query}")) == (400, "invalid_cursor"), query
        assert error(await at.get(f"{path}?after=9")) == (400, "replay_cursor_future")
        assert error(await at.get(f"{path}?after=0&run_id=r9")) == (404, "run_not_found")
        refused = at.read(await at.http.get(path, headers={"last-event-id": "x"}))
        assert error(refused) == (400, "invalid_cursor")


@pytest.mark.req("OAP-094", "OAP-110")
async def test_a_cursor_no_longer_kept_is_a_signal_and_no_error(trace: Trace, agent_schema: Any) -> None:
    """With what is still there."""
    async with door(trace, [[Say(*"abcdef")]], agent_schema, capacity=3) as at:
        run = await at.submit()
        await anyio.wait_all_tasks_blocked()
        (event,) = await at.events("?after=1")
    assert (event.event, event.id) == ("oap-replay-gap", None)
    assert json.loads(event.data) == {
        "session_id": at.house.session_id, "run_id": run, "oldest_available": 6, "latest_available": 8,
    }  # fmt: skip


@pytest.mark.req("OAP-095", "OAP-110")
async def test_a_stream_that_joins_a_run_says_so_first(trace: Trace, agent_schema: Any) -> None:
    """Then what comes, to the run's end."""
    async with door(trace, [[Call("book")], [Say("ok")]], agent_schema) as at:
        run = await at.submit()
        await anyio.wait_all_tasks_blocked()
        events: list[SseEvent] = []

        async def read() -> None:
            events.extend(await at.events())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await at.post(f"{at.path}/cancel", cancel_request(IDS, at.house.session_id, run, None))
    assert (events[0].event, json.loads(events[0].data)["joined_after"]) == ("oap-subscribed", 4)
    assert [event.id for event in events[1:]] == ["5", "6", "7", "8"]


@pytest.mark.req("OAP-105")
async def test_a_stream_ends_silently_when_its_session_closes(trace: Trace, agent_schema: Any) -> None:
    """The socket's end is the word."""
    async with door(trace, [], agent_schema) as at:
        got: list[list[SseEvent]] = []

        async def read() -> None:
            got.append(await at.events())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await at.http.post(f"{at.path}/close")
    assert got == [[]]


@pytest.mark.req("OAP-042", "OAP-092")
async def test_a_reader_that_stops_reading_is_ended_and_slows_nobody(trace: Trace, agent_schema: Any) -> None:
    """Its socket is full; the run completes for the others, and it is told how far it really got."""
    turns: list[Turn] = [[Say(*(["x" * 20_000] * 400))]]
    async with door(trace, turns, agent_schema) as at:
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.setblocking(False)
        await anyio.to_thread.run_sync(slow.connect_ex, (at.address.host, at.address.port))
        await anyio.wait_writable(slow)
        slow.send(f"GET {at.path}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        await anyio.wait_readable(slow)
        run = await at.submit()
        events = await at.events(f"?after=0&run_id={run}")
        assert events[-1].id == "402"
        got = SseDecoder().feed(_body(await _drain(slow)))
    numbers = [int(event.id or 0) for event in got if event.event == "message"]
    assert numbers == list(range(1, len(numbers) + 1))
    assert (got[-1].event, json.loads(got[-1].data)["last_sequence"]) == ("oap-overflow", len(numbers))
    assert len(numbers) < 402


async def _drain(connection: socket.socket) -> bytes:
    data = b""
    with connection:
        while True:
            await anyio.wait_readable(connection)
            chunk = connection.recv(2**20)
            if not chunk:
                return data
            data += chunk


def _body(answer: bytes) -> bytes:
    """The chunks of a chunked answer put together."""
    _, _, rest = answer.partition(b"\r\n\r\n")
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return body


@pytest.mark.req("OAP-114")
async def test_the_end_of_the_listener_ends_streams_and_then_the_hub_sweeps(trace: Trace, agent_schema: Any) -> None:
    """Nobody waits for a reader; the live run is cancelled by the hub's own end."""
    got: list[list[SseEvent]] = []
    async with anyio.create_task_group() as tasks, door(trace, [[Hangs()]], agent_schema) as at:
        await at.submit()

        async def read() -> None:
            async with httpx2.AsyncClient(base_url=at.address.url, trust_env=False) as other:
                response = await other.get(f"{at.path}/events?after=0")
                got.append(SseDecoder().feed(response.content))

        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
    assert [event.id for event in got[0]] == ["1"]
    assert trace.types()[-1] == "run.cancelled"


async def test_a_head_of_the_stream_opens_none(trace: Trace, agent_schema: Any) -> None:
    """A HEAD has no body, so it must not become a subscription."""
    async with door(trace, [], agent_schema) as at:
        response = await at.http.head(f"{at.path}/events")
        assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, "text/event-stream")


@pytest.mark.req("OAP-075", "OAP-108")
async def test_settings_have_one_route_and_what_has_no_type_is_refused_by_its_feature(
    trace: Trace, agent_schema: Any
) -> None:
    """A switch by either route; a live change of settings is named as what is not offered (OAP-075)."""
    async with door(trace, [], agent_schema) as at:
        asked = switch_request(IDS, at.house.session_id, "scripted/two")
        for route in ("model", "settings"):
            refused = await at.post(f"{at.path}/{route}", msgspec.structs.replace(asked, id=IDS.new("req")))
            assert error(refused) == (400, "model_not_found")
            assert refused[1]["payload"]["error"]["details"]["model_id"] == "scripted/two"
        update = json.loads(write_envelope(asked)) | {"type": "session.settings.update.request", "id": "u1"}
        answer = at.read(await at.http.post(f"{at.path}/settings", content=json.dumps(update), headers=JSON))
        assert (error(answer), answer[1]["in_reply_to"]) == ((400, "unsupported_feature"), "u1")
        assert answer[1]["payload"]["error"]["details"]["feature"] == "session.settings.update"
        elsewhere = at.read(await at.http.post(f"{at.path}/model", content=json.dumps(update), headers=JSON))
        assert error(elsewhere) == (400, "schema_invalid")


@pytest.mark.req("OAP-113")
async def test_a_body_over_the_cap_is_refused_while_it_comes(trace: Trace, agent_schema: Any) -> None:
    """Without a length to judge, the bytes are counted: exactly the cap is read, one more is refused."""

    async def chunks(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 65_536):
            yield b" " * 65_536
        yield b" " * (size % 65_536)

    async with door(trace, [], agent_schema) as at:
        for size, expected in ((BODY_CAP, (400, "malformed_json")), (BODY_CAP + 1, (413, "request_too_large"))):
            response = await at.http.post(f"{at.path}/submit", content=chunks(size), headers=JSON)
            assert error(at.read(response)) == expected


@pytest.mark.req("OAP-113")
async def test_however_much_is_asked_at_once_nothing_is_busy(trace: Trace, agent_schema: Any) -> None:
    """A socket has back pressure: each of two hundred requests at once is served, and the code is a pipe's alone."""
    async with door(trace, [], agent_schema) as at, anyio.create_task_group() as tasks:
        codes: list[int] = []

        async def look() -> None:
            codes.append((await at.get(f"{at.path}/state"))[0])

        for _ in range(200):
            tasks.start_soon(look)
    assert codes == [200] * 200


@pytest.mark.req("OAP-105", "OAP-091")
async def test_a_head_has_no_body_and_takes_no_reader(trace: Trace, agent_schema: Any) -> None:
    """It says what a GET would, and the stream of the open waits for whoever really reads."""
    async with door(trace, [[Say("a")]], agent_schema) as at:
        status, opened = await at.post("/adapters/sayso/sessions", open_request(IDS, session_id="s7"))
        head = await at.http.request("HEAD", "/sessions/s7/events")
        state = await at.http.request("HEAD", "/sessions/s7/state")
        none = await at.http.request("HEAD", "/sessions/none/state")
    assert (status, opened["type"]) == (200, "session.open.response")
    assert [(each.status_code, each.content) for each in (head, state, none)] == [(200, b""), (200, b""), (404, b"")]
    assert head.headers["content-type"].startswith("text/event-stream")


@pytest.mark.req("OAP-112")
async def test_every_route_there_is_refuses_a_web_page() -> None:
    """Read off the application itself, so that a route written tomorrow is among them."""
    hub = Hub(Registry({}), clock=ManualClock(NOON), ids=CountingIds())
    app: Any = hub_app(hub, IDS)
    paths = {(method, route.path.replace(":opaque", "")) for route in app._app.routes for method in route.methods}
    assert {("POST", "/sessions/{id}/settings"), ("HEAD", "/sessions/{id}/events")} <= paths
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost") as http:
        for method, path in sorted(paths):
            target = path.format(id="s1", name="peer")
            assert (await http.request(method, target, headers={"origin": "http://localhost"})).status_code == 403
            assert (await http.request(method, target, headers={"host": "evil.example"})).status_code == 403


@pytest.mark.req("OAP-102", "OAP-108")
async def test_a_session_is_reached_whatever_its_client_called_it(trace: Trace, agent_schema: Any) -> None:
    """An id is opaque: with a slash, a verb's name or a line end in it, it is opened, asked and closed."""
    async with door(trace, [], agent_schema) as at:
        for session_id in ("a/b", "s/state", "../s", "a b?c#d", "x\ny", "history"):
            _, opened = await at.post("/adapters/sayso/sessions", open_request(IDS, session_id=session_id))
            path = f"/sessions/{quote(session_id, safe='')}"
            status, state = await at.get(f"{path}/state")
            closed = await at.http.post(f"{path}/close")
            assert (opened["type"], status, closed.status_code) == ("session.open.response", 200, 204), session_id
            assert state["payload"]["session_id"] == session_id
