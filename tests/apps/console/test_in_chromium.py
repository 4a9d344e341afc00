"""The console in a real browser: with scripts and without, by keyboard alone, on a phone, in the dark, under attack."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from playwright.async_api import Route
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route as Address

from sayso.governance.machine import ProposalState
from sayso.net.listen import serving
from tests.apps.console.chromium import PHONE, window
from tests.apps.console.desks import BOOK, PASSPHRASE, PASSWORD, add, open_desk, propose

pytestmark = pytest.mark.anyio
PAGES = ("/", "/gate", "/agents", "/receipts", "/receipts/disclosures", "/receipts/0", "/limits")


@pytest.mark.req("GTW-060", "GTW-010")
async def test_a_person_signs_in_and_issues_a_key(folder: Path) -> None:
    """The key stands on the page once; the browser finds nothing on it that its policy forbids."""
    async with open_desk(folder) as desk:
        await add(desk)
        async with window(desk) as seen:
            await seen.page.get_by_role("link", name="Agents", exact=True).click()
            await seen.page.get_by_label("Name").fill("helper")
            await seen.page.get_by_label("Passphrase of your keys").fill(PASSPHRASE)
            await seen.page.get_by_role("button", name="Issue a key").click()
            key = await seen.page.locator("code.key").inner_text()
            assert key.startswith("osz_")
            await seen.page.get_by_role("link", name="I have it").click()
            assert key not in await seen.page.content()
            assert [row.agent.name for row in await desk.agents.list()] == ["helper"]
            assert seen.complaints == []


@pytest.mark.req("GTW-060", "GTW-032")
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
async def test_a_person_reads_signs_and_approves(folder: Path, scripts: bool) -> None:
    """The consent text is whole and readable; without scripts everything works too."""
    async with open_desk(folder) as desk:
        await add(desk)
        asked = await propose(desk, BOOK, "oil")
        async with window(desk, java_script_enabled=scripts) as seen:
            await seen.page.get_by_role("link", name="Book an oil change").click()
            assert "for at most CAD 100.00 in total" in await seen.page.locator(".consent").inner_text()
            form = seen.page.locator("form", has=seen.page.get_by_role("heading", name="Sign and say yes"))
            await form.get_by_label("Reason").fill("it is due")
            await form.get_by_label("Passphrase of your keys").fill(PASSPHRASE)
            await form.get_by_role("button", name="Sign and approve").click()
            assert "Approved by ada (owner)" in await seen.text()
            await seen.page.get_by_role("link", name="Receipts", exact=True).click()
            await seen.page.get_by_role("button", name="Verify the whole log now").click()
            await seen.page.get_by_text("Intact.").wait_for()
            assert seen.complaints == []
        assert (await desk.gate.find(asked.id)).state is ProposalState.APPROVED


@pytest.mark.req("GTW-060")
async def test_what_is_asked_meanwhile_appears_by_itself(folder: Path) -> None:
    """The open page is told that something changed, and fetches the part that shows it."""
    async with open_desk(folder) as desk:
        await add(desk)
        async with window(desk) as seen:
            async with seen.page.expect_response("**/live"):
                await seen.go("/gate")
            assert "Nothing here." in await seen.text()
            asked = await propose(desk, text="fresh bread")
            await seen.page.get_by_text("fresh bread").wait_for()
            await desk.gate.withdraw(asked.id, "agent_x")
            await seen.page.get_by_text("Nothing here.").wait_for()
            assert seen.complaints == []


@pytest.mark.req("GTW-060")
async def test_a_person_at_a_link_stays_at_it(folder: Path) -> None:
    """What did not change is not put in again; what did leaves the focus where it went meanwhile."""
    async with open_desk(folder) as desk:
        await add(desk)
        asked = await propose(desk, text="milk")
        async with window(desk, signed_in=False) as seen:
            go_on = anyio.Event()

            async def slowly(route: Route) -> None:
                await go_on.wait()
                await route.continue_()

            await seen.page.route("**/?part=numbers", slowly)
            async with seen.page.expect_request("**/?part=numbers"):
                await seen.sign_in()
            await seen.page.evaluate(MARK)
            link = seen.page.get_by_role("link", name="Take a note")
            await link.focus()
            async with seen.page.expect_response("**/?part=numbers"):
                go_on.set()
            await seen.page.evaluate(TWO_FRAMES)
            assert await seen.page.evaluate("document.querySelector('.tiles').marked") is True
            await propose(desk, text="fresh bread")
            await seen.page.get_by_text("fresh bread").wait_for()
            assert await seen.page.evaluate("document.querySelector('.tiles').marked") is None
            assert await seen.page.evaluate("document.activeElement.getAttribute('href')") == f"/gate/{asked.id}"
            assert seen.complaints == []


MARK = "() => { document.querySelector('.tiles').marked = true; }"
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.mark.req("GTW-060")
async def test_scripts_keep_a_person_where_they_are(folder: Path) -> None:
    """Older receipts are added below, the verdict and what is found appear in place; the address stays."""
    async with open_desk(folder) as desk:
        await add(desk)
        for number in range(60):
            await desk.agents.issue(f"agent {number}", by="ada")
        await desk.knowledge.ingest(title="Brakes", text="The brake pads were changed in May.", by="ada")
        async with window(desk) as seen:
            await seen.go("/receipts")
            rows = seen.page.locator("tbody tr")
            assert await rows.count() == 25
            for count in (50, 63):
                await seen.page.get_by_role("link", name="Older").click()
                await rows.nth(count - 1).wait_for()
                assert await rows.count() == count
            await seen.page.get_by_role("button", name="Verify the whole log now").click()
            await seen.page.get_by_text("Intact.").wait_for()
            assert seen.page.url == f"{seen.url}/receipts"
            await seen.go("/memory")
            await seen.page.get_by_label("Search", exact=True).press_sequentially("brake pads")
            await seen.page.get_by_text("were changed in May").wait_for()
            assert (seen.page.url, seen.complaints) == (f"{seen.url}/memory", [])


@pytest.mark.req("GTW-060")
async def test_a_page_of_another_program_on_this_machine_gets_nothing_done(folder: Path) -> None:
    """Another port of loopback is the same site to a browser, so the cookie is sent; the form is refused anyway."""
    async with open_desk(folder) as desk:
        await add(desk)
        async with window(desk) as seen:
            body = f"""<form method="post" action="{seen.url}/agents" id="f">
                <input name="name" value="mole"><input name="scope" value="mcp">
                <input name="passphrase" value="{PASSPHRASE}"></form><button form="f">Win a prize</button>"""
            page = Starlette(routes=[Address("/", lambda _request: HTMLResponse(body))])
            async with serving(page, grace=0.1) as evil:
                await seen.page.goto(evil.url)
                async with seen.page.expect_response(f"{seen.url}/agents") as answered:
                    await seen.page.get_by_role("button", name="Win a prize").click()
                assert (await answered.value).status == 403
            assert await desk.agents.list() == []


@pytest.mark.req("GTW-060")
async def test_every_page_fits_a_phone(folder: Path) -> None:
    """Nothing is wider than the screen, and what is pressed is large enough for a thumb."""
    async with open_desk(folder) as desk:
        await add(desk)
        issued = await desk.agents.issue("helper", by="ada")
        note, booking = await propose(desk, text="x" * 300), await propose(desk, BOOK, "oil")
        paths = (*PAGES, f"/gate/{note.id}", f"/gate/{booking.id}", f"/agents/{issued.agent.id}", "/receipts/verify")
        async with window(desk, viewport=PHONE, is_mobile=True, has_touch=True) as seen:
            for path in paths:
                await seen.go(path)
                wide = await seen.page.evaluate("document.scrollingElement.scrollWidth")
                assert wide <= PHONE["width"], (path, wide)
                heights = await seen.page.eval_on_selector_all(
                    "main button", "found => found.map(each => each.getBoundingClientRect().height)"
                )
                assert all(height >= 35 for height in heights), (path, heights)
            assert seen.complaints == []


@pytest.mark.req("GTW-060")
async def test_a_person_decides_by_keyboard_alone(folder: Path) -> None:
    """From the first Tab, which offers to skip the navigation, to the decision; what has the focus is marked."""
    async with open_desk(folder) as desk:
        await add(desk)
        asked = await propose(desk, text="milk")
        async with window(desk, signed_in=False) as seen:
            keyboard = seen.page.keyboard
            await seen.go("/sign-in")
            assert await seen.page.evaluate("document.activeElement.id") == "f-name"
            await keyboard.type("ada")
            await keyboard.press("Tab")
            await keyboard.type(PASSWORD)
            await keyboard.press("Enter")
            await seen.page.wait_for_url(f"{seen.url}/")
            await keyboard.press("Tab")
            assert await seen.page.evaluate("document.activeElement.className") == "skip"
            await keyboard.press("Enter")
            for _ in range(20):
                await keyboard.press("Tab")
                if await seen.page.evaluate("document.activeElement.textContent") == "Take a note":
                    break
            outline = await seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            await keyboard.press("Enter")
            await seen.page.wait_for_url(f"{seen.url}/gate/{asked.id}")
            for _ in range(20):
                await keyboard.press("Tab")
                if await seen.page.evaluate("document.activeElement.id") == "f-reason":
                    break
            await keyboard.type("we need it")
            await keyboard.press("Tab")
            await keyboard.press("Enter")
            await seen.page.get_by_text("Approved by ada").wait_for()
            assert outline == "solid"
        assert (await desk.gate.find(asked.id)).state is ProposalState.APPROVED


@pytest.mark.req("GTW-060")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_can_be_read_in_light_and_dark(folder: Path, scheme: str) -> None:
    """Contrast of text on its ground is at least 4.5 to 1 (WCAG 2.2, 1.4.3), for every colour a page uses for words."""
    async with open_desk(folder) as desk:
        await add(desk)
        asked = await propose(desk, BOOK, "oil")
        async with window(desk, color_scheme=scheme) as seen:
            for path in ("/", "/gate", f"/gate/{asked.id}", "/agents"):
                await seen.go(path)
                poor = await seen.page.evaluate(CONTRAST)
                assert poor == [], (path, poor)


CONTRAST = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")]
    .filter(each => [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()))
    .filter(each => each.getClientRects().length && !each.matches(".skip, option"))
    .map(each => {
      const [a, b] = [light(rgb(getComputedStyle(each).color)), light(ground(each))].sort((x, y) => y - x);
      return [each.tagName + "." + each.className, (a + 0.05) / (b + 0.05)];
    })
    .filter(([, ratio]) => ratio < 4.5);
}"""
