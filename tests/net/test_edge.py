"""The guard in front of every server: judged pure, and over real sockets before a body byte is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso.core.refusal import Misuse, PeerUnreachable, Refused
from sayso.core.strictjson import parse
from sayso.net.edge import LADDER, LOOPBACK_HOSTS, Answer, Edge, EdgeRules, Rejection, judge_head, read_body
from sayso.net.listen import serving
from tests.net.servers import ask

CAP = 1000
RULES = EdgeRules(
    hosts=LOOPBACK_HOSTS | {"shop.example"},
    body_cap=CAP,
    allow_origins=frozenset({b"http://127.0.0.1:6272"}),
    single_headers=frozenset({b"host", b"signature", b"content-length"}),
)
HOST = (b"host", b"localhost:6270")


def code(*headers: tuple[bytes, bytes]) -> str | None:
    rejection = judge_head(headers, RULES)
    return None if rejection is None else f"{rejection.status} {rejection.refusal.code}"


@pytest.mark.req("OAP-112")
@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost",
        "localhost:6270",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:6270",
        "shop.example",
        "SHOP.example:443",
    ],
)
def test_a_host_of_ours_is_served_in_any_case_and_on_any_port(host: str) -> None:
    """The port is stripped, letters count alike."""
    assert code((b"host", host.encode())) is None


@pytest.mark.req("OAP-112")
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:6270", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.", "[::1]",
     "::1", "127.1", "0.0.0.0", "[::]:6270", "localhost:6270@evil.example", "localhost:x", "localhost:",
     "", "localhost evil", "user@localhost", "\u212aocalhost"],
)  # fmt: skip
def test_a_foreign_host_is_refused(host: str) -> None:
    """A name that an attacker's DNS led to us is not ours; nor is any spelling but the plain one."""
    assert code((b"host", host.encode())) == "403 foreign_host"


@pytest.mark.req("OAP-112")
def test_a_request_without_a_host_is_refused() -> None:
    """No host is no host of ours."""
    assert code() == "403 foreign_host"


@pytest.mark.req("OAP-112")
@pytest.mark.parametrize(
    "origin",
    [
        b"https://evil.example",
        b"null",
        b"",
        b"http://localhost:6270",
        b"http://127.0.0.1:6272.evil",
        b"HTTP://127.0.0.1:6272",
    ],
)
def test_an_origin_that_is_not_listed_is_refused(origin: bytes) -> None:
    """Any Origin at all, our own address included: only what is listed, byte for byte, is let in."""
    assert code(HOST, (b"origin", origin)) == "403 cross_origin_request"
    assert code(HOST, (b"origin", b"http://127.0.0.1:6272")) is None
    assert code(HOST, (b"origin", b"http://127.0.0.1:6272"), (b"origin", origin)) == "403 cross_origin_request"


@pytest.mark.req("SCH-058", "SCH-059")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([HOST, HOST], "400 repeated_header"),
        ([HOST, (b"signature", b"a"), (b"signature", b"a")], "400 repeated_header"),
        ([HOST, (b"accept", b"a"), (b"accept", b"b")], None),
        ([HOST, (b"content-length", b"5"), (b"transfer-encoding", b"chunked")], "400 malformed_length"),
        ([HOST, (b"content-length", b"+5")], "400 malformed_length"),
        ([HOST, (b"content-length", b"5, 5")], "400 malformed_length"),
        ([HOST, (b"content-length", b"9" * 16)], "400 malformed_length"),
        ([HOST, (b"transfer-encoding", b"gzip, chunked")], "400 malformed_length"),
        ([HOST, (b"transfer-encoding", b"Chunked")], None),
        ([HOST, (b"content-encoding", b"gzip")], "415 content_encoding_refused"),
        ([HOST, (b"content-encoding", b"identity")], "415 content_encoding_refused"),
        ([HOST, (b"content-length", b"1000")], None),
        ([HOST, (b"content-length", b"1001")], "413 body_too_large"),
    ],
)
def test_the_rest_of_the_head_is_judged(headers: list[tuple[bytes, bytes]], expected: str | None) -> None:
    """Repeated headers, two framings, packed bodies and lengths over the cap; the cap itself passes."""
    assert code(*headers) == expected


