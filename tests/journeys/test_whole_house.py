"""The whole of it on a fresh home: outside agents ask by three protocols, a person answers, the house dies between.

Every part is a process or a program of its own: a shop, the house, official clients, a browser, a terminal.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from a2a.client import ClientConfig, ClientFactory
from a2a.helpers import new_data_message
from a2a.types import Role, SendMessageConfiguration, SendMessageRequest
from acp_sdk.client import Client as AcpClient
from acp_sdk.models import Message, MessagePart, RunStatus
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import async_playwright

from sayso.core import strictjson
from sayso.gateway.clients import for_httpx, for_httpx2
from tests.apps.console.chromium import CHROMIUM, needs_chromium
from tests.journeys.house import running, sayso
from tests.journeys.terminal import at_terminal
from tests.journeys.test_host_by_hand import SHOP, served
from tests.journeys.test_real_home import PASSPHRASE, make_keys

pytestmark = pytest.mark.anyio
PASSWORD = "a password for the console"
DAY = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()
LOOKS = 200
"""Each look at the gate is a process that takes a good part of a second."""


@dataclass(frozen=True)
class Person:
    """Somebody with a home, who acts by commands."""

    home: Path

    def run(self, *arguments: str) -> str:
        done = sayso(*arguments, "--home", str(self.home))
        assert done.code == 0, done.err
        return done.out

    def proposal(self, name: str) -> dict[str, Any]:
        return json.loads(self.run("gate", "show", name, "--json"))["proposal"]

    def ended(self, name: str) -> dict[str, Any]:
        """A proposal once nothing is left to do for it."""
        for _ in range(LOOKS):
            found = self.proposal(name)
            if found["state"] in ("executed", "failed", "expired"):
                return found
        raise AssertionError(f"it never ended: {found}")


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    """With locked keys, a console user, and a shop that was added; the shop runs."""
    needs_chromium()
    made = Person(tmp_path / "person")
    made.home.mkdir(mode=0o700)
    assert sayso("host", "init", str(SHOP), "--home", str(tmp_path / "shop"), "--unprotected").code == 0
    with served(tmp_path / "shop", SHOP) as resolve:
        name, address = resolve.split("=")
        (made.home / "settings.toml").write_text(f'zone = "America/Toronto"\nresolve = {{"{name}" = "{address}"}}\n')
        make_keys(made.home)
        made.run("guest", "add", "https://shop.example")
        with at_terminal(["console", "user", "add", "sam", "--home", str(made.home)]) as (terminal, child):
            for asked, typed in (
                ("Passphrase of your keys: ", PASSPHRASE),
                ("A password for the console: ", PASSWORD),
                ("The same once more: ", PASSWORD),
            ):
                terminal.wait_for(asked)
                terminal.type(typed)
            said = terminal.rest()
            assert child.wait() == 0, said
        yield made


@contextmanager
def house(person: Person) -> Iterator[tuple[Any, dict[str, Any]]]:
    """`sayso up` as a process, and where it answers."""
    with running("up", "--home", str(person.home), "--port-base", "0", "--json") as (child, line):
        assert line, child.stderr.read()
        yield child, json.loads(line)


def wish(hour: str) -> dict[str, Any]:
    return {
        "host": "shop.example",
        "service_id": "resole",
        "start": f"{DAY}T{hour}",
        "max_price": {"amount": "50"},
    }


async def ask_over_mcp(doors: str, key: str, arguments: dict[str, Any]) -> str:
    """The official client looks for free times and asks for one; the proposal's id."""
    async with httpx2.AsyncClient(auth=for_httpx2.SigningAuth(key), timeout=30) as http:
        transport = streamable_http_client(f"{doors}/api/protocols/mcp/message", http_client=http)
        async with McpClient(transport) as client:
            window = {"earliest_start": f"{DAY}T09:00", "latest_start": f"{DAY}T16:00"}
            free = await client.call_tool("find_slots", {"host": "shop.example", "service_id": "resole", **window})
            assert not free.is_error, free
            asked = await client.call_tool("book_slot", arguments)
            assert not asked.is_error, asked
            assert asked.structured_content["state"] == "pending"
            return asked.structured_content["proposal_id"]


