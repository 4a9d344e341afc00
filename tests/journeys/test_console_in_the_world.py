"""A person at their console while an outside agent asks: what is proposed appears, is signed, and comes back as booked.

The sample world, whose keys are not locked; every part is a process or a program of its own.
"""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import async_playwright

from sayso.core.clock import FileClock
from sayso.gateway.clients import for_httpx2
from sayso.world.places import clock_file
from tests.apps.console.chromium import CHROMIUM, needs_chromium
from tests.journeys.house import MAPLE, MAPLE_ID, facts, running, sayso
from tests.journeys.terminal import at_terminal

pytestmark = pytest.mark.anyio
PASSWORD = "a password for the console"
WISH = {
    "host": f"{MAPLE_ID}@{MAPLE}",
    "service_id": "oil-change",
    "start": "2026-10-15T13:00:00-04:00",
    "earliest_start": "2026-10-15T11:00:00-04:00",
    "latest_start": "2026-10-15T15:00:00-04:00",
    "max_price": {"amount": "100.00", "currency": "CAD"},
}


def add_user(home: Path) -> None:
    with at_terminal(["console", "user", "add", "sam", "--world", "--home", str(home)]) as (terminal, child):
        for prompt in ("A password for the console: ", "The same once more: "):
            terminal.wait_for(prompt)
            terminal.type(PASSWORD)
        said = terminal.rest()
        assert child.wait() == 0, said


async def ask(doors: str, key: str, home: Path) -> str:
    """The official client asks for a booking, signing by the world's clock; the proposal's id."""
    auth = for_httpx2.SigningAuth(key, clock=FileClock(clock_file(home)))
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        transport = streamable_http_client(f"{doors}/api/protocols/mcp/message", http_client=http)
        async with McpClient(transport) as client:
            asked = await client.call_tool("book_slot", WISH)
            assert not asked.is_error, asked
            return asked.structured_content["proposal_id"]


@pytest.mark.req("GTW-060", "GTW-032", "GTW-034")
async def test_a_proposal_appears_is_signed_and_comes_back_as_booked(tmp_path: Path) -> None:
    """The page is opened once; the queue, the outcome and the receipts follow by themselves or a link further."""
    needs_chromium()
    home = tmp_path / "home"
    with running("up", "--world", "--home", str(home), "--port-base", "0", "--json") as (child, line):
        assert line, child.stderr and child.stderr.read()
        at = json.loads(line)
        add_user(home)
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page()
            await page.goto(f"{at['console']}/sign-in")
            await page.get_by_label("Name").fill("sam")
            await page.get_by_label("Password").fill(PASSWORD)
            await page.get_by_role("button", name="Sign in").click()
            await page.get_by_role("link", name="Agents", exact=True).click()
            await page.get_by_label("Name").fill("helper")
            await page.get_by_role("button", name="Issue a key").click()
            key = await page.locator("code.key").inner_text()
            async with page.expect_response("**/live"):
                await page.goto(f"{at['console']}/gate")
            await page.get_by_text("Nothing here.").wait_for()
            proposal = await ask(at["doors"], key, home)
            await page.get_by_role("link", name="Booking a time").click()
            assert "for at most CAD 100.00 in total" in await page.locator(".consent").inner_text()
            form = page.locator("form", has=page.get_by_role("heading", name="Sign and say yes"))
            await form.get_by_label("Reason").fill("it is due")
            await form.get_by_role("button", name="Sign and approve").click()
            await page.get_by_text("Approved by sam").wait_for()
            await page.locator("#standing .is-executed, #standing .is-awaiting_person").wait_for()
            if await page.locator("#standing .is-awaiting_person").count():
                await page.goto(f"{at['console']}/gate/{proposal}")
                form = page.locator("form", has=page.get_by_role("heading", name="Sign and say yes"))
                await form.get_by_role("button", name="Sign and approve").click()
                await page.locator("#standing .is-executed").wait_for()
            assert MAPLE_ID in await page.inner_text("main")
            await page.goto(f"{at['console']}/receipts/verify")
            await page.get_by_text("Intact.").wait_for()
            await browser.close()
    by = {each["kind"]: each["actor"] for each in facts(home)}
    assert by["proposal.approved"] == "console:sam"
    assert sayso("receipts", "verify", "--world", "--home", str(home)).code == 0
