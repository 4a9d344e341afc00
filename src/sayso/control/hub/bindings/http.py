"""The hub over HTTP and server-sent events, on loopback (OAP-102..114).

The order in which a request is refused: Origin, Host and framing on the head (`net.edge`), then the media type, the
size, the JSON, the shape of the envelope, its type for this route, and only then the hub. Every refusal is an
`error.response` whose status is its code's; it names the request it answers as far as that could be read. Listings are
plain JSON. A path that is no route answers a bare 404.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.control.hub.answers import refuse_query
from sayso.control.hub.bindings.sse import event_stream
from sayso.control.hub.hub import Hub
from sayso.control.hub.machine import Cursor
from sayso.control.hub.session import RESOLVES, SETTINGS, SUBMITS, HubSession
from sayso.control.protocol.codes import CODES, status_of
from sayso.control.protocol.envelope import Envelope, convert_envelope, write_envelope
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, PeerUnreachable, Refusal, Refused
from sayso.core.strictjson import encode, parse
from sayso.net.edge import LOOPBACK_HOSTS, Edge, Rejection, read_body
from sayso.net.edge import Answer as EdgeAnswer
from sayso.net.eventstream import EventStream
from sayso.net.listen import LOOPBACK, Address, serving

__all__ = ("BODY_CAP", "PORT", "hub_app", "is_loopback", "serving_hub")

PORT = 6270
BODY_CAP = 16 * 1024 * 1024
_JSON = "application/json"
_SETTINGS_UPDATE = "session.settings.update.request"
_COUNT = re.compile(r"[0-9]{1,9}")
_SEQUENCE = re.compile(r"[0-9]{1,18}")
_EDGE_CODES: Mapping[str, str] = {
    "foreign_host": "unrecognized_host",
    "body_too_large": "request_too_large",
    "content_encoding_refused": "unsupported_media_type",
    "repeated_header": "invalid_request",
    "malformed_length": "invalid_request",
}
_log = structlog.get_logger(__name__)

Handler = Callable[[Request], Awaitable[ASGIApp]]


class _OpaqueId(StringConvertor):
    """A session's id is its client's to choose, a slash or a line end in it too: all that stands before the verb."""

    regex = r"[\s\S]+"


register_url_convertor("opaque", _OpaqueId())


class _Unserved(Exception):
    """A request that does not reach the hub; `reply_to` is its envelope's id as far as that could be read."""

    def __init__(self, refusal: Refusal, reply_to: str | None, session_id: Maybe[str]) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
        self.reply_to = reply_to
        self.session_id = session_id


