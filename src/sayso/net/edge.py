"""The guard in front of every HTTP server of ours: who may knock, and how much may be carried in.

The head is judged before a body byte is asked for (so a client that waits for `100 Continue` never sends one), rung by
rung in the order of `LADDER`; the first rung that refuses answers. Then the body is counted as it arrives, in bytes on
the wire, whatever a length header claimed or did not.

    origin      any Origin that is not listed          403 cross_origin_request    (OAP-112; a web page is calling)
    host        a Host that is not one of ours         403 foreign_host            (OAP-112; DNS rebinding)
    repeated    a header that may stand once, twice    400 repeated_header         (SCH-058, SCH-059)
    length      two framings, or one that is none      400 malformed_length
    encoding    a packed request body                  415 content_encoding_refused
    size        a length over the cap                  413 body_too_large          (OAP-113, SCH-325)

Paths, methods, media types and everything inside the body are the application's to judge. How a refusal looks is the
protocol's: it hands in a `Render`. WebSockets are closed unopened: nothing of ours speaks them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso.core.refusal import Misuse, PeerUnreachable, Refusal, Refused
from sayso.core.strictjson import encode

__all__ = (
    "LADDER",
    "LOOPBACK_HOSTS",
    "SINGLE_HEADERS",
    "Answer",
    "Edge",
    "EdgeRules",
    "Rejection",
    "Render",
    "judge_head",
    "read_body",
    "render_error",
)

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
SINGLE_HEADERS = frozenset(
    {
        "authorization", "content-digest", "content-encoding", "content-length", "content-type", "cookie", "host",
        "last-event-id", "mcp-session-id", "origin", "schcp-agent-key", "schcp-mandate", "schcp-version", "signature",
        "signature-input", "transfer-encoding",
    }
)  # fmt: skip
# A bracketed address needs its port: without one, common parsers read `[::1]` in different ways (OAP hub, Host check).
_HOST = re.compile(r"(?:(?P<name>[a-z0-9.-]+)(?::[0-9]{1,5})?|\[(?P<six>[0-9a-f:.]+)\]:[0-9]{1,5})")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_POLICY_VIOLATION = 1008

Headers: TypeAlias = Mapping[bytes, Sequence[bytes]]


class EdgeRules(msgspec.Struct, frozen=True, kw_only=True):
    """What one server lets through. Hosts are bare names without a port; origins and headers as on the wire.

    `hosts` None lets every Host through: for a server that was bound to the outside on purpose.
    """

    hosts: frozenset[str] | None
    body_cap: int
    allow_origins: frozenset[bytes]
    single_headers: frozenset[bytes]


class Rejection(msgspec.Struct, frozen=True):
    """A refusal with the HTTP status it usually has."""

    status: int
    refusal: Refusal


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A refusal as one protocol writes it."""

    status: int
    content_type: str = "application/json"
    body: bytes = b""


Render: TypeAlias = Callable[[Scope, Rejection], Answer]
Rung: TypeAlias = Callable[[Headers, EdgeRules], Rejection | None]


def render_error(_scope: Scope, rejection: Rejection) -> Answer:
    """The plain form: the refusal under `error`."""
    return Answer(status=rejection.status, body=encode({"error": rejection.refusal}))


def judge_head(headers: Iterable[tuple[bytes, bytes]], rules: EdgeRules) -> Rejection | None:
    """Runs the ladder over a request's headers (lower-case names, as ASGI gives them)."""
    seen: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        seen.setdefault(name, []).append(value)
    for _name, rung in LADDER:
        rejection = rung(seen, rules)
        if rejection is not None:
            return rejection
    return None


def _origin(headers: Headers, rules: EdgeRules) -> Rejection | None:
    if all(origin in rules.allow_origins for origin in headers.get(b"origin", ())):
        return None
    return _reject(403, "cross_origin_request", "Requests that a web page makes are not served here", place="Origin")


def _host(headers: Headers, rules: EdgeRules) -> Rejection | None:
    if rules.hosts is None:
        return None
    names = [_host_name(value) for value in headers.get(b"host", ())]
    # An empty list is no host of ours: HTTP/1.0 without Host is refused too.
    if names and all(name in rules.hosts for name in names):
        return None
    return _reject(403, "foreign_host", "This server does not answer to that Host", place="Host")


def _host_name(value: bytes) -> str | None:
    found = _HOST.fullmatch(value.decode("latin-1").lower())
    return None if found is None else found["name"] or found["six"]


def _repeated(headers: Headers, rules: EdgeRules) -> Rejection | None:
    twice = sorted(name for name, values in headers.items() if len(values) > 1 and name in rules.single_headers)
    if not twice:
        return None
    name = twice[0].decode("latin-1")
    return _reject(400, "repeated_header", f"The header {name} may stand only once", place=name)


