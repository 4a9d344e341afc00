"""The task feed over a socket: what is whose, results that are kept once, and what is learnt from them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from sayso.core.canonical import canonical
from sayso.core.refusal import Refused
from sayso.gateway.knowledge.embedding import WordLlama
from sayso.proof.hashes import sha256_b64u
from tests.gateway.doors.acp.houses import Said
from tests.gateway.doors.tasks.offices import DOMAIN, open_office

pytestmark = pytest.mark.anyio

RESULT = {"artifact_type": "report", "body": {"summary": "Flour from the mill costs two dollars", "sources": [1, 2]}}
HASH = sha256_b64u(canonical(RESULT["body"]))


def code(said: Said) -> tuple[int, bool, str]:
    document = said.json
    assert set(document) == {"ok", "error"}
    return said.status, document["ok"], document["error"]["code"]


@pytest.mark.req("GTW-005")
async def test_an_agent_sees_what_was_assigned_to_it(tmp_path: Path, location: str) -> None:
    """Exactly the members of the reference, the oldest first; another agent's work is not among them."""
    async with open_office(tmp_path, location) as office:
        first = await office.assign()
        office.bench.clock.advance(timedelta(minutes=1))
        second = await office.assign(text="And for butter", domain_key=None, budget_cents=0)
        await office.assign(office.eve)
        said = await office.worker.feed()
        assert said.status == 200
        assert said.json == {
            "ok": True,
            "agent": office.ada.agent.id,
            "tasks": [
                {
                    "id": first.id,
                    "task_type": "research",
                    "budget_cents": 500,
                    "approved_by": "ada",
                    "approved_at": "2026-10-13T13:00:00Z",
                    "input": {"question": "Look for cheap flour"},
                    "domain_key": DOMAIN,
                    "reason": "We bake",
                },
                {
                    "id": second.id,
                    "task_type": "research",
                    "budget_cents": 0,
                    "approved_by": "ada",
                    "approved_at": "2026-10-13T13:01:00Z",
                    "input": {"question": "And for butter"},
                    "domain_key": None,
                    "reason": "We bake",
                },
            ],
        }


@pytest.mark.req("GTW-006")
async def test_a_result_is_kept_learnt_from_and_receipted(tmp_path: Path, location: str) -> None:
    """In one unit: the artifact under its hash, its words in memory with the agent as source, the run executed."""
    async with open_office(tmp_path, location) as office:
        task = await office.assign()
        said = await office.worker.deliver(task.id, RESULT)
        assert (said.status, said.json) == (
            200,
            {
                "ok": True,
                "agent": office.ada.agent.id,
                "run_id": task.id,
                "status": "executed",
                "artifact": {"artifact_type": "report", "sha256": HASH},
            },
        )
        artifact = await office.tasks.artifact(HASH)
        assert artifact is not None
        assert artifact.data == canonical(RESULT["body"])
        hits = (await office.memory.search("flour mill")).hits
        assert [(hit.by, hit.run_id, DOMAIN in str(hit)) for hit in hits] == [(office.ada.agent.id, task.id, True)]
        done = await office.tasks.find(task.id)
        assert (done.state, done.artifact_type, done.artifact_sha256) == ("executed", "report", HASH)
        assert (await office.worker.feed()).json["tasks"] == []
        records = await office.bench.ledger.records()
        kinds = [(each.kind, each.actor) for each in records if each.kind.startswith(("task.", "knowledge."))]
        assert kinds == [
            ("task.assigned", "ada"),
            ("knowledge.ingested", office.ada.agent.id),
            ("task.executed", office.ada.agent.id),
        ]
        assert records[-1].links[0].sha256 == HASH


@pytest.mark.req("GTW-006")
async def test_a_result_is_found_by_what_it_means(tmp_path: Path) -> None:
    """Its observations have embeddings of the real model: other words for the same find it."""
    async with open_office(tmp_path, embedder=WordLlama()) as office:
        task = await office.assign()
        await office.worker.deliver(task.id, {"body": "The doctor saw the patient at the clinic"})
        found = await office.memory.search("physician hospital visit")
        assert (found.how, [(hit.run_id, hit.text_rank) for hit in found.hits]) == ("hybrid", [(task.id, None)])


