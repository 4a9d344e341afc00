"""Hypotheses as they stand: what they say, how sure they are, and every piece of evidence they rest on (GTW-044).

The confidence is never stored. Whoever is shown a hypothesis is shown the two sums it follows from, and with its
evidence every weight those sums are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import BindParameter, Integer, bindparam, func, or_, select, text, true

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.gateway.knowledge.finding import IN_KEYS
from sayso.gateway.knowledge.rules.confidence import THOUSAND, confidence, in_decimals
from sayso.gateway.knowledge.rules.evidence import Kind
from sayso.gateway.knowledge.rules.taxonomy import Domains
from sayso.store.statements import DialectName, Row, Statement, statement
from sayso.store.tables import from_micros
from sayso.store.tables.knowledge import knowledge_documents as documents
from sayso.store.tables.knowledge import knowledge_evidence as evidence
from sayso.store.tables.knowledge import knowledge_hypotheses as hypotheses
from sayso.store.tables.knowledge import knowledge_observations as observations
from sayso.store.unit import Reading

__all__ = ("MOST_SHOWN", "Evidence", "Hypothesis", "find_hypothesis", "list_hypotheses", "read_evidence", "say")

UNKNOWN_HYPOTHESIS = "unknown_hypothesis"
MOST_SHOWN = 5
"""How many pieces of evidence each hypothesis of a list shows."""
ALL = MILLION = 1_000_000


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One observation that supports or opposes; `rule` says why, `by` who wrote it."""

    observation: str
    text: str
    weight: float
    supports: bool
    rule: str
    by: str
    at: datetime


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True):
    """`confidence` is the mean of Beta(1 + supporting, 1 + opposing); `pieces` counts all evidence, `evidence` shows
    it, weightiest first: all of it for one hypothesis, the first five in a list.
    """

    id: str
    kind: Kind
    domains: tuple[str, ...]
    statement: str
    confidence: float
    supporting: float
    opposing: float
    pieces: int
    evidence: tuple[Evidence, ...]
    since: datetime
    changed: datetime


_whose: BindParameter[str] = bindparam("owner")
_total = hypotheses.c.supporting + hypotheses.c.opposing
_PIECES = (
    select(func.count())
    .select_from(evidence)
    .where(evidence.c.owner == hypotheses.c.owner, evidence.c.hypothesis == hypotheses.c.id)
    .scalar_subquery()
)
_COLUMNS = (
    hypotheses.c.id,
    hypotheses.c.kind,
    hypotheses.c.domain_key,
    hypotheses.c.other_key,
    hypotheses.c.supporting,
    hypotheses.c.opposing,
    hypotheses.c.since_us,
    hypotheses.c.changed_us,
    _PIECES,
)
_ONE = statement(select(*_COLUMNS).where(hypotheses.c.owner == _whose, hypotheses.c.id == bindparam("id")))
_EVIDENCE = statement(
    select(
        evidence.c.observation,
        observations.c.text,
        evidence.c.weight,
        evidence.c.supports,
        evidence.c.rule,
        documents.c.by,
        evidence.c.at_us,
    )
    .join(observations, (observations.c.owner == evidence.c.owner) & (observations.c.id == evidence.c.observation))
    .join(documents, (documents.c.owner == observations.c.owner) & (documents.c.id == observations.c.document))
    .where(evidence.c.owner == _whose, evidence.c.hypothesis == bindparam("hypothesis"))
    .order_by(evidence.c.weight.desc(), evidence.c.observation)
    .limit(bindparam("most"))
)


