"""The auth object for `httpx`: signs every request that a client sends, whatever made it (GTW-002, GTW-011)."""

from __future__ import annotations

from collections.abc import Generator

import httpx

from sayso.core.clock import Clock
from sayso.gateway.clients.signing import Signer

__all__ = ("SigningAuth",)


class SigningAuth(httpx.Auth):
    """Signs with an agent's key: `AsyncClient(auth=SigningAuth(key))`. A retry is signed anew.

    Leave `follow_redirects` off, as it is by itself: a client that follows copies the key's header to wherever it is
    sent, another host too, and a signature with it that does not fit. The doors never redirect.
    """

    requires_request_body = True

    def __init__(self, key: str, clock: Clock | None = None) -> None:
        self._signer = Signer(key, clock)

    def __repr__(self) -> str:
        return "SigningAuth(...)"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Adds the headers."""
        target = request.url.raw_path.decode("ascii")
        request.headers.update(self._signer.headers(request.content, request.method, target))
        yield request