@asynccontextmanager
async def serving_hub(hub: Hub, ids: Ids, *, host: str = LOOPBACK, port: int = PORT) -> AsyncIterator[Address]:
    """Serves the hub while the block runs; at its end streams are ended first, then connections. Sweeping sessions is
    the hub's own end. Raises `Refused`: `port_in_use`, `address_not_ours`.
    """
    async with serving(hub_app(hub, ids, hosts=LOOPBACK_HOSTS if is_loopback(host) else None), host, port) as address:
        try:
            yield address
        finally:
            hub.hang_up()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what is bound here."""
    return host in LOOPBACK_HOSTS


def hub_app(hub: Hub, ids: Ids, *, hosts: frozenset[str] | None = LOOPBACK_HOSTS) -> ASGIApp:
    """The application, its edge included; without `hosts` every Host is served, which a bind to the outside means."""
    routes = _Routes(hub, ids)
    app = Starlette(
        routes=[
            Route("/adapters", routes.guard(routes.adapters), methods=["GET"]),
            Route("/adapters/{name}/capabilities", routes.guard(routes.capabilities), methods=["GET"]),
            Route("/adapters/{name}/sessions", routes.guard(routes.open), methods=["POST"]),
            Route("/sessions", routes.guard(routes.sessions), methods=["GET"]),
            Route("/sessions/history", routes.guard(routes.history), methods=["GET"]),
            Route("/sessions/{id:opaque}/state", routes.guard(routes.state), methods=["GET"]),
            Route("/sessions/{id:opaque}/tools", routes.guard(routes.tools), methods=["GET"]),
            Route("/sessions/{id:opaque}/models", routes.guard(routes.models), methods=["GET"]),
            Route("/sessions/{id:opaque}/model", routes.guard(routes.switch_model), methods=["POST"]),
            Route("/sessions/{id:opaque}/settings", routes.guard(routes.settings), methods=["POST"]),
            Route("/sessions/{id:opaque}/events", routes.guard(routes.events), methods=["GET"]),
            Route("/sessions/{id:opaque}/submit", routes.guard(routes.submit), methods=["POST"]),
            Route("/sessions/{id:opaque}/resolve", routes.guard(routes.resolve), methods=["POST"]),
            Route("/sessions/{id:opaque}/cancel", routes.guard(routes.cancel), methods=["POST"]),
            Route("/sessions/{id:opaque}/close", routes.guard(routes.close), methods=["POST"]),
        ]
    )

    def render(_scope: Scope, rejection: Rejection) -> EdgeAnswer:
        code = _EDGE_CODES.get(rejection.refusal.code, rejection.refusal.code)
        refusal = Refusal(code=code, message=rejection.refusal.message, place=rejection.refusal.place)
        body = write_envelope(refuse_query(refusal, hub.query_id(), ids))
        return EdgeAnswer(status=status_of(code), body=body)

    return Edge(app, hosts=hosts, body_cap=BODY_CAP, render=render)


class _Routes:
    """What each route does; every one ends in an envelope, a listing, a stream or nothing."""

    def __init__(self, hub: Hub, ids: Ids) -> None:
        self._hub = hub
        self._ids = ids

    def guard(self, handler: Handler) -> Handler:
        """Turns what a handler raises into an `error.response`."""

        async def guarded(request: Request) -> ASGIApp:
            session_id: Maybe[str] = request.path_params.get("id", UNSET)
            try:
                return await handler(request)
            except _Unserved as unserved:
                return self._refuse(unserved.refusal, unserved.reply_to, unserved.session_id or session_id)
            except Refused as refused:
                return self._refuse(refused.refusal, None, session_id)
            except Misuse:
                raise
            except Exception as error:  # noqa: BLE001 - whatever broke in here, the caller gets a bare internal error
                _log.error("hub_route_broke", path=request.url.path, error=type(error).__name__)
                return self._refuse(Refusal(code="internal", message=CODES["internal"].meaning), None, session_id)

        return guarded

    def _refuse(self, refusal: Refusal, reply_to: str | None, session_id: Maybe[str]) -> Response:
        return _respond(refuse_query(refusal, reply_to or self._hub.query_id(), self._ids, session_id=session_id))

    # --- listings and queries ---

    async def adapters(self, request: Request) -> Response:
        return Response(encode({"adapters": await self._hub.adapters()}), media_type=_JSON)

    async def sessions(self, request: Request) -> Response:
        return Response(encode({"sessions": await self._hub.sessions()}), media_type=_JSON)

    async def history(self, request: Request) -> Response:
        limits, cursors = request.query_params.getlist("limit"), request.query_params.getlist("cursor")
        if len(limits) > 1 or len(cursors) > 1 or not all(_COUNT.fullmatch(limit) for limit in limits):
            raise Refused.because("invalid_request", "one limit, which is a number, and one cursor")
        limit = int(limits[0]) if limits else None
        page = await self._hub.history(limit=limit, cursor=cursors[0] if cursors else None)
        return Response(encode(page), media_type=_JSON)

    async def capabilities(self, request: Request) -> Response:
        return _respond(await self._hub.capabilities(request.path_params["name"]))

    async def state(self, request: Request) -> Response:
        return _respond(await self._hub.state(request.path_params["id"]))

    async def tools(self, request: Request) -> Response:
        allowed = request.query_params.getlist("allow_degraded")
        return _respond(await self._hub.tools(request.path_params["id"], allow_degraded=allowed))

    async def models(self, request: Request) -> Response:
        allowed = request.query_params.getlist("allow_degraded")
        return _respond(await self._hub.models(request.path_params["id"], allow_degraded=allowed))

    # --- requests ---

    async def open(self, request: Request) -> Response:
        envelope = await _read(request, "session.open.request")
        return _respond(await self._hub.open(request.path_params["name"], envelope))

    async def submit(self, request: Request) -> ASGIApp:
        envelope = await _read(request, *SUBMITS)
        session = self._session(request, envelope)
        response = _respond(await session.submit(envelope))

        async def respond(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await response(scope, receive, send)
            finally:
                session.published(envelope.id)

        return respond

    async def switch_model(self, request: Request) -> Response:
        envelope = await _read(request, "session.model.switch.request")
        return _respond(await self._session(request, envelope).switch_model(envelope))

    async def settings(self, request: Request) -> Response:
        """All that changes a session under way; what 0.1 has no type for is refused by its feature (OAP-075)."""
        envelope = await _read(request, *SETTINGS, unsupported=_SETTINGS_UPDATE)
        session = self._session(request, envelope)
        change = session.switch_model if envelope.type == SETTINGS[0] else session.attach_provider
        return _respond(await change(envelope))

    async def resolve(self, request: Request) -> Response:
        envelope = await _read(request, *RESOLVES)
        return _respond(await self._session(request, envelope).resolve(envelope))

    async def cancel(self, request: Request) -> Response:
        envelope = await _read(request, "run.cancel.request")
        return _respond(await self._session(request, envelope).cancel(envelope))

    async def close(self, request: Request) -> Response:
        await self._hub.close(request.path_params["id"])
        return Response(status_code=204)

    def _session(self, request: Request, envelope: Envelope[Wire]) -> HubSession:
        """The session of the address; if there is none, the refusal answers this envelope."""
        try:
            return self._hub.session(request.path_params["id"])
        except Refused as refused:
            raise _Unserved(refused.refusal, envelope.id, envelope.session_id) from None

    # --- events ---

    async def events(self, request: Request) -> ASGIApp:
        session = self._hub.session(request.path_params["id"])
        cursor = _cursor(request)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        reader = (session.adopt() if cursor is None else None) or session.subscribe(cursor)

        async def stream(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await EventStream(event_stream(session, reader))(scope, receive, send)
            finally:  # a client that left before the first byte has started no generator that could clean up
                session.unsubscribe(reader)

        return stream


def _respond(envelope: Envelope[Wire]) -> Response:
    status = 200
    if isinstance(envelope.payload, ErrorResponse):
        status = status_of(envelope.payload.error.code)
    return Response(write_envelope(envelope), status_code=status, media_type=_JSON)


async def _read(request: Request, *types: str, unsupported: str = "") -> Envelope[Any]:
    """The envelope of a body. Raises `_Unserved`: `unsupported_media_type`, `request_too_large`, `request_read`,
    `malformed_json`, `schema_invalid`, `type_mismatch`, and `unsupported_feature` for the type `unsupported`.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _JSON:
        refusal = Refusal(code="unsupported_media_type", message=CODES["unsupported_media_type"].meaning)
        raise _Unserved(refusal, None, UNSET)
    try:
        body = await read_body(request.receive, BODY_CAP)
    except PeerUnreachable:
        raise _Unserved(Refusal(code="request_read", message=CODES["request_read"].meaning), None, UNSET) from None
    value: object = None
    try:
        value = parse(body)
        if unsupported and _text(value, "type") == unsupported:
            details = {"feature": unsupported.removesuffix(".request"), "reason": "unadvertised"}
            raise Refused.because("unsupported_feature", f"{unsupported} is not served here", details=details)
        envelope = convert_envelope(value)
    except Refused as refused:
        raise _Unserved(refused.refusal, _text(value, "id"), _text(value, "session_id") or UNSET) from None
    if envelope.type not in types:
        refusal = Refusal(code="type_mismatch", message=f"this route takes {' or '.join(types)}", place="$.type")
        raise _Unserved(refusal, envelope.id, envelope.session_id)
    return envelope


def _text(value: object, member: str) -> str | None:
    found = value.get(member) if isinstance(value, dict) else None
    return found if isinstance(found, str) and found else None


def _cursor(request: Request) -> Cursor | None:
    """`?after=` before `Last-Event-ID`, with an optional `run_id`. Raises `Refused` `invalid_cursor`."""
    after, runs = request.query_params.getlist("after"), request.query_params.getlist("run_id")
    if not after and "last-event-id" in request.headers:
        after = [request.headers["last-event-id"]]
    if len(after) > 1 or len(runs) > 1 or (runs and not after):
        raise Refused.because("invalid_cursor", "one cursor, and a run only with a cursor")
    if not after:
        return None
    if not _SEQUENCE.fullmatch(after[0]):
        raise Refused.because("invalid_cursor", "a cursor is an unsigned sequence number")
    return Cursor(int(after[0]), runs[0] if runs else None)
