"""What changed of late, and how much there is: for agents, the console and whoever wonders (GTW-041)."""

from __future__ import annotations

from datetime import datetime

import msgspec
from sqlalchemy import BindParameter, bindparam, func, select

from sayso.gateway.knowledge.hypotheses import find_hypothesis
from sayso.gateway.knowledge.rows import find_passage
from sayso.gateway.knowledge.rules.confidence import confidence, in_decimals
from sayso.gateway.knowledge.rules.evidence import Kind
from sayso.gateway.knowledge.rules.taxonomy import Domains
from sayso.store.statements import statement
from sayso.store.tables import from_micros
from sayso.store.tables.knowledge import knowledge_documents as documents
from sayso.store.tables.knowledge import knowledge_evidence as evidence
from sayso.store.tables.knowledge import knowledge_hypotheses as hypotheses
from sayso.store.tables.knowledge import knowledge_observations as observations
from sayso.store.tables.knowledge import knowledge_simulations as simulations
from sayso.store.tables.knowledge import knowledge_vectors as vectors
from sayso.store.unit import Reading

__all__ = ("Insight", "Stats", "count", "latest_insights")

_whose: BindParameter[str] = bindparam("owner")

_LATEST = statement(
    select(
        evidence.c.hypothesis,
        evidence.c.observation,
        evidence.c.weight,
        evidence.c.supports,
        evidence.c.rule,
        evidence.c.at_us,
        hypotheses.c.supporting,
        hypotheses.c.opposing,
    )
    .join(hypotheses, (hypotheses.c.owner == evidence.c.owner) & (hypotheses.c.id == evidence.c.hypothesis))
    # Every instant is later than 1970; saying so makes SQLite go by the index on it.
    .where(evidence.c.owner == _whose, evidence.c.at_us >= 0)
    .order_by(evidence.c.at_us.desc(), evidence.c.weight.desc(), evidence.c.hypothesis, evidence.c.observation)
    .limit(bindparam("most"))
)
_DOCUMENTS = statement(
    select(documents.c.by_kind, func.count())
    .where(documents.c.owner == _whose)
    .group_by(documents.c.by_kind)
    .order_by(documents.c.by_kind)
)
_OBSERVATIONS = statement(select(func.count(), func.max(observations.c.at_us)).where(observations.c.owner == _whose))
_VECTORS = statement(select(func.count()).where(vectors.c.owner == _whose, vectors.c.model == bindparam("model")))
_HYPOTHESES = statement(
    select(hypotheses.c.kind, func.count())
    .where(hypotheses.c.owner == _whose)
    .group_by(hypotheses.c.kind)
    .order_by(hypotheses.c.kind)
)
_EVIDENCE = statement(select(func.count()).where(evidence.c.owner == _whose))
_SIMULATIONS = statement(select(func.count()).where(simulations.c.owner == _whose))


class Insight(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of evidence as news: what it did to which hypothesis. `without` is the confidence without it."""

    at: datetime
    hypothesis: str
    kind: Kind
    domains: tuple[str, ...]
    statement: str
    confidence: float
    without: float
    observation: str
    text: str
    weight: float
    supports: bool
    rule: str
    by: str


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is. `documents` by who wrote them, `hypotheses` by kind; `search` is `hybrid` or `full_text`."""

    domains: int
    documents: dict[str, int]
    observations: int
    vectors: int
    hypotheses: dict[str, int]
    evidence: int
    simulations: int
    search: str
    model: str | None
    latest: datetime | None


def latest_insights(view: Reading, owner: str, domains: Domains, limit: int) -> tuple[Insight, ...]:
    """The newest evidence, newest first; of the same instant, the weightiest first."""
    found = []
    for identity, observation, weight, supports, rule, at, for_it, against in view.all(
        _LATEST, {"owner": owner, "most": limit}
    ):
        about = find_hypothesis(view, owner, domains, identity, most=0)
        passage = find_passage(view, owner, observation)
        without = (for_it - weight, against) if supports else (for_it, against - weight)
        found.append(
            Insight(
                at=from_micros(at),
                hypothesis=identity,
                kind=about.kind,
                domains=about.domains,
                statement=about.statement,
                confidence=about.confidence,
                without=round(confidence(*without), 6),
                observation=observation,
                text="" if passage is None else passage.text,
                weight=in_decimals(weight),
                supports=bool(supports),
                rule=rule,
                by="" if passage is None else passage.by,
            )
        )
    return tuple(found)


def count(view: Reading, owner: str, domains: Domains, *, model: str | None, search: str) -> Stats:
    """Everything counted, of one instant."""
    given = {"owner": owner}
    ((observed, latest),) = view.all(_OBSERVATIONS, given)
    embedded = 0 if model is None else int(view.all(_VECTORS, {"owner": owner, "model": model})[0][0])
    return Stats(
        domains=len(domains),
        documents={str(kind): int(number) for kind, number in view.all(_DOCUMENTS, given)},
        observations=int(observed),
        vectors=embedded,
        hypotheses={str(kind): int(number) for kind, number in view.all(_HYPOTHESES, given)},
        evidence=int(view.all(_EVIDENCE, given)[0][0]),
        simulations=int(view.all(_SIMULATIONS, given)[0][0]),
        search=search,
        model=model,
        latest=None if latest is None else from_micros(int(latest)),
    )
