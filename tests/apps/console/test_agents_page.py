"""Agents and keys in the console: issued once, rotated, revoked, suspended, reissued."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from sayso.apps.console.forms import new_token
from sayso.apps.console.users import Role
from sayso.core.clock import ManualClock
from tests.apps.console.desks import PASSPHRASE, Browser, add, browsing, open_desk

pytestmark = pytest.mark.anyio
KEY = re.compile(r"osz_[A-Za-z0-9_-]{43}")


async def issue(browser: Browser, name: str = "helper") -> str:
    """The path of a new agent's page."""
    await browser.open("/agents")
    answer = await browser.send("/agents", name=name, scope=["mcp", "tasks"], passphrase=PASSPHRASE)
    assert answer.status_code == 200, answer.text
    found = re.search(r'href="(/agents/agent_\w+)"', answer.text)
    assert found
    return found[1]


@pytest.mark.req("GTW-010", "GTW-060")
async def test_a_key_is_shown_once_and_never_again(folder: Path) -> None:
    """On the answer to the form alone: no other page has it, and neither has the database or the log."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        await browser.open("/agents")
        answer = await browser.send("/agents", name="helper", scope=["mcp", "tasks"], passphrase=PASSPHRASE)
        (key,) = KEY.findall(answer.text)
        (row,) = await desk.agents.list()
        assert (row.agent.name, row.agent.scopes, row.agent.owner) == ("helper", {"mcp", "tasks"}, desk.owner)
        for path in ("/agents", f"/agents/{row.agent.id}", "/receipts", "/limits"):
            assert key not in (await browser.open(path)).text
        assert key.encode() not in (folder / "sayso.db").read_bytes() + (folder / "sayso.db-wal").read_bytes()
        assert (await desk.ledger.records())[-1].actor == "console:ada"


@pytest.mark.req("GTW-060")
async def test_letting_an_agent_in_needs_the_passphrase_of_the_persons_keys(folder: Path) -> None:
    """Missing and wrong ones let nobody in, and the page keeps the name that was typed but no secret."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        await browser.open("/agents")
        for passphrase in ("", "not the passphrase"):
            answer = await browser.send("/agents", name="helper", scope="mcp", passphrase=passphrase)
            assert (answer.status_code, 'value="helper"' in answer.text) == (422, True)
            assert "not the passphrase" not in answer.text
        assert await desk.agents.list() == []


@pytest.mark.req("GTW-060")
async def test_tries_to_open_the_keys_are_limited_and_an_unlock_ends(folder: Path, clock: ManualClock) -> None:
    """Five in five minutes, whoever is signed in: a stolen cookie does not guess. What is opened closes again."""
    async with open_desk(folder, clock=clock) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        await browser.open("/agents")

        async def tried(passphrase: str) -> int:
            return (await browser.send("/agents", name="helper", scope="mcp", passphrase=passphrase)).status_code

        assert [await tried("not the passphrase") for _ in range(5)] == [422] * 5
        assert (await tried(PASSPHRASE), await desk.agents.list(), desk.vault.is_unlocked) == (429, [], False)
        clock.advance(timedelta(minutes=1))
        assert await tried(PASSPHRASE) == 200
        clock.advance(timedelta(minutes=5))
        await browser.open("/agents")
        assert await tried("") == 422


@pytest.mark.req("GTW-060")
async def test_what_one_sign_in_opened_is_closed_to_another(folder: Path) -> None:
    """Within five minutes the same sign-in is not asked again; another owner's is."""
    async with open_desk(folder) as desk, browsing(desk) as browser, browsing(desk) as other:
        await add(desk, "ada")
        await add(desk, "ben")
        await browser.sign_in("ada")
        await other.sign_in("ben")
        await issue(browser, "one")
        await browser.open("/agents")
        assert (await browser.send("/agents", name="two", scope="mcp")).status_code == 200
        await other.open("/agents")
        assert (await other.send("/agents", name="three", scope="mcp")).status_code == 422
        assert {row.agent.name for row in await desk.agents.list()} == {"one", "two"}


@pytest.mark.req("GTW-060")
async def test_keys_are_rotated_revoked_suspended_and_reissued(folder: Path) -> None:
    """Each from the agent's page, by the person who is signed in; a suspended agent comes back by a new key alone."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        path = await issue(browser)
        agent_id = path.rpartition("/")[2]

        async def working() -> int:
            row = await desk.agents.find(agent_id)
            return 0 if row.state != "active" else sum(key.revoked_at is None for key in row.keys)

        await browser.open(path)
        assert KEY.search((await browser.send(f"{path}/rotate", keep_old="yes")).text)
        assert await working() == 2
        page = (await browser.open(path)).text
        key_id = re.findall(r'name="key_id" value="(\w+)"', page)[0]
        await browser.send(f"{path}/revoke", key_id=key_id)
        assert await working() == 1
        await browser.open(path)
        assert (await browser.send(f"{path}/suspend", reason="")).status_code == 422
        answer = await browser.send(f"{path}/suspend", reason="too loud", follow=True)
        assert ("too loud" in answer.text, await working()) == (True, 0)
        assert KEY.search((await browser.send(f"{path}/reissue")).text)
        assert await working() == 1
        await browser.open(path)
        await browser.send(f"{path}/revoke")
        assert await working() == 0
        actors = {each.actor for each in await desk.ledger.records() if each.kind.startswith("agent.")}
        assert actors == {"console:ada"}


@pytest.mark.req("GTW-060")
@pytest.mark.parametrize("role", ["viewer", "approver"])
async def test_only_an_owner_gives_keys_away(folder: Path, role: Role) -> None:
    """Others see the list and no form, and a form they make themselves is refused."""
    async with open_desk(folder) as desk, browsing(desk) as browser, browsing(desk) as owner:
        await add(desk)
        await add(desk, "ben", role)
        await owner.sign_in()
        path = await issue(owner)
        await browser.sign_in("ben")
        page = await browser.open("/agents")
        assert ("helper" in page.text, "/agents" in browser.tokens) == (True, False)
        for action in ("/agents", f"{path}/rotate", f"{path}/revoke", f"{path}/suspend", f"{path}/reissue"):
            assert (await browser.send(action, form_token="x", name="y", scope="mcp")).status_code == 403
        (row,) = await desk.agents.list()
        assert (row.state, len(row.keys), row.keys[0].revoked_at) == ("active", 1, None)


@pytest.mark.req("GTW-060")
@pytest.mark.parametrize("role", ["viewer", "approver"])
async def test_only_an_owner_is_heard_with_a_good_form(folder: Path, role: Role) -> None:
    """The form's token is right, since its secret is the sign-in's own: the role alone decides."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await add(desk, "ben", role)
        await browser.sign_in("ben")
        token = new_token(desk.ids, browser.client.cookies["sayso_console"], "/agents")
        answer = await browser.send("/agents", form_token=token, name="x", scope="mcp", passphrase=PASSPHRASE)
        assert (answer.status_code, await desk.agents.list()) == (403, [])


async def test_an_agent_that_is_none_is_not_found(folder: Path) -> None:
    """With a page that says so, on each address."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        for path in (
            "/agents/agent_x",
            "/agents/%3Cscript%3E",
            "/receipts/99",
            "/receipts/disclosures/9",
            "/gate?state=x",
        ):
            assert (await browser.open(path)).status_code == 404, path
