"""Evidence into the rows of hypotheses: sums move with the evidence, in the same unit (GTW-044)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import bindparam, case, update

from sayso.gateway.knowledge.rules.evidence import Finding, hypothesis_id
from sayso.store.statements import insert, statement
from sayso.store.tables import micros
from sayso.store.tables.knowledge import knowledge_evidence as evidence
from sayso.store.tables.knowledge import knowledge_hypotheses as hypotheses
from sayso.store.unit import Unit

__all__ = ("Piece", "weigh_in")


class Piece(NamedTuple):
    """What one observation gives."""

    observation: str
    finding: Finding


_OPEN = statement(insert(hypotheses).on_conflict_do_nothing())
_WEIGH = statement(insert(evidence).on_conflict_do_nothing())
_SUM = statement(
    update(hypotheses)
    .where(hypotheses.c.owner == bindparam("whose"), hypotheses.c.id == bindparam("hypothesis"))
    .values(
        supporting=hypotheses.c.supporting + bindparam("more_supporting"),
        opposing=hypotheses.c.opposing + bindparam("more_opposing"),
        changed_us=case(
            (hypotheses.c.changed_us < bindparam("at_us"), bindparam("at_us")), else_=hypotheses.c.changed_us
        ),
    )
)


def weigh_in(unit: Unit, owner: str, pieces: Iterable[Piece]) -> list[str]:
    """Adds evidence; the ids of the hypotheses it changed. An observation counts once for each of them."""
    at = micros(unit.now)
    changed: dict[str, None] = {}
    for observation, found in pieces:
        subject = found.subject
        identity = hypothesis_id(subject)
        opened = {"owner": owner, "id": identity, "supporting": 0, "opposing": 0, "since_us": at, "changed_us": at}
        opened |= {"kind": subject.kind, "domain_key": subject.domain_key, "other_key": subject.other_key}
        unit.execute(_OPEN, opened)
        row = {"owner": owner, "hypothesis": identity, "observation": observation, "weight": found.weight}
        row |= {"supports": int(found.supports), "rule": found.rule, "at_us": at}
        if unit.execute(_WEIGH, row):
            # Invariant I-KNOW-1: what is added to the evidence is added to the sums.
            more = {"more_supporting": found.weight if found.supports else 0}
            more |= {"more_opposing": 0 if found.supports else found.weight}
            unit.execute(_SUM, {"whose": owner, "hypothesis": identity, "at_us": at, **more})
            changed[identity] = None
    return sorted(changed)
