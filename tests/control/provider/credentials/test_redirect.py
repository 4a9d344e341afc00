"""The browser flow against a loopback server: PKCE, state, who may knock at the port, and every way it ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio
import httpx2
import pytest
from starlette.responses import JSONResponse

from sayso.control.provider.credentials.oauth.redirect import challenge_of, sign_in_in_a_browser
from sayso.control.provider.credentials.values import OAuthToken
from sayso.core.clock import ManualClock
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from tests.control.provider.credentials.oauth_server import OAuthServer, error, oauth_server

START = datetime(2026, 10, 13, 13, tzinfo=UTC)
pytestmark = [pytest.mark.anyio, pytest.mark.req("OAP-151")]


class Flow:
    """A sign-in under way, and the person's browser."""

    def __init__(self, server: OAuthServer, fetcher: Fetcher, group: anyio.abc.TaskGroup) -> None:
        self.clock = ManualClock(START)
        self.result: OAuthToken | Refused | None = None
        self._shown = anyio.Event()
        self._ended = anyio.Event()
        self.address = ""

        def show(url: str) -> None:
            self.address = url
            self._shown.set()

        async def work() -> None:
            try:
                self.result = await sign_in_in_a_browser(
                    server.flow(), {}, fetcher=fetcher, clock=self.clock, ids=SystemIds(), show=show
                )
            except Refused as refused:
                self.result = refused
            self._ended.set()

        group.start_soon(work)

    async def shown(self) -> str:
        await self._shown.wait()
        return self.address

    async def ended(self) -> OAuthToken | Refused | None:
        await self._ended.wait()
        return self.result

    async def browse(self, url: str, **headers: str) -> tuple[int, str]:
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(url, headers=headers)
            return answer.status_code, answer.text


async def test_a_browser_comes_back_with_a_code_and_the_verifier_proves_who_asked() -> None:
    """The server checks the challenge and the redirect address, and only then gives the token."""
    async with oauth_server() as (server, fetcher), anyio.create_task_group() as group:
        flow = Flow(server, fetcher, group)
        back = server.consent(await flow.shown())
        status, page = await flow.browse(back)
        assert (status, "close this window" in page) == (200, True)
        result = await flow.ended()
    assert isinstance(result, OAuthToken)
    assert (result.access_token, result.refresh_token) == ("at-1", "rt-1")
    assert "code_verifier" in server.asked[0]
    assert server.asked[0]["code_verifier"] not in flow.address


async def test_another_state_changes_nothing_and_the_flow_goes_on() -> None:
    """Somebody else on this machine, a page that guesses, a member twice: 400, and the right return still counts."""
    async with oauth_server() as (server, fetcher), anyio.create_task_group() as group:
        flow = Flow(server, fetcher, group)
        back = server.consent(await flow.shown())
        port = back.partition("?")[0]
        wrong = [f"{port}?code=evil&state=guess", f"{port}?code=evil", port, f"{back}&code=evil", f"{back}&state=x"]
        assert [(await flow.browse(url))[0] for url in wrong] == [400] * 5
        assert (await flow.browse(back, Host="evil.example"))[0] == 403
        assert (await flow.browse(back, Origin="https://evil.example"))[0] == 403
        assert server.asked == []
        assert (await flow.browse(back))[0] == 200
        result = await flow.ended()
    assert isinstance(result, OAuthToken)
    assert [form["code"] for form in server.asked] == ["code-1"]


@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        ("access_denied", "credential_rejected", "denied"),
        ("server_error", "provider_unavailable", "server"),
        ("%1b%5b2J-made-up", "credential_rejected", "refused"),
    ],
)
async def test_a_no_at_the_vendors_page_ends_the_flow(said: str, code: str, reason: str) -> None:
    """Nothing is exchanged; a word of the vendor's own is not repeated."""
    async with oauth_server() as (server, fetcher), anyio.create_task_group() as group:
        flow = Flow(server, fetcher, group)
        back = server.consent(await flow.shown())
        state = back.partition("&")[2]
        await flow.browse(f"{back.partition('?')[0]}?error={said}&error_description=SECRET&{state}")
        result = await flow.ended()
    assert isinstance(result, Refused)
    assert (result.refusal.code, result.refusal.reason) == (code, reason)
    assert "SECRET" not in str(result)
    assert "made-up" not in str(result)
    assert server.asked == []


async def test_a_code_that_is_not_ours_is_worth_nothing() -> None:
    """A code of another flow, put in with our state: the verifier does not fit, and no token comes of it."""
    async with oauth_server() as (server, fetcher), anyio.create_task_group() as group:
        flow = Flow(server, fetcher, group)
        back = server.consent(await flow.shown())
        server.codes["stolen"] = (challenge_of("another verifier"), back.partition("?")[0])
        await flow.browse(back.replace("code-1", "stolen"))
        result = await flow.ended()
    assert isinstance(result, Refused)
    assert result.refusal.code == "credential_expired"


async def test_nobody_comes_back_within_ten_minutes() -> None:
    """The port is closed and the flow ends."""
    async with oauth_server() as (server, fetcher), anyio.create_task_group() as group:
        flow = Flow(server, fetcher, group)
        back = server.consent(await flow.shown())
        while not flow.clock.sleepers:
            await anyio.sleep(0)
        flow.clock.advance(timedelta(minutes=10))
        result = await flow.ended()
        with pytest.raises(httpx2.ConnectError):
            await flow.browse(back)
    assert isinstance(result, Refused)
    assert (result.refusal.code, result.refusal.reason) == ("credential_expired", "too_late")


@pytest.mark.parametrize(
    ("answer", "code"),
    [(error("invalid_grant"), "credential_expired"), (JSONResponse([]), "endpoint_error"),
     (error("server_error", 503), "provider_unavailable")],
)  # fmt: skip
async def test_a_code_that_cannot_be_exchanged_is_told(answer: JSONResponse, code: str) -> None:
    """After the browser has been thanked."""
    async with oauth_server() as (server, fetcher), anyio.create_task_group() as group:
        server.token_answer = answer
        flow = Flow(server, fetcher, group)
        await flow.browse(server.consent(await flow.shown()))
        result = await flow.ended()
    assert isinstance(result, Refused)
    assert result.refusal.code == code
    assert "SECRET" not in str(result)


async def test_each_flow_has_its_own_state_and_verifier() -> None:
    """RFC 7636, appendix B, for the challenge; nothing of one flow fits another."""
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    async with oauth_server() as (server, fetcher), anyio.create_task_group() as group:
        one, two = Flow(server, fetcher, group), Flow(server, fetcher, group)
        back_one, back_two = server.consent(await one.shown()), server.consent(await two.shown())
        swapped = back_one.partition("?")[0] + "?" + back_two.partition("?")[2]
        assert (await one.browse(swapped))[0] == 400
        await one.browse(back_one)
        await two.browse(back_two)
        await one.ended()
        await two.ended()
    assert server.asked[0]["code_verifier"] != server.asked[1]["code_verifier"]
    assert all(len(form["code_verifier"]) >= 43 for form in server.asked)
