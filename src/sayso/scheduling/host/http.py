"""The host's HTTP door: bytes to a signed, read request, one unit of work, bytes back (protocol section 5).

The order is the protocol's (5.5): the edge judges the head and bounds the body; method and media type; signature over
the configured public origin, never over Host (SCH-055); version; the body against its closed schema. The mandate's
signature is checked here too, because it needs no transaction, but it counts only once the operation asks for it. Then
`admission` does the rest in the store.

Whatever goes wrong ends in a typed refusal with a way to reach the host without an agent (SCH-336, SCH-341).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.instants import epoch, from_epoch
from sayso.core.refusal import Misuse, PeerUnreachable, Refusal, Refused
from sayso.net import edge
from sayso.net.edge import Edge, Rejection
from sayso.net.signing import read_signed
from sayso.proof.hashes import sha256
from sayso.proof.httpsig import SignedRequest
from sayso.scheduling.host.admission import Operation, admit
from sayso.scheduling.host.answers import refusal_answer, refuse
from sayso.scheduling.host.call import Answer, Call, NoBody
from sayso.scheduling.host.config import ENDPOINT_PATH, HostConfig, public_origin
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.holding import CONFIRM_HOLD, PLACE_HOLD, RELEASE_HOLD
from sayso.scheduling.host.looking import READ_BOOKING, READ_HOLD, SHOW_AVAILABILITY
from sayso.scheduling.host.managing import ABANDON_CHANGE, ACCEPT_CHANGE, CANCEL_BOOKING, REQUEST_CHANGE
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import WELL_KNOWN
from sayso.scheduling.terms.mandate_checks import Mandate, verify_mandate
from sayso.scheduling.terms.wire import VERSION
from sayso.store.failures import Taken, Unavailable
from sayso.store.unit import Store

__all__ = ("BODY_CAP", "ROUTES", "host_app")

BODY_CAP = 16_384
"""Bytes of the largest request body that is read."""

ROUTES: Mapping[str, Mapping[str, Operation[Any, Any]]] = {
    "/availability": {"POST": SHOW_AVAILABILITY},
    "/holds": {"POST": PLACE_HOLD},
    "/holds/{hold_id}": {"GET": READ_HOLD},
    "/holds/{hold_id}/confirm": {"POST": CONFIRM_HOLD},
    "/holds/{hold_id}/release": {"POST": RELEASE_HOLD},
    "/bookings/{booking_id}": {"GET": READ_BOOKING},
    "/bookings/{booking_id}/cancel": {"POST": CANCEL_BOOKING},
    "/bookings/{booking_id}/changes": {"POST": REQUEST_CHANGE},
    "/bookings/{booking_id}/changes/{offer_id}/accept": {"POST": ACCEPT_CHANGE},
    "/bookings/{booking_id}/changes/{offer_id}/abandon": {"POST": ABANDON_CHANGE},
}
"""Every route under the endpoint's base, by path and method (protocol 5.4)."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_JSON = re.compile(rb"application/json(?:\s*;\s*charset=utf-8)?", re.IGNORECASE)


def host_app(config: HostConfig, desk: Desk, store: Store, clock: Clock) -> ASGIApp:
    """The ASGI application of one host: its discovery document and its endpoint, behind the edge."""
    origin = public_origin(config)
    routes = [Route(WELL_KNOWN, _Document(desk))]
    routes += [
        Route(ENDPOINT_PATH + path, _Door(methods, desk, store, clock, origin)) for path, methods in ROUTES.items()
    ]
    router = Router(routes, redirect_slashes=False, default=_Nowhere(desk))

    def render(_scope: Scope, rejection: Rejection) -> edge.Answer:
        answer = refusal_answer(rejection.refusal, desk.contact)
        return edge.Answer(status=answer.status, body=answer.body)

    return Edge(router, hosts={config.domain}, body_cap=BODY_CAP, render=render)


class _Document:
    """The discovery document: the same bytes to everybody, unsigned requests included."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await _send(send, _refusal(self._desk, "method_not_allowed"))
            return
        await _send(send, Answer(status=200, body=self._desk.document), cache=b"max-age=600")


class _Nowhere:
    """Every path that is none of ours."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _send(send, _refusal(self._desk, "no_such_path"))


