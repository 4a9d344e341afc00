"""Both ends of a signed request over HTTP (SCH-051..062): signed is what is sent, verified is what came.

The form, the checks and their codes are `proof.httpsig`'s. Decided here: the sender signs the URL in the one spelling
that `fetch` also sends, anew on every attempt; the receiver rebuilds the target from its configured public origin and
the raw path and query of the request line, and from nothing else: not Host, not a forwarding header, not the socket
(SCH-055). Whether the agent may do what it asks, and its body's meaning, are the endpoint's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from starlette.types import Receive, Scope

from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.instants import epoch
from sayso.net.address import read_origin
from sayso.net.edge import read_body
from sayso.net.fetch import Fetcher, Response
from sayso.proof.httpsig import SignedRequest, sign_request, verify_request
from sayso.proof.keys import PrivateKey

__all__ = ("SignedClient", "read_signed", "request_target")

_MAX_BYTES = 262_144
_SECONDS = 10.0


class SignedClient:
    """Sends requests in one agent's name. Created from the clock, nonces from ids; both are the caller's."""

    def __init__(self, fetcher: Fetcher, key: PrivateKey, clock: Clock, ids: Ids) -> None:
        self._fetcher = fetcher
        self._key = key
        self._clock = clock
        self._ids = ids

    @property
    def thumbprint(self) -> str:
        """The name that hosts know this agent by."""
        return self._key.public.thumbprint

    async def send(
        self,
        method: str,
        url: str,
        body: bytes = b"",
        *,
        extra_headers: Iterable[tuple[str, str]] = (),
        max_bytes: int = _MAX_BYTES,
        seconds: float = _SECONDS,
    ) -> Response:
        """Signs and sends one attempt; errors as `Fetcher.request`. Any status but a redirect is a Response.

        To try again after PeerUnreachable, call it again with the same body bytes: the nonce and the time are new, the
        idempotency key inside the body is not (SCH-056, SCH-063). Nothing here is sent twice by itself.
        """
        uri = self._fetcher.admit(url).uri
        signature = sign_request(
            method, uri, body, key=self._key, created=epoch(self._clock.now()), nonce=self._ids.token()
        )
        headers = [*signature, *extra_headers]
        if body:
            headers.append(("Content-Type", "application/json"))
        return await self._fetcher.request(
            method, uri, headers=headers, body=body, max_bytes=max_bytes, seconds=seconds
        )


def request_target(scope: Scope, public_origin: str) -> str:
    """The absolute URI that a client of `public_origin` must have meant: origin, raw path and raw query, untouched.

    The bytes are those of the request line, before any percent-decoding; `raw_path` is part of what our servers give.
    """
    query: bytes = scope["query_string"]
    target: bytes = scope["raw_path"] + (b"?" + query if query else b"")
    return f"https://{_authority(public_origin)}{target.decode('latin-1')}"


@lru_cache(maxsize=64)
def _authority(public_origin: str) -> str:
    return read_origin(public_origin).authority


async def read_signed(
    scope: Scope,
    receive: Receive,
    *,
    public_origin: str,
    now: int,
    seen: Callable[[str, str, int], bool],
    cap: int,
) -> tuple[SignedRequest, bytes]:
    """Reads the body and verifies the signature over it; `now` in seconds since 1970.

    Refused as `verify_request` (and `body_too_large`); PeerUnreachable when the client left. `seen(thumbprint, nonce,
    keep_until)` runs on the event loop and may not block: an endpoint that spends nonces in its unit of work hands in
    one that notes the three and answers False, and spends them, first thing, in that unit.
    """
    body = await read_body(receive, cap)
    target = request_target(scope, public_origin)
    return verify_request(scope["method"], target, body, scope["headers"], now=now, seen=seen), body
