"""Where an HTTP source may stand, and the connections to it.

https with a checked certificate, or plain http to this machine; no redirect, proxy, cookie or credential of the
environment. An endpoint that only an attachment names, so that it may come from anybody who speaks to the hub, must
besides lie on the public internet, by the address rules of `net`; one that its operator speaks for may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpcore2

from sayso.core.refusal import Refused
from sayso.net.address import read_url
from sayso.net.dial import Dialer, Network, SystemNetwork

__all__ = ("Endpoint", "dialled", "read_endpoint")

_LOCAL = frozenset({"127.0.0.1", "::1", "localhost"})
_CONNECTIONS = 16
_IDLE_SECONDS = 4.0
_OURS = frozenset({
    "host", "connection", "content-length", "content-type", "transfer-encoding", "accept", "accept-encoding", "te",
    "upgrade", "mcp-session-id", "mcp-protocol-version", "last-event-id",
})  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """A URL taken apart, and the operator's headers for it. Has no `repr`: both may hold secrets."""

    url: httpcore2.URL
    authority: str
    headers: tuple[tuple[bytes, bytes], ...]
    is_local: bool


def read_endpoint(url: str, headers: tuple[tuple[str, str], ...] = ()) -> Endpoint:
    """Refused `open_failed`, reason `endpoint` or `header`. No refusal repeats the URL or a value."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _no("endpoint", "its endpoint is no URL") from None
    if parts.scheme == "http" and host in _LOCAL:
        if "@" in parts.netloc or "#" in url or not url.isascii() or not url.isprintable() or " " in url:
            raise _no("endpoint", "its endpoint has a user or a fragment, or is no plain URL")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        target = httpcore2.URL(scheme=b"http", host=host.encode(), port=port or 80, target=path.encode())
        return Endpoint(target, parts.netloc, _raw(headers), is_local=True)
    if parts.scheme == "http":
        raise _no("endpoint", "plain http goes to this machine only; any other endpoint is https")
    try:
        found = read_url(url)
    except Refused as refused:
        raise _no("endpoint", f"its endpoint is not allowed: {refused.refusal.message}") from None
    target = httpcore2.URL(scheme=b"https", host=found.host.encode(), port=found.port, target=found.path.encode())
    return Endpoint(target, found.authority, _raw(headers), is_local=False)


def dialled(
    endpoint: Endpoint, *, is_vouched_for: bool, network: Network | None = None
) -> httpcore2.AsyncConnectionPool:
    """Connections for one endpoint; without a word of its operator only to public addresses, each judged as it is
    dialled (Refused `url_not_allowed`).
    """
    is_free = endpoint.is_local or is_vouched_for
    return httpcore2.AsyncConnectionPool(
        ssl_context=None if endpoint.is_local else httpcore2.default_ssl_context(),
        max_connections=_CONNECTIONS,
        keepalive_expiry=_IDLE_SECONDS,
        network_backend=None if is_free else Dialer(_NO_ENTRIES, network or SystemNetwork()),
    )


_NO_ENTRIES: Mapping[tuple[str, int], tuple[str, int]] = {}


def _raw(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[bytes, bytes], ...]:
    for name, value in headers:
        is_plain = (name + value).isascii() and (name + value).isprintable() and name.strip() == name != ""
        if not is_plain or ":" in name or name.lower() in _OURS:
            raise _no("header", f"the header {name} cannot be the operator's to set, or HTTP cannot carry it")
    return tuple((name.encode(), value.encode()) for name, value in headers)


def _no(reason: str, message: str) -> Refused:
    return Refused.because("open_failed", message, reason=reason)
