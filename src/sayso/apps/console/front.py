"""What stands in front of every page: same origin only, and headers that leave a page nothing to do but show itself.

A browser names the page that makes a request in `Origin`; the hub's and the doors' edge refuses all of them, and here
exactly our own is let through, which is the scheme and the Host of the request itself. Where a browser says
`Sec-Fetch-Site`, only `same-origin` and a typed address count. Then `net.edge` judges Host, framing and size.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso.apps.console.forms import FORM_CAP
from sayso.net.edge import Answer, Edge, Rejection

__all__ = ("HEADERS", "front")

HEADERS = {
    # No inline script or style, no frame, no other origin, nothing that a form or a link could be turned to.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    # `no-referrer` would make browsers send `Origin: null` with our own forms.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_OURS = frozenset({b"same-origin", b"none"})


def front(app: ASGIApp, hosts: Iterable[str]) -> ASGIApp:
    """The application behind its edge. `hosts` are bare names, such as `net.edge.LOOPBACK_HOSTS`."""
    edge = Edge(app, hosts=hosts, body_cap=FORM_CAP, render=_render)

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": _judged(scope)}
        await edge(scope, receive, _with_headers(send))

    return served


def _judged(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The headers without an Origin that is our own; one from elsewhere stays, and the edge refuses it."""
    headers: list[tuple[bytes, bytes]] = list(scope["headers"])
    hosts = [value for name, value in headers if name == b"host"]
    ours = scope["scheme"].encode() + b"://" + hosts[0] if len(hosts) == 1 else None
    kept = [(name, value) for name, value in headers if name != b"origin" or value != ours]
    elsewhere = any(name == b"sec-fetch-site" and value not in _OURS for name, value in headers)
    if elsewhere and not _is_followed_link(scope["method"], headers):
        kept.append((b"origin", b"null"))
    return kept


def _is_followed_link(method: str, headers: list[tuple[bytes, bytes]]) -> bool:
    """Somebody followed a link that leads here from another page: it shows a page of its own, never one in a frame."""
    is_page = (b"sec-fetch-dest", b"document") in headers
    return method == "GET" and is_page and (b"sec-fetch-mode", b"navigate") in headers


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            if "cache-control" not in headers:
                headers["cache-control"] = "no-store"
        await send(message)

    return sending


def _render(_scope: Scope, rejection: Rejection) -> Answer:
    said = f"{rejection.refusal.message}. Nothing was done.\n"
    return Answer(status=rejection.status, content_type="text/plain; charset=utf-8", body=said.encode())