@pytest.mark.req("GTW-006")
async def test_the_same_result_again_is_told_the_same(tmp_path: Path, location: str) -> None:
    """Written in another order too, since that is the same JSON; nothing is kept or learnt twice."""
    async with open_office(tmp_path, location) as office:
        task = await office.assign()
        first = await office.worker.deliver(task.id, RESULT)
        body = dict(reversed(RESULT["body"].items()))
        again = await office.worker.deliver(task.id, {"body": body, "artifact_type": "report"})
        assert (again.status, again.body) == (200, first.body)
        records = await office.bench.ledger.records()
        assert [each.kind for each in records].count("task.executed") == 1


@pytest.mark.req("GTW-006")
@pytest.mark.parametrize(
    "other", [{**RESULT, "body": "another"}, {**RESULT, "artifact_type": "note"}, {"body": RESULT["body"]}]
)
async def test_another_result_for_the_same_run_is_refused(tmp_path: Path, other: object) -> None:
    """Another body or another type; what was kept stays."""
    async with open_office(tmp_path) as office:
        task = await office.assign()
        await office.worker.deliver(task.id, RESULT)
        assert code(await office.worker.deliver(task.id, other)) == (409, False, "task_result_conflict")
        assert (await office.tasks.find(task.id)).artifact_sha256 == HASH


@pytest.mark.req("GTW-006")
async def test_two_results_at_once_have_one_effect(tmp_path: Path, location: str) -> None:
    """Of two that race one is kept and the other refused; of two that say the same both are told so."""
    async with open_office(tmp_path, location) as office:
        task, same = await office.assign(), await office.assign()
        found: list[Said] = []

        async def deliver(run_id: str, body: object) -> None:
            found.append(await office.worker.deliver(run_id, {"body": body}))

        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(deliver, task.id, f"number {number}")
        assert sorted(each.status for each in found) == [200, 409, 409, 409]
        found.clear()
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(deliver, same.id, "the same")
        assert {(each.status, each.body) for each in found} == {(200, found[0].body)}
        records = await office.bench.ledger.records()
        assert [each.kind for each in records].count("task.executed") == 2


@pytest.mark.req("GTW-006")
async def test_a_run_of_another_is_like_none(tmp_path: Path) -> None:
    """To the byte: another agent's, one taken back, one that never was, and what is no id."""
    async with open_office(tmp_path) as office:
        theirs, gone = await office.assign(office.eve), await office.assign()
        await office.tasks.withdraw(gone.id, by="ada")
        names = (theirs.id, gone.id, "run_nothing", "..", "%20", "a" * 300)
        answers = [await office.worker.deliver(name, RESULT) for name in names if name != ".."]
        assert code(answers[0]) == (404, False, "run_not_found_for_agent")
        assert {(each.status, each.body) for each in answers} == {(404, answers[0].body)}
        assert (await office.tasks.find(theirs.id)).state == "assigned"
        assert (await office.worker.feed()).json["tasks"] == []


@pytest.mark.req("GTW-006")
@pytest.mark.parametrize("body", [None, "", 0, [], {}, "…", True, {"a": {"b": ["c"]}}])
async def test_any_json_is_a_result(tmp_path: Path, body: object) -> None:
    """Without a word in it as well: then its name is what memory knows."""
    async with open_office(tmp_path) as office:
        task = await office.assign()
        said = await office.worker.deliver(task.id, {"body": body})
        assert (said.status, said.json["artifact"]) == (
            200, {"artifact_type": "result", "sha256": sha256_b64u(canonical(body))},
        )  # fmt: skip