# Alpha / (alpha + beta) in millionths, rounded, in whole numbers on both engines: what is shown, and compared.
_BOTH = 2 * THOUSAND + hypotheses.c.supporting + hypotheses.c.opposing
_SURENESS = ((THOUSAND + hypotheses.c.supporting) * MILLION + _BOTH // 2) // _BOTH


def _list(dialect: DialectName, *, narrow: bool) -> Statement:
    """Surest first, then in the order of the ids. `narrow`: about one of the domains in `keys` only."""
    in_keys = IN_KEYS[dialect]
    within = text(f"(domain_key {in_keys} OR other_key {in_keys})") if narrow else true()
    return statement(
        select(*_COLUMNS)
        .where(
            hypotheses.c.owner == _whose,
            bindparam("least") <= _SURENESS,
            or_(hypotheses.c.kind == bindparam("kind"), bindparam("any_kind", type_=Integer) == 1),
            within,
        )
        .order_by(_SURENESS.desc(), hypotheses.c.id)
        .limit(bindparam("most"))
    )


def find_hypothesis(view: Reading, owner: str, domains: Domains, identity: str, *, most: int = ALL) -> Hypothesis:
    """One hypothesis with its evidence, all of it unless `most` says less. Refused: `unknown_hypothesis`."""
    row = view.one(_ONE, {"owner": owner, "id": identity})
    if row is None:
        raise Refused.because(
            UNKNOWN_HYPOTHESIS,
            "there is no hypothesis with this id",
            place="$.hypothesis_id",
            help="query_hypotheses lists them.",
        )
    return _hypothesis(view, owner, domains, row, most)


_ANYWHERE: Mapping[DialectName, Statement] = {each: _list(each, narrow=False) for each in IN_KEYS}
_WITHIN: Mapping[DialectName, Statement] = {each: _list(each, narrow=True) for each in IN_KEYS}


def list_hypotheses(
    view: Reading,
    owner: str,
    domains: Domains,
    *,
    domain_key: str | None = None,
    kind: Kind | None = None,
    min_confidence: float = 0.0,
    limit: int = 20,
) -> tuple[Hypothesis, ...]:
    """The surest hypotheses about a domain and what lies below it, each with its weightiest evidence.

    Refused: `unknown_domain`.
    """
    given: dict[str, object] = {"owner": owner, "kind": kind or "", "any_kind": int(kind is None), "most": limit}
    given["least"] = round(min_confidence * MILLION)
    lists = _ANYWHERE
    if domain_key is not None:
        domains.find(domain_key, place="$.domain")
        given["keys"] = strictjson.encode(list(domains.subtree(domain_key))).decode()
        lists = _WITHIN
    return tuple(_hypothesis(view, owner, domains, row, MOST_SHOWN) for row in view.all(lists[view.dialect], given))


def read_evidence(view: Reading, owner: str, identity: str, most: int = ALL) -> tuple[Evidence, ...]:
    """Evidence, weightiest first, then in the order of the observations."""
    given = {"owner": owner, "hypothesis": identity, "most": most}
    return tuple(
        Evidence(
            observation=row[0],
            text=row[1],
            weight=in_decimals(row[2]),
            supports=bool(row[3]),
            rule=row[4],
            by=row[5],
            at=from_micros(row[6]),
        )
        for row in view.all(_EVIDENCE, given)
    )


def _hypothesis(view: Reading, owner: str, domains: Domains, row: Row, most: int) -> Hypothesis:
    identity, kind, one, other, supporting, opposing, since, changed, pieces = row
    keys = (one,) if other is None else (one, other)
    return Hypothesis(
        id=identity,
        kind=kind,
        domains=keys,
        statement=say(kind, [_title(domains, key) for key in keys]),
        confidence=round(confidence(supporting, opposing), 6),
        supporting=in_decimals(supporting),
        opposing=in_decimals(opposing),
        pieces=pieces,
        evidence=read_evidence(view, owner, identity, most) if most else (),
        since=from_micros(since),
        changed=from_micros(changed),
    )


def say(kind: Kind, titles: Sequence[str]) -> str:
    """What a hypothesis says, in one sentence."""
    first, last = titles[0], titles[-1]
    return {
        "intent": f"Somebody means to do something about {first}.",
        "bridge": f"{first} and {last} have to do with one another.",
        "alignment": f"What different writers say about {first} agrees.",
        "risk": f"Something about {first} may go wrong.",
    }[kind]


def _title(domains: Domains, key: str) -> str:
    found = domains.get(key)
    return key if found is None else found.title
