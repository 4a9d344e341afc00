"""`sayso auth` as a command: a key typed unseen, sign-ins against a loopback server, and its exit codes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.abc
import httpx2
import pytest
from starlette.responses import JSONResponse

from tests.control.provider.credentials.oauth_server import CLIENT, HOST, OAuthServer, error, oauth_server
from tests.journeys.house import environment, sayso
from tests.journeys.terminal import at_terminal

ROOT = Path(__file__).parents[3]
SECRET = "sk-typed-secret"


def stored(home: Path) -> dict[str, dict[str, object]]:
    return json.loads((home / "auth.json").read_text())["providers"]


def state(home: Path, id_: str, **environ: str) -> dict[str, object]:
    rows = sayso("auth", "providers", "--home", str(home), "--format", "json", **environ).json["providers"]
    return next(row for row in rows if row["id"] == id_)


@pytest.mark.req("OAP-150", "OAP-151", "OAP-154", "OAP-213")
def test_a_key_is_typed_unseen_and_kept_and_forgotten(tmp_path: Path) -> None:
    """At a terminal; the key is on no screen, and afterwards in one file of 0600."""
    home = tmp_path / "home"
    with at_terminal(["auth", "login", "--provider", "kimi", "--home", str(home)]) as (screen, child):
        screen.wait_for("Key for Kimi (not shown): ")
        screen.type(SECRET)
        text = screen.rest()
        assert child.wait() == 0
    assert "Kept the key for Kimi. It is in auth.json in your home." in text
    assert SECRET not in text
    assert stored(home)["kimi"]["key"] == SECRET
    assert (home / "auth.json").stat().st_mode & 0o777 == 0o600
    assert state(home, "kimi") == {
        "id": "kimi", "name": "Kimi", "auth_kinds": ["api_key"], "auth_status": "authenticated", "source": "file"
    }  # fmt: skip
    listed = sayso("auth", "providers", "--home", str(home))
    assert "ready (auth.json)" in listed.out
    assert SECRET not in listed.out + listed.err
    gone = sayso("auth", "logout", "--provider", "kimi", "--home", str(home))
    assert (gone.code, gone.out) == (0, "Forgotten: Kimi.\n")
    assert state(home, "kimi")["auth_status"] == "login_required"
    again = sayso("auth", "logout", "--provider", "kimi", "--home", str(home))
    assert (again.code, again.out) == (0, "Nothing was stored for Kimi.\n")


@pytest.mark.req("OAP-151", "OAP-213")
def test_a_key_that_is_none_is_refused_without_its_text(tmp_path: Path) -> None:
    """Exit 1: the act itself failed."""
    with at_terminal(["auth", "login", "--provider", "kimi", "--home", str(tmp_path / "home")]) as (screen, child):
        screen.wait_for("(not shown): ")
        screen.type(f"{SECRET} {SECRET}")
        text = screen.rest()
        assert child.wait() == 1
    assert "holds no usable key" in text
    assert SECRET not in text
    assert not (tmp_path / "home" / "auth.json").exists()


@pytest.mark.req("OAP-151", "OAP-154", "OAP-213")
def test_without_a_terminal_no_key_is_taken(tmp_path: Path) -> None:
    """Not from a pipe, and there is no option for one; nothing was started."""
    piped = sayso("auth", "login", "--provider", "kimi", "--home", str(tmp_path / "home"), answers=f"{SECRET}\n")
    assert (piped.code, piped.out) == (3, "")
    assert sayso("auth", "login", "--provider", "kimi", "--key", SECRET).code == 2
    assert not (tmp_path / "home" / "auth.json").exists()


@pytest.mark.req("OAP-213")
@pytest.mark.parametrize(
    "words",
    [
        ("login",), ("login", "--provider", "kimy"), ("login", "--provider", "kimi", "--with", "device"),
        ("login", "--provider", "anthropic", "--with", "browser"), ("logout", "--provider", "nobody"), ("loggin",),
    ],
)  # fmt: skip
def test_calling_it_wrongly_exits_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    """No provider, one that is not there, a way it does not have."""
    assert sayso("auth", *words, *(("--home", str(tmp_path / "h")) if len(words) > 1 else ())).code == 2


@pytest.mark.req("OAP-150", "OAP-213")
def test_a_store_others_can_read_is_not_used(tmp_path: Path) -> None:
    """It could not start; the file stays as it was, and nobody signs in for nothing."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "auth.json").write_text('{"v": 1, "providers": {}}')
    (home / "auth.json").chmod(0o644)
    found = sayso("auth", "providers", "--home", str(home))
    assert (found.code, found.out) == (3, "")
    assert "chmod 600" in found.err
    begun = sayso("auth", "login", "--provider", "kimi", "--home", str(home))
    assert (begun.code, begun.out, "chmod 600" in begun.err) == (3, "", True)
    asked = sayso("run", "hello", "--home", str(home), "--workspace", str(tmp_path))
    assert (asked.code, asked.out, "chmod 600" in asked.err) == (3, "", True)


