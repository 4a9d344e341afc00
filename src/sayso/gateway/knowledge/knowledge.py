"""Everything a house knows, as doors, console and commands see it: search, taking in, hypotheses, simulations, counts.

One owner's knowledge in a store any number of processes share (GTW-040 to GTW-044). Nothing here decides who may ask:
agents come through the acts (`acts`) and the surface (`surface`), which the guard and the constitution stand before.
"""

from __future__ import annotations

import anyio
import msgspec
from anyio import to_thread
from sqlalchemy import bindparam, select

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.strictjson import JsonValue
from sayso.gateway.knowledge import embedding, rows
from sayso.gateway.knowledge.domains import load_domains
from sayso.gateway.knowledge.house import move_in
from sayso.gateway.knowledge.hypotheses import Hypothesis, find_hypothesis, list_hypotheses
from sayso.gateway.knowledge.insights import Insight, Stats, count, latest_insights
from sayso.gateway.knowledge.intake import Ingest
from sayso.gateway.knowledge.memory import Found, Kept, SemanticMemory
from sayso.gateway.knowledge.rows import ByKind, Passage, Source, find_passage, find_passages
from sayso.gateway.knowledge.rules.evidence import Kind
from sayso.gateway.knowledge.rules.taxonomy import Domains
from sayso.gateway.knowledge.simulation import Contribution, Posterior, Weight, seed_of, simulate
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256_b64u
from sayso.store.statements import insert, statement
from sayso.store.tables import micros
from sayso.store.tables.knowledge import knowledge_simulations as simulations
from sayso.store.unit import Reading, Store, Unit

__all__ = ("Knowledge", "Simulation")

SIMULATED = declare("knowledge.simulated", "A hypothesis was simulated; the seed, and the hash of the answer.")
_MOST = 50
_KEEP = statement(insert(simulations).on_conflict_do_nothing())
_KEPT = statement(
    select(simulations.c.answer).where(
        simulations.c.owner == bindparam("owner"), simulations.c.call_id == bindparam("call_id")
    )
)


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """What a simulation computed; `pieces` counts the evidence it was made of."""

    hypothesis: str
    call_id: str
    seed: int
    draws: int
    generator: str
    pieces: int
    posterior: Posterior
    contributions: tuple[Contribution, ...]


