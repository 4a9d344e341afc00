"""The protocol's door over a socket: who is there, runs of both classes, what they become, and whose they are."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.core import strictjson
from sayso.core.frames import SseDecoder
from sayso.core.refusal import Refused
from sayso.governance.acts import Act, ActClass, Registry, Repeats
from sayso.governance.consent import Consent
from sayso.proof.hashes import sha256_b64u
from sayso.testing.gateway import Text
from tests.gateway.doors.acp.houses import OWNER, Caller, Said, ask, open_house

pytestmark = pytest.mark.anyio

NOBODYS = "00000000-0000-4000-8000-000000000000"


def error(said: Said) -> tuple[int, str, str]:
    """Status, the protocol's code and ours; and nothing else may be in an error."""
    document = said.json
    assert set(document) == {"code", "message", "data"}
    return said.status, document["code"], document["data"]["code"]


def part(said: Said, key: str = "output") -> Any:
    """The value in the only JSON part of a run's output."""
    (message,) = said.json[key]
    return strictjson.parse(message["parts"][-1]["content"].encode())


def how_far(run: Any) -> Any:
    return strictjson.parse(run["await_request"]["message"]["parts"][-1]["content"].encode())


def events(said: Said) -> list[Any]:
    return [strictjson.parse(event.data) for event in SseDecoder().feed(said.body)]


async def propose(caller: Caller, text: str = "milk", mode: str = "sync") -> tuple[str, str]:
    """A run that awaits: its id and its proposal's."""
    run = (await caller.run("take-note", {"text": text}, mode)).json
    return run["run_id"], how_far(run)["proposal"]


@pytest.mark.req("GTW-004")
async def test_it_says_who_is_there(tmp_path: Path) -> None:
    """Ping, a page of agents, one agent with the schema of what it takes."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        assert ((await caller.get("/ping")).status, (await caller.get("/ping")).json) == (200, {})
        names = [each["name"] for each in (await caller.get("/agents?limit=1000")).json["agents"]]
        assert names[:4] == ["sayso", "echo", "mirror", "take-note"]
        assert [each["name"] for each in (await caller.get("/agents?limit=2&offset=1")).json["agents"]] == names[1:3]
        assert (await caller.get("/agents?offset=400")).json == {"agents": []}
        agent = (await caller.get("/agents/take-note")).json
        annotations = agent["metadata"]["annotations"]
        assert (agent["name"], annotations["act"], annotations["class"]) == ("take-note", "take_note", "execution")
        assert annotations["arguments"]["required"] == ["text"]
        assert error(await caller.get("/agents/nobody")) == (404, "not_found", "unknown_entity")


@pytest.mark.req("GTW-004")
@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=-1", "limit=1&limit=2", "limit=x", "offset=1.5", "limit=007"]
)
async def test_a_page_has_one_spelling(tmp_path: Path, query: str) -> None:
    """From 1 to 1000, once, in digits."""
    async with open_house(tmp_path) as house:
        assert error(await house.caller().get(f"/agents?{query}")) == (400, "invalid_input", "malformed_request")


@pytest.mark.req("GTW-004")
async def test_a_disclosure_is_over_when_its_call_returns(tmp_path: Path) -> None:
    """Under its own name, under the general agent's, and from plain text: the same run."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        runs = [
            await caller.run("echo", {"text": "hello"}),
            await caller.run("echo", "hello"),
            await caller.run("sayso", {"act": "echo", "arguments": {"text": "hello"}}),
        ]
        for said in runs:
            run = said.json
            assert (said.status, run["status"], part(said)) == (200, "completed", {"text": "hello"})
            assert (run["error"], run["await_request"], said.headers["run-id"]) == (None, None, run["run_id"])
            assert (await caller.get(f"/runs/{run['run_id']}")).json == run
        assert runs[0].json["output"][0]["role"] == "agent/echo"