@pytest.mark.req("OAP-152", "OAP-151")
def test_a_variable_is_told_as_where_the_key_is_and_goes_first(tmp_path: Path) -> None:
    """Whoever signs out with it still set hears that it counts."""
    home = tmp_path / "home"
    found = state(home, "kimi", KIMI_API_KEY=SECRET)
    assert (found["auth_status"], found["source"], found["variable"]) == (
        "authenticated",
        "environment",
        "KIMI_API_KEY",
    )
    bad = sayso("auth", "providers", "--home", str(home), KIMI_API_KEY=f"{SECRET} x", GOOGLE_API_KEY="k")
    assert (bad.code, SECRET in bad.out) == (0, False)
    assert "holds no usable key (KIMI_API_KEY)" in bad.out
    assert "ready (GOOGLE_API_KEY)" in bad.out
    out = sayso("auth", "logout", "--provider", "kimi", "--home", str(home), KIMI_API_KEY=SECRET)
    assert (out.code, out.err) == (0, "KIMI_API_KEY is set here and goes first.\n")


def offer(home: Path, **flow: object) -> None:
    """A provider of one's own that is signed in to at the loopback server."""
    home.mkdir(mode=0o700, exist_ok=True)
    oauth = {"token_endpoint": f"https://{HOST}/token", "client_id": CLIENT, "scopes": ["read"], **flow}
    entry = {"base_url": "https://api.toy.example/v1", "oauth": oauth, "oauth_origin": {"domain": "toy.example"}}
    (home / "providers.json").write_text(json.dumps({"providers": {"toy": entry}}))


@asynccontextmanager
async def signing_in(home: Path, server: OAuthServer) -> AsyncIterator[anyio.abc.Process]:
    words = ["auth", "login", "--provider", "toy", "--home", str(home), "--resolve", f"{HOST}={server.place}"]
    async with await anyio.open_process([sys.executable, "-m", "sayso", *words], env=environment()) as child:
        yield child


async def heard(child: anyio.abc.Process, words: str) -> str:
    """What the command printed until these words."""
    text = ""
    assert child.stdout is not None
    while words not in text:
        text += (await child.stdout.receive()).decode()
    return text


@pytest.mark.anyio
@pytest.mark.req("OAP-151", "OAP-154", "OAP-213")
async def test_signing_in_in_a_browser_keeps_a_token_for_its_own_origin(tmp_path: Path) -> None:
    """The address is printed, the browser comes back, and neither code nor token is ever on the screen."""
    home = tmp_path / "home"
    offer(home, authorization_endpoint=f"https://{HOST}/authorize")
    async with oauth_server() as (server, _), signing_in(home, server) as child:
        text = await heard(child, "code_challenge_method=S256\n")
        back = server.consent(text.strip().splitlines()[-1])
        async with httpx2.AsyncClient() as browser:
            assert (await browser.get(back)).status_code == 200
        text += await heard(child, "Signed in to toy. It is in auth.json in your home.\n")
        assert await child.wait() == 0
    assert not any(secret in text for secret in ("at-1", "rt-1", "code-1"))
    assert (stored(home)["toy"]["access_token"], stored(home)["toy"]["refresh_token"]) == ("at-1", "rt-1")
    assert state(home, "toy")["auth_status"] == "authenticated"


