"""The four acts as governance runs them: two at once, two after a person's yes, each exactly once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.core.refusal import Refused
from sayso.gateway.knowledge import acts
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.governance.acts import ActClass, Repeats
from sayso.governance.consent import Consent, Evidence
from sayso.governance.kernel import ActCall
from sayso.governance.proposal import Ask, Decider, Proposal
from sayso.testing.gateway import OWNER, Bench, open_gateway
from tests.gateway.knowledge.shelf import domains, model

pytestmark = pytest.mark.anyio
SCOPES = frozenset(("mcp", "propose", "disclose"))
ROBIN = Decider(id="person_1", name="Robin", role="owner")
PROPOSAL = {
    "title": "Night trains with a roof of panels",
    "statement": "Put solar panels on the sleeper station.",
    "domain_keys": ["energy.solar", "travel.rail"],
    "confidence": 0.8,
}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_gateway(tmp_path) as opened:
        yield opened


@pytest.fixture
async def agent(bench: Bench) -> str:
    """An agent that was let in."""
    return (await bench.issue("Ada")).agent.id


@pytest.fixture
async def known(bench: Bench) -> Knowledge:
    """A knowledge whose acts the bench's house has."""
    found = Knowledge(
        bench.store,
        bench.ledger,
        owner=OWNER,
        clock=bench.clock,
        ids=bench.ids,
        domains=domains(),
        embedder=model(),
    )
    await found.open()
    acts.register(bench.registry, found)
    return found


async def disclose(bench: Bench, name: str, **arguments: Any) -> Any:
    found = await bench.governor.disclose(
        ActCall(call_id="call_1", name=name, arguments=arguments, actor="agent_ada", door="mcp", scopes=SCOPES)
    )
    return found.result


async def propose(bench: Bench, agent: str, name: str, arguments: dict[str, Any]) -> Proposal:
    ask = Ask(
        agent=agent, owner=OWNER, door="mcp", act=name, arguments=arguments,
        scopes=SCOPES,
    )  # fmt: skip
    return await bench.gate.file(bench.gate.prepare(ask))


async def carry_out(bench: Bench, agent: str, name: str, arguments: dict[str, Any]) -> Proposal:
    filed = await propose(bench, agent, name, arguments)
    await bench.gate.approve(filed.id, ROBIN, reason="It is worth it.")
    await bench.executor.run_once()
    return await bench.gate.find(filed.id)


@pytest.mark.req("GTW-040")
async def test_two_disclose_and_two_execute(bench: Bench, known: Knowledge) -> None:
    """Each with its class, closed schemas both ways, and words for a language model on every argument."""
    ours = [each for each in bench.registry.acts() if each.arguments.__module__ == acts.__name__]
    assert {each.name: (each.act_class, each.repeats) for each in ours} == {
        "semantic_search": (ActClass.DISCLOSURE, None),
        "query_hypotheses": (ActClass.DISCLOSURE, None),
        "submit_proposal": (ActClass.EXECUTION, Repeats.IDEMPOTENT),
        "run_simulation": (ActClass.EXECUTION, Repeats.IDEMPOTENT),
    }
    for act in ours:
        schema = act.input_schema()
        assert schema["additionalProperties"] is False
        assert [name for name, of in schema["properties"].items() if not of.get("description")] == []
        assert len(act.description) > 80
        assert (act.output_schema() or {})["type"] == "object"


@pytest.mark.req("GTW-040", "GTW-043")
async def test_a_search_is_disclosed(bench: Bench, known: Knowledge) -> None:
    """At once, as JSON that its own schema describes."""
    found = await disclose(bench, "semantic_search", query="kneading dough", limit=2)
    assert [hit["title"] for hit in found["hits"]][:1] == ["Bread Baking"]
    assert len(found["hits"]) == 2
    act, _ = bench.registry.find("semantic_search")
    assert act.result is not None
    msgspec.convert(msgspec.json.decode(msgspec.json.encode(found)), act.result)
    within = await disclose(bench, "semantic_search", query="kneading dough", domain_key="energy")
    assert {hit["domains"][0]["key"].partition(".")[0] for hit in within["hits"]} == {"energy"}


@pytest.mark.req("GTW-040")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("semantic_search", {}),
        ("semantic_search", {"query": ""}),
        ("semantic_search", {"query": "a", "limit": 0}),
        ("semantic_search", {"query": "a", "limit": 51}),
        ("semantic_search", {"query": "a", "other": 1}),
        ("query_hypotheses", {"kind": "hunch"}),
        ("query_hypotheses", {"min_confidence": 1.5}),
    ],
)
async def test_wrong_arguments_are_refused(
    bench: Bench, known: Knowledge, name: str, arguments: dict[str, Any]
) -> None:
    """By the schema, naming the member."""
    with pytest.raises(Refused) as caught:
        await disclose(bench, name, **arguments)
    assert caught.value.refusal.code == "schema_invalid"


