"""The device flow against a loopback server: every answer of RFC 8628, and what is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import anyio
import pytest
from starlette.responses import JSONResponse, Response

from sayso.control.provider.catalog.rows import OAuthFlow
from sayso.control.provider.credentials.oauth.device import DeviceCode, sign_in_on_a_device
from sayso.control.provider.credentials.values import OAuthToken
from sayso.core.clock import ManualClock
from sayso.core.instants import epoch
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.net.fetch import Fetcher
from tests.control.provider.credentials.oauth_server import OAuthServer, error, oauth_server

START = datetime(2026, 10, 13, 13, tzinfo=UTC)
pytestmark = [pytest.mark.anyio, pytest.mark.req("OAP-151")]


def not_shown(_: DeviceCode) -> None:
    pytest.fail("shown")


async def run(
    server: OAuthServer,
    fetcher: Fetcher,
    *,
    flow: OAuthFlow | None = None,
    environ: Mapping[str, str] | None = None,
    show: Callable[[DeviceCode], None] = lambda _: None,
) -> tuple[OAuthToken, list[int]]:
    """Moves the clock to each moment the flow waits for; gives the token and the waits between polls."""
    clock, waits, done = ManualClock(START), [], []

    async def sign_in() -> None:
        done.append(
            await sign_in_on_a_device(flow or server.flow(), environ or {}, fetcher=fetcher, clock=clock, show=show)
        )
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(sign_in)
        while True:
            while not clock.sleepers:
                await anyio.sleep(0)
            polls, waited = len(server.asked), 0
            while clock.sleepers:
                clock.advance(timedelta(seconds=1))
                waited += 1
                await anyio.sleep(0)
                await anyio.sleep(0)
            waits.append(waited)
            while len(server.asked) == polls:
                await anyio.sleep(0)
    return done[0], waits


def refused(group: BaseExceptionGroup[BaseException]) -> BaseException:
    return group.exceptions[0]


async def test_a_code_is_shown_and_the_server_asked_at_its_pace() -> None:
    """Pending twice, slowed down once by five seconds, then the token with its expiry."""
    async with oauth_server() as (server, fetcher):
        pending = error("authorization_pending")
        server.polls = [pending, error("slow_down"), pending, JSONResponse(server.token)]
        shown: list[DeviceCode] = []
        token, waits = await run(server, fetcher, show=shown.append)
    assert shown == [DeviceCode(user_code="WDJB-MJHT", url="https://login.example/device", minutes=1)]
    assert waits == [5, 5, 10, 10]
    expires = epoch(START) + 30 + 3600
    assert token == OAuthToken(access_token="at-1", refresh_token="rt-1", expires_at=expires)
    assert server.asked[0] == {"client_id": "client-1", "scope": "read write"}


async def test_pending_in_a_200_is_pending_all_the_same() -> None:
    """As GitHub answers."""
    async with oauth_server() as (server, fetcher):
        server.polls = [error("authorization_pending", 200), JSONResponse(server.token)]
        token, waits = await run(server, fetcher)
    assert (token.access_token, waits) == ("at-1", [5, 5])


async def test_a_server_that_fails_is_asked_again_ever_more_slowly() -> None:
    """A 503 is no answer; each wait is twice the last."""
    async with oauth_server() as (server, fetcher):
        server.polls = [Response(status_code=503), Response(status_code=502), JSONResponse(server.token)]
        _, waits = await run(server, fetcher)
    assert waits == [5, 10, 20]


@pytest.mark.parametrize(
    ("answer", "code", "reason"),
    [
        (error("access_denied"), "credential_rejected", "denied"),
        (error("expired_token"), "credential_expired", "too_late"),
        (error("invalid_client", 401), "credential_rejected", "client_id"),
        (error("made_up_by_a_vendor"), "credential_rejected", "refused"),
        (JSONResponse({"token_type": "bearer"}), "endpoint_error", None),
        (JSONResponse({"access_token": "at", "token_type": "mac"}), "endpoint_error", None),
        (JSONResponse({"access_token": "a\nb"}), "endpoint_error", None),
        (Response(b"<html>", media_type="text/html"), "endpoint_error", None),
    ],
)
async def test_a_no_ends_the_flow_and_is_told_in_our_words(answer: Response, code: str, reason: str | None) -> None:
    """The server's own description is never repeated, nor a code of its own making."""
    async with oauth_server() as (server, fetcher):
        server.polls = [answer]
        with pytest.raises(BaseExceptionGroup) as group:
            await run(server, fetcher)
    found = refused(group.value)
    assert isinstance(found, Refused)
    assert (found.refusal.code, found.refusal.reason) == (code, reason)
    assert "SECRET" not in str(found)
    assert "made_up" not in str(found)


async def test_nobody_types_the_code_in_time() -> None:
    """The flow ends by itself when the code has expired, and does not ask again after."""
    async with oauth_server() as (server, fetcher):
        server.polls = [error("authorization_pending")]
        server.device["expires_in"] = 12
        with pytest.raises(BaseExceptionGroup) as group:
            await run(server, fetcher)
        assert len(server.asked) == 3
    found = refused(group.value)
    assert isinstance(found, Refused)
    assert found.refusal.code == "credential_expired"


@pytest.mark.parametrize(
    "change",
    [{"user_code": "\x1b[2J"}, {"verification_uri": "http://x.example"}, {"device_code": 3}, {"user_code": ""}],
)
async def test_what_would_be_shown_is_plain_and_https(change: dict[str, object]) -> None:
    """A control sequence in a code, or a page in the clear, is no answer."""
    async with oauth_server() as (server, fetcher):
        server.device.update(change)  # type: ignore[arg-type]
        clock = ManualClock(START)
        with pytest.raises(Refused) as refusal:
            await sign_in_on_a_device(server.flow(), {}, fetcher=fetcher, clock=clock, show=not_shown)
    assert refusal.value.refusal.code == "endpoint_error"


async def test_without_a_client_id_nobody_is_asked() -> None:
    """The operator's own registration, by the name of a variable."""
    async with oauth_server() as (server, fetcher):
        flow = server.flow(client_id=None, client_id_env="TOY_CLIENT_ID")
        clock = ManualClock(START)
        with pytest.raises(Refused) as refusal:
            await sign_in_on_a_device(flow, {}, fetcher=fetcher, clock=clock, show=lambda _: None)
        assert server.asked == []
        assert (refusal.value.refusal.code, refusal.value.refusal.reason) == ("credential_missing", "client_id")
        assert "TOY_CLIENT_ID" in str(refusal.value)
        server.polls = [JSONResponse(server.token)]
        environ = {"TOY_CLIENT_ID": "client-1"}
        token, _ = await run(server, fetcher, flow=flow, environ=environ)
    assert token.access_token == "at-1"


async def test_a_server_that_is_not_there_is_told_before_anything_is_shown() -> None:
    """No code, no wait."""
    async with oauth_server() as (server, fetcher):
        flow = server.flow()
    with pytest.raises(PeerUnreachable):
        await sign_in_on_a_device(flow, {}, fetcher=fetcher, clock=ManualClock(START), show=not_shown)
