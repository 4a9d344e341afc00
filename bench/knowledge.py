"""How well and how fast semantic memory searches, on both engines.

    python -m bench.knowledge [--observations N] [--queries FILE]

Judged on the hundred labelled queries of the tests: recall@5, the share of a query's relevant domains among the first
five found, on average; together, and by words alone. Timed on as many observations as asked for, 10,000 unless said:
domains and notes made of pieces of their descriptions; each query once, from the call to hits with provenance.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy

from bench.measure import stopwatch
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.gateway.knowledge.house import move_in
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.ledger.ledger import Ledger
from sayso.store.open import open_store
from sayso.store.unit import Store
from sayso.testing.postgres import serve_postgres

OWNER, LOG = "person_1", "bench.example"
QUERIES = Path(__file__).parent.parent / "tests" / "gateway" / "knowledge" / "queries.tsv"
SHOWN = 5
NOTES = 100
Labelled = Sequence[tuple[str, frozenset[str]]]


def read_queries(path: Path) -> Labelled:
    rows = (line.split("\t") for line in path.read_text().splitlines()[1:])
    return [(query, frozenset(relevant.split())) for query, relevant in rows]


async def recall(knowledge: Knowledge, queries: Labelled) -> float:
    shares = []
    for query, relevant in queries:
        found = await knowledge.search(query, limit=SHOWN)
        shares.append(len(relevant & {hit.domains[0].key for hit in found.hits}) / len(relevant))
    return statistics.fmean(shares)


async def fill(knowledge: Knowledge, wanted: int) -> None:
    """Notes of six sentences a passage and a hundred passages a note, until there are enough."""
    chance = numpy.random.Generator(numpy.random.PCG64(1))
    halves = [half.strip() for each in knowledge.domains.all() for half in each.description.rstrip(".").split(",")]
    for number in range((wanted - len(knowledge.domains)) // NOTES):
        passages = [". ".join(chance.choice(halves, 6)) + f". Note {number}-{each}." for each in range(NOTES)]
        await knowledge.ingest(title=f"Note {number}", text="\n\n".join(passages), by=f"person_{number % 7}")


async def times(knowledge: Knowledge, queries: Labelled, domain_key: str | None) -> list[float]:
    """Milliseconds, sorted."""
    found = []
    for query, _ in queries:
        with stopwatch() as watch:
            await knowledge.search(query, domain_key=domain_key)
        found.append(1000 * watch.seconds)
    return sorted(found)


def made(store: Store) -> Knowledge:
    clock = SystemClock()
    return Knowledge(store, Ledger(store, LOG, clock), owner=OWNER, clock=clock, ids=SystemIds())


async def judge(name: str, location: str, queries: Labelled, wanted: int) -> None:
    clock = SystemClock()
    with open_store(location, clock) as store:
        both, words = made(store), made(store)
        await both.open()
        await move_in(store, Ledger(store, LOG, clock), words.memory, words.domains)
        together, alone = await recall(both, queries), await recall(words, queries)
        print(f"{name:<12} recall@{SHOWN}: {together:.3f} together, {alone:.3f} by words alone")
        with stopwatch() as watch:
            await fill(both, wanted)
        count = (await both.stats()).observations
        print(f"{name:<12} taken in: {watch.rate(max(1, count - len(both.domains))):,.0f} passages/s")
        for where in (None, "health"):
            taken = await times(both, queries, where)
            median, most = statistics.median(taken), taken[int(len(taken) * 0.95)]
            scope = "all domains" if where is None else f"in {where}"
            print(f"{name:<12} search of {count:,}, {scope}: p50 {median:.1f} ms, p95 {most:.1f} ms")
        surest = (await both.hypotheses(limit=1))[0]
        with stopwatch() as watch:
            await both.simulate(surest.id, call_id="bench", by=OWNER)
        print(f"{name:<12} simulation of {surest.pieces} pieces: {1000 * watch.seconds:.0f} ms")


@contextmanager
def places() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, serve_postgres() as server:
        yield {"SQLite": str(Path(folder) / "bench.db"), "PostgreSQL": server.fresh()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.knowledge", description=__doc__)
    parser.add_argument("--observations", type=int, default=10_000)
    parser.add_argument("--queries", type=Path, default=QUERIES)
    options = parser.parse_args()
    queries = read_queries(options.queries)
    with places() as found:
        for name, location in found.items():
            asyncio.run(judge(name, location, queries, options.observations))


if __name__ == "__main__":
    main()