class Knowledge:
    """One owner's knowledge. Without the `semantic` extra it searches by words alone and does not simulate."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        *,
        owner: str,
        clock: Clock,
        ids: Ids,
        domains: Domains | None = None,
        embedder: embedding.Embedder | None = None,
    ) -> None:
        """`embedder` is the installed model, loaded by `open`, unless another is given."""
        self.owner = owner
        self.domains = domains or load_domains()
        self._store = store
        self._ledger = ledger
        self._clock = clock
        self.memory = SemanticMemory(store, ledger, owner=owner, ids=ids, domains=self.domains, embedder=embedder)
        self._opening = anyio.Lock()
        self._is_open = False

    async def open(self) -> None:
        """Loads the model and writes the domains; once, however often it is called. Takes about a second when new."""
        async with self._opening:
            if self._is_open:
                return
            if self.memory.embedder is None and embedding.is_installed():
                self.memory.embedder = await to_thread.run_sync(embedding.WordLlama)
                await to_thread.run_sync(self.memory.near_domains)
            await move_in(self._store, self._ledger, self.memory, self.domains)
            self._is_open = True

    async def search(self, query: str, *, domain_key: str | None = None, limit: int = 10) -> Found:
        """As `SemanticMemory.search`."""
        return await self.memory.search(query, domain_key=domain_key, limit=limit)

    async def ingest(
        self,
        *,
        title: str,
        text: str,
        by: str,
        by_kind: ByKind = "person",
        source: Source = "note",
        domain_keys: tuple[str, ...] = (),
        run_id: str | None = None,
    ) -> Kept:
        """Takes a document in, in a unit of its own, with its receipt. Refused: as `SemanticMemory.prepare`."""
        document = Ingest(
            title=title, text=text, by=by, by_kind=by_kind, source=source, domain_keys=domain_keys, run_id=run_id
        )
        return await self.memory.ingest(document)

    async def passage(self, observation: str) -> Passage | None:
        """One observation with its provenance, or None."""
        return await self._store.reading(lambda view: find_passage(view, self.owner, observation))

    async def latest(self, domain_key: str, limit: int = 10) -> tuple[Passage, ...]:
        """What was last observed in a domain, the house's own description left out."""
        given = {"owner": self.owner, "domain_key": domain_key, "most": limit}

        def look(view: Reading) -> tuple[Passage, ...]:
            wanted = [str(row[0]) for row in view.all(rows.LATEST, given)]
            found = find_passages(view, self.owner, wanted)
            return tuple(found[each] for each in wanted)

        return await self._store.reading(look)

    async def hypotheses(
        self,
        *,
        domain_key: str | None = None,
        kind: Kind | None = None,
        min_confidence: float = 0.0,
        limit: int = 20,
    ) -> tuple[Hypothesis, ...]:
        """The surest hypotheses, each with its weightiest evidence. Refused: `unknown_domain`."""
        most = max(1, min(limit, _MOST))
        return await self._store.reading(
            lambda view: list_hypotheses(
                view,
                self.owner,
                self.domains,
                domain_key=domain_key,
                kind=kind,
                min_confidence=min_confidence,
                limit=most,
            )
        )

    async def hypothesis(self, identity: str) -> Hypothesis:
        """One hypothesis with all of its evidence. Refused: `unknown_hypothesis`."""
        return await self._store.reading(lambda view: find_hypothesis(view, self.owner, self.domains, identity))

    async def simulate(self, identity: str, *, call_id: str, by: str) -> Simulation:
        """Simulates a hypothesis on the evidence of this moment; the same call again has the first answer.

        Refused: `unknown_hypothesis`, `simulation_unavailable`.
        """
        given = {"owner": self.owner, "call_id": call_id}
        kept = await self._store.reading(lambda view: view.one(_KEPT, given))
        if kept is None:
            answer = await self._simulate(identity, call_id)
            kept = await self._store.unit(lambda unit: self._keep(unit, answer, by))
        return strictjson.decode(bytes(kept[0]), Simulation)

    async def insights(self, limit: int = 20) -> tuple[Insight, ...]:
        """The newest evidence and what it did, newest first."""
        most = max(1, min(limit, _MOST))
        return await self._store.reading(lambda view: latest_insights(view, self.owner, self.domains, most))

    async def stats(self) -> Stats:
        """How much there is."""
        model = None if self.memory.embedder is None else self.memory.embedder.model
        return await self._store.reading(
            lambda view: count(
                view,
                self.owner,
                self.domains,
                model=model,
                search="full_text" if self.memory.why_not_hybrid(view) else "hybrid",
            )
        )

    async def _simulate(self, identity: str, call_id: str) -> Simulation:
        found = await self.hypothesis(identity)
        evidence = [Weight(each.observation, each.weight, each.supports) for each in found.evidence]
        computed = await to_thread.run_sync(simulate, evidence, seed_of(call_id))
        return Simulation(
            hypothesis=identity,
            call_id=call_id,
            seed=computed.seed,
            draws=computed.draws,
            generator="PCG64",
            pieces=len(evidence),
            posterior=computed.posterior,
            contributions=computed.contributions,
        )

    def _keep(self, unit: Unit, answer: Simulation, by: str) -> tuple[bytes]:
        """Keeps an answer with its receipt; where another process was faster, its answer counts."""
        data = strictjson.encode(msgspec.to_builtins(answer))
        row = {"owner": self.owner, "call_id": answer.call_id, "hypothesis": answer.hypothesis}
        if unit.execute(_KEEP, {**row, "answer": data, "at_us": micros(unit.now)}) == 0:
            (kept,) = unit.all(_KEPT, {"owner": self.owner, "call_id": answer.call_id})
            return (bytes(kept[0]),)
        body: dict[str, JsonValue] = {"hypothesis": answer.hypothesis, "seed": answer.seed}
        body |= {"draws": answer.draws, "pieces": answer.pieces}
        draft = Draft(kind=SIMULATED, actor=by, article="II", output_sha256=sha256_b64u(data), body=body)
        self._ledger.append_in(unit, draft)
        return (data,)
