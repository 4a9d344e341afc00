"""The engines' search: FTS5 and sqlite-vec, or tsvector and pgvector; the same questions asked of either (GTW-043).

Distances are scanned and not guessed: every passage of the owner (or of the domains asked for) is measured, so the same
question always has the same answer. Vectors are whole numbers, so both engines measure the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import text

from sayso.core import strictjson
from sayso.gateway.knowledge.rules.asking import words_in, write_fts5, write_tsquery
from sayso.store.statements import DialectName, Statement, statement
from sayso.store.unit import Reading, Unit

__all__ = (
    "Near",
    "Scope",
    "add_vectors",
    "add_words",
    "by_other_writers",
    "by_vector",
    "by_words",
    "can_measure",
    "remove",
)


class Scope(NamedTuple):
    """Whose passages are looked at, and in which domains; None for all of them."""

    owner: str
    domain_keys: Sequence[str] | None = None


class Near(NamedTuple):
    """A passage and how far it is from what was asked."""

    observation: str
    distance: float


IN_KEYS: Mapping[DialectName, str] = {
    "sqlite": "IN (SELECT value FROM json_each(:keys))",
    "postgresql": "= ANY (ARRAY (SELECT json_array_elements_text(CAST(:keys AS json))))",
}
"""A text is in the JSON array bound as `keys`: a list whose length is not known when the SQL is written."""
# Postgres looks at the list once and goes by the primary key; its planner would ask the subquery for each passage.
_ONE_OF: Mapping[DialectName, str] = {"sqlite": "IN ({rows})", "postgresql": "= ANY (ARRAY ({rows}))"}
_IN_DOMAINS = """SELECT p.observation FROM knowledge_places p WHERE p.owner = :owner AND p.domain_key {in_keys}"""

_WORDS: Mapping[DialectName, str] = {
    "sqlite": """SELECT observation FROM knowledge_words WHERE knowledge_words MATCH :asked AND owner = :owner{scope}
        ORDER BY bm25(knowledge_words), observation LIMIT :depth""",
    "postgresql": """SELECT observation FROM knowledge_words, to_tsquery('english', :asked) asked
        WHERE owner = :owner AND words @@ asked{scope}
        ORDER BY ts_rank_cd(words, asked, 1) DESC, observation COLLATE "C" LIMIT :depth""",
}
_VECTORS: Mapping[DialectName, str] = {
    "sqlite": """SELECT observation, vec_distance_l2(vec_int8(vector), vec_int8(:asked)) AS distance
        FROM knowledge_vectors WHERE owner = :owner AND model = :model{scope}
        ORDER BY distance, observation LIMIT :depth""",
    "postgresql": """SELECT observation, near <-> CAST(:asked AS halfvec) AS distance
        FROM knowledge_near WHERE owner = :owner AND model = :model{scope}
        ORDER BY distance, observation LIMIT :depth""",
}
# An earlier passage of another writer who is not the house, in one domain, nearest first.
_OTHERS = """SELECT p.observation FROM knowledge_places p
    JOIN knowledge_observations o ON o.owner = p.owner AND o.id = p.observation
    JOIN knowledge_documents d ON d.owner = o.owner AND d.id = o.document
    WHERE p.owner = :owner AND p.domain_key = :domain_key AND d.by_kind <> 'house' AND d.by <> :writer"""

_ADD_WORDS: Mapping[DialectName, str] = {
    "sqlite": "INSERT INTO knowledge_words (text, owner, observation) VALUES (:text, :owner, :observation)",
    "postgresql": """INSERT INTO knowledge_words (words, owner, observation)
        VALUES (to_tsvector('english', :text), :owner, :observation)""",
}
_ADD_VECTOR = """INSERT INTO knowledge_vectors (owner, model, observation, vector)
    VALUES (:owner, :model, :observation, :vector)"""
_ADD_NEAR = """INSERT INTO knowledge_near (owner, model, observation, near)
    VALUES (:owner, :model, :observation, CAST(:near AS halfvec))"""
_REMOVE_WORDS: Mapping[DialectName, str] = {
    "sqlite": """DELETE FROM knowledge_words WHERE rowid IN (
        SELECT rowid FROM knowledge_words WHERE owner = :owner AND observation = :observation)""",
    "postgresql": "DELETE FROM knowledge_words WHERE owner = :owner AND observation = :observation",
}
_CAN_MEASURE: Mapping[DialectName, str] = {
    "sqlite": "SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_l2' LIMIT 1",
    "postgresql": "SELECT 1 FROM pg_class WHERE oid = to_regclass('knowledge_near')",
}


class _Asked(NamedTuple):
    """One question in both engines' words, with and without a scope; each statement is compiled when first used."""

    anywhere: Mapping[DialectName, Statement]
    within: Mapping[DialectName, Statement]
    others: Mapping[DialectName, Statement]


