"""Signing in, staying signed in, and the end of it, over real HTTP."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from sayso.apps.console.desk import Desk
from sayso.apps.console.logins import ABSOLUTE, IDLE
from sayso.apps.console.users import add_user, list_users, remove_user
from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.store.statements import statement
from sayso.store.tables.console import console_login, console_user
from tests.apps.console.desks import PASSPHRASE, PASSWORD, PASSWORDS, Browser, add, browsing, open_desk

pytestmark = pytest.mark.anyio
COOKIE = "sayso_console"


async def kinds(desk: Desk) -> list[str]:
    return [record.kind for record in await desk.ledger.records()]


@pytest.mark.req("GTW-060")
async def test_nobody_can_sign_in_before_a_user_is_added(folder: Path) -> None:
    """There is no default name and no default password; the page says how to add the first user."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        page = (await browser.open("/sign-in")).text
        assert "sayso console user add NAME" in page
        for name, password in (("admin", "admin"), ("owner", ""), ("", ""), ("ada", PASSWORD)):
            assert (await browser.sign_in(name, password)).status_code == 403
        await add(desk)
        assert "sayso console user add NAME" not in (await browser.open("/sign-in")).text
        assert (await browser.sign_in()).status_code == 303


@pytest.mark.req("GTW-060")
async def test_a_sign_in_is_a_cookie_that_no_script_and_no_other_site_gets(folder: Path) -> None:
    """HttpOnly, SameSite=Strict, gone with the browser; the database holds the hash of it, and of the password."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        answer = await browser.sign_in()
        (cookie,) = (each for each in answer.headers.get_list("set-cookie") if each.startswith(f"{COOKIE}="))
        token, *attributes = cookie.removeprefix(f"{COOKIE}=").split("; ")
        assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=strict"]
        kept = await desk.store.reading(lambda view: view.all(statement(select(console_login))))
        secrets = await desk.store.reading(lambda view: view.all(statement(select(console_user))))
        assert token not in str(kept)
        assert (PASSWORD in str(secrets), "$argon2id$" in str(secrets)) == (False, True)


@pytest.mark.req("GTW-060")
async def test_every_page_leads_whoever_is_not_signed_in_to_the_sign_in(folder: Path) -> None:
    """A page is not shown, a form is not acted on, and the script that follows changes is told so."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        answer = await browser.open("/agents")
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        answer = await browser.send("/agents", name="helper", scope="mcp", passphrase=PASSPHRASE)
        assert (answer.status_code, await desk.agents.list()) == (303, [])
        assert (await browser.open("/live")).status_code == 401
        part = await browser.open("/agents?part=1", **{"HX-Request": "true"})
        assert (part.status_code, part.headers["hx-redirect"]) == (401, "/sign-in")
        browser.client.cookies.set(COOKIE, "A" * 43)
        assert (await browser.open("/agents")).status_code == 303


@pytest.mark.req("GTW-060")
async def test_a_sign_in_ends_after_half_an_hour_of_nothing(folder: Path, clock: ManualClock) -> None:
    """What the person does counts; what an open page fetches by itself does not."""
    async with open_desk(folder, clock=clock) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        for _ in range(3):
            clock.advance(IDLE - timedelta(minutes=1))
            assert (await browser.open("/agents")).status_code == 200
        clock.advance(IDLE - timedelta(minutes=1))
        assert (await browser.open("/receipts?part=rows", **{"HX-Request": "true"})).status_code == 200
        clock.advance(timedelta(minutes=1))
        assert (await browser.open("/agents")).status_code == 303