@pytest.mark.req("GTW-030", "GTW-040", "GTW-044")
async def test_a_proposal_is_taken_in_once_a_person_approved(bench: Bench, known: Knowledge, agent: str) -> None:
    """Not before; and then under the agent's name, as evidence at the confidence it stated."""
    filed = await propose(bench, agent, "submit_proposal", PROPOSAL)
    await bench.executor.run_once()
    assert (await known.stats()).documents == {"house": 12}
    await bench.gate.approve(filed.id, ROBIN, reason="Panels pay.")
    await bench.executor.run_once()
    done = await bench.gate.find(filed.id)
    assert done.result is not None
    passage = await known.passage(f"{done.result['document']}.0")
    assert passage is not None
    assert (passage.by, passage.by_kind, passage.source) == (agent, "agent", "proposal")
    found = (await disclose(bench, "query_hypotheses", kind="intent", domain="energy"))["hypotheses"]
    assert [(each["domains"], each["supporting"]) for each in found] == [(["energy.solar"], 0.8)]
    assert found[0]["evidence"][0]["rule"] == "an adopted proposal"
    kinds = [each.kind for each in await bench.ledger.records()]
    assert (
        kinds[-3:] == ["proposal.executing", "knowledge.ingested", "proposal.executed"] or "knowledge.ingested" in kinds
    )


@pytest.mark.req("GTW-044")
async def test_what_a_proposal_cites_counts_for_it_too(bench: Bench, known: Knowledge, agent: str) -> None:
    """Observations by their ids at half its confidence; other evidence becomes part of its words."""
    kept = await known.ingest(title="Seen", text="Roofs of stations are flat and wide.", by=agent, by_kind="agent")
    cited = f"{kept.document}.0"
    done = await carry_out(bench, agent, "submit_proposal", {**PROPOSAL, "evidence": [cited, "Stations are sunny."]})
    assert done.result is not None
    intent = next(each for each in await known.hypotheses(kind="intent", domain_key="energy.solar"))
    assert {(each.observation, each.weight) for each in intent.evidence} >= {(cited, 0.4)}
    second = await known.passage(f"{done.result['document']}.1")
    assert second is not None
    assert second.text == "Stations are sunny."


@pytest.mark.req("GTW-044")
async def test_a_proposal_that_cites_nothing_real_fails(bench: Bench, known: Knowledge, agent: str) -> None:
    """With the member named, and nothing taken in."""
    done = await carry_out(bench, agent, "submit_proposal", {**PROPOSAL, "evidence": ["doc_nowhere.0"]})
    assert done.refusal is not None
    assert (done.state.value, done.refusal.code) == ("failed", "unknown_observation")
    assert (await known.stats()).documents == {"house": 12}


@pytest.mark.req("GTW-033", "GTW-040", "GTW-044")
async def test_a_simulation_runs_after_a_yes_and_repeats_itself(bench: Bench, known: Knowledge, agent: str) -> None:
    """Its seed follows from the approved call, so a second run after a crash is the same answer."""
    await known.ingest(title="Seen", text="The grid may fail.", by=agent, domain_keys=("energy.grid",))
    (risk,) = (each for each in await known.hypotheses(kind="risk") if each.domains == ("energy.grid",))
    done = await carry_out(bench, agent, "run_simulation", {"hypothesis_id": risk.id})
    assert done.result is not None
    assert (done.state.value, done.result["hypothesis"], done.result["pieces"]) == ("executed", risk.id, 1)
    _, operation = bench.registry.find("run_simulation")
    consent = Consent(
        by="person_1", evidence=Evidence.GATE_DECISION, subject_sha256="x", mode="human_present", agent=agent,
        call_id=done.id,
    )  # fmt: skip
    size = (await bench.ledger.standing()).records
    assert await operation(acts.RunSimulation(hypothesis_id=risk.id), consent) == done.result
    assert (await bench.ledger.standing()).records == size


@pytest.mark.req("GTW-033")
async def test_adopting_twice_is_adopting_once(bench: Bench, known: Knowledge, agent: str) -> None:
    """The same call after a crash has no second effect."""
    done = await carry_out(bench, agent, "submit_proposal", PROPOSAL)
    before = (await known.stats(), await known.hypotheses(limit=50))
    _, operation = bench.registry.find("submit_proposal")
    consent = Consent(
        by="person_1", evidence=Evidence.GATE_DECISION, subject_sha256="x", mode="human_present", agent=agent,
        call_id=done.id,
    )  # fmt: skip
    await operation(msgspec.convert(PROPOSAL, acts.SubmitProposal), consent)
    assert (await known.stats(), await known.hypotheses(limit=50)) == before