@pytest.mark.req("GTW-004", "GTW-034")
async def test_a_disclosure_that_fails_is_a_failed_run(tmp_path: Path) -> None:
    """With what stopped it as its error, in each mode and when it is read again; never an output."""

    async def look(_arguments: Text, _consent: Consent | None) -> dict[str, bool]:
        raise Refused.because("no_such_shelf", "There is no such shelf", place="$.text", help="Look elsewhere.")

    def register(registry: Registry) -> None:
        act = Act(
            name="look", act_class=ActClass.DISCLOSURE, title="Look", description="Looks.", arguments=Text,
            touches_others=False,
        )  # fmt: skip
        registry.register(act, look)

    async with open_house(tmp_path, register=register) as house:
        caller = house.caller()
        run = (await caller.run("look", "here")).json
        assert (run["status"], run["output"]) == ("failed", [])
        assert run["error"] == {
            "code": "invalid_input",
            "message": "There is no such shelf",
            "data": {"code": "no_such_shelf", "place": "$.text", "help": "Look elsewhere."},
        }
        assert (await caller.get(f"/runs/{run['run_id']}")).json == run
        told = [event["type"] for event in events(await caller.run("look", "there", "stream"))]
        assert told == ["run.created", "run.in-progress", "run.failed"]


@pytest.mark.req("GTW-004")
async def test_the_mode_says_how_it_is_answered(tmp_path: Path) -> None:
    """200 for sync, 202 for async, an event stream of bare data lines for stream."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        later = await caller.run("echo", "hello", "async")
        assert (later.status, later.json["status"], later.headers["run-id"]) == (202, "completed", later.json["run_id"])
        said = await caller.run("echo", "hello", "stream")
        assert (said.status, said.headers["content-type"]) == (200, "text/event-stream")
        assert all(line.startswith(b"data: {") or not line for line in said.body.split(b"\n"))
        told = events(said)
        assert [event["type"] for event in told] == [
            "run.created", "run.in-progress", "message.created", "message.part", "message.completed", "run.completed",
        ]  # fmt: skip
        run_id = told[-1]["run"]["run_id"]
        assert said.headers["run-id"] == run_id
        assert (await caller.get(f"/runs/{run_id}/events")).json == {"events": told}


@pytest.mark.req("GTW-004", "GTW-034")
async def test_an_execution_awaits_a_person(tmp_path: Path) -> None:
    """It says which proposal and how far; asking again changes nothing while nobody has decided."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        said = await caller.run("take-note", {"text": "milk"})
        run = said.json
        assert (said.status, run["status"], run["output"], run["finished_at"]) == (200, "awaiting", [], None)
        found = await house.bench.gate.find(how_far(run)["proposal"])
        assert (found.state.value, found.arguments, found.context) == ("pending", {"text": "milk"}, run["session_id"])
        assert how_far(run)["state"] == "pending"
        assert found.id in run["await_request"]["message"]["parts"][0]["content"]
        asked_again = await caller.resume(run["run_id"])
        assert (asked_again.status, asked_again.json) == (200, run)
        assert (await caller.resume(run["run_id"], mode="async")).status == 202
        told = [event["type"] for event in events(await caller.resume(run["run_id"], mode="stream"))]
        assert told == ["run.in-progress", "run.awaiting"]
        assert house.bench.notes.taken == {}


@pytest.mark.req("GTW-034")
async def test_a_yes_completes_the_run(tmp_path: Path) -> None:
    """Resumed after the decision, the run has its result; later the same again."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        run_id, proposal = await propose(caller)
        await house.decide(proposal, yes=True)
        said = await caller.resume(run_id)
        assert (said.status, said.json["status"], part(said)) == (200, "completed", {"noted": True})
        assert list(house.bench.notes.taken.values()) == ["milk"]
        assert (await caller.resume(run_id)).json == (await caller.get(f"/runs/{run_id}")).json == said.json
        told = [event["type"] for event in events(await caller.resume(run_id, mode="stream"))]
        assert told == ["run.in-progress", "message.created", "message.part", "message.completed", "run.completed"]


@pytest.mark.req("GTW-034")
async def test_a_no_fails_the_run(tmp_path: Path) -> None:
    """And says so with the reason: an error, no output."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        run_id, proposal = await propose(caller)
        await house.decide(proposal, yes=False)
        run = (await caller.resume(run_id)).json
        assert (run["status"], run["output"], run["await_request"]) == ("failed", [], None)
        assert (run["error"]["code"], run["error"]["data"]["code"]) == ("invalid_input", "rejected")
        assert run["error"]["data"]["reason"] == "Not today"
        assert house.bench.notes.taken == {}


