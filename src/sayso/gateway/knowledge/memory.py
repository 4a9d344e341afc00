"""Semantic memory: what was taken in, and how it is found again (GTW-006, GTW-043).

Everything that takes time runs on threads of the readers; a unit only writes rows. Taking in is serialised for an
owner, so that the same words are never counted twice and the sums of evidence are exact. Each document taken in leaves
a receipt under its writer's identity.
"""

from __future__ import annotations

import threading

import msgspec

from sayso.core.ids import Ids
from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.knowledge import finding, rows
from sayso.gateway.knowledge.embedding import Embedder, Nearness
from sayso.gateway.knowledge.finding import Scope
from sayso.gateway.knowledge.intake import Ingest, Ingested, Reader, Seen
from sayso.gateway.knowledge.rows import Passage, find_passages
from sayso.gateway.knowledge.rules.evidence import Finding, from_citations, strongest
from sayso.gateway.knowledge.rules.fusion import DEPTH, Fused, fuse
from sayso.gateway.knowledge.rules.taxonomy import Domains
from sayso.gateway.knowledge.weighing import Piece, weigh_in
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.store.tables import micros
from sayso.store.unit import Reading, Store, Unit

__all__ = ("FULL_TEXT_ONLY", "Found", "Hit", "Ingest", "Ingested", "Kept", "SemanticMemory", "lock_key")

INGESTED = declare("knowledge.ingested", "A document was taken into memory; the hash of its content.")
UNKNOWN_OBSERVATION = "unknown_observation"
FULL_TEXT_ONLY = "Search is by words alone: {why}. Passages that say the same in other words are not found."
_NO_MODEL = "no embedding model is installed (the extra `semantic`)"
_NO_DISTANCES = "the database knows no distances of vectors"
_MOST_HITS = 50


class Hit(Passage, frozen=True, kw_only=True):
    """A passage that was found: its score, and its ranks by words and by vector, counted from 1."""

    score: float
    text_rank: int | None
    vector_rank: int | None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found, best first. `how` is `hybrid` or `full_text`; `note` says why it is not hybrid."""

    hits: tuple[Hit, ...]
    how: str
    note: str = ""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A document taken in: how many passages, how many of them were known already, and what they spoke to."""

    document: str
    observations: int
    repeated: int
    receipt: int
    hypotheses: tuple[str, ...]


