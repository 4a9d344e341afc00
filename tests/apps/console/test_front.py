"""What stands in front of every page: same origin only, a strict policy, every byte escaped, every form once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from sayso.apps.console.app import OPEN, ROUTES
from sayso.apps.console.forms import new_token
from sayso.apps.console.surface import STATIC, write_page
from sayso.apps.console.words import in_words
from sayso.store.statements import statement
from tests.apps.console.desks import PASSPHRASE, add, browsing, open_desk, propose

pytestmark = pytest.mark.anyio
TEMPLATES = STATIC.parent / "templates"


@pytest.mark.req("GTW-060")
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"host": "evil.example"},
    ],
)
async def test_another_page_gets_nothing_done_here(folder: Path, headers: dict[str, str]) -> None:
    """Not even with the cookie and a good token: the browser says where the request comes from."""
    assert await _sent_with(folder, headers) == (403, [])


@pytest.mark.req("GTW-060")
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_what_the_browser_says_of_the_sender_counts(folder: Path, site: str) -> None:
    """Where it says that another page is calling; another port of this machine is `same-site` to it."""
    assert await _sent_with(folder, {"sec-fetch-site": site}) == (403, [])


async def _sent_with(folder: Path, headers: dict[str, str]) -> tuple[int, list[str]]:
    """What became of a good form with these headers: the status, and the agents there are."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        await browser.open("/agents")
        fields = {"form_token": browser.tokens["/agents"], "name": "x", "scope": "mcp", "passphrase": PASSPHRASE}
        answer = await browser.client.post("/agents", data=fields, headers=headers)
        return answer.status_code, [row.agent.name for row in await desk.agents.list()]


@pytest.mark.req("GTW-060")
async def test_a_form_without_its_own_token_is_refused_and_nothing_is_done(folder: Path) -> None:
    """None, another form's, another sign-in's of the same person; then the right one does it."""
    async with open_desk(folder) as desk, browsing(desk) as browser, browsing(desk) as other:
        await add(desk)
        await browser.sign_in()
        await other.sign_in()
        await other.open("/agents")
        await browser.open("/agents")
        own = browser.tokens["/agents"]
        for token in ("", browser.tokens["/sign-out"], other.tokens["/agents"], own[:-1]):
            answer = await browser.send("/agents", name="x", scope="mcp", passphrase=PASSPHRASE, form_token=token)
            assert answer.status_code == 403
        assert await desk.agents.list() == []
        answer = await browser.send("/agents", name="x", scope="mcp", passphrase=PASSPHRASE, form_token=own)
        assert (answer.status_code, len(await desk.agents.list())) == (200, 1)


@pytest.mark.req("GTW-060")
async def test_a_form_that_is_sent_twice_does_its_work_once(folder: Path) -> None:
    """A reload of the page that shows a key makes no second one, and shows the first to nobody."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        await browser.open("/agents")
        fields = {"form_token": browser.tokens["/agents"], "name": "x", "scope": "mcp", "passphrase": PASSPHRASE}
        first = await browser.send("/agents", **fields)
        again = await browser.send("/agents", **{**fields, "name": "y"})
        assert ("osz_" in first.text, again.status_code, "osz_" in again.text) == (True, 409, False)
        assert [row.agent.name for row in await desk.agents.list()] == ["x"]


@pytest.mark.req("GTW-060")
async def test_every_answer_says_what_a_page_may_do(folder: Path) -> None:
    """Pages, refusals, scripts, redirects and the edge's own answers: no inline script, no frame, nothing kept."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        answers = [await browser.open("/sign-in"), await browser.open("/nowhere"), await browser.sign_in()]
        answers += [await browser.open(path) for path in ("/agents", "/static/console.js", "/static/../app.py")]
        answers.append(await browser.client.get("/agents", headers={"origin": "https://evil.example"}))
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self';" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] in ("no-store", "no-cache")