@pytest.mark.anyio
@pytest.mark.req("OAP-151", "OAP-213")
async def test_signing_in_on_another_device_and_being_denied(tmp_path: Path) -> None:
    """The code is printed; a no is exit 1 in our words, and nothing is kept."""
    home = tmp_path / "home"
    offer(home, device_endpoint=f"https://{HOST}/device/code")
    async with oauth_server() as (server, _):
        server.device["interval"] = 1
        server.polls = [JSONResponse(server.token)]
        async with signing_in(home, server) as child:
            assert "and type WDJB-MJHT there" in await heard(child, "Ctrl-C stops.\n")
            assert await child.wait() == 0
        assert stored(home)["toy"]["access_token"] == "at-1"
        (home / "auth.json").unlink()
        server.polls = [error("access_denied")]
        async with signing_in(home, server) as child:
            assert child.stderr is not None
            assert await child.wait() == 1
            said = (await child.stderr.receive()).decode()
    assert "The sign-in was denied" in said
    assert "SECRET" not in said
    assert not (home / "auth.json").exists()


@pytest.mark.req("OAP-150", "OAP-151", "OAP-213")
def test_a_keyring_that_is_locked_may_still_hold_what_was_to_be_forgotten(tmp_path: Path) -> None:
    """Whoever signs out is told, and the exit code says that it is not done."""
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    locked = {"PYTHON_KEYRING_BACKEND": "tests.control.provider.credentials.keyrings.Failing", "PYTHONPATH": paths}
    out = sayso("auth", "logout", "--provider", "kimi", "--home", str(tmp_path / "home"), **locked)
    assert (out.code, "RuntimeError" in out.err, "may still be there" in out.err) == (1, True, True)
    assert "RuntimeError" in sayso("auth", "providers", "--home", str(tmp_path / "home"), **locked).err


@pytest.mark.anyio
@pytest.mark.req("OAP-151")
async def test_over_ssh_the_way_back_is_told(tmp_path: Path) -> None:
    """The browser is on another machine, and the port it has to come back to is on this one."""
    home = tmp_path / "home"
    offer(home, authorization_endpoint=f"https://{HOST}/authorize")
    words = ["auth", "login", "--provider", "toy", "--home", str(home)]
    env = environment(SSH_CONNECTION="192.0.2.1 50000 192.0.2.2 22")
    async with await anyio.open_process([sys.executable, "-m", "sayso", *words], env=env) as child:
        text = await heard(child, " HERE\n")
        child.send_signal(2)
        assert await child.wait() == 1
    port = parse_qs(urlsplit(text.split("\n")[1]).query)["redirect_uri"][0].split(":")[2].split("/")[0]
    assert f"ssh -L {port}:localhost:{port} HERE" in text


@pytest.mark.req("OAP-151", "OAP-213")
def test_ctrl_c_at_the_prompt_keeps_nothing(tmp_path: Path) -> None:
    """Exit 1, and nothing of what was typed."""
    with at_terminal(["auth", "login", "--provider", "kimi", "--home", str(tmp_path / "home")]) as (screen, child):
        screen.wait_for("(not shown): ")
        screen.press_ctrl_c()
        assert "Stopped." in screen.rest()
        assert child.wait() == 1
    assert not (tmp_path / "home" / "auth.json").exists()


@pytest.mark.anyio
@pytest.mark.req("OAP-151", "OAP-213")
async def test_ctrl_c_ends_a_sign_in_with_nothing_kept(tmp_path: Path) -> None:
    """Exit 1, and the port is free again."""
    home = tmp_path / "home"
    offer(home, authorization_endpoint=f"https://{HOST}/authorize")
    async with oauth_server() as (server, _), signing_in(home, server) as child:
        await heard(child, "code_challenge_method=S256\n")
        child.send_signal(2)
        assert await child.wait() == 1
    assert not (home / "auth.json").exists()
