"""The ASGI application all vendors share: judges a request, takes the next scripted answer, sends it piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import anyio
from starlette.types import Message, Receive, Scope, Send

from sayso.core import strictjson
from sayso.core.refusal import Misuse, Refused
from sayso.testing.vendor_servers.carries import Carries
from sayso.testing.vendor_servers.turns import Said

__all__ = ("KEY", "Answer", "Problem", "Received", "Status", "Stream", "Vendor", "VendorServer")

KEY = "fixture-key-0123456789"
"""The one credential these vendors accept."""
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a vendor refuses a request: its status, the name of the error in the vendor's words, and a text."""

    status: int
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Status:
    """An answer that is no stream."""

    status: int
    body: object = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer of status 200. `frames` are sent one by one; `drips` holds each back until the test lets it go with
    `VendorServer.drip`; `is_torn` ends the connection without the end of the answer; `hangs` never ends it; `pace` is
    how many seconds of real time lie between two frames, for a person or a screen to look at.
    """

    frames: Sequence[bytes]
    drips: bool = False
    is_torn: bool = False
    hangs: bool = False
    pace: float = 0.0
    content_type: str = "text/event-stream; charset=utf-8"


Answer = Said | Stream | Status


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came."""

    path: str
    query: str
    headers: Mapping[str, str]
    body: Json
    raw: bytes
    client: tuple[str, int] | None = None

    @property
    def text(self) -> str:
        return self.raw.decode()


@dataclass(frozen=True, slots=True)
class Vendor:
    """What tells one vendor from another: its wire's name, how a turn is streamed, how a request is judged, how an
    error's body reads, the header its credential comes in, the path behind the server's address, and how its list of
    models reads from a place on.
    """

    wire: str
    base: str
    stream: Callable[[Said], list[bytes]]
    judge: Callable[[Received], Problem | None]
    error: Callable[[Problem], object]
    credential: Callable[[Received], str | None]
    listing: Callable[[Sequence[str], Mapping[str, str]], object]

    @property
    def models_path(self) -> str:
        """Where its list of models is."""
        return f"{self.base or '/v1'}/models"


class VendorServer:
    """Serves one vendor over scripted answers, in order; a request beyond the last is answered 500. With `decide` each
    request is answered as that says. `models` are listed; `is_open` asks for no credential; `keeps_carries` refuses a
    result without the opaque tokens of the turn that made its call.
    """

    def __init__(
        self,
        vendor: Vendor,
        answers: Iterable[Answer] = (),
        *,
        decide: Callable[[Received], Answer] | None = None,
        models: Sequence[str] = ("fixture",),
        is_open: bool = False,
        keeps_carries: bool = False,
    ) -> None:
        self.vendor = vendor
        self._carries = Carries(vendor.wire) if keeps_carries else None
        self.answers = list(answers)
        self.keys = {KEY}
        """The credentials it accepts now."""
        self._decide = decide
        self._models = tuple(models)
        self._is_open = is_open
        self.received: list[Received] = []
        self.gone = anyio.Event()
        """Set once a client has left before its answer was whole."""
        self._sent, self._let = anyio.Event(), anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise Misuse("a vendor serves HTTP only")
        received = await _read(scope, receive)
        self.received.append(received)
        is_listing = scope["method"] == "GET" and received.path == self.vendor.models_path
        problem = self._judge(received, is_listing=is_listing)
        if problem is not None:
            await _send(send, problem.status, self.vendor.error(problem), {})
            return
        if is_listing:
            await _send(send, 200, self.vendor.listing(self._models, dict(parse_qsl(received.query))), {})
            return
        answer = self._next(received)
        if isinstance(answer, Said):
            answer = Stream(self.vendor.stream(answer))
        if isinstance(answer, Status):
            await _send(send, answer.status, answer.body, answer.headers)
            return
        await self._stream(answer, receive, send)

    def drip(self) -> None:
        """Lets the next frame of a dripping stream go."""
        let, self._let = self._let, anyio.Event()
        let.set()

    async def sent(self) -> None:
        """Returns once a dripping or hanging stream has sent what it may send now."""
        await self._sent.wait()
        self._sent = anyio.Event()

    def _next(self, received: Received) -> Answer:
        if self._decide is not None:
            return self._decide(received)
        return self.answers.pop(0) if self.answers else Status(500)

    def _judge(self, received: Received, *, is_listing: bool) -> Problem | None:
        if not self._is_open and self.vendor.credential(received) not in self.keys:
            return Problem(401, "authentication_error", f"Incorrect API key provided: {KEY[:9]}***")
        if is_listing:
            return None
        if not isinstance(received.body, dict):
            return Problem(400, "invalid_request_error", "the body is no JSON object")
        problem = self.vendor.judge(received)
        fault = self._carries.fault(received.body) if problem is None and self._carries is not None else None
        return Problem(400, "invalid_request_error", fault) if fault else problem

    async def _stream(self, answer: Stream, receive: Receive, send: Send) -> None:
        if self._carries is not None:
            self._carries.give(answer.frames)
        headers = [(b"content-type", answer.content_type.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, receive, tasks.cancel_scope)
            for piece in answer.frames:
                if answer.drips:
                    self._sent.set()
                    await self._let.wait()
                if answer.pace:
                    await anyio.sleep(answer.pace)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            if answer.hangs:
                self._sent.set()
                await anyio.sleep_forever()
            if not answer.is_torn:
                await send({"type": "http.response.body", "body": b""})
            tasks.cancel_scope.cancel()

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        message: Message = await receive()
        while message["type"] != "http.disconnect":
            message = await receive()
        self.gone.set()
        scope.cancel()


async def _read(scope: Scope, receive: Receive) -> Received:
    raw = b""
    while True:
        message = await receive()
        raw += message.get("body", b"")
        if not message.get("more_body", False):
            break
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    try:
        body = strictjson.parse(raw, depth=200)
    except Refused:
        body = None
    return Received(scope["path"], scope["query_string"].decode(), headers, body, raw, scope.get("client"))  # type: ignore[arg-type]


async def _send(send: Send, status: int, body: object, headers: Mapping[str, str]) -> None:
    raw = body if isinstance(body, bytes) else strictjson.encode(body)
    named = {"content-type": "application/json", "content-length": str(len(raw)), **headers}
    lines = [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": raw})
