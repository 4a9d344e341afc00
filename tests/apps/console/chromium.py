"""A real browser at the console: Debian's chromium, driven through Playwright, and what it complained about."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright

from sayso.apps.console.app import console_app
from sayso.apps.console.desk import Desk
from sayso.net.edge import LOOPBACK_HOSTS
from sayso.net.listen import serving
from sayso.testing.breaks import BREAK_VARIABLE, read_text
from tests.apps.console.desks import PASSWORD, PASSWORDS

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = "src/sayso/apps/console/static/console.js"
CHROMIUM = shutil.which("chromium")
PHONE = {"width": 360, "height": 740}


@dataclass
class Window:
    """One page of the browser. `complaints` are its errors: a policy that was broken, a script that failed."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    async def go(self, path: str) -> None:
        await self.page.goto(f"{self.url}{path}")

    async def sign_in(self, name: str = "ada") -> None:
        await self.go("/sign-in")
        await self.page.get_by_label("Name").fill(name)
        await self.page.get_by_label("Password").fill(PASSWORD)
        await self.page.get_by_role("button", name="Sign in").click()
        await self.page.wait_for_url(f"{self.url}/")

    async def text(self) -> str:
        return await self.page.inner_text("main")


def needs_chromium() -> None:
    """Skips where there is no browser, unless the run is strict."""
    if CHROMIUM is None and not os.environ.get("SAYSO_TEST_STRICT"):
        pytest.skip("chromium is not installed")


@asynccontextmanager
async def window(desk: Desk, *, signed_in: bool = True, **context: object) -> AsyncIterator[Window]:
    """The console in a fresh browser; `context` is what Playwright calls so (viewport, scripts, colours)."""
    needs_chromium()
    app = console_app(desk, hosts=LOOPBACK_HOSTS, passwords=PASSWORDS)
    async with serving(app, grace=0.2) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            page = await (await browser.new_context(**context)).new_page()
            if os.environ.get(BREAK_VARIABLE):
                # What breaks a rule in memory does not reach the file the console serves.
                await page.route("**/static/console.js", lambda route: route.fulfill(body=read_text(ROOT, SCRIPT)))
            found = Window(page, address.url)
            page.on("pageerror", lambda error: found.complaints.append(str(error)))
            page.on("console", lambda said: found.complaints.append(said.text) if said.type == "error" else None)
            if signed_in:
                await found.sign_in()
            yield found
        finally:
            await browser.close()
