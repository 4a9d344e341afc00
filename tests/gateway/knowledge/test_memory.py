"""What is taken in is found again, by words and by meaning, with all that tells where it comes from."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.gateway.knowledge.intake import Ingest, Ingested
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.gateway.knowledge.memory import Kept
from sayso.ledger.ledger import Ledger
from sayso.proof.hashes import sha256_b64u
from sayso.store.unit import Store, Unit
from tests.gateway.knowledge.shelf import LOG, knowledge_on, model

pytestmark = pytest.mark.anyio
TEXT = "The sleeper train leaves at nine. Passengers rest in bunks.\n\nPanels on the station's roof make its current."


def note(text: str = TEXT, **more: object) -> Ingest:
    fields: dict[str, object] = {"title": "Night trains", "source": "artifact", "by": "agent_ada", "by_kind": "agent"}
    return Ingest(text=text, **{**fields, **more})  # type: ignore[arg-type]


@pytest.mark.req("GTW-043")
async def test_a_passage_is_found_by_what_it_means(knowledge: Knowledge) -> None:
    """Not a word of the question stands in the answer."""
    await knowledge.memory.ingest(note())
    found = await knowledge.search("travelling overnight by railway and lying down", limit=5)
    assert (found.how, found.note) == ("hybrid", "")
    ranks = {each.observation: (each.text_rank, each.vector_rank) for each in found.hits}
    text_rank, vector_rank = ranks["doc_00000000000000000000000001.0"]
    assert text_rank is None
    assert vector_rank is not None
    by_words = await knowledge.search("bunks", limit=1)
    assert (by_words.hits[0].observation, by_words.hits[0].text_rank) == ("doc_00000000000000000000000001.0", 1)


@pytest.mark.req("GTW-043", "GTW-006")
async def test_a_hit_tells_where_it_comes_from(knowledge: Knowledge, store: Store, clock: ManualClock) -> None:
    """Writer, run, document, place in it, hash of the bytes, receipt: enough to go and look."""
    content = sha256_b64u(b'{"body":"..."}')
    kept = await knowledge.memory.ingest(note(run_id="run_7", content_sha256=content, domain_keys=("travel.rail",)))
    (hit, *_) = (await knowledge.search("bunks", limit=1)).hits
    assert (hit.by, hit.by_kind, hit.run_id, hit.source) == ("agent_ada", "agent", "run_7", "artifact")
    assert (hit.document, hit.content_sha256, hit.at) == (kept.document, content, clock.now())
    assert TEXT[hit.start : hit.stop] == hit.text
    assert [(each.key, each.stated) for each in hit.domains if each.stated] == [("travel.rail", True)]
    (receipt,) = await Ledger(store, LOG, clock).records(hit.receipt, hit.receipt + 1)
    assert (receipt.kind, receipt.actor, receipt.inputs_sha256) == ("knowledge.ingested", "agent_ada", content)
    assert receipt.body == {
        "document": kept.document, "observations": 2, "repeated": 0, "run": "run_7", "source": "artifact",
    }  # fmt: skip


@pytest.mark.req("GTW-040", "GTW-043")
async def test_a_search_in_one_domain_looks_below_it_and_nowhere_else(knowledge: Knowledge) -> None:
    """Across all of them, the nearest is elsewhere."""
    question = "toothache before a long journey by rail"
    everywhere = {each.domains[0].key for each in (await knowledge.search(question, limit=50)).hits}
    within = {each.domains[0].key for each in (await knowledge.search(question, domain_key="health", limit=50)).hits}
    assert within == {"health", "health.dentistry", "health.dentistry.children", "health.sleep"}
    assert within < everywhere
    with pytest.raises(Refused, match="no domain with this key"):
        await knowledge.search(question, domain_key="nowhere")


@pytest.mark.req("GTW-043")
async def test_the_same_question_has_the_same_answer(knowledge: Knowledge) -> None:
    """In full, scores and order, as often as it is asked; and a limit only cuts it off."""
    await knowledge.memory.ingest(note())
    first = await knowledge.search("a bed on a train", limit=10)
    assert await knowledge.search("a bed on a train", limit=10) == first
    assert (await knowledge.search("a bed on a train", limit=4)).hits == first.hits[:4]


@pytest.mark.req("GTW-043", "GTW-044")
async def test_the_same_words_count_once(knowledge: Knowledge) -> None:
    """Whoever repeats them: they are kept with their writer, and neither found twice nor weighed again."""
    first = await knowledge.memory.ingest(note("We plan to run a sleeper train.", domain_keys=("travel.rail",)))
    before = await knowledge.hypotheses()
    again = await knowledge.memory.ingest(
        note("We plan to run a sleeper train.", by="agent_bea", domain_keys=("travel.rail",))
    )
    assert (first.repeated, again.repeated, again.hypotheses) == (0, 1, ())
    assert await knowledge.hypotheses() == before
    hits = (await knowledge.search("sleeper train", limit=50)).hits
    assert [each.document for each in hits if each.source != "domain"] == [first.document]
    repeated = await knowledge.passage(f"{again.document}.0")
    assert repeated is not None
    assert repeated.by == "agent_bea"


@pytest.mark.req("GTW-043", "GTW-044")
async def test_documents_taken_in_at_once_count_as_if_one_after_another(knowledge: Knowledge, store: Store) -> None:
    """The same words in six documents at the same time: one is the first, and its evidence stands once."""
    same = [note("We plan to run a sleeper train.", domain_keys=("travel.rail",), by=f"agent_{n}") for n in range(6)]
    ready = [await knowledge.memory.prepare(each) for each in same]
    kept = await asyncio.gather(*(store.unit(partial(_take_in, knowledge, each)) for each in ready))
    assert sorted(each.repeated for each in kept) == [0, 1, 1, 1, 1, 1]
    (intent,) = (each for each in await knowledge.hypotheses(kind="intent") if each.domains == ("travel.rail",))
    assert (intent.pieces, intent.supporting) == (1, intent.evidence[0].weight)


@pytest.mark.req("GTW-033", "GTW-006")
async def test_a_document_with_an_id_is_taken_in_once(knowledge: Knowledge, store: Store, clock: ManualClock) -> None:
    """A second time changes nothing and tells of the first."""
    ready = await knowledge.memory.prepare(note(id="doc_once"))
    first = await store.unit(lambda unit: knowledge.memory.ingest_in(unit, ready))
    size = (await Ledger(store, LOG, clock).standing()).records
    again = await store.unit(lambda unit: knowledge.memory.ingest_in(unit, ready))
    assert (again.document, again.observations, again.receipt) == (first.document, first.observations, first.receipt)
    assert (await Ledger(store, LOG, clock).standing()).records == size


@pytest.mark.req("GTW-006")
async def test_a_unit_that_fails_leaves_nothing_behind(knowledge: Knowledge, store: Store) -> None:
    """Document, passages, evidence and receipt are one."""
    ready = await knowledge.memory.prepare(note("We plan to bake bread.", domain_keys=("food.bread",)))
    before = (await knowledge.stats(), await knowledge.hypotheses())

    def body(unit: Unit) -> None:
        knowledge.memory.ingest_in(unit, ready)
        raise Refused.because("changed_its_mind", "no")

    with pytest.raises(Refused):
        await store.unit(body)
    assert (await knowledge.stats(), await knowledge.hypotheses()) == before
    hits = (await knowledge.search("plan to bake", limit=50)).hits
    assert [each.source for each in hits if each.source != "domain"] == []


@pytest.mark.parametrize(
    ("more", "code", "place"),
    [
        ({"text": " \n"}, "empty_document", "$.text"),
        ({"text": "a\0b"}, "document_not_acceptable", "$.text"),
        ({"title": "a\0b"}, "document_not_acceptable", "$.title"),
        ({"title": " "}, "document_not_acceptable", "$.title"),
        ({"title": "t" * 201}, "document_not_acceptable", "$.title"),
        ({"domain_keys": ("food", "nowhere")}, "unknown_domain", "$.domain_keys[1]"),
        ({"domain_keys": ("food", "food")}, "document_not_acceptable", "$.domain_keys"),
    ],
)
async def test_a_document_that_cannot_be_taken_in_is_refused(
    knowledge: Knowledge, more: dict[str, object], code: str, place: str
) -> None:
    """With the member that is wrong."""
    with pytest.raises(Refused) as caught:
        await knowledge.memory.ingest(note(**more))
    assert (caught.value.refusal.code, caught.value.refusal.place) == (code, place)


@pytest.mark.req("GTW-043")
async def test_without_a_model_search_says_that_it_is_by_words(store: Store, clock: ManualClock) -> None:
    """And what is taken in meanwhile is found by its words and by where its writer put it."""
    bare = knowledge_on(store, clock, embedder=None)
    bare.memory.embedder = None
    await _open_bare(bare, store, clock)
    await bare.memory.ingest(note(domain_keys=("travel.rail",)))
    found = await bare.search("bunks", domain_key="travel")
    assert [each.title for each in found.hits] == ["Night trains"]
    assert found.how == "full_text"
    assert "extra `semantic`" in found.note
    assert (await bare.stats()).search == "full_text"
    assert (await bare.search("photovoltaic electricity", domain_key="travel")).hits == ()


@pytest.mark.req("GTW-043")
async def test_a_database_that_knows_no_distances_is_searched_by_words(
    knowledge: Knowledge, store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says so: the model alone is not enough."""
    monkeypatch.setattr(knowledge.memory, "_measures", False)
    found = await knowledge.search("dough")
    assert (found.how, found.hits[0].domains[0].key) == ("full_text", "food.bread")
    assert "knows no distances" in found.note