class SemanticMemory:
    """One owner's memory in a store."""

    def __init__(
        self, store: Store, ledger: Ledger, *, owner: str, ids: Ids, domains: Domains, embedder: Embedder | None
    ) -> None:
        self.owner = owner
        self.embedder = embedder
        self._store = store
        self._ledger = ledger
        self._ids = ids
        self._domains = domains
        self._reader = Reader(owner, domains)
        self._measures: bool | None = None
        self._near: Nearness | None = None
        self._gate = threading.Lock()

    # -- finding

    async def search(self, query: str, *, domain_key: str | None = None, limit: int = 10) -> Found:
        """The passages that answer a query best, across all domains or in one and what lies below it.

        Refused: `unknown_domain`. Runs on a thread of the readers; it waits for no writer and keeps none waiting.
        """
        keys = None
        if domain_key is not None:
            self._domains.find(domain_key, place="$.domain_key")
            keys = self._domains.subtree(domain_key)
        scope, most = Scope(self.owner, keys), max(1, min(limit, _MOST_HITS))
        return await self._store.reading(lambda view: self._search(view, query, scope, most))

    def _search(self, view: Reading, query: str, scope: Scope, most: int) -> Found:
        text, whole = finding.by_words(view, scope, query, DEPTH)
        why = self.why_not_hybrid(view)
        near: list[str] = []
        if not why and query.strip() and self.embedder is not None:
            (vector,) = self.embedder.embed([query])
            found = finding.by_vector(view, scope, self.embedder.model, vector, DEPTH)
            near = [each.observation for each in found]
        best = fuse(text, near, text[:whole])[:most]
        passages = find_passages(view, self.owner, [each.observation for each in best])
        hits = [_hit(passages[each.observation], each) for each in best]
        note = FULL_TEXT_ONLY.format(why=why) if why else ""
        return Found(hits=tuple(hits), how="full_text" if why else "hybrid", note=note)

    def why_not_hybrid(self, view: Reading) -> str:
        """In words why vectors are not searched, or nothing where they are."""
        if self.embedder is None:
            return _NO_MODEL
        return "" if self.measures(view) else _NO_DISTANCES

    def measures(self, view: Reading) -> bool:
        """Whether this store's engine knows distances."""
        if self._measures is None:
            self._measures = finding.can_measure(view)
        return self._measures

    # -- taking in

    async def prepare(self, ingest: Ingest) -> Ingested:
        """Reads a document off the event loop; nothing is stored.

        Refused: `empty_document`, `document_too_long`, `document_not_acceptable`, `unknown_domain`, naming the member.
        """
        self._reader.check(ingest)
        return await self._store.reading(lambda view: self._read(view, ingest))

    def _read(self, view: Reading, ingest: Ingest) -> Ingested:
        return self._reader.read(view, ingest, self.embedder, self.near_domains(), measures=self.measures(view))

    async def ingest(self, ingest: Ingest) -> Kept:
        """Takes a document in, in a unit of its own. Refused: as `prepare` and `ingest_in`."""
        ready = await self.prepare(ingest)
        return await self._store.unit(lambda unit: self.ingest_in(unit, ready))

    def ingest_in(self, unit: Unit, ready: Ingested) -> Kept:
        """Writes a document, its passages and what they give, and its receipt, in the caller's unit.

        Takes the owner's lock and after it the ledger's, so it comes last. A document whose `id` is there already
        changes nothing. Refused: `unknown_observation`, where a proposal cites one that is not there.
        """
        unit.lock(lock_key(self.owner))
        ingest = ready.ingest
        document = ingest.id or self._ids.new("doc")
        if not self._add_document(unit, ready, document):
            return self._kept_before(unit, document)
        pieces, repeated = self._add_passages(unit, document, ready.seen)
        pieces += self._cited(unit, ready)
        hypotheses = weigh_in(unit, self.owner, pieces)
        receipt = self._receipt(unit, ready, document, repeated)
        unit.execute(rows.RECEIPT_DOCUMENT, {"owner": self.owner, "number": receipt})
        return Kept(
            document=document,
            observations=len(ready.seen),
            repeated=repeated,
            receipt=receipt,
            hypotheses=tuple(hypotheses),
        )

    def _add_document(self, unit: Unit, ready: Ingested, document: str) -> bool:
        ingest = ready.ingest
        row = {
            "owner": self.owner,
            "id": document,
            "title": ingest.title,
            "text": ingest.text,
            "source": ingest.source,
            "by": ingest.by,
            "by_kind": ingest.by_kind,
            "run_id": ingest.run_id,
            "receipt": -1,
            "content_sha256": ready.content_sha256,
            "confidence": ingest.confidence,
            "at_us": micros(unit.now),
        }
        return unit.execute(rows.ADD_DOCUMENT, row) == 1

    def _kept_before(self, unit: Unit, document: str) -> Kept:
        found = unit.one(rows.FIND_DOCUMENT, {"owner": self.owner, "id": document})
        seen = unit.all(rows.OBSERVED_IN, {"owner": self.owner, "document": document})
        assert found is not None
        repeated = sum(row[1] is not None for row in seen)
        return Kept(document=document, observations=len(seen), repeated=repeated, receipt=int(found[0]), hypotheses=())

    def _add_passages(self, unit: Unit, document: str, seen: tuple[Seen, ...]) -> tuple[list[Piece], int]:
        """Writes the passages; the evidence of the new ones, and how many were known already."""
        fresh: list[tuple[str, Seen]] = []
        repeated = 0
        for number, each in enumerate(seen):
            observation = f"{document}.{number}"
            # Invariant I-KNOW-2: of passages with the same words one alone is searched and weighed.
            row = unit.one(rows.FIND_REPEAT, {"owner": self.owner, "text_sha256": each.text_sha256})
            first = None if row is None else row[0]
            self._add_observation(unit, document, observation, each, first)
            if first is None:
                fresh.append((observation, each))
            else:
                repeated += 1
        self.add_findable(unit, fresh)
        findings = [(observation, finding) for observation, each in fresh for finding in each.findings]
        best = {id(each) for each in strongest(each for _, each in findings)}
        return [Piece(observation, each) for observation, each in findings if id(each) in best], repeated

    def _add_observation(self, unit: Unit, document: str, observation: str, seen: Seen, first: str | None) -> None:
        unit.execute(
            rows.ADD_OBSERVATION,
            {
                "owner": self.owner,
                "id": observation,
                "document": document,
                "start": seen.start,
                "stop": seen.stop,
                "text": seen.text,
                "text_sha256": seen.text_sha256,
                "repeat_of": first,
                "at_us": micros(unit.now),
            },
        )

    def add_findable(self, unit: Unit, fresh: list[tuple[str, Seen]]) -> None:
        """Puts passages where search looks."""
        row = {"owner": self.owner}
        unit.many(
            rows.ADD_PLACE,
            [
                {
                    **row,
                    "observation": observation,
                    "domain_key": place.domain_key,
                    "closeness": place.closeness,
                    "stated": int(place.stated),
                }
                for observation, each in fresh
                for place in each.places
            ],
        )
        finding.add_words(unit, self.owner, [(observation, each.text) for observation, each in fresh])
        self.add_vectors(unit, [(observation, each.vector) for observation, each in fresh if each.vector is not None])

    def add_vectors(self, unit: Unit, vectors: list[tuple[str, bytes]]) -> None:
        """Keeps vectors of the model in use."""
        if self.embedder is not None:
            # SQLite's writer knows no distances and needs none.
            measured = unit.dialect == "postgresql" and self.measures(unit)
            finding.add_vectors(unit, self.owner, self.embedder.model, vectors, measured=measured)

    def _cited(self, unit: Unit, ready: Ingested) -> list[Piece]:
        ingest = ready.ingest
        there = find_passages(unit, self.owner, ingest.cites)
        for cited in ingest.cites:
            # The house's descriptions may change with a newer file; evidence does not.
            if cited not in there or there[cited].source == "domain":
                raise Refused.because(
                    UNKNOWN_OBSERVATION,
                    "the proposal cites what nobody observed",
                    place="$.evidence",
                    help="Cite ids that semantic_search gave; descriptions of domains are no evidence.",
                )
        given: list[Finding] = from_citations(ingest.domain_keys, ingest.confidence, self._domains.apart)
        return [Piece(cited, each) for cited in ingest.cites for each in given]

    def _receipt(self, unit: Unit, ready: Ingested, document: str, repeated: int) -> int:
        ingest = ready.ingest
        body: dict[str, JsonValue] = {"document": document, "observations": len(ready.seen), "repeated": repeated}
        body["source"] = ingest.source
        if ingest.run_id is not None:
            body["run"] = ingest.run_id
        draft = Draft(kind=INGESTED, actor=ingest.by, article="II", inputs_sha256=ready.content_sha256, body=body)
        return self._ledger.append_in(unit, draft).seq

    # -- the domains' own vectors

    def near_domains(self) -> Nearness | None:
        """What finds the domains nearest to a vector; made at first use, on the caller's thread."""
        if self.embedder is None:
            return None
        with self._gate:
            if self._near is None:
                every = self._domains.all()
                vectors = self.embedder.embed([domain.text for domain in every])
                self._near = Nearness([domain.key for domain in every], vectors)
            return self._near


def _hit(passage: Passage, fused: Fused) -> Hit:
    return Hit(
        **msgspec.structs.asdict(passage),
        score=round(fused.score, 6),
        text_rank=fused.text_rank,
        vector_rank=fused.vector_rank,
    )


def lock_key(owner: str) -> str:
    """What units that write an owner's memory lock."""
    return f"knowledge {owner}"