def test_templates_have_nothing_that_the_policy_would_forbid() -> None:
    """No inline script, handler or style, nothing from elsewhere, and nothing is marked as safe."""
    for path in sorted(TEMPLATES.glob("*.html")):
        text = path.read_text()
        assert not re.search(r"\son\w+=|style=|<style|javascript:|hx-on|\|\s*safe|Markup|autoescape", text), path.name
        assert not re.search(r"<script(?! src=\"/static/)", text), path.name
        assert not re.search(r"(src|href|action)=\"https?:", text), path.name


def test_every_page_has_a_role_and_only_signing_in_has_none() -> None:
    """What changes anything is a POST, for an approver or an owner; reading is anybody's who is signed in."""
    assert {path for path, _method in OPEN} == {"/sign-in", "/sign-out", "/static/{name}"}
    for path, method, role, _page in ROUTES:
        assert (method, role) in {("GET", "viewer"), ("POST", "approver"), ("POST", "owner")}, path


def filled(path: str, agent: str, proposal: str) -> str:
    """An address with real ids in it."""
    names = {"agent_id": agent, "proposal_id": proposal, "run_id": "run_x", "hypothesis_id": "h_x", "number": "0"}
    return re.sub(r"{([a-z_:]+)}", lambda found: names[found[1]], path)


@pytest.mark.req("GTW-007", "GTW-060")
async def test_every_route_asks_who_it_is_in_which_role_and_with_which_form(folder: Path) -> None:
    """Walked: nobody gets in without a sign-in, a viewer changes nothing, and a form without a token does neither."""
    async with open_desk(folder) as desk, browsing(desk) as nobody, browsing(desk) as viewer, browsing(desk) as owner:
        await add(desk)
        await add(desk, "vic", "viewer")
        await viewer.sign_in("vic")
        await owner.sign_in()
        agent, proposal = (await desk.agents.issue("helper", by="ada")).agent.id, (await propose(desk)).id
        before = await desk.ledger.standing()
        for path, method, _role, _page in ROUTES:
            if path == "/live":
                continue
            address = filled(path, agent, proposal)
            assert (await nobody.client.request(method, address)).status_code == 303, path
            seen = await viewer.client.request(method, address)
            owned = await owner.client.request(method, address)
            if method == "GET":
                assert (seen.status_code, owned.status_code) in ((200, 200), (404, 404)), path
            else:
                assert (seen.status_code, owned.status_code) in ((403, 400), (403, 403)), path
        assert (await desk.ledger.standing()).records == before.records


NASTY = (
    {"name": "\x00"}, {"name": "x" * 3000}, {"name": ["a", "b"]}, {"reason": "\u202e\ud7ff"},
    {"budget_cents": "9" * 40}, {"input": "{" * 500}, {"input": '{"a":1,"a":2}'}, {"input": "{not json"},
    {"input": '{"a":1e400}'}, {"input": '{"a":9007199254740993}'}, {"text": "\x1b[31m"}, {"domain_keys": "x " * 90},
    {"key_id": "' OR 1=1 --"}, {"scope": ["root"]}, {"agent": "agent_none"}, {"say": "maybe"}, {"text_sha256": "é"},
)  # fmt: skip


GOOD = {
    "name": "n", "scope": "mcp", "passphrase": PASSPHRASE, "task_type": "research", "budget_cents": "1",
    "reason": "because", "title": "A title", "text": "Some words.",
}  # fmt: skip


