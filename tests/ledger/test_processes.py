"""What holds between processes, and when one of them is killed in the middle."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from sayso.core.clock import ManualClock
from sayso.ledger.exporting import export_lines
from sayso.ledger.reading import read_disclosures, read_records
from sayso.ledger.rules.verify import Verdict, verify_export
from sayso.ledger.seal import seal
from sayso.store.open import open_store
from sayso.store.unit import Store
from sayso.testing.store import START
from tests.ledger.logs import KEY, LOG

WORKER = Path(__file__).with_name("worker.py")
EVERYTHING = 10**9


class Worker:
    """One process that writes the log."""

    def __init__(self, location: str, name: str, count: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), location, name, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def told(self) -> list[str]:
        """Everything else it says until it ends; a line that was cut off by its death counts as not said."""
        assert self.process.stdout is not None
        said = self.process.stdout.read()
        self.process.wait()
        return said.split("\n")[:-1]


@contextmanager
def workers(location: str, counts: Sequence[int]) -> Iterator[list[Worker]]:
    started = [Worker(location, f"w{index}", count) for index, count in enumerate(counts)]
    try:
        for worker in started:
            assert worker.hear() == "ready"
        yield started
    finally:
        for worker in started:
            worker.process.kill()
            worker.process.communicate()


def seal_and_verify(store: Store) -> Verdict:
    store.run(lambda unit: seal(unit, LOG))
    return verify_export(store.read(lambda view: list(export_lines(view, LOG, with_evidence=True))), key=KEY.public)


def stored(store: Store) -> set[str]:
    """Every receipt in the log, as the worker tells of it."""
    records = store.read(lambda view: read_records(view, LOG, 0, EVERYTHING))
    leaves = store.read(lambda view: read_disclosures(view, LOG, 0, EVERYTHING))
    return {f"record {each.seq} {each.body.get('call')}" for each in records} | {
        f"disclosure {each.number} {each.body.get('call')}" for each in leaves
    }


@pytest.mark.req("GTW-053")
def test_four_processes_make_one_chain(location: str) -> None:
    """A thousand receipts, each in its own place, none twice and none missing."""
    with workers(location, [250] * 4) as started:
        for worker in started:
            worker.go()
        told = [line for worker in started for line in worker.told()]
    with open_store(location, ManualClock(START)) as store:
        assert (len(told), set(told)) == (1000, stored(store))
        assert sorted(int(line.split()[1]) for line in told) == list(range(1000))
        assert seal_and_verify(store).records == 1000


@pytest.mark.req("GTW-053")
@pytest.mark.parametrize("after", [1, 9, 40, 150])
def test_a_process_killed_while_it_appends_leaves_a_whole_log(location: str, after: int) -> None:
    """No gap and no half receipt, nothing lost that was answered, and others go on where it stopped."""
    with workers(location, [0, 60]) as (victim, other):
        other.go()
        victim.go()
        told = [victim.hear() for _ in range(after)]
        victim.process.kill()
        told += victim.told()
        told += other.told()
    with open_store(location, ManualClock(START)) as store:
        assert set(told) <= stored(store)
        verdict = seal_and_verify(store)
        assert verdict.receipts >= len(told)
    with workers(location, [10]) as (later,):
        later.go()
        assert len(later.told()) == 10
    with open_store(location, ManualClock(START)) as store:
        assert seal_and_verify(store).receipts == verdict.receipts + 10