@pytest.mark.req("GTW-034")
async def test_silence_is_a_no(tmp_path: Path) -> None:
    """A proposal that nobody decided in time fails its run."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        run_id, _ = await propose(caller)
        house.bench.clock.advance(timedelta(days=2))
        run = (await caller.get(f"/runs/{run_id}")).json
        assert (run["status"], run["error"]["data"]["code"]) == ("failed", "expired")


@pytest.mark.req("GTW-034")
async def test_an_approved_act_still_awaits_until_it_is_over(tmp_path: Path) -> None:
    """Between yes and done a caller that resumes while it awaits goes on asking; it can still take it back."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        run_id, proposal = await propose(caller)
        await house.bench.gate.approve(proposal, OWNER, reason="Go ahead")
        run = (await caller.resume(run_id)).json
        assert (run["status"], how_far(run)["state"]) == ("awaiting", "approved")
        assert (await caller.post(f"/runs/{run_id}/cancel")).status == 202
        assert (await house.carry_out(proposal)).state.value == "withdrawn"
        assert house.bench.notes.taken == {}


@pytest.mark.req("GTW-004")
async def test_cancelling_takes_the_proposal_back(tmp_path: Path) -> None:
    """202 and cancelling, then cancelled; a second time there is nothing to take back."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        run_id, proposal = await propose(caller)
        said = await caller.post(f"/runs/{run_id}/cancel")
        assert (said.status, said.json["status"], said.json["run_id"]) == (202, "cancelling", run_id)
        assert (await house.bench.gate.find(proposal)).state.value == "withdrawn"
        assert (await caller.get(f"/runs/{run_id}")).json["status"] == "cancelled"
        assert error(await caller.post(f"/runs/{run_id}/cancel")) == (403, "invalid_input", "run_over")
        assert [each["type"] for each in (await caller.get(f"/runs/{run_id}/events")).json["events"]] == [
            "run.created", "run.in-progress", "run.cancelled",
        ]  # fmt: skip


@pytest.mark.req("GTW-004")
async def test_a_resume_that_says_withdraw_takes_it_back(tmp_path: Path) -> None:
    """In one call; and a resume that says yes decides nothing."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        run_id, proposal = await propose(caller)
        assert (await caller.resume(run_id, "approve")).json["status"] == "awaiting"
        assert (await house.bench.gate.find(proposal)).state.value == "pending"
        said = await caller.resume(run_id, "withdraw")
        assert (said.status, said.json["status"], said.json["await_request"]) == (200, "cancelled", None)
        assert (await house.bench.gate.find(proposal)).state.value == "withdrawn"