FAULTS = {
    "origin": (b"origin", b"https://evil.example"),
    "host": (b"host", b"evil.example"),
    "repeated": (b"signature", b"a"),
    "length": (b"transfer-encoding", b"gzip"),
    "encoding": (b"content-encoding", b"gzip"),
    "size": (b"content-length", b"1001"),
}
CODES = {
    "origin": "cross_origin_request", "host": "foreign_host", "repeated": "repeated_header",
    "length": "malformed_length", "encoding": "content_encoding_refused", "size": "body_too_large",
}  # fmt: skip


@pytest.mark.req("OAP-112")
@given(st.sets(st.sampled_from(sorted(set(FAULTS) - {"size"})), min_size=1), st.randoms())
def test_the_first_rung_answers_whatever_the_order_of_the_headers(faults: set[str], shuffle: object) -> None:
    """Origin before Host before the rest: what a page learns of us does not depend on what else is wrong."""
    headers = [HOST, *(FAULTS[name] for name in faults), *([FAULTS["repeated"]] if "repeated" in faults else [])]
    shuffle.shuffle(headers)  # type: ignore[attr-defined]
    rejection = judge_head(headers, RULES)
    assert rejection is not None
    assert rejection.refusal.code == CODES[next(name for name, _ in LADDER if name in faults)]


@pytest.mark.parametrize("hosts", [[], ["localhost:6270"], ["http://localhost"], ["[::1]"], [""]])
def test_an_edge_without_plain_hosts_is_a_bug(hosts: list[str]) -> None:
    """An empty list would serve nobody, or with another reading everybody."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None: ...

    with pytest.raises(Misuse):
        Edge(app, hosts=hosts, body_cap=CAP)


class Echo:
    """An application that reads its body and sends it back, and remembers how it fared."""

    def __init__(self, cap: int = 10 * CAP) -> None:
        self.cap = cap
        self.calls = 0
        self.failure: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.calls += 1
        try:
            body = await read_body(receive, self.cap)
        except (Refused, PeerUnreachable) as error:
            self.failure = error
            raise
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def at_edge(app: ASGIApp) -> AsyncIterator[Callable[[bytes], object]]:
    """Serves `app` behind an edge; what it yields sends raw bytes and reads until the server closes."""
    async with serving(Edge(app, hosts=LOOPBACK_HOSTS, body_cap=CAP), grace=0.1) as address:

        async def talk(data: bytes) -> bytes:
            return await ask(address, data)

        yield talk


def split(reply: bytes) -> tuple[int, object]:
    head, _, body = reply.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), parse(body)["error"]["code"]  # type: ignore[index,call-overload]


@pytest.mark.req("OAP-112", "OAP-113", "SCH-325")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (["Host: localhost", "Origin: https://evil.example", "Content-Length: 5"], (403, "cross_origin_request")),
        (["Host: evil.example", "Origin: null"], (403, "cross_origin_request")),
        (["Host: evil.example", "Content-Length: 5"], (403, "foreign_host")),
        (["Content-Length: 5"], (403, "foreign_host")),
        (["Host: localhost", "Signature: a", "Signature: a", "Content-Length: 5"], (400, "repeated_header")),
        (["Host: localhost", "Content-Encoding: gzip", "Content-Length: 5"], (415, "content_encoding_refused")),
        (["Host: localhost", "Expect: 100-continue", "Content-Length: 1001"], (413, "body_too_large")),
    ],
)
@pytest.mark.anyio
async def test_a_refused_head_is_answered_before_any_body_is_sent(headers: list[str], expected: object) -> None:
    """The client sends a head alone and has its typed answer; the connection ends, the application never ran."""
    echo = Echo()
    async with at_edge(echo) as talk:
        reply = await talk("\r\n".join(["POST / HTTP/1.1", *headers, "", ""]).encode())  # type: ignore[misc]
    assert split(reply) == expected
    assert b"100 Continue" not in reply
    assert echo.calls == 0


def chunked(*sizes: int) -> bytes:
    chunks = b"".join(b"%x\r\n%b\r\n" % (size, b"a" * size) for size in sizes)
    return b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


@pytest.mark.req("OAP-113", "SCH-325")
@pytest.mark.anyio
async def test_a_chunked_body_over_the_cap_is_answered_though_it_never_ends() -> None:
    """Bytes are counted as they come: no length was claimed, and the body is not whole when the answer is sent."""
    echo = Echo()
    async with at_edge(echo) as talk:
        reply = await talk(chunked(600, 401))  # type: ignore[misc]
    assert split(reply) == (413, "body_too_large")
    assert isinstance(echo.failure, Refused)


@pytest.mark.req("OAP-113")
@pytest.mark.anyio
async def test_a_body_in_many_messages_is_counted_together() -> None:
    """No single message is over the cap; the sum is, and reading stops at the message that passes it."""
    out: list[Message] = []
    given = [{"type": "http.request", "body": b"a" * 400, "more_body": True} for _ in range(4)]
    receive = messages(*given)
    await Edge(Echo(), hosts=LOOPBACK_HOSTS, body_cap=CAP)({"type": "http", "headers": [HOST]}, receive, sent(out))
    assert out[0]["status"] == 413
    assert await receive() == given[-1]


@pytest.mark.anyio
async def test_a_body_at_the_cap_passes_whole() -> None:
    """The cap is the largest body that passes, chunked or not."""
    async with at_edge(Echo()) as talk:
        for request in (
            chunked(600, 400) + b"0\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" + b"a" * 1000,
        ):
            reply = await talk(request.replace(b"localhost\r\n", b"localhost\r\nConnection: close\r\n"))  # type: ignore[misc]
            assert reply.startswith(b"HTTP/1.1 200")
            assert reply.count(b"a") >= 1000


@pytest.mark.req("OAP-113")
@pytest.mark.parametrize("swallows", [True, False])
@pytest.mark.anyio
async def test_an_application_cannot_turn_the_cap_into_another_answer(swallows: bool) -> None:
    """Whether it swallows the refusal and answers 200 or breaks on it, the client reads 413."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await read_body(receive, 10 * CAP)
        except Refused:
            if not swallows:
                raise ZeroDivisionError from None
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"fine"})

    async with at_edge(app) as talk:
        assert split(await talk(chunked(1001))) == (413, "body_too_large")  # type: ignore[misc]


