"""An authorization server on loopback: strict about what it is sent, and with every answer a script can ask for."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, parse_qsl, urlsplit

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sayso.control.provider.catalog.rows import OAuthFlow
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving

CLIENT = "client-1"
HOST = "login.example"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class OAuthServer:
    """`polls` are the answers to device polls, in turn; the last one again. `asked` is every form it was sent."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.polls: list[Response] = []
        self.token = {"access_token": "at-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-1"}
        self.device = {
            "device_code": "dc-1", "user_code": "WDJB-MJHT", "verification_uri": f"https://{HOST}/device",
            "expires_in": 60, "interval": 5,
        }  # fmt: skip
        self.token_answer: Response | None = None
        self.refresh_tokens = {"rt-1"}
        self.codes: dict[str, tuple[str, str]] = {}
        self.count = 1
        self.hold: anyio.Event | None = None
        self.place = ""

    def flow(self, **more: object) -> OAuthFlow:
        members = {
            "token_endpoint": f"https://{HOST}/token", "device_endpoint": f"https://{HOST}/device/code",
            "authorization_endpoint": f"https://{HOST}/authorize", "client_id": CLIENT, "scopes": ("read", "write"),
        }  # fmt: skip
        return OAuthFlow(**{**members, **more})  # type: ignore[arg-type]

    def consent(self, url: str) -> str:
        """The person at the vendor's page says yes: where their browser is sent back to."""
        given = dict(parse_qsl(urlsplit(url).query))
        assert given["response_type"] == "code"
        assert given["code_challenge_method"] == "S256"
        assert given["client_id"] == CLIENT
        code = f"code-{len(self.codes) + 1}"
        self.codes[code] = (given["code_challenge"], given["redirect_uri"])
        return f"{given['redirect_uri']}?code={code}&state={given['state']}"

    async def begin(self, request: Request) -> Response:
        self._note(await request.body())
        return JSONResponse(self.device)

    async def give(self, request: Request) -> Response:
        form = self._note(await request.body())
        if self.hold is not None:
            await self.hold.wait()
        if self.token_answer is not None:
            return self.token_answer
        grants = {"authorization_code": self._code, "refresh_token": self._refresh, DEVICE_GRANT: self._device}
        return grants[form["grant_type"]](form)

    def _note(self, body: bytes) -> dict[str, str]:
        form = {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}
        self.asked.append(form)
        assert form["client_id"] == CLIENT
        return form

    def _device(self, form: dict[str, str]) -> Response:
        assert form["device_code"] == "dc-1"
        return self.polls.pop(0) if len(self.polls) > 1 else self.polls[0]

    def _code(self, form: dict[str, str]) -> Response:
        challenge, back = self.codes.pop(form["code"], ("", ""))
        made = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if made != challenge or form["redirect_uri"] != back:
            return error("invalid_grant")
        return JSONResponse(self.token)

    def _refresh(self, form: dict[str, str]) -> Response:
        """A refresh token is good once: the answer holds the next."""
        if form["refresh_token"] not in self.refresh_tokens:
            return error("invalid_grant")
        self.count += 1
        self.refresh_tokens = {f"rt-{self.count}"}
        return JSONResponse({**self.token, "access_token": f"at-{self.count}", "refresh_token": f"rt-{self.count}"})


def error(code: str, status: int = 400) -> Response:
    """An answer that says no, with a description nobody should ever repeat."""
    return JSONResponse({"error": code, "error_description": "SECRET-DESCRIPTION"}, status_code=status)


@asynccontextmanager
async def oauth_server() -> AsyncIterator[tuple[OAuthServer, Fetcher]]:
    it = OAuthServer()
    routes = [
        Route("/device/code", it.begin, methods=["POST"]),
        Route("/token", it.give, methods=["POST"]),
        # Where the catalog's own device flow asks.
        Route("/login/device/code", it.begin, methods=["POST"]),
        Route("/login/oauth/access_token", it.give, methods=["POST"]),
    ]
    async with serving(Starlette(routes=routes)) as address:
        it.place = f"127.0.0.1:{address.port}"
        async with Fetcher({HOST: it.place}) as fetcher:
            yield it, fetcher