@pytest.mark.req("GTW-060")
async def test_no_form_breaks_the_console(folder: Path) -> None:
    """Whatever stands in a field, with a good token: a sentence and a status, and never a failure inside."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        agent, proposal = (await desk.agents.issue("helper", by="ada")).agent.id, (await propose(desk)).id
        secret = browser.client.cookies["sayso_console"]
        for path, method, _role, _page in ROUTES:
            if method != "POST":
                continue
            address = filled(path, agent, proposal)
            for fields in NASTY:
                token = new_token(desk.ids, secret, address)
                answer = await browser.send(address, **{**GOOD, "agent": agent, "form_token": token, **fields})
                assert answer.status_code < 500, (path, fields)
        for address in (
            "/gate/%00", "/agents/%ff", "/hypotheses/a%0ab", "/memory?q=%00", "/gate?after=%00&state=over",
            f"/receipts/{10**14}", f"/receipts/{10**30}", "/receipts/" + "9" * 5000, f"/receipts/disclosures/{10**19}",
            "/receipts/-1", "/receipts/x",
        ):  # fmt: skip
            assert (await browser.open(address)).status_code in (404, 422), address
        assert (await browser.open("/agents?done=a&done=b")).status_code == 200
        lost = await browser.open("/agenst")
        assert (lost.status_code, "There is no such page" in lost.text) == (404, True)


@pytest.mark.req("GTW-060")
@pytest.mark.parametrize("path", ["/agents", "/sign-in"])
async def test_what_fails_inside_is_a_page_that_says_so(folder: Path, path: str) -> None:
    """Signed in or not, whatever it was; and it tells nothing of what failed."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        for table in ("console_login", "console_user"):
            await desk.store.unit(lambda unit, gone=table: unit.execute(statement(text(f"DROP TABLE {gone}"))))
        answer = await browser.open(path)
        assert answer.status_code in (500, 503)
        assert [words in answer.text for words in ("Not done", "Try again.", "console_")] == [True, True, False]


PAGE = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.req("GTW-060")
@pytest.mark.parametrize("dest", ["iframe", "embed", "object", "empty"])
async def test_no_page_of_elsewhere_has_one_of_ours_inside(folder: Path, dest: str) -> None:
    """A link may lead here; a frame is refused before anything is made for it."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        link = {"sec-fetch-site": "same-site", **PAGE}
        assert (await browser.open("/gate", **link)).status_code == 200
        assert (await browser.open("/gate", **{**link, "sec-fetch-dest": dest})).status_code == 403


@pytest.mark.req("GTW-060")
@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
async def test_no_other_page_makes_ours_say_what_is_not_so(folder: Path, site: str) -> None:
    """`?done=` is heard from our own forms alone."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        for path in ("/sign-in?done=signed_out", "/gate?done=approved"):
            said = "your keys are locked" if path.startswith("/sign-in") else "It is being carried out"
            assert said in (await browser.open(path, **{"sec-fetch-site": "same-origin", **PAGE})).text
            assert said not in (await browser.open(path, **{"sec-fetch-site": site, **PAGE})).text
            await browser.sign_in()


@given(st.text(max_size=60))
def test_whatever_an_agent_writes_stays_text(words: str) -> None:
    """Markup comes out escaped, and what no font shows comes out as a question mark."""

    class Desk:
        title = words

    page = write_page(
        "refused.html",
        {"desk": Desk, "login": None, "here": "/", "notice": None, "said": None, "typed": {}, "token": str},
    ).decode()
    shown = page.partition("<title>Not done · ")[2].partition("</title>")[0]
    assert not set(shown) & set("<>\"'\u202e\u200b\x00\x1b\r")
    assert shown.count("\n") == 0


def test_arguments_in_words_leave_nothing_out() -> None:
    """Every value stands on a line of its own name, money in its own spelling, deep things under their heads."""
    said = in_words(
        {"host": "maple", "max_price": {"amount": "100.00", "currency": "CAD"}, "window": {"not_before": "now"},
         "services": ["oil", "tyres"], "extras": ["a, b", "c"],
         "guests": [{"name": "Bo"}, {}], "note": "two\nlines", "ok": True, "x": None}
    )  # fmt: skip
    assert [(each.depth, each.label, each.lines) for each in said] == [
        (0, "host", ("maple",)),
        (0, "max price", ("100.00 CAD",)),
        (0, "window", ()),
        (1, "not before", ("now",)),
        (0, "services", ("oil, tyres",)),
        (0, "extras 1", ("a, b",)),
        (0, "extras 2", ("c",)),
        (0, "guests 1", ()),
        (1, "name", ("Bo",)),
        (0, "guests 2", ("nothing",)),
        (0, "note", ("two", "lines")),
        (0, "ok", ("yes",)),
        (0, "x", ("nothing",)),
    ]
