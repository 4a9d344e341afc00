"""Signing in and out from the conversation, by OAuth: what is shown, what is kept, and how it is stopped."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx2
import pytest
from starlette.responses import JSONResponse
from textual.pilot import Pilot

from sayso.apps.tui.app import SaysoApp
from sayso.apps.tui.pickers import Picker
from sayso.apps.tui.prompts import Told
from tests.apps.cli.test_auth import offer, stored
from tests.apps.tui.seating import enter, running, screen, told, until
from tests.apps.tui.view.stage import picture_of
from tests.control.provider.credentials.oauth_server import HOST, OAuthServer, oauth_server

pytestmark = pytest.mark.anyio
SECRETS = ("at-1", "rt-1", "code-1")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    return tmp_path / "home"


def _meets(home: Path, server: OAuthServer) -> None:
    (home / "settings.toml").write_text(f'[resolve]\n"{HOST}" = "{server.place}"\n')
    (home / "settings.toml").chmod(0o600)


def _shown(app: SaysoApp) -> str:
    return app.screen._text if isinstance(app.screen, Told) else ""


async def _begin(pilot: Pilot[None], app: SaysoApp) -> None:
    """The first of the ways, which is the one without a key."""
    await enter(pilot, "/login toy")
    await until(pilot, lambda: isinstance(app.screen, Picker))
    await pilot.press("enter")


@pytest.mark.req("OAP-208", "OAP-211")
async def test_a_code_for_another_device_signs_in_and_logout_forgets_it(home: Path) -> None:
    """The code stands on the screen whole at 80 by 24; the token on no screen, and after `/logout` nowhere."""
    offer(home, device_endpoint=f"https://{HOST}/device/code")
    async with oauth_server() as (server, _):
        _meets(home, server)
        server.device["interval"] = 1
        server.polls, server.hold = [JSONResponse(server.token)], anyio.Event()
        app = screen(home.parent)
        async with running(app) as pilot:
            await _begin(pilot, app)
            await until(pilot, lambda: "WDJB-MJHT" in picture_of(app))
            assert f"https://{HOST}/device" in picture_of(app)
            server.hold.set()
            await until(pilot, lambda: "Signed in to toy. It is in auth.json in your home." in told(app))
            assert not isinstance(app.screen, Told)
            assert stored(home)["toy"]["access_token"] == "at-1"
            assert not any(secret in told(app) for secret in SECRETS)
            await until(pilot, lambda: app.standings is not None and app.standings["toy"].is_ready)
            await enter(pilot, "/logout toy")
            await until(pilot, lambda: "Forgotten: toy." in told(app))
            await until(pilot, lambda: app.standings is not None and not app.standings["toy"].is_ready)
    assert not any("at-1" in path.read_text() for path in home.rglob("*") if path.is_file())


@pytest.mark.req("OAP-208", "OAP-211")
async def test_a_browser_comes_back_with_the_token(home: Path) -> None:
    """The address is shown whole, to be opened on this machine."""
    offer(home, authorization_endpoint=f"https://{HOST}/authorize")
    async with oauth_server() as (server, _):
        _meets(home, server)
        app = screen(home.parent)
        async with running(app) as pilot:
            await _begin(pilot, app)
            await until(pilot, lambda: "code_challenge_method=S256" in _shown(app))
            drawn = "".join(line.strip(" │") for line in picture_of(app).splitlines())
            address = _shown(app).splitlines()[-1]
            assert address in drawn
            async with httpx2.AsyncClient() as browser:
                assert (await browser.get(server.consent(address))).status_code == 200
            await until(pilot, lambda: "Signed in to toy." in told(app))
    assert stored(home)["toy"]["refresh_token"] == "rt-1"


@pytest.mark.req("OAP-208")
async def test_escape_stops_a_sign_in_and_nothing_is_kept(home: Path) -> None:
    """And the composer has the keys again."""
    offer(home, device_endpoint=f"https://{HOST}/device/code")
    async with oauth_server() as (server, _):
        _meets(home, server)
        app = screen(home.parent)
        async with running(app) as pilot:
            await _begin(pilot, app)
            await until(pilot, lambda: "WDJB-MJHT" in _shown(app))
            await pilot.press("escape")
            await until(pilot, lambda: "Nothing was kept." in told(app))
            await pilot.press("h", "i")
            await until(pilot, lambda: app.query_one("#composer").has_focus)
    assert not (home / "auth.json").exists()


@pytest.mark.req("OAP-208")
async def test_a_sign_in_that_cannot_begin_is_a_sentence(home: Path) -> None:
    """Where no client of ours is registered, what is missing is named, and the conversation goes on."""
    app = screen(home.parent)
    async with running(app) as pilot:
        await enter(pilot, "/login github-copilot")
        await until(pilot, lambda: "SAYSO_GITHUB_COPILOT_CLIENT_ID" in told(app))
        await until(pilot, lambda: app.query_one("#composer").has_focus)
    assert app.failure is None