class Held:
    """A model that does not answer until it may."""

    def __init__(self) -> None:
        self.model = model().model
        self.asked = threading.Event()
        self.may_answer = threading.Event()

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.asked.set()
        assert self.may_answer.wait(30)
        return model().embed(texts)


@pytest.mark.req("GTW-043")
async def test_neither_loop_nor_writer_waits_for_a_search(knowledge: Knowledge, store: Store) -> None:
    """A unit is answered while the model still thinks about a question."""
    held = Held()
    knowledge.memory.embedder = held
    search = asyncio.ensure_future(knowledge.search("dough"))
    await asyncio.to_thread(held.asked.wait, 30)
    assert await store.unit(lambda unit: unit.now) is not None
    assert not search.done()
    held.may_answer.set()
    assert (await search).hits[0].domains[0].key == "food.bread"


@pytest.mark.req("GTW-043")
async def test_a_search_does_not_wait_for_the_writer(knowledge: Knowledge, store: Store) -> None:
    """It reads a snapshot beside a unit that is not done."""
    begun, may_end = threading.Event(), threading.Event()

    def body(unit: Unit) -> bool:
        unit.lock("knowledge person_1")
        begun.set()
        return may_end.wait(30)

    unit = asyncio.ensure_future(store.unit(body))
    await asyncio.to_thread(begun.wait, 30)
    assert (await knowledge.search("dough")).hits[0].domains[0].key == "food.bread"
    may_end.set()
    assert await unit


