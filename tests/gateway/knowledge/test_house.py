"""The domains are there from the start, in step with the package's file, however many processes open it."""

from __future__ import annotations

import pytest

from sayso.core.clock import ManualClock
from sayso.gateway.knowledge.house import embed_the_rest, move_in
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.gateway.knowledge.rules.taxonomy import Domains, read_domains
from sayso.ledger.ledger import Ledger
from sayso.store.unit import Store
from tests.gateway.knowledge.shelf import LOG, OWNER, ROWS, file, knowledge_on, model

pytestmark = pytest.mark.anyio


async def kinds(store: Store, clock: ManualClock) -> list[str]:
    return [each.kind for each in await Ledger(store, LOG, clock).records()]


@pytest.mark.req("GTW-043")
async def test_domains_are_written_once(knowledge: Knowledge, store: Store, clock: ManualClock) -> None:
    """Opening again, here or elsewhere, changes nothing."""
    first = await knowledge.stats()
    assert (first.documents, first.observations, first.vectors) == ({"house": 12}, 12, 12)
    again = knowledge_on(store, clock, embedder=model())
    await again.open()
    await again.open()
    assert await again.stats() == first
    assert await kinds(store, clock) == ["knowledge.domains_written"]


@pytest.mark.req("GTW-043")
async def test_a_new_file_replaces_what_changed(knowledge: Knowledge, store: Store, clock: ManualClock) -> None:
    """What left is not found any more, what is new is, and what stayed keeps its receipt."""
    loom = "Looms, shuttles, warp and weft, hand-dyed wool, tapestry, rugs and cloth woven slowly at home for winter."
    rows = [row for row in ROWS if row[0] != "food.bread"]
    changed = read_domains(
        file([*rows[:-1], ("food", "Food", "", loom), ("craft", "Craft", "", f"{loom} Craft.")]), count=None
    )
    moved = Domains(changed.all())
    await move_in(store, Ledger(store, LOG, clock), knowledge.memory, moved)
    woven = (await knowledge.search("weaving wool rugs", limit=2)).hits
    assert {each.document for each in woven} == {"domain.food", "domain.craft"}
    assert "domain.food.bread" not in {each.document for each in (await knowledge.search("sourdough", limit=50)).hits}
    stayed = await knowledge.passage("domain.health.0")
    fresh = await knowledge.passage("domain.craft.0")
    assert stayed is not None
    assert fresh is not None
    assert (stayed.receipt, fresh.receipt) == (0, 1)
    (receipt,) = await Ledger(store, LOG, clock).records(1, 2)
    assert receipt.body == {"removed": 1, "written": 2}
    assert (await knowledge.stats()).vectors == 12


@pytest.mark.req("GTW-043")
async def test_what_was_taken_in_without_a_model_gets_its_vectors_later(store: Store, clock: ManualClock) -> None:
    """The extra may be installed at any time."""
    bare = knowledge_on(store, clock, embedder=None)
    await move_in(store, Ledger(store, LOG, clock), bare.memory, bare.domains)
    await bare.ingest(title="Night trains", text="The sleeper leaves at nine.", by=OWNER)
    assert (await bare.stats()).vectors == 0
    later = knowledge_on(store, clock, embedder=model())
    assert await embed_the_rest(store, later.memory) == 13
    assert await embed_the_rest(store, later.memory) == 0
    hits = (await later.search("an overnight railway journey", limit=50)).hits
    assert [each.vector_rank is not None for each in hits if each.title == "Night trains"] == [True]
