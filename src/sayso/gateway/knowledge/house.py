"""What memory holds from the start: the house's own description of each domain (GTW-043).

They are documents as any other, written by `house`, so that a question finds its subject before anybody has said
anything about it. Opening a memory brings them up to the package's file, and gives a vector to whatever has none in
the model in use: passages taken in before the `semantic` extra was installed, or under an older model.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, delete

from sayso.gateway.knowledge import finding, rows
from sayso.gateway.knowledge.domains import domains_file
from sayso.gateway.knowledge.intake import Seen
from sayso.gateway.knowledge.memory import SemanticMemory, lock_key
from sayso.gateway.knowledge.rules.confidence import THOUSAND
from sayso.gateway.knowledge.rules.evidence import Place
from sayso.gateway.knowledge.rules.taxonomy import Domain, Domains
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256_b64u
from sayso.store.statements import insert, statement
from sayso.store.tables import micros
from sayso.store.tables.knowledge import knowledge_documents as documents
from sayso.store.tables.knowledge import knowledge_observations as observations
from sayso.store.tables.knowledge import knowledge_places as places
from sayso.store.unit import Store, Unit

__all__ = ("HOUSE", "move_in")

HOUSE = "house"
WRITTEN = declare("knowledge.domains_written", "The house wrote its descriptions of the domains; the hash of the file.")
_AT_ONCE = 500

_ADD_DOCUMENT = statement(insert(documents))
_FORGET = tuple(
    statement(delete(table).where(table.c.owner == bindparam("whose"), column == bindparam("which")))
    for table, column in (
        (documents, documents.c.id),
        (observations, observations.c.document),
    )
)
_FORGET_PLACE = statement(
    delete(places).where(places.c.owner == bindparam("whose"), places.c.observation == bindparam("which"))
)


async def move_in(store: Store, ledger: Ledger, memory: SemanticMemory, domains: Domains) -> None:
    """Writes what is missing or has changed; nothing where all is as it should be. Several processes may do so."""
    wanted = {_document(domain): sha256_b64u(domain.text.encode()) for domain in domains.all()}
    held = await store.reading(lambda view: _held(memory, view.all(rows.HOUSE_DOCUMENTS, {"owner": memory.owner})))
    if held != wanted:
        await store.unit(lambda unit: _write(unit, ledger, memory, domains, wanted))
    await embed_the_rest(store, memory)


async def embed_the_rest(store: Store, memory: SemanticMemory) -> int:
    """Vectors for what has none in the model in use; how many passages got one."""
    embedder = memory.embedder
    if embedder is None:
        return 0
    given = {"owner": memory.owner, "model": embedder.model, "most": _AT_ONCE}
    done = 0
    while True:
        found = await store.reading(
            lambda view: [
                (str(row[0]), vector)
                for batch in (view.all(rows.NOT_EMBEDDED, given),)
                for row, vector in zip(batch, embedder.embed([str(row[1]) for row in batch]), strict=True)
            ]
        )
        if not found:
            return done
        done += await store.unit(lambda unit, found=found: _add_missing(unit, memory, found))  # type: ignore[misc]


def _add_missing(unit: Unit, memory: SemanticMemory, found: list[tuple[str, bytes]]) -> int:
    unit.lock(lock_key(memory.owner))
    assert memory.embedder is not None
    given = {"owner": memory.owner, "model": memory.embedder.model, "most": 2 * _AT_ONCE}
    missing = {row[0] for row in unit.all(rows.NOT_EMBEDDED, given)}
    memory.add_vectors(unit, [each for each in found if each[0] in missing])
    return len(found)


def _held(memory: SemanticMemory, found: Sequence[tuple[str, str]]) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in found}


def _document(domain: Domain) -> str:
    return f"domain.{domain.key}"


def _write(unit: Unit, ledger: Ledger, memory: SemanticMemory, domains: Domains, wanted: dict[str, str]) -> None:
    unit.lock(lock_key(memory.owner))
    held = _held(memory, unit.all(rows.HOUSE_DOCUMENTS, {"owner": memory.owner}))
    stale = [each for each, content in held.items() if wanted.get(each) != content]
    fresh = [each for each in domains.all() if held.get(_document(each)) != wanted[_document(each)]]
    if not stale and not fresh:
        return
    _forget(unit, memory, stale)
    unit.many(_ADD_DOCUMENT, [_document_row(unit, memory.owner, each, wanted[_document(each)]) for each in fresh])
    unit.many(rows.ADD_OBSERVATION, [_observation_row(unit, memory.owner, each) for each in fresh])
    memory.add_findable(unit, [(f"{_document(each)}.0", _seen(each)) for each in fresh])
    draft = Draft(
        kind=WRITTEN,
        actor=HOUSE,
        inputs_sha256=sha256_b64u(domains_file()),
        body={"written": len(fresh), "removed": len(set(stale) - set(wanted))},
    )
    receipt = ledger.append_in(unit, draft).seq
    unit.execute(rows.RECEIPT_DOCUMENT, {"owner": memory.owner, "number": receipt})


def _forget(unit: Unit, memory: SemanticMemory, stale: list[str]) -> None:
    passages = [f"{each}.0" for each in stale]
    for forget in _FORGET:
        unit.many(forget, [{"whose": memory.owner, "which": each} for each in stale])
    unit.many(_FORGET_PLACE, [{"whose": memory.owner, "which": each} for each in passages])
    measured = unit.dialect == "postgresql" and memory.measures(unit)
    finding.remove(unit, memory.owner, passages, measured=measured)


def _document_row(unit: Unit, owner: str, domain: Domain, content: str) -> dict[str, object]:
    return {
        "owner": owner,
        "id": _document(domain),
        "title": domain.title,
        "text": domain.text,
        "source": "domain",
        "by": HOUSE,
        "by_kind": "house",
        "run_id": None,
        "receipt": -1,
        "content_sha256": content,
        "confidence": THOUSAND,
        "at_us": micros(unit.now),
    }


def _observation_row(unit: Unit, owner: str, domain: Domain) -> dict[str, object]:
    return {
        "owner": owner,
        "id": f"{_document(domain)}.0",
        "document": _document(domain),
        "start": 0,
        "stop": len(domain.text),
        "text": domain.text,
        "text_sha256": sha256_b64u(domain.text.encode()),
        "repeat_of": None,
        "at_us": micros(unit.now),
    }


def _seen(domain: Domain) -> Seen:
    text = domain.text
    place = Place(domain.key, THOUSAND, stated=True)
    # The vector is made after the unit, off the writer's thread.
    return Seen(start=0, stop=len(text), text=text, text_sha256="", vector=None, places=(place,))