@pytest.mark.req("GTW-060")
async def test_a_sign_in_ends_after_twelve_hours_whatever_is_done(folder: Path, clock: ManualClock) -> None:
    """Somebody who takes a cookie does not keep it alive for ever."""
    async with open_desk(folder, clock=clock) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        step = timedelta(minutes=20)
        for _ in range(ABSOLUTE // step - 1):
            clock.advance(step)
            assert (await browser.open("/agents")).status_code == 200
        clock.advance(step)
        assert (await browser.open("/agents")).status_code == 303


@pytest.mark.req("GTW-060")
async def test_signing_out_ends_that_sign_in_and_locks_what_it_opened(folder: Path) -> None:
    """The cookie is worth nothing any more, another sign-in of the same person still is."""
    async with open_desk(folder) as desk, browsing(desk) as browser, browsing(desk) as other:
        await add(desk)
        await browser.sign_in()
        await other.sign_in()
        await browser.open("/agents")
        await browser.send("/agents", name="helper", scope="mcp", passphrase=PASSPHRASE)
        assert desk.vault.is_unlocked
        kept = browser.client.cookies[COOKIE]
        await browser.open("/agents")
        assert (await browser.send("/sign-out")).headers["location"] == "/sign-in?done=signed_out"
        assert (COOKIE in browser.client.cookies, desk.vault.is_unlocked) == (False, False)
        browser.client.cookies.set(COOKIE, kept)
        assert (await browser.open("/agents")).status_code == 303
        assert (await other.open("/agents")).status_code == 200
        assert (await kinds(desk))[-1] == "console.signed_out"


@pytest.mark.req("GTW-060")
async def test_tries_are_limited_before_a_password_is_looked_at(folder: Path, clock: ManualClock) -> None:
    """Five for a name in five minutes; then even the right password waits as long as it is told, and no longer."""
    async with open_desk(folder, clock=clock) as desk, browsing(desk) as browser:
        await add(desk)
        for _ in range(5):
            assert (await browser.sign_in(password="not this one")).status_code == 403
        answer = await browser.sign_in()
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
        assert (await kinds(desk)).count("console.sign_in_refused") == 5
        clock.advance(timedelta(seconds=60))
        assert (await browser.sign_in()).status_code == 303


@pytest.mark.req("GTW-060")
async def test_an_address_that_tries_many_names_is_limited_too(folder: Path) -> None:
    """Twenty in five minutes, whichever names."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        tries = [(await browser.sign_in(f"name{n}", "not this one")).status_code for n in range(21)]
        assert tries == [403] * 20 + [429]


async def test_a_refused_sign_in_is_receipted_without_what_was_typed(folder: Path) -> None:
    """People type their password where their name goes; the name of a user who exists is written down."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in(PASSWORD, "x")
        await browser.sign_in("ada", "not this one")
        refused = [each for each in await desk.ledger.records() if each.kind == "console.sign_in_refused"]
        assert [each.body for each in refused] == [{}, {"user": "ada"}]


async def test_a_removed_user_is_signed_out_everywhere_at_once(folder: Path) -> None:
    """The next request shows it; the last owner stays."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk, "ada")
        await add(desk, "ben", "approver")
        await browser.sign_in("ben")
        assert (await browser.open("/agents")).status_code == 200
        await desk.store.unit(lambda unit: remove_user(unit, desk.ledger, desk.owner, "ben", by=desk.owner))
        assert (await browser.open("/agents")).status_code == 303
        await add(desk, "cleo", "viewer")
        with pytest.raises(Refused) as caught:
            await desk.store.unit(lambda unit: remove_user(unit, desk.ledger, desk.owner, "ada", by=desk.owner))
        assert caught.value.refusal.code == "last_owner"


async def test_another_page_cannot_sign_a_person_in(folder: Path) -> None:
    """The form's token hangs on a cookie that only this browser has, and a browser without one has no token."""
    async with open_desk(folder) as desk, browsing(desk) as browser, browsing(desk) as thief:
        await add(desk)
        await thief.open("/sign-in")
        await browser.open("/sign-in")
        browser.tokens = thief.tokens
        assert (await browser.send("/sign-in", name="ada", password=PASSWORD)).status_code == 403
        bare = Browser(browser.client, browser.origin)
        bare.client.cookies.clear()
        assert (await bare.send("/sign-in", name="ada", password=PASSWORD)).status_code == 403


@pytest.mark.parametrize(
    ("name", "role", "code"),
    [("Ada", "owner", "name_invalid"), ("a b", "owner", "name_invalid"), ("", "owner", "name_invalid"),
     ("a\n", "owner", "name_invalid"), ("ben", "approver", "owner_first"), ("ada", "owner", None)],
)  # fmt: skip
async def test_users_have_plain_names_and_the_first_is_an_owner(folder: Path, name: str, role: str, code: str) -> None:
    """Nothing is kept of a refused one; a name is taken once."""
    async with open_desk(folder) as desk:

        async def adding() -> str | None:
            try:
                await desk.store.unit(lambda unit: add_user(unit, desk.ledger, desk.owner, name, role, "s", by="x"))
            except Refused as refused:
                return refused.refusal.code
            return None

        assert await adding() == code
        users = await desk.store.reading(lambda view: list_users(view, desk.owner))
        assert [each.name for each in users] == ([] if code else [name])
        if code is None:
            assert await adding() == "user_exists"


async def test_a_short_password_is_no_password() -> None:
    """Twelve characters, whoever asks."""
    with pytest.raises(Refused) as caught:
        PASSWORDS.secret("elevenchars")
    assert caught.value.refusal.code == "password_too_weak"
    secret = PASSWORDS.secret("cafe\u0301 au lait")
    assert await PASSWORDS.is_right(secret, "caf\u00e9 au lait")
    assert not await PASSWORDS.is_right(None, "nobody's")