@pytest.mark.req("GTW-004")
async def test_what_was_decided_is_not_cancelled(tmp_path: Path) -> None:
    """A completed run stays what it is, a disclosure's too, and a disclosure has nothing to resume."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        run_id, proposal = await propose(caller)
        await house.decide(proposal, yes=True)
        assert error(await caller.post(f"/runs/{run_id}/cancel")) == (403, "invalid_input", "run_over")
        assert (await caller.resume(run_id, "withdraw")).json["status"] == "completed"
        echo = (await caller.run("echo", "hello")).json["run_id"]
        assert error(await caller.post(f"/runs/{echo}/cancel")) == (403, "invalid_input", "run_over")
        assert error(await caller.resume(echo)) == (403, "invalid_input", "nothing_awaited")


@pytest.mark.req("GTW-004", "GTW-034")
async def test_what_has_begun_is_not_cancelled(tmp_path: Path) -> None:
    """While an act is being carried out its run awaits, and neither a cancel nor a word takes it back."""
    begun, release = anyio.Event(), anyio.Event()

    async def slow(_arguments: Text, _consent: Consent | None) -> dict[str, bool]:
        begun.set()
        await release.wait()
        return {"done": True}

    def register(registry: Registry) -> None:
        act = Act(
            name="take_time", act_class=ActClass.EXECUTION, title="Take time", description="Waits.", arguments=Text,
            touches_others=False, repeats=Repeats.IDEMPOTENT,
        )  # fmt: skip
        registry.register(act, slow)

    async with open_house(tmp_path, register=register) as house:
        caller = house.caller()
        run = (await caller.run("take-time", "now")).json
        async with anyio.create_task_group() as group:
            group.start_soon(partial(house.decide, how_far(run)["proposal"], yes=True))
            await begun.wait()
            asked = (await caller.resume(run["run_id"])).json
            assert (asked["status"], how_far(asked)["state"]) == ("awaiting", "executing")
            assert error(await caller.post(f"/runs/{run['run_id']}/cancel")) == (403, "invalid_input", "run_over")
            assert error(await caller.resume(run["run_id"], "withdraw")) == (403, "invalid_input", "run_over")
            release.set()
        assert part(await caller.resume(run["run_id"])) == {"done": True}


@pytest.mark.req("GTW-004")
async def test_another_agents_run_is_like_none(tmp_path: Path) -> None:
    """On every operation, to the byte; and nothing happens to it."""
    async with open_house(tmp_path) as house:
        caller, eve = house.caller(), house.caller(await house.bench.issue("eve"))
        run = (await caller.run("take-note", {"text": "milk"})).json
        for theirs, none in (
            (await eve.get(f"/runs/{run['run_id']}"), await eve.get(f"/runs/{NOBODYS}")),
            (await eve.get(f"/runs/{run['run_id']}/events"), await eve.get(f"/runs/{NOBODYS}/events")),
            (await eve.resume(run["run_id"], "withdraw"), await eve.resume(NOBODYS, "withdraw")),
            (await eve.post(f"/runs/{run['run_id']}/cancel"), await eve.post(f"/runs/{NOBODYS}/cancel")),
            (await eve.get(f"/sessions/{run['session_id']}"), await eve.get(f"/sessions/{NOBODYS}")),
            (await eve.get(f"/session/{run['session_id']}"), await eve.get(f"/session/{NOBODYS}")),
        ):
            assert error(none) == (404, "not_found", "unknown_entity")
            assert (theirs.status, theirs.body) == (none.status, none.body)
        assert (await caller.get(f"/runs/{run['run_id']}")).json == run


@pytest.mark.req("GTW-004")
async def test_a_session_ties_runs_together(tmp_path: Path) -> None:
    """Named by id or as a document, seen under both addresses; two agents may name theirs alike."""
    async with open_house(tmp_path) as house:
        caller, eve = house.caller(), house.caller(await house.bench.issue("eve"))
        run = (await caller.run("take-note", "milk")).json
        session = run["session_id"]
        again = (await caller.run("take-note", "bread", session_id=session)).json
        forwarded = {"id": session, "history": ["http://127.0.0.1:1/never-fetched"], "state": None}
        third = (await caller.run("take-note", "eggs", session=forwarded)).json
        assert [again["session_id"], third["session_id"]] == [session, session]
        assert len(await house.bench.gate.list(context=session)) == 3
        assert (await caller.get(f"/session/{session}")).json == {"id": session, "history": [], "state": None}
        assert (await caller.get(f"/sessions/{session}")).json == {"id": session, "history": [], "state": None}
        assert (await eve.run("echo", "hi", session_id=session)).status == 200
        two = await caller.run("echo", "hi", session_id=session, session={"id": NOBODYS})
        assert error(two) == (400, "invalid_input", "malformed_request")


@pytest.mark.req("GTW-004", "GTW-050")
async def test_every_call_is_receipted_by_the_bytes(tmp_path: Path) -> None:
    """A stream's hash is the whole stream's; a refusal has a receipt as well."""
    async with open_house(tmp_path) as house:
        caller = house.caller()
        streamed, run = await caller.run("echo", "hello", "stream"), await caller.run("take-note", "milk")
        refused = await caller.get(f"/runs/{NOBODYS}")
        kept = {each.output_sha256: each for each in await house.bench.ledger.disclosures()}
        for said in (streamed, run, refused):
            assert kept[sha256_b64u(said.body)].actor == house.ada.agent.id
        asked = strictjson.encode(ask("echo", "hello", mode="stream"))
        assert kept[sha256_b64u(streamed.body)].inputs_sha256 == sha256_b64u(asked)
        assert kept[sha256_b64u(refused.body)].kind == "crossing.refused"


@pytest.mark.req("GTW-004")
async def test_runs_are_rows_on_either_engine(tmp_path: Path, location: str) -> None:
    """They outlive the process that answered; a disclosure's answer for a day, an awaiting run as long as it awaits."""
    async with open_house(tmp_path, location=location) as house:
        caller = house.caller()
        echo, (note, proposal) = (await caller.run("echo", "hello")).json, await propose(caller)
    async with open_house(tmp_path, location=location, ada=house.ada) as again:
        caller = again.caller()
        assert (await caller.get(f"/runs/{echo['run_id']}")).json == echo
        await again.decide(proposal, yes=False)
        assert (await caller.resume(note)).json["status"] == "failed"
        again.bench.clock.advance(timedelta(days=1, seconds=1))
        await caller.run("echo", "later")
        assert error(await caller.get(f"/runs/{echo['run_id']}")) == (404, "not_found", "unknown_entity")
        assert (await caller.get(f"/runs/{note}")).status == 200