@pytest.mark.anyio
async def test_a_failure_of_the_application_is_not_hidden() -> None:
    """Only what follows from the cap or from a client that left is swallowed."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    edge = Edge(app, hosts=LOOPBACK_HOSTS, body_cap=CAP)
    with pytest.raises(ZeroDivisionError):
        await edge({"type": "http", "headers": [HOST]}, messages(), sent([]))


def messages(*given: Message) -> Receive:
    left = list(given)

    async def receive() -> Message:
        return left.pop(0)

    return receive


def sent(into: list[Message]) -> Send:
    async def send(message: Message) -> None:
        into.append(message)

    return send


@pytest.mark.anyio
async def test_a_client_that_leaves_in_the_middle_is_no_error() -> None:
    """The body is never whole, the application hears it once, nothing is sent and nothing is logged."""
    echo = Echo()
    out: list[Message] = []
    half = messages({"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.disconnect"})
    await Edge(echo, hosts=LOOPBACK_HOSTS, body_cap=CAP)({"type": "http", "headers": [HOST]}, half, sent(out))
    assert isinstance(echo.failure, PeerUnreachable)
    assert out == []


@pytest.mark.anyio
async def test_the_protocol_writes_its_own_refusal() -> None:
    """Status, type and shape are the protocol's; code and sentence are handed to it, with the request's scope."""

    def render(scope: Scope, rejection: Rejection) -> Answer:
        return Answer(status=421, content_type="text/plain", body=f"{scope['path']} {rejection.refusal.code}".encode())

    out: list[Message] = []
    edge = Edge(Echo(), hosts=["shop.example"], body_cap=CAP, render=render)
    await edge({"type": "http", "path": "/x", "headers": [HOST]}, messages(), sent(out))
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"15"), (b"connection", b"close")]
    assert out == [
        {"type": "http.response.start", "status": 421, "headers": headers},
        {"type": "http.response.body", "body": b"/x foreign_host"},
    ]


@pytest.mark.req("OAP-112")
@pytest.mark.anyio
async def test_a_websocket_is_closed_unopened() -> None:
    """Browsers let any page open one to loopback; nothing of ours speaks it."""
    out: list[Message] = []
    echo = Echo()
    await Edge(echo, hosts=LOOPBACK_HOSTS, body_cap=CAP)(
        {"type": "websocket", "headers": [HOST]}, messages(), sent(out)
    )
    assert (out, echo.calls) == ([{"type": "websocket.close", "code": 1008}], 0)
