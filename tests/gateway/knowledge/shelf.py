"""A small taxonomy and a knowledge on it: twelve domains under four roots, enough for every rule to have a case."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sayso.core.clock import Clock
from sayso.core.ids import CountingIds
from sayso.gateway.knowledge.embedding import Embedder, WordLlama
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.gateway.knowledge.rules.taxonomy import Domains, read_domains
from sayso.ledger.ledger import Ledger
from sayso.store.unit import Store

OWNER = "person_1"
LOG = "house.example/log"
ROWS = tuple(tuple(line.split("\t")) for line in Path(__file__).with_suffix(".tsv").read_text().splitlines()[1:])


def file(rows: Sequence[Sequence[str]] = ROWS) -> bytes:
    """Rows as a data file."""
    return "\n".join("\t".join(row) for row in (("key", "title", "parent", "description"), *rows)).encode()


def domains() -> Domains:
    return read_domains(file(), count=None)


@cache
def model() -> Embedder:
    """The real model, loaded once for all tests of a process."""
    return WordLlama()


def knowledge_on(
    store: Store, clock: Clock, *, embedder: Embedder | None, owner: str = OWNER, log: str = LOG
) -> Knowledge:
    return Knowledge(
        store,
        Ledger(store, log, clock),
        owner=owner,
        clock=clock,
        ids=CountingIds(),
        domains=domains(),
        embedder=embedder,
    )