@pytest.mark.req("GTW-006")
@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (b"", (400, "malformed_json")),
        (b'{"body":NaN}', (400, "malformed_json")),
        (b'{"body":1,"body":2}', (400, "malformed_json")),
        (b'{"body":"\xff"}', (400, "malformed_json")),
        (b'{"body":"\\ud800"}', (400, "malformed_json")),
        (b'{"body":' + b"[" * 4000, (413, "payload_limits")),
        (b'{"body":' + b"[" * 5 + b"]" * 5 + b"}", (413, "payload_limits")),
        (b'{"body":"' + b"x" * 2001 + b'"}', (413, "payload_limits")),
        (b'{"body":{"' + b"x" * 2001 + b'":1}}', (413, "payload_limits")),
        (b'{"body":9007199254740993}', (400, "schema_invalid")),
        (b"{}", (400, "schema_invalid")),
        (b'{"body":1,"more":1}', (400, "schema_invalid")),
        (b'{"body":1,"artifact_type":"a b"}', (400, "schema_invalid")),
        (b'{"body":1,"artifact_type":7}', (400, "schema_invalid")),
        (b"[]", (400, "schema_invalid")),
        (b'{"body":"' + b"x" * 8192 + b'"}', (413, "body_too_large")),
    ],
)
async def test_a_bad_result_changes_nothing(tmp_path: Path, result: bytes, wanted: tuple[int, str]) -> None:
    """Refused in the feed's own shape, and receipted; the run waits on."""
    async with open_office(tmp_path) as office:
        task = await office.assign()
        said = await office.worker.deliver(task.id, result)
        assert code(said) == (wanted[0], False, wanted[1])
        assert (await office.tasks.find(task.id)).state == "assigned"
        receipt = (await office.bench.ledger.disclosures())[-1]
        assert (receipt.kind, receipt.output_sha256) == ("crossing.refused", sha256_b64u(said.body))


@pytest.mark.req("GTW-005", "GTW-022")
async def test_every_other_address_is_refused_in_the_feeds_shape(tmp_path: Path) -> None:
    """Methods and paths that are none of the feed's."""
    async with open_office(tmp_path) as office:
        http = office.worker.http
        for method, path in (
            ("POST", ""),
            ("GET", "/x/result"),
            ("GET", "/x"),
            ("GET", "/a%0Ab"),
            ("DELETE", ""),
            ("POST", "/x/results"),
        ):
            answer = await http.request(method, f"/api/protocols/tasks{path}")
            assert code(Said(answer.status_code, answer.headers, answer.content)) == (404, False, "no_such_path")


@pytest.mark.req("GTW-005")
async def test_an_assignment_is_a_persons_receipted_decision(tmp_path: Path) -> None:
    """With the hash of the input and of the reason, neither in the clear; taking it back is another."""
    async with open_office(tmp_path) as office:
        task = await office.assign()
        await office.tasks.withdraw(task.id, by="ada")
        assigned, withdrawn = (await office.bench.ledger.records())[-2:]
        assert (assigned.kind, assigned.actor) == ("task.assigned", "ada")
        assert assigned.inputs_sha256 == sha256_b64u(canonical({"question": "Look for cheap flour"}))
        assert assigned.body == {
            "agent": office.ada.agent.id, "budget_cents": 500, "run": task.id, "task_type": "research",
            "reason_sha256": sha256_b64u(b"We bake"),
        }  # fmt: skip
        assert (withdrawn.kind, withdrawn.actor) == ("task.withdrawn", "ada")
        with pytest.raises(Refused) as over:
            await office.tasks.withdraw(task.id, by="ada")
        assert over.value.refusal.code == "task_is_over"


@pytest.mark.req("GTW-005")
@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({"budget_cents": -1}, "malformed_task"),
        ({"budget_cents": 2**31}, "malformed_task"),
        ({"reason": "  "}, "malformed_task"),
        ({"domain_key": "no.such"}, "unknown_domain"),
        ({"text": "x" * 2001}, "payload_limits"),
    ],
)
async def test_work_is_assigned_within_limits(tmp_path: Path, more: dict[str, object], wanted: str) -> None:
    """To an agent there is, for a reason, within a budget."""
    async with open_office(tmp_path) as office:
        with pytest.raises(Refused) as refused:
            await office.assign(**more)
        assert refused.value.refusal.code == wanted
        assert await office.tasks.list() == []


@pytest.mark.req("GTW-005")
async def test_a_list_is_narrowed_before_it_is_cut(tmp_path: Path) -> None:
    """To an agent or a state, the newest first; nobody gets work who is not there."""
    async with open_office(tmp_path) as office:
        one, two, three = await office.assign(), await office.assign(office.eve), await office.assign()
        await office.tasks.withdraw(one.id, by="ada")
        ids = [each.id for each in await office.tasks.list(agent=office.eve.agent.id, limit=1)]
        assert ids == [two.id]
        assert [each.id for each in await office.tasks.list(state="withdrawn", limit=1)] == [one.id]
        assert {each.id for each in await office.tasks.list()} == {one.id, two.id, three.id}
        with pytest.raises(Refused) as refused:
            await office.tasks.assign("nobody", "research", {}, budget_cents=0, reason="x", approved_by="ada")
        assert refused.value.refusal.code == "unknown_agent"