def _length(headers: Headers, _rules: EdgeRules) -> Rejection | None:
    lengths, codings = headers.get(b"content-length", ()), headers.get(b"transfer-encoding", ())
    is_framed_twice = bool(lengths) and bool(codings)
    is_plain = all(_LENGTH.fullmatch(each) for each in lengths) and all(each.lower() == b"chunked" for each in codings)
    if is_plain and not is_framed_twice:
        return None
    return _reject(400, "malformed_length", "The request does not say plainly where its body ends")


def _encoding(headers: Headers, _rules: EdgeRules) -> Rejection | None:
    if b"content-encoding" not in headers:
        return None
    # A digest covers the bytes as sent, and a cap on packed bytes is no cap: so nothing packed comes in.
    return _reject(415, "content_encoding_refused", "Send the body as it is, not packed", place="Content-Encoding")


def _size(headers: Headers, rules: EdgeRules) -> Rejection | None:
    if all(int(each) <= rules.body_cap for each in headers.get(b"content-length", ())):
        return None
    return _too_large(rules.body_cap)


LADDER: Sequence[tuple[str, Rung]] = (
    ("origin", _origin),
    ("host", _host),
    ("repeated", _repeated),
    ("length", _length),
    ("encoding", _encoding),
    ("size", _size),
)


def _reject(status: int, code: str, message: str, *, place: str | None = None) -> Rejection:
    return Rejection(status, Refusal(code=code, message=message, place=place))


def _too_large(cap: int) -> Rejection:
    message = f"The body is larger than {cap} bytes"
    return Rejection(413, Refusal(code="body_too_large", message=message, details={"limit": cap}))


class Edge:
    """Wraps an ASGI application in the rules above. `hosts` are names without ports, such as `LOOPBACK_HOSTS`.

    The application reads its body with `read_body` (its own cap may be lower). Over the cap its `receive` raises
    Refused `body_too_large`, and whatever it then does, the answer is this guard's 413, unless one had already begun.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Iterable[str] | None,
        body_cap: int,
        allow_origins: Iterable[str] = (),
        single_headers: Iterable[str] = SINGLE_HEADERS,
        render: Render = render_error,
    ) -> None:
        names = None if hosts is None else _bare_names(hosts)
        self._app = app
        self._render = render
        self._rules = EdgeRules(
            hosts=names,
            body_cap=body_cap,
            allow_origins=frozenset(origin.encode() for origin in allow_origins),
            single_headers=frozenset(name.lower().encode() for name in single_headers),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        rejection = judge_head(scope["headers"], self._rules)
        if rejection is None:
            rejection = await self._serve(scope, receive, send)
        if rejection is not None:
            await _answer(send, self._render(scope, rejection))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> Rejection | None:
        counter = _Counter(receive, send, self._rules.body_cap)
        try:
            await self._app(scope, counter.receive, counter.send)
        except Exception:
            # Past the cap, or after the client left, whatever the application raises follows from that.
            if not (counter.is_over or counter.is_gone):
                raise
        return _too_large(self._rules.body_cap) if counter.is_over and not counter.has_begun else None


def _bare_names(hosts: Iterable[str]) -> frozenset[str]:
    names = frozenset(name.lower() for name in hosts)
    if not names or any(_host_name(f"[{n}]:0".encode() if ":" in n else n.encode()) != n for n in names):
        raise Misuse("an edge answers to at least one host, each a bare name without a port")
    return names


class _Counter:
    """One request's ends, with the body counted on the way in."""

    def __init__(self, receive: Receive, send: Send, cap: int) -> None:
        self._receive = receive
        self._send = send
        self._cap = cap
        self._left = cap
        self.is_over = False
        self.is_gone = False
        self.has_begun = False

    async def receive(self) -> Message:
        if self.is_over:
            raise Refused(_too_large(self._cap).refusal)
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.is_gone = True
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.is_over = True
            raise Refused(_too_large(self._cap).refusal)
        return message

    async def send(self, message: Message) -> None:
        if self.is_over and not self.has_begun:
            return  # the 413 is the answer, not what the application makes of it
        self.has_begun = True
        await self._send(message)


async def _answer(send: Send, answer: Answer) -> None:
    headers = [
        (b"content-type", answer.content_type.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        (b"connection", b"close"),  # the unread body is not waited for
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def read_body(receive: Receive, cap: int) -> bytes:
    """The whole request body. Refused `body_too_large` past `cap` bytes; PeerUnreachable when the client left."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise PeerUnreachable("the client", "it hung up before its request was whole")
        body += message.get("body", b"")
        if len(body) > cap:
            raise Refused(_too_large(cap).refusal)
        if not message.get("more_body", False):
            return bytes(body)
