"""The provider profile over HTTP and server-sent events: one route, one envelope a request (OAP-136).

    POST /oap/v0.1/provider    application/json, one request envelope

A unary request is answered by one JSON envelope, an accepted create by a stream whose first event is its response; a
client that leaves lets its inference go. What the profile refuses is status 200. Other statuses say that no exchange
took place, with a diagnostic that is no envelope: what `net.edge` refuses, 415 for another media type, 400 for a body
that is no JSON object with a text `id`. There is no event replay.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.control.protocol.envelope import write_envelope
from sayso.control.provider.bindings.exchange import CREATE, Exchange, Said
from sayso.control.provider.bindings.service_address import PATH, is_literal_loopback
from sayso.control.provider.contract import ProviderService
from sayso.core.frames import SseEvent
from sayso.core.ids import Ids
from sayso.core.refusal import PeerUnreachable, Refusal, Refused
from sayso.core.strictjson import encode, parse
from sayso.net.edge import LOOPBACK_HOSTS, Edge, read_body
from sayso.net.eventstream import EventStream
from sayso.net.listen import LOOPBACK, Address, serving

__all__ = ("BODY_CAP", "PORT", "provider_app", "serving_provider")

PORT = 8080
BODY_CAP = 16 * 1024 * 1024
_JSON = "application/json"


@asynccontextmanager
async def serving_provider(
    service: ProviderService, ids: Ids, *, host: str = LOOPBACK, port: int = PORT, grace: float = 5.0
) -> AsyncIterator[Address]:
    """Serves while the block runs; at its end inferences under way are cancelled and their streams end with it.

    Refused: `config_invalid` (reason `not_loopback`), `port_in_use`, `address_not_ours`.
    """
    if not is_literal_loopback(host):
        raise Refused.because(
            "config_invalid",
            f"A provider service listens on a loopback address, and {host} is none",
            reason="not_loopback",
            help="To serve others, put a proxy in front that encrypts and knows its clients.",
        )
    exchange = Exchange(service, ids)
    app = provider_app(exchange, hosts=LOOPBACK_HOSTS | {host})
    async with serving(app, host, port, grace=grace) as address:
        try:
            yield address
        finally:
            await exchange.close()


def provider_app(exchange: Exchange, *, hosts: frozenset[str] = LOOPBACK_HOSTS) -> ASGIApp:
    """The application with its edge."""

    async def serve(request: Request) -> ASGIApp:
        try:
            return await _serve(request, exchange)
        except _Unserved as unserved:
            body = encode({"error": unserved.refusal})
            return Response(body, status_code=unserved.status, media_type=_JSON)

    return Edge(Starlette(routes=[Route(PATH, serve, methods=["POST"])]), hosts=hosts, body_cap=BODY_CAP)


class _Unserved(Exception):
    """The request cannot be taken as an exchange of envelopes."""

    def __init__(self, status: int, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.status = status
        self.refusal = refusal


async def _serve(request: Request, exchange: Exchange) -> ASGIApp:
    value, request_id = await _read(request)
    said = exchange.serve(value, request_id)
    first = await anext(said)
    if value.get("type") != CREATE or getattr(first.payload, "accepted", False) is not True:
        await said.aclose()
        return Response(write_envelope(first), media_type=_JSON)

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(said):  # a client that left before the first byte has begun no stream that could clean up
            await EventStream(_events(first, said))(scope, receive, send)

    return stream


async def _events(first: Said, said: AsyncGenerator[Said]) -> AsyncGenerator[SseEvent]:
    yield SseEvent(write_envelope(first))
    async with aclosing(said):
        async for envelope in said:
            yield SseEvent(write_envelope(envelope))


async def _read(request: Request) -> tuple[dict[str, object], str]:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _JSON:
        raise _Unserved(415, Refusal(code="unsupported_media_type", message=f"A body here is {_JSON}"))
    try:
        value = parse(await read_body(request.receive, BODY_CAP))
    except PeerUnreachable:
        raise _Unserved(400, Refusal(code="request_read", message="The body did not arrive whole")) from None
    except Refused as refused:
        if refused.refusal.code == "body_too_large":
            raise
        raise _Unserved(400, refused.refusal) from None
    found = value.get("id") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(found, str) or not found:
        raise _Unserved(400, Refusal(code="invalid_request", message="A body is one envelope with an `id`"))
    return value, found
