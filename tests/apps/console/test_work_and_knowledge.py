"""Tasks, memory, hypotheses, limits and receipts in the console."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import insert, update

from sayso.apps.console.desk import HOUSE_AGENT
from sayso.core import strictjson
from sayso.governance.machine import ProposalState
from sayso.store.statements import statement
from sayso.store.tables import micros
from sayso.store.tables.gateway import gateway_violations
from sayso.store.tables.ledger import ledger_record
from tests.apps.console.desks import add, browsing, carrying_out, open_desk, propose, until

pytestmark = pytest.mark.anyio
PART = {"HX-Request": "true"}


@pytest.mark.req("GTW-005", "GTW-060")
async def test_work_is_assigned_with_a_budget_and_a_reason(folder: Path) -> None:
    """To an agent that may use the task feed, which finds it there; work that is not done is taken back."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        helper = await desk.agents.issue("helper", by="ada")
        await desk.agents.issue("no feed", by="ada", scopes=frozenset({"mcp"}))
        await browser.sign_in()
        page = (await browser.open("/tasks")).text
        assert (helper.agent.id in page, "no feed" in page) == (True, False)
        fields = {"agent": helper.agent.id, "task_type": "research", "input": "Find a garage", "reason": "it rattles"}
        for wrong in (
            {"budget_cents": "-1"},
            {"budget_cents": "1", "reason": ""},
            {"budget_cents": "1", "domain_key": "no"},
        ):
            await browser.open("/tasks")
            answer = await browser.send("/tasks", **{**fields, **wrong})
            assert (answer.status_code in (404, 409, 422), "Find a garage" in answer.text) == (True, True), wrong
        await browser.open("/tasks")
        assert (await browser.send("/tasks", budget_cents="1250", **fields)).status_code == 303
        (work,) = await desk.tasks.assigned_to(helper.agent.id)
        assert (work.task_type, work.input, work.budget_cents, work.reason, work.approved_by) == (
            "research", {"instructions": "Find a garage"}, 1250, "it rattles", "console:ada",
        )  # fmt: skip
        assert "12.50" in (await browser.open("/tasks")).text
        assert (await browser.send(f"/tasks/{work.id}/withdraw")).status_code == 303
        assert await desk.tasks.assigned_to(helper.agent.id) == []
        await browser.open("/tasks")
        answer = await browser.send("/tasks", **{**fields, "budget_cents": "0", "input": '{"places": ["a", "b"]}'})
        (work,) = await desk.tasks.assigned_to(helper.agent.id)
        assert work.input == {"places": ["a", "b"]}


@pytest.mark.req("GTW-043", "GTW-060")
async def test_a_document_is_added_and_found_again(folder: Path) -> None:
    """In the person's name, with its receipt; what is searched for by the page's script comes without the page."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        await browser.open("/memory")
        text = "The brake pads of the blue car were changed in May by the garage in Maple Street."
        for wrong in ({"title": ""}, {"domain_keys": "nowhere"}, {"text": ""}):
            answer = await browser.send("/memory", **{"title": "Brakes", "text": text, **wrong})
            assert answer.status_code in (404, 409, 422), wrong
            assert "Brakes" in answer.text or wrong == {"title": ""}
        assert (await browser.send("/memory", title="Brakes", text=text)).status_code == 303
        page = (await browser.open("/memory?q=brake+pads")).text
        receipt = re.search(r'href="/receipts/(\d+)"', page)
        assert receipt is not None
        assert (text in page, "console:ada" in page) == (True, True)
        (record,) = await desk.ledger.records(int(receipt[1]), int(receipt[1]) + 1)
        assert (record.kind, record.actor) == ("knowledge.ingested", "console:ada")
        part = (await browser.open("/memory?part=hits&q=brake+pads", **PART)).text
        assert (text in part, "<!doctype" in part) == (True, False)


@pytest.mark.req("GTW-044", "GTW-060", "GTW-032")
async def test_a_simulation_is_asked_for_decided_and_shown(folder: Path) -> None:
    """The page computes nothing: the house asks, a person decides, the executor runs it, the page shows the result."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        domains = [each.key for each in desk.knowledge.domains.all()[:1]]
        await desk.knowledge.ingest(
            title="Fears",
            text="I am worried that this may fail badly; there is a serious risk that it breaks. We plan to mend it.",
            by="ada",
            domain_keys=tuple(domains),
        )
        found = await desk.knowledge.hypotheses()
        assert found, "the sentence above suggests something"
        page = (await browser.open("/hypotheses")).text
        assert found[0].id in page
        path = f"/hypotheses/{found[0].id}"
        assert found[0].evidence[0].text.replace("'", "&#39;") in (await browser.open(path)).text
        answer = await browser.send(f"{path}/simulate")
        asked = answer.headers["location"].partition("?")[0]
        proposal = await desk.gate.find(asked.rpartition("/")[2])
        assert (proposal.agent, proposal.act, proposal.state, proposal.note) == (
            HOUSE_AGENT, "run_simulation", ProposalState.PENDING, b"console:ada",
        )  # fmt: skip
        page = (await browser.open(asked)).text
        assert ("this house, asked by console:ada," in page, "/agents/console" in page) == (True, False)
        assert (await browser.send(f"{asked}/approve", reason="let us see")).status_code == 303
        async with carrying_out(desk):
            await until(desk, proposal.id, ProposalState.EXECUTED)
        assert "10000 draws" in (await browser.open(path)).text


