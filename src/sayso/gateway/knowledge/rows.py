"""The statements of semantic memory, and rows as the values that callers see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec
from sqlalchemy import BindParameter, bindparam, select, text, update

from sayso.core import strictjson
from sayso.gateway.knowledge.finding import IN_KEYS
from sayso.gateway.knowledge.rules.confidence import in_decimals
from sayso.store.statements import DialectName, Row, Statement, insert, statement
from sayso.store.tables import from_micros
from sayso.store.tables.knowledge import (
    knowledge_documents as documents,
)
from sayso.store.tables.knowledge import (
    knowledge_observations as observations,
)
from sayso.store.tables.knowledge import (
    knowledge_places as places,
)
from sayso.store.tables.knowledge import (
    knowledge_vectors as vectors,
)
from sayso.store.unit import Reading

__all__ = ("ByKind", "Passage", "ShownPlace", "Source", "find_passage", "find_passages")

Source = Literal["domain", "note", "artifact", "proposal"]
ByKind = Literal["house", "person", "agent"]

_owner: BindParameter[str] = bindparam("owner")

ADD_DOCUMENT = statement(insert(documents).on_conflict_do_nothing())
RECEIPT_DOCUMENT = statement(
    update(documents).where(documents.c.owner == _owner, documents.c.receipt == -1).values(receipt=bindparam("number"))
)
FIND_DOCUMENT = statement(
    select(documents.c.receipt).where(documents.c.owner == _owner, documents.c.id == bindparam("id"))
)
ADD_OBSERVATION = statement(insert(observations))
ADD_PLACE = statement(insert(places))
FIND_REPEAT = statement(
    select(observations.c.id).where(
        observations.c.owner == _owner,
        observations.c.text_sha256 == bindparam("text_sha256"),
        observations.c.repeat_of.is_(None),
    )
)
OBSERVED_IN = statement(
    select(observations.c.id, observations.c.repeat_of)
    .where(observations.c.owner == _owner, observations.c.document == bindparam("document"))
    .order_by(observations.c.start)
)
HOUSE_DOCUMENTS = statement(
    select(documents.c.id, documents.c.content_sha256).where(
        documents.c.owner == _owner, documents.c.source == "domain"
    )
)
NOT_EMBEDDED = statement(
    select(observations.c.id, observations.c.text)
    .where(
        observations.c.owner == _owner,
        observations.c.repeat_of.is_(None),
        ~select(vectors.c.observation)
        .where(
            vectors.c.owner == observations.c.owner,
            vectors.c.model == bindparam("model"),
            vectors.c.observation == observations.c.id,
        )
        .exists(),
    )
    .order_by(observations.c.id)
    .limit(bindparam("most"))
)
_COLUMNS = (
    observations.c.id,
    observations.c.document,
    documents.c.title,
    observations.c.text,
    observations.c.start,
    observations.c.stop,
    documents.c.source,
    documents.c.by,
    documents.c.by_kind,
    documents.c.run_id,
    documents.c.receipt,
    documents.c.content_sha256,
    observations.c.at_us,
)
_PASSAGES: Mapping[DialectName, Statement] = {
    dialect: statement(
        select(*_COLUMNS)
        .join(documents, (documents.c.owner == observations.c.owner) & (documents.c.id == observations.c.document))
        .where(observations.c.owner == _owner, text(f"knowledge_observations.id {in_keys}"))
    )
    for dialect, in_keys in IN_KEYS.items()
}
_PLACES: Mapping[DialectName, Statement] = {
    dialect: statement(
        select(places.c.observation, places.c.domain_key, places.c.closeness, places.c.stated).where(
            places.c.owner == _owner, text(f"knowledge_places.observation {in_keys}")
        )
    )
    for dialect, in_keys in IN_KEYS.items()
}
LATEST = statement(
    select(observations.c.id)
    .join(places, (places.c.owner == observations.c.owner) & (places.c.observation == observations.c.id))
    .join(documents, (documents.c.owner == observations.c.owner) & (documents.c.id == observations.c.document))
    .where(
        observations.c.owner == _owner, places.c.domain_key == bindparam("domain_key"), documents.c.source != "domain"
    )
    .order_by(observations.c.at_us.desc(), observations.c.id)
    .limit(bindparam("most"))
)


class ShownPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A domain a passage belongs to: closeness from 0 to 1, and whether its writer named the domain."""

    key: str
    closeness: float
    stated: bool


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed, with all that tells where it comes from.

    `text` is document[start:stop], in code points; `content_sha256` is of the document's bytes as they came in;
    `receipt` the number of the receipt that tells of its being taken in; `run_id` the assigned run it was made in.
    """

    observation: str
    document: str
    title: str
    text: str
    start: int
    stop: int
    source: Source
    by: str
    by_kind: ByKind
    run_id: str | None
    receipt: int
    content_sha256: str
    at: datetime
    domains: tuple[ShownPlace, ...]


def find_passage(view: Reading, owner: str, observation: str) -> Passage | None:
    """One passage, or None."""
    return find_passages(view, owner, [observation]).get(observation)


def find_passages(view: Reading, owner: str, wanted: Sequence[str]) -> dict[str, Passage]:
    """Those of the passages that are there, by their ids. A passage's domains stand closest first."""
    given = {"owner": owner, "keys": strictjson.encode(list(wanted)).decode()}
    places_of: dict[str, list[ShownPlace]] = {}
    for observation, key, close, stated in view.all(_PLACES[view.dialect], given):
        shown = ShownPlace(key=key, closeness=in_decimals(close), stated=bool(stated))
        places_of.setdefault(observation, []).append(shown)
    return {row[0]: _passage(row, places_of.get(row[0], [])) for row in view.all(_PASSAGES[view.dialect], given)}


def _passage(row: Row, shown: list[ShownPlace]) -> Passage:
    return Passage(
        observation=row[0],
        document=row[1],
        title=row[2],
        text=row[3],
        start=row[4],
        stop=row[5],
        source=row[6],
        by=row[7],
        by_kind=row[8],
        run_id=row[9],
        receipt=row[10],
        content_sha256=row[11],
        at=from_micros(row[12]),
        domains=tuple(sorted(shown, key=lambda each: (-each.closeness, each.key))),
    )