@pytest.mark.req("GTW-043")
async def test_owners_do_not_see_one_another(knowledge: Knowledge, store: Store, clock: ManualClock) -> None:
    """Two memories in one database are two."""
    await knowledge.memory.ingest(note("We plan to run a sleeper train.", domain_keys=("travel.rail",)))
    other = knowledge_on(store, clock, embedder=model(), owner="person_2", log="other.example/log")
    await other.open()
    assert [each.source for each in (await other.search("sleeper train", limit=50)).hits] == ["domain"] * 12
    assert await other.hypotheses() == ()
    assert (await knowledge.stats()).observations == 13


@pytest.mark.req("GTW-043")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=60) | st.sampled_from(["'", '"', "a:*", "NEAR(a b)", "a & !b", "-", "\\", "\x00a", "%s"]))
def test_no_question_is_syntax(words: Knowledge, query: str) -> None:
    """Whatever is asked is answered, on either engine."""
    asyncio.run(words.search(query))


@pytest.fixture
def words(store: Store, clock: ManualClock) -> Knowledge:
    found = knowledge_on(store, clock, embedder=model())
    asyncio.run(found.open())
    return found


async def _open_bare(bare: Knowledge, store: Store, clock: ManualClock) -> None:
    from sayso.gateway.knowledge.house import move_in  # noqa: PLC0415 - what `open` does where no model is installed

    await move_in(store, Ledger(store, LOG, clock), bare.memory, bare.domains)


def _take_in(knowledge: Knowledge, ready: Ingested, unit: Unit) -> Kept:
    return knowledge.memory.ingest_in(unit, ready)