@pytest.mark.req("GTW-060")
async def test_who_went_past_a_limit_is_shown(folder: Path) -> None:
    """The count that leads to suspension, the newest violations in words, and the limits themselves."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        helper = (await desk.agents.issue("helper", by="ada")).agent
        row = {
            "owner": desk.owner, "agent": helper.id, "fingerprint": b"x" * 32, "code": "bad_signature", "door": "mcp",
            "term": 0, "at_us": micros(desk.clock.now()) + 1,
        }  # fmt: skip
        await desk.store.unit(lambda unit: unit.execute(statement(insert(gateway_violations)), row))
        await browser.sign_in()
        page = (await browser.open("/limits")).text
        assert ("1 of 5" in page, "20 in 1 min" in page, "8192 bytes" in page) == (True, True, True)
        assert "<code>bad_signature</code>" in page
        assert "helper" in (await browser.open("/")).text


@pytest.mark.req("GTW-051", "GTW-052", "GTW-060")
async def test_receipts_are_shown_with_their_proofs_and_verified_on_request(folder: Path) -> None:
    """Exactly the bytes that were hashed; a record changed in the database is found, and named."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        for number in range(30):
            await desk.agents.issue(f"agent {number}", by="ada")
        await browser.sign_in()
        first = (await browser.open("/receipts")).text
        assert ('href="/receipts/31"' in first, 'href="/receipts/2"' in first) == (True, False)
        older = (await browser.open("/receipts?before=7")).text
        assert ('href="/receipts/6"' in older, 'href="/receipts/7"' in older) == (True, False)
        by_kind = (await browser.open("/receipts?kind=console")).text
        assert re.findall(r'href="/receipts/(\d+)"', by_kind) == ["31", "0"]
        page = (await browser.open("/receipts/5")).text
        (record,) = await desk.ledger.records(5, 6)
        assert record.data.decode().replace('"', "&#34;") in page
        proof = await desk.ledger.prove_record(5)
        assert all(step.hex() in page for step in proof.path)
        intact = (await browser.open("/receipts/verify?part=verdict", **PART)).text
        assert ("Intact." in intact, "<!doctype" in intact) == (True, False)
        forged = strictjson.encode({**strictjson.parse(record.data), "actor": "mallory"})
        change = statement(update(ledger_record).where(ledger_record.c.seq == 5).values(data=forged))
        await desk.store.unit(lambda unit: unit.execute(change))
        assert "Not intact" in (await browser.open("/receipts/verify")).text


@pytest.mark.req("GTW-060")
async def test_changes_are_told_as_names_and_end_with_the_sign_in(folder: Path) -> None:
    """Never what changed: the page fetches that, with its own cookie; after a sign-out the stream says so and ends."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        await browser.open("/agents")
        async with browser.client.stream("GET", "/live") as stream:
            lines = stream.aiter_lines()
            seen = [line async for line in _until(lines, "event: following")]
            await propose(desk, text="secret words")
            seen += [line async for line in _until(lines, "event: gate")]
            await browser.send("/sign-out")
            seen += [line async for line in _until(lines, "event: end")]
            seen += [line async for line in lines]
        assert "secret words" not in "\n".join(seen)


async def _until(lines: object, wanted: str) -> object:
    async for line in lines:
        yield line
        if line == wanted:
            return
