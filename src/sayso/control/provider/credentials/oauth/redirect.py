"""The browser flow: out to the vendor, back to a port of ours on loopback, with PKCE (RFC 6749, 7636, 8252).

Whoever else is on this machine can knock on that port: what comes with another `state` is answered with 400 and
changes nothing, and a code without the verifier that only this process knows is worth nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from urllib.parse import urlencode, urlsplit

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from sayso.control.provider.catalog.rows import OAuthFlow
from sayso.control.provider.credentials.oauth.endpoint import client_id_of, post, read_token, refused_by_server
from sayso.control.provider.credentials.values import OAuthToken
from sayso.core import b64u
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.instants import epoch
from sayso.core.refusal import Misuse
from sayso.net.edge import LOOPBACK_HOSTS, Edge
from sayso.net.fetch import Fetcher
from sayso.net.listen import LOOPBACK, serving

__all__ = ("BrowserSignIn", "begin_in_a_browser", "challenge_of", "sign_in_in_a_browser")

_LIFE = timedelta(minutes=10)
_BODY_CAP = 1024
_LONGEST_CODE = 4096
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'",
    "referrer-policy": "no-referrer",
}
_ERRORS = frozenset(("access_denied", "invalid_scope", "server_error", "temporarily_unavailable"))


class _Return(msgspec.Struct, frozen=True, kw_only=True):
    """How the browser came back: with a code or an error."""

    code: str | None = None
    error: str | None = None

    def __repr__(self) -> str:
        return f"_Return(error={self.error})"


class _Landing:
    """Waits for the one return that has our state."""

    def __init__(self, state: str) -> None:
        self._state = state
        self.came = anyio.Event()
        self.found: _Return | None = None

    async def receive(self, request: Request) -> PlainTextResponse:
        """Answers the browser. Each member may stand once; a second return with the right state is one too many."""
        pairs = request.query_params.multi_items()
        given = dict(pairs)
        is_ours = hmac.compare_digest(given.get("state", "").encode(), self._state.encode())
        if not is_ours or len(given) != len(pairs) or self.found is not None:
            return _page("This is not the sign-in that was begun here. Nothing was changed.", 400)
        code, error = given.get("code"), given.get("error")
        if error is not None:
            self.found = _Return(error=error if error in _ERRORS else "unknown")
        elif code and len(code) <= _LONGEST_CODE:
            self.found = _Return(code=code)
        else:
            return _page("The vendor sent no code. Nothing was changed.", 400)
        self.came.set()
        return _page("Thank you. You can close this window and go back to the terminal.", 200)


async def sign_in_in_a_browser(
    flow: OAuthFlow,
    environ: Mapping[str, str],
    *,
    fetcher: Fetcher,
    clock: Clock,
    ids: Ids,
    show: Callable[[str], None],
) -> OAuthToken:
    """Shows an address to open, waits ten minutes for its return, and exchanges the code.

    Refused: `credential_rejected` (denied), `credential_expired` (nobody came back), `credential_missing` (no client
    id), `port_in_use`, `endpoint_error`; PeerUnreachable where the code could not be exchanged.
    """
    async with begin_in_a_browser(flow, environ, fetcher=fetcher, clock=clock, ids=ids) as begun:
        show(begun.url)
        return await begun.finish()


class BrowserSignIn:
    """A sign-in that waits for a browser to come back; `url` is what it opens, everything else stays here."""

    def __init__(
        self, url: str, landing: _Landing, exchange: Callable[[str], Awaitable[OAuthToken]], clock: Clock
    ) -> None:
        self.url = url
        self._landing = landing
        self._exchange = exchange
        self._clock = clock

    async def finish(self) -> OAuthToken:
        """Waits for the return and exchanges its code. Errors as `sign_in_in_a_browser`."""
        await _wait(self._landing, self._clock)
        if self._landing.found is None:
            raise refused_by_server("expired_token")
        if self._landing.found.code is None:
            raise refused_by_server(self._landing.found.error or "unknown")
        return await self._exchange(self._landing.found.code)


@asynccontextmanager
async def begin_in_a_browser(
    flow: OAuthFlow, environ: Mapping[str, str], *, fetcher: Fetcher, clock: Clock, ids: Ids
) -> AsyncIterator[BrowserSignIn]:
    """Listens on loopback for the return while the block runs. Refused `credential_missing`, `port_in_use`."""
    if flow.authorization_endpoint is None:
        raise Misuse("this flow has no authorization endpoint")
    client, state, verifier = client_id_of(flow, environ), ids.token(32), ids.token(32)
    landing = _Landing(state)
    routes = [Route(flow.redirect_path, landing.receive, methods=["GET"])]
    app = Edge(Starlette(routes=routes), hosts=LOOPBACK_HOSTS, body_cap=_BODY_CAP)
    async with serving(app, LOOPBACK, flow.redirect_port or 0) as address:
        back = f"http://{flow.redirect_host}:{address.port}{flow.redirect_path}"

        async def exchange(code: str) -> OAuthToken:
            form = {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": back,
                "client_id": client,
                "code_verifier": verifier,
            }
            answered = await post(fetcher, flow.token_endpoint, form)
            if answered.error is not None:
                raise refused_by_server(answered.error)
            return read_token(answered, epoch(clock.now()))

        url = _address(flow.authorization_endpoint, client, back, state, verifier, flow.scopes)
        yield BrowserSignIn(url, landing, exchange, clock)


def challenge_of(verifier: str) -> str:
    """RFC 7636, section 4.2, method S256."""
    return b64u.encode(hashlib.sha256(verifier.encode("ascii")).digest())


async def _wait(landing: _Landing, clock: Clock) -> None:
    async def give_up() -> None:
        await clock.sleep_until(clock.now() + _LIFE)
        landing.came.set()

    async with anyio.create_task_group() as group:
        group.start_soon(give_up)
        await landing.came.wait()
        group.cancel_scope.cancel()


def _address(endpoint: str, client: str, back: str, state: str, verifier: str, scopes: tuple[str, ...]) -> str:
    asked = {
        "response_type": "code",
        "client_id": client,
        "redirect_uri": back,
        "scope": " ".join(scopes),
        "state": state,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
    }
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(asked)}"


def _page(text: str, status: int) -> PlainTextResponse:
    return PlainTextResponse(f"{text}\n", status_code=status, headers=_HEADERS)