async def ask_over_a2a(doors: str, key: str, arguments: dict[str, Any]) -> str:
    """The official client asks and does not wait; the task's id, which is the proposal's."""
    async with httpx.AsyncClient(auth=for_httpx.SigningAuth(key), timeout=30) as http:
        client = await ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create_from_url(doors)
        message = new_data_message(data={"act": "book_slot", "arguments": arguments}, role=Role.ROLE_USER)
        sending = SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=True))
        async for event in client.send_message(sending):
            return event.task.id
    raise AssertionError("nothing was answered")


async def look_over_acp(doors: str, key: str) -> dict[str, Any]:
    """The official client looks at the hosts this person knows."""
    auth = for_httpx.SigningAuth(key)
    async with AcpClient(base_url=f"{doors}/api/protocols/acp", auth=auth) as client:
        part = MessagePart(content="{}", content_type="application/json")
        run = await client.run_sync(Message(role="user", parts=[part]), agent="discover-host")
        assert run.status == RunStatus.COMPLETED, run
        return strictjson.parse(run.output[0].parts[0].content.encode())


async def unlock(form: Any) -> None:
    """The passphrase is asked for where the keys are not open from minutes ago."""
    field = form.get_by_label("Passphrase of your keys")
    if await field.count():
        await field.fill(PASSPHRASE)


async def issue_key(page: Any, name: str) -> str:
    await page.get_by_role("link", name="Agents", exact=True).click()
    await page.get_by_label("Name").fill(name)
    await unlock(page)
    await page.get_by_role("button", name="Issue a key").click()
    return await page.locator("code.key").inner_text()


async def approve_in_browser(page: Any, console: str, proposal: str) -> None:
    await page.goto(f"{console}/gate/{proposal}")
    form = page.locator("form", has=page.get_by_role("heading", name="Sign and say yes"))
    assert "50.00" in await page.locator(".consent").inner_text()
    await form.get_by_label("Reason").fill("the soles are through")
    await unlock(form)
    await form.get_by_role("button", name="Sign and approve").click()
    await page.get_by_text("Approved by sam").wait_for()


def approve_at_terminal(person: Person, proposal: str) -> None:
    command = ["gate", "approve", proposal, "--reason", "both pairs", "--home", str(person.home)]
    with at_terminal(command) as (terminal, child):
        terminal.wait_for("Sign this? [y/N] ")
        terminal.type("y")
        terminal.wait_for("Passphrase of your keys: ")
        terminal.type(PASSPHRASE)
        said = terminal.rest()
        assert child.wait() == 0, said
    assert PASSPHRASE not in said


@pytest.mark.req("GTW-001", "GTW-003", "GTW-004", "GTW-007", "GTW-032", "GTW-033", "GTW-052", "GTW-060", "GTW-061")
async def test_two_bookings_asked_by_outside_agents_are_each_made_once(person: Person, tmp_path: Path) -> None:
    """One approved in the browser and one at a terminal, with a SIGKILL of the house in between."""
    with house(person) as (first, at):
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page()
            await page.goto(f"{at['console']}/sign-in")
            await page.get_by_label("Name").fill("sam")
            await page.get_by_label("Password").fill(PASSWORD)
            await page.get_by_role("button", name="Sign in").click()
            keys = [await issue_key(page, name) for name in ("over mcp", "over a2a", "over acp")]
            by_mcp = await ask_over_mcp(at["doors"], keys[0], wish("10:00"))
            by_a2a = await ask_over_a2a(at["doors"], keys[1], wish("14:00"))
            seen = await look_over_acp(at["doors"], keys[2])
            assert [each["host"] for each in seen["hosts"]] == ["shop@shop.example"]
            await approve_in_browser(page, at["console"], by_mcp)
            first.send_signal(signal.SIGKILL)
            first.wait()
            await browser.close()
    with house(person):
        done = [person.ended(by_mcp)]
        approve_at_terminal(person, by_a2a)
        done.append(person.ended(by_a2a))
        person.run("backup", str(tmp_path / "house.tar"))
    assert [each["state"] for each in done] == ["executed", "executed"], done
    listed = sayso("host", "bookings", "--home", str(tmp_path / "shop")).out
    assert (listed.count("Resoling"), "10:00" in listed, "2:00" in listed or "14:00" in listed) == (2, True, True), (
        listed
    )
    restored = tmp_path / "restored"
    assert sayso("restore", str(tmp_path / "house.tar"), "--home", str(restored)).code == 0
    for home in (person.home, restored):
        verified = sayso("receipts", "verify", "--home", str(home))
        assert verified.code == 0, verified.out + verified.err
