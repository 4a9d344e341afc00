"""The loopback signing proxy, for tools that cannot sign: `sayso gateway proxy` (GTW-002; wire facts 0.3).

It takes plain MCP, A2A and ACP requests on loopback, signs each with one agent's key, passes it on unchanged, and
streams the answer back. Whoever reaches its port acts as that agent, so it answers to loopback names alone, refuses
every request that a web page makes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.core.clock import Clock
from sayso.core.refusal import PeerUnreachable
from sayso.core.strictjson import encode
from sayso.gateway.clients.signing import Signer
from sayso.net.edge import LOOPBACK_HOSTS, SINGLE_HEADERS, Edge, read_body

__all__ = ("signing_proxy",)

_BODY_CAP = 1024 * 1024
_SECONDS = 30.0
# Of one connection only (RFC 9110, 7.6.1), or ours to set.
_NOT_PASSED_ON = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te", b"trailer",
        b"transfer-encoding", b"upgrade", b"host", b"content-length", b"accept-encoding",
    }
)  # fmt: skip
_PREFIX = b"x-osz-"


@asynccontextmanager
async def signing_proxy(upstream: str, key: str, clock: Clock | None = None) -> AsyncIterator[ASGIApp]:
    """The proxy as an ASGI application, while the block runs. `upstream` is the gateway's origin, without a path."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=32)
    timeout = httpx2.Timeout(_SECONDS, read=None)  # an event stream is silent for as long as nothing happens
    async with httpx2.AsyncClient(timeout=timeout, limits=limits, trust_env=False, follow_redirects=False) as client:
        proxy = _Proxy(httpx2.URL(upstream), Signer(key, clock), client)
        single = SINGLE_HEADERS - {"content-encoding"}
        yield _own_origin_is_none(Edge(proxy, hosts=LOOPBACK_HOSTS, body_cap=_BODY_CAP, single_headers=single))


def _own_origin_is_none(app: ASGIApp) -> ASGIApp:
    """Takes away an Origin that is the proxy's own. No page comes from there, but tools set it as a matter of form; any
    other Origin reaches the edge, which refuses it, as it does a Host that is no loopback name.
    """

    async def cleaned(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = [value for name, value in scope["headers"] if name == b"host"]
            own = (b"origin", b"http://" + hosts[0]) if len(hosts) == 1 else None
            scope = {**scope, "headers": [header for header in scope["headers"] if tuple(header) != own]}
        await app(scope, receive, send)

    return cleaned


class _Proxy:
    """One request in, one signed request out."""

    def __init__(self, upstream: httpx2.URL, signer: Signer, client: httpx2.AsyncClient) -> None:
        self._upstream = upstream
        self._signer = signer
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(receive, _BODY_CAP)
        except PeerUnreachable:
            return
        target = scope.get("raw_path") or scope["path"].encode()
        if scope["query_string"]:
            target += b"?" + scope["query_string"]
        method = scope["method"]
        signed = self._signer.headers(body, method, target.decode("ascii", "replace"))
        # White space around a value is no part of it (RFC 9110, 5.5), and clients refuse to send it.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"] if _is_passed_on(name)]
        headers += [(name.encode(), value.encode()) for name, value in signed.items()]
        request = self._client.build_request(
            method, self._upstream.copy_with(raw_path=target), headers=headers, content=body or None
        )
        try:
            answer = await self._client.send(request, stream=True)
        except httpx2.TransportError:
            await _unreachable(send)
            return
        await _pass_back(answer, receive, send)


def _is_passed_on(name: bytes) -> bool:
    return name not in _NOT_PASSED_ON and not name.startswith(_PREFIX)


async def _pass_back(answer: httpx2.Response, receive: Receive, send: Send) -> None:
    """Streams the answer as it comes; when the client leaves, so do we."""
    headers = [(name.lower(), value) for name, value in answer.headers.raw]
    kept = [(name, value) for name, value in headers if name not in _NOT_PASSED_ON - {b"content-length"}]
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
            async for chunk in answer.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except httpx2.TransportError:
            pass  # the gateway cut its answer short, and so is ours
        finally:
            with anyio.CancelScope(shield=True):
                await answer.aclose()
        group.cancel_scope.cancel()


async def _unreachable(send: Send) -> None:
    body = encode({"error": {"code": "gateway_unreachable", "message": "The gateway could not be reached"}})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 502, "headers": headers})
    await send({"type": "http.response.body", "body": body})