def _each(texts: Mapping[DialectName, str], scope: str = "") -> dict[DialectName, Statement]:
    found = {}
    for dialect, sql in texts.items():
        rows = scope.format(in_keys=IN_KEYS[dialect])
        narrower = f" AND observation {_ONE_OF[dialect].format(rows=rows)}" if rows else ""
        found[dialect] = statement(text(sql.format(scope=narrower)))
    return found


_BY_WORDS = _Asked(_each(_WORDS), _each(_WORDS, _IN_DOMAINS), {})
_BY_VECTOR = _Asked(_each(_VECTORS), _each(_VECTORS, _IN_DOMAINS), _each(_VECTORS, _OTHERS))
_WORDS_IN = _each(_ADD_WORDS)
_WORDS_OUT = _each(_REMOVE_WORDS)
_VECTOR_IN = statement(text(_ADD_VECTOR))
_NEAR_IN = statement(text(_ADD_NEAR))
_VECTOR_OUT = statement(text("DELETE FROM knowledge_vectors WHERE owner = :owner AND observation = :observation"))
_NEAR_OUT = statement(text("DELETE FROM knowledge_near WHERE owner = :owner AND observation = :observation"))
_MEASURES = _each(_CAN_MEASURE)


def can_measure(view: Reading) -> bool:
    """Whether the engine knows distances: sqlite-vec is loaded, or pgvector was there when the database was made."""
    return view.one(_MEASURES[view.dialect]) is not None


def by_words(view: Reading, scope: Scope, query: str, depth: int) -> tuple[list[str], int]:
    """The passages that hold words of the query, and how many of them hold every one: these come first."""
    words = words_in(query)
    if not words:
        return [], 0
    write = write_fts5 if view.dialect == "sqlite" else write_tsquery
    every = _words(view, scope, write(words, every=True), depth)
    if len(words) == 1 or len(every) >= depth:
        return every, len(every)
    some = _words(view, scope, write(words), depth)
    return [*every, *(each for each in some if each not in every)][:depth], len(every)


def _words(view: Reading, scope: Scope, asked: str, depth: int) -> list[str]:
    return [str(row[0]) for row in _ask(view, _BY_WORDS, scope, {"asked": asked, "depth": depth})]


def by_vector(view: Reading, scope: Scope, model: str, vector: bytes, depth: int) -> list[Near]:
    """The passages whose vectors are nearest, nearest first."""
    rows = _ask(view, _BY_VECTOR, scope, {"asked": _spell(view, vector), "model": model, "depth": depth})
    return [Near(str(row[0]), float(row[1])) for row in rows]


def by_other_writers(view: Reading, owner: str, domain_key: str, writer: str, model: str, vector: bytes) -> Near | None:
    """The nearest passage in a domain that neither this writer nor the house wrote."""
    given = {"owner": owner, "domain_key": domain_key, "writer": writer, "model": model, "depth": 1}
    row = view.one(_BY_VECTOR.others[view.dialect], {**given, "asked": _spell(view, vector)})
    return None if row is None else Near(str(row[0]), float(row[1]))


def add_words(unit: Unit, owner: str, passages: Iterable[tuple[str, str]]) -> None:
    """Makes passages findable by words; each is an observation's id and its text."""
    rows = [{"owner": owner, "observation": each, "text": said} for each, said in passages]
    unit.many(_WORDS_IN[unit.dialect], rows)


def add_vectors(unit: Unit, owner: str, model: str, vectors: Iterable[tuple[str, bytes]], *, measured: bool) -> None:
    """Makes passages findable by vectors. `measured` is what `can_measure` said: Postgres keeps a form of its own."""
    row = {"owner": owner, "model": model}
    pairs = list(vectors)
    unit.many(_VECTOR_IN, [{**row, "observation": each, "vector": vector} for each, vector in pairs])
    if unit.dialect == "postgresql" and measured:
        unit.many(_NEAR_IN, [{**row, "observation": each, "near": _write_halfvec(vector)} for each, vector in pairs])


def remove(unit: Unit, owner: str, observations: Iterable[str], *, measured: bool) -> None:
    """Takes passages out of every search object."""
    rows = [{"owner": owner, "observation": each} for each in observations]
    unit.many(_WORDS_OUT[unit.dialect], rows)
    unit.many(_VECTOR_OUT, rows)
    if unit.dialect == "postgresql" and measured:
        unit.many(_NEAR_OUT, rows)


def _ask(view: Reading, asked: _Asked, scope: Scope, given: dict[str, Any]) -> list[tuple[Any, ...]]:
    given["owner"] = scope.owner
    if scope.domain_keys is None:
        return view.all(asked.anywhere[view.dialect], given)
    given["keys"] = strictjson.encode(list(scope.domain_keys)).decode()
    return view.all(asked.within[view.dialect], given)


def _spell(view: Reading, vector: bytes) -> bytes | str:
    return vector if view.dialect == "sqlite" else _write_halfvec(vector)


def _write_halfvec(vector: bytes) -> str:
    return f"[{','.join(str(each - 256 if each > 127 else each) for each in vector)}]"
