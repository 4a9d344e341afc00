"""Hypotheses follow from what was observed, and what they rest on is all that they are."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql

from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.gateway.knowledge.hypotheses import Hypothesis
from sayso.gateway.knowledge.intake import Ingest
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.store.statements import statement
from sayso.store.unit import Store
from tests.gateway.knowledge.shelf import knowledge_on, model

pytestmark = pytest.mark.anyio


async def tell(knowledge: Knowledge, text: str, *keys: str, by: str = "agent_ada", **more: object) -> tuple[str, ...]:
    fields: dict[str, object] = {"title": "Told", "source": "note", "by_kind": "agent", **more}
    kept = await knowledge.memory.ingest(Ingest(text=text, by=by, domain_keys=keys, **fields))  # type: ignore[arg-type]
    return kept.hypotheses


async def about(knowledge: Knowledge, kind: str, *keys: str) -> Hypothesis:
    found = await knowledge.hypotheses(limit=50)
    return next(each for each in found if each.kind == kind and each.domains == keys)


def recomputed(found: Hypothesis) -> tuple[float, float, float]:
    """Sums and confidence out of the evidence that is shown."""
    supporting = sum(each.weight for each in found.evidence if each.supports)
    opposing = sum(each.weight for each in found.evidence if not each.supports)
    return round(supporting, 3), round(opposing, 3), round((1 + supporting) / (2 + supporting + opposing), 6)


@pytest.mark.req("GTW-044")
async def test_each_kind_comes_from_its_observations(knowledge: Knowledge) -> None:
    """An aim, a warning, two subjects in one passage, and two writers who say the same."""
    await tell(knowledge, "We plan to put solar panels on the railway station.", "energy.solar", "travel.rail")
    await tell(knowledge, "The panels may fail in winter.", "energy.solar")
    await tell(knowledge, "We plan to put solar panels onto railway stations.", "energy.solar", by="agent_bea")
    kinds = {(each.kind, *each.domains) for each in await knowledge.hypotheses(limit=50)}
    assert kinds >= {
        ("intent", "energy.solar"),
        ("risk", "energy.solar"),
        ("bridge", "energy.solar", "travel.rail"),
        ("alignment", "energy.solar"),
    }
    aligned = await about(knowledge, "alignment", "energy.solar")
    assert [(each.by, each.supports) for each in aligned.evidence] == [("agent_bea", True)]
    assert aligned.statement == "What different writers say about Solar Power agrees."


@pytest.mark.req("GTW-044")
async def test_a_confidence_is_recomputed_from_what_is_shown(knowledge: Knowledge) -> None:
    """Support raises it, opposition lowers it, by the formula and nothing else."""
    await tell(knowledge, "The grid may fail at any hour.", "energy.grid")
    first = await about(knowledge, "risk", "energy.grid")
    await tell(knowledge, "There is no risk to the grid this year.", "energy.grid", by="agent_bea")
    both = await about(knowledge, "risk", "energy.grid")
    assert [sorted({each.supports for each in found.evidence}) for found in (first, both)] == [[True], [False, True]]
    for found in (first, both, await knowledge.hypothesis(both.id)):
        assert (found.supporting, found.opposing, found.confidence) == recomputed(found)
    assert first.confidence > both.confidence
    assert both.pieces == 2


@pytest.mark.req("GTW-044")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    told=st.lists(
        st.tuples(
            st.sampled_from(
                ["We plan to {}.", "{} may fail.", "No risk to {}.", "They abandoned {}.", "{} is not linked."]
            ),
            st.sampled_from(["the loaf", "a sleeper train", "the panels", "the dentist's chair"]),
            st.sampled_from(["agent_ada", "agent_bea", "person_1"]),
        ),
        max_size=5,
    )
)
def test_sums_are_those_of_the_evidence(shelf: Knowledge, store: Store, told: list[tuple[str, str, str]]) -> None:
    """Invariant I-KNOW-1, after whatever was told in whatever order."""

    async def tell_all() -> None:
        for form, thing, by in told:
            await tell(shelf, form.format(thing), "food.bread", "travel.rail", by=by)

    asyncio.run(tell_all())
    rows = store.read(
        lambda view: view.all(
            statement(
                sql(
                    "SELECT h.id, h.supporting, h.opposing,"
                    " (SELECT coalesce(sum(weight * supports), 0) FROM knowledge_evidence e WHERE e.hypothesis = h.id),"
                    " (SELECT coalesce(sum(weight * (1 - supports)), 0) FROM knowledge_evidence e"
                    "  WHERE e.hypothesis = h.id) FROM knowledge_hypotheses h"
                )
            )
        )
    )
    assert [row for row in rows if (row[1], row[2]) != (row[3], row[4])] == []


@pytest.mark.req("GTW-044")
async def test_a_document_convinces_once(knowledge: Knowledge) -> None:
    """Its weightiest passage counts, however often it says the same."""
    await tell(knowledge, "Dough may fail.\n\nDough may fail again.\n\nBread may be a risk.", "food.bread")
    found = await about(knowledge, "risk", "food.bread")
    assert found.pieces == 1
    assert found.evidence[0].weight == found.supporting


@pytest.mark.req("GTW-044")
async def test_descriptions_of_the_house_are_no_evidence(knowledge: Knowledge) -> None:
    """They say what a subject is, not what somebody saw; and nobody aligns with them."""
    assert await knowledge.hypotheses() == ()
    text = knowledge.domains.find("food.bread", place="").description
    await tell(knowledge, f"{text} Indeed.", "food.bread")
    assert "alignment" not in {each.kind for each in await knowledge.hypotheses(limit=50)}


@pytest.mark.req("GTW-040", "GTW-044")
async def test_hypotheses_are_listed_surest_first_and_narrowed(knowledge: Knowledge) -> None:
    """By domain and what lies below it, by kind, and by how sure they are."""
    await tell(knowledge, "We plan to bake bread. The oven may fail.", "food.bread")
    await tell(knowledge, "We intend to bake more loaves.", "food.bread", by="agent_bea")
    await tell(knowledge, "The dentist's chair may fail.", "health.dentistry")
    every = await knowledge.hypotheses(limit=50)
    assert [each.confidence for each in every] == sorted((each.confidence for each in every), reverse=True)
    food = await knowledge.hypotheses(domain_key="food", limit=50)
    assert {key for each in food for key in each.domains} >= {"food.bread"}
    assert all(any(key.startswith("food") for key in each.domains) for each in food)
    assert {each.kind for each in await knowledge.hypotheses(kind="risk", limit=50)} == {"risk"}
    least = every[1].confidence
    assert await knowledge.hypotheses(min_confidence=least, limit=50) == tuple(
        each for each in every if each.confidence >= least
    )
    assert await knowledge.hypotheses(limit=2) == every[:2]


@pytest.mark.req("GTW-044")
@pytest.mark.parametrize("cited", ["doc_nowhere.0", "domain.food.bread.0"])
async def test_a_citation_of_what_nobody_observed_is_refused(knowledge: Knowledge, cited: str) -> None:
    """Nothing there, or a description of the house's; and the proposal is not half taken in."""
    with pytest.raises(Refused) as caught:
        await tell(knowledge, "Bake more.", "food.bread", source="proposal", cites=(cited,))
    assert (caught.value.refusal.code, caught.value.refusal.place) == ("unknown_observation", "$.evidence")
    assert (await knowledge.stats()).documents == {"house": 12}


async def test_an_unknown_hypothesis_is_refused(knowledge: Knowledge) -> None:
    """By a code of its own."""
    with pytest.raises(Refused) as caught:
        await knowledge.hypothesis("hy_nowhere")
    assert caught.value.refusal.code == "unknown_hypothesis"


@pytest.mark.req("GTW-041", "GTW-044")
async def test_insights_tell_what_each_piece_did(knowledge: Knowledge, clock: ManualClock) -> None:
    """Newest first, with the confidence as it is and as it would be without the piece."""
    await tell(knowledge, "The grid may fail at any hour.", "energy.grid")
    alone = await about(knowledge, "risk", "energy.grid")
    clock.advance(timedelta(seconds=5))
    await tell(knowledge, "The grid is a danger in storms.", "energy.grid", by="agent_bea")
    news = [each for each in await knowledge.insights(limit=50) if each.hypothesis == alone.id]
    assert [each.by for each in news] == ["agent_bea", "agent_ada"]
    assert news[0].without == alone.confidence < news[0].confidence


@pytest.fixture
def shelf(store: Store, clock: ManualClock) -> Knowledge:
    found = knowledge_on(store, clock, embedder=model())
    asyncio.run(found.open())
    return found