class _Door:
    """One path of the endpoint."""

    def __init__(
        self, methods: Mapping[str, Operation[Any, Any]], desk: Desk, store: Store, clock: Clock, origin: str
    ) -> None:
        self._methods = methods
        self._desk = desk
        self._store = store
        self._clock = clock
        self._origin = origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        desk = self._desk
        try:
            answer = await self._answer(scope, receive)
        except Refused as no:
            answer = refusal_answer(no.refusal, desk.contact)
        except PeerUnreachable:
            return  # the client hung up: there is nobody to answer
        except (Taken, Unavailable):
            # Nothing was written. Taken: the store's own constraint caught what the allocator let through; the retry
            # sees a fresh picture.
            answer = _refusal(desk, "unavailable")
        except Exception:
            # The caller learns that it failed and nothing more; the server logs what it was.
            await _send(send, _refusal(desk, "internal"))
            raise
        await _send(send, answer)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        operation = self._methods.get(scope["method"])
        if operation is None:
            raise refused("method_not_allowed")
        headers = dict(scope["headers"])
        _check_path(scope)
        _check_media_type(operation, headers)
        signed, body = await self._read(scope, receive)
        _check_version(headers)
        call = _call(scope, operation, signed, body, headers.get(b"schcp-mandate", b""))
        return await self._store.unit(lambda unit: admit(unit, self._desk, operation, call))

    async def _read(self, scope: Scope, receive: Receive) -> tuple[tuple[SignedRequest, datetime], bytes]:
        keep_until: list[int] = []

        def note(_thumbprint: str, _nonce: str, until: int) -> bool:
            keep_until.append(until)
            return False  # whether it is fresh is decided in the unit of work that also acts

        now = epoch(self._clock.now())
        signed, body = await read_signed(scope, receive, public_origin=self._origin, now=now, seen=note, cap=BODY_CAP)
        if len(keep_until) != 1:
            raise Misuse("a verified request has named its nonce exactly once")
        return (signed, from_epoch(keep_until[0])), body


def _check_path(scope: Scope) -> None:
    """Ids are ours and have one form; no route takes a query."""
    named: Mapping[str, str] = scope["path_params"]
    if scope["query_string"] or not all(_ID.fullmatch(value) for value in named.values()):
        raise refused("no_such_path")


def _check_media_type(operation: Operation[Any, Any], headers: Mapping[bytes, bytes]) -> None:
    if operation.request is not NoBody and not _JSON.fullmatch(headers.get(b"content-type", b"").strip()):
        raise refused("header_invalid", "The body has to be application/json.", place="Content-Type")


def _check_version(headers: Mapping[bytes, bytes]) -> None:
    asked = headers.get(b"schcp-version")
    if asked is not None and asked != VERSION.encode():
        raise refused("unknown_version", place="SchCP-Version")


def _call(
    scope: Scope, operation: Operation[Any, Any], signed: tuple[SignedRequest, datetime], body: bytes, mandate: bytes
) -> Call[Any]:
    request, nonce_until = signed
    if operation.request is NoBody:
        if body:
            raise refused("schema_invalid", "Reading takes no body.")
        read: object = NoBody()
    else:
        read = strictjson.decode(body, operation.request)
    return Call(
        agent=request.thumbprint,
        nonce=request.nonce,
        nonce_until=nonce_until,
        operation=f"{scope['method']} {scope['path']}",
        body_sha256=sha256(body),
        mandate_sha256=sha256(mandate),
        named=scope["path_params"],
        request=read,
        presented=_present(mandate),
    )


def _present(header: bytes) -> Mandate | Refused:
    """The mandate in the header, or why it is none. An operation that needs none never looks."""
    try:
        return _verified(header)
    except Refused as no:
        return no


@lru_cache(maxsize=1024)
def _verified(header: bytes) -> Mandate:
    """Who signed a token never changes, and one mandate comes with several requests. Times are judged each time."""
    return verify_mandate(header.decode("latin-1"))


def _refusal(desk: Desk, reason: str) -> Answer:
    refusal: Refusal = refuse(reason)
    return refusal_answer(refusal, desk.contact)


async def _send(send: Send, answer: Answer, *, cache: bytes = b"no-store") -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(answer.body)).encode()),
        (b"cache-control", cache),
    ]
    if answer.is_replay:
        headers.append((b"idempotent-replayed", b"true"))
    if answer.retry_after is not None:
        headers.append((b"retry-after", str(answer.retry_after).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
