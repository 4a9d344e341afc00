"""From ASGI to a crossing and back: the one path that every request of every door takes (GTW-007, GTW-013, GTW-021).

A door knows its protocol's shapes and nothing of keys, rates or receipts. `door_app` reads the body under its cap,
enters the gateway, hands the passage to the door, and sends what was settled. A refusal that escapes the door ends the
passage; a bug of ours is a 500 in the door's own shape, receipted, and logged without what it says.

Every route of the house is a `door_app` or a `public_app`, which says why it needs no key; `sayso.testing.routes`
finds others.
"""

from __future__ import annotations

from collections.abc import Iterable
from traceback import extract_tb
from typing import Protocol

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso.core.refusal import Misuse, PeerUnreachable, Refusal, Refused
from sayso.gateway.crossing import Answer, Crossing, Denial, Stream
from sayso.gateway.gateway import Gateway, Passage
from sayso.gateway.guard.rules.codes import find_code, refusal
from sayso.gateway.guard.rules.headers import AUTH_HEADERS
from sayso.net.edge import LOOPBACK_HOSTS, SINGLE_HEADERS, EdgeRules, judge_head, read_body
from sayso.net.eventstream import EventStream
from sayso.store.failures import Unavailable

__all__ = ("Door", "DoorApp", "PublicApp", "door_app", "public_app")

_log = structlog.get_logger(__name__)
# A version or a name that stands twice is guessed differently by whoever stands in front of us.
_VERSIONS = frozenset({"a2a-version", "mcp-method", "mcp-name", "mcp-protocol-version"})
_ONCE = frozenset(name.encode() for name in SINGLE_HEADERS | _VERSIONS) | frozenset(AUTH_HEADERS)
_POLICY_VIOLATION = 1008
_CLOSE = ((b"connection", b"close"),)
_KEEP_OPEN = 4.0
"""Seconds between comments on a stream that waits: clients of this field take one that is silent for five for dead."""


class Door(Protocol):
    """One protocol's way in."""

    name: str
    """The scope that opens it, and what its receipts and metrics call it."""

    def deny(self, crossing: Crossing, denial: Denial) -> Answer:
        """A denial in the protocol's own shape, with the request's id where the body has a readable one. Pure, and it
        never fails, whatever the body is; `Retry-After` and how many violations are left are added to it.
        """
        ...

    async def answer(self, passage: Passage) -> Answer | Stream:
        """Answers an admitted request: what is returned was settled (or refused) on the passage. Refused: anything."""
        ...


class DoorApp:
    """An ASGI application for the routes of one door. `hosts` are bare names; None lets every Host through."""

    def __init__(self, gateway: Gateway, door: Door, hosts: Iterable[str] | None) -> None:
        self.door = door
        self._gateway = gateway
        self._rules = EdgeRules(
            hosts=None if hosts is None else frozenset(name.lower() for name in hosts),
            body_cap=gateway.limits.body_bytes,
            allow_origins=frozenset(),
            single_headers=_ONCE,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        try:
            rejection = judge_head(scope["headers"], self._rules)
            if rejection is not None:
                raise Refused(rejection.refusal)
            body = await read_body(receive, self._gateway.limits.body_bytes)
        except Refused as no:
            why = refusal(no.refusal.code, place=no.refusal.place, **no.refusal.details)
            answer = await self._turn_away(_crossing(self.door.name, scope, b""), why)
            await _send(send, answer, more=_CLOSE)  # the unread body is not waited for
            return
        except PeerUnreachable:
            return  # nobody is there to be answered
        answered = await self._serve(_crossing(self.door.name, scope, body))
        if isinstance(answered, Stream):
            try:
                await _stream(answered, scope, receive, send)
            except Exception as error:  # noqa: BLE001 - the head is out: it ends here, and the log has no word of it
                self._log_failure(error)
        else:
            await _send(send, answered)

    async def _turn_away(self, crossing: Crossing, why: Refusal) -> Answer:
        try:
            return await self._gateway.turn_away(crossing, self.door.deny, why)
        except Exception as error:  # noqa: BLE001 - a caller is answered, whatever failed
            return self._failed(crossing, error)

    async def _serve(self, crossing: Crossing) -> Answer | Stream:
        try:
            passage = await self._gateway.enter(crossing, self.door.deny)
        except Exception as error:  # noqa: BLE001 - a caller is answered, whatever failed
            return self._failed(crossing, error)
        return passage if isinstance(passage, Answer) else await self._pass(passage)

    async def _pass(self, passage: Passage) -> Answer | Stream:
        try:
            try:
                answer = await self.door.answer(passage)
            except Refused as no:
                return await passage.refuse(no.refusal)
            if not passage.is_over:
                raise Misuse(f"the door {self.door.name} answered a passage that it had not settled")
        except Exception as error:  # noqa: BLE001 - a caller is answered, whatever failed
            return await self._fail(passage, error)
        return answer

    async def _fail(self, passage: Passage, error: Exception) -> Answer:
        answer = self._failed(passage.crossing, error)
        if passage.is_over:
            return answer
        try:
            return await passage.refuse(refusal(_code_of(error)))
        except Exception as again:  # noqa: BLE001 - a caller is answered, whatever failed
            _log.error("a failure has no receipt", door=self.door.name, error=type(again).__name__)
            return answer

    def _failed(self, crossing: Crossing, error: Exception) -> Answer:
        code = self._log_failure(error)
        return self.door.deny(crossing, Denial(refusal=refusal(code), status=find_code(code).status))

    def _log_failure(self, error: Exception) -> str:
        code = _code_of(error)
        _log.error("a door failed", door=self.door.name, code=code, error=type(error).__name__, at=_where(error))
        return code


class PublicApp:
    """A route that needs no key; `why` says what makes that right."""

    def __init__(self, app: ASGIApp, why: str) -> None:
        self.why = why
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def door_app(gateway: Gateway, door: Door, *, hosts: Iterable[str] | None = LOOPBACK_HOSTS) -> DoorApp:
    """The guarded application of a door: `Route(path, endpoint=door_app(...))` takes every method there."""
    return DoorApp(gateway, door, hosts)


def public_app(app: ASGIApp, why: str) -> PublicApp:
    """Declares an application public. Misuse without a reason."""
    if not why.strip():
        raise Misuse("a public route says why it is public")
    return PublicApp(app, why)


def _crossing(door: str, scope: Scope, body: bytes) -> Crossing:
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    client = scope.get("client")
    return Crossing(
        door=door,
        method=scope["method"],
        target=path + b"?" + query if query else path,
        headers=tuple(scope["headers"]),
        body=body,
        peer=client[0] if client else "",
    )


async def _send(send: Send, answer: Answer, more: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    body = answer.body
    headers = [(b"content-length", str(len(body)).encode()), *answer.headers, *more]
    if body:
        headers.append((b"content-type", answer.content_type.encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(stream: Stream, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends the head, whose body was receipted, and then the events as they come."""
    head = stream.head

    async def begin(message: Message) -> None:
        if message["type"] != "http.response.start":
            await send(message)
            return
        await send({**message, "status": head.status})
        if head.body:
            await send({"type": "http.response.body", "body": head.body, "more_body": True})

    await EventStream(stream.events, headers=head.headers, keep_open=_KEEP_OPEN)(scope, receive, begin)


def _code_of(error: Exception) -> str:
    return "unavailable" if isinstance(error, Unavailable) else "internal_error"


def _where(error: Exception) -> list[str]:
    """Where it was raised, outermost first: not what it says and no local value, which may be a payload or a key."""
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in extract_tb(error.__traceback__)]
