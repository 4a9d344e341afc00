"""The ledger's invariants, after anything that can happen to a log: two writers, failures, seals, checkpoints."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sayso.core import b64u
from sayso.core.clock import ManualClock
from sayso.ledger.append import append
from sayso.ledger.exporting import export_lines
from sayso.ledger.heads import read_head
from sayso.ledger.reading import disclosure_data, read_disclosures, read_records
from sayso.ledger.rules.chain import GENESIS, Tip
from sayso.ledger.rules.checkpoint import verify_signed_checkpoint
from sayso.ledger.rules.verify import verify_export
from sayso.ledger.seal import checkpoint, disclose, seal_due
from sayso.proof.merkle import leaf_hash, root
from sayso.store.unit import Unit
from sayso.testing.store import START, fresh_store
from tests.ledger.logs import KEY, LOG, draft

writers = st.integers(0, 1)


class Regret(Exception):
    """A body that thinks better of it."""


class Log(RuleBasedStateMachine):
    """One log, two writers that each remember a tip of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock(START)
        self.store = fresh_store(Path(self.folder.name), self.clock)
        self.tips: list[dict[str, Tip]] = [{}, {}]
        self.expected_records = 0
        self.expected_leaves = 0
        self.notes: list[bytes] = []

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @rule(writer=writers, count=st.integers(1, 3))
    def append(self, writer: int, count: int) -> None:
        def body(unit: Unit) -> None:
            for _ in range(count):
                append(unit, LOG, draft(1), tips=self.tips[writer])

        self.store.run(body)
        self.expected_records += count

    @rule(writer=writers)
    def fail(self, writer: int) -> None:
        def body(unit: Unit) -> None:
            append(unit, LOG, draft(2), tips=self.tips[writer])
            disclose(unit, LOG, draft(2), tips=self.tips[writer])
            raise Regret

        try:
            self.store.run(body)
        except Regret:
            return
        raise AssertionError

    @rule(writer=writers, count=st.integers(1, 3) | st.just(300))
    def disclose(self, writer: int, count: int) -> None:
        def body(unit: Unit) -> None:
            for _ in range(count):
                disclose(unit, LOG, draft(3), tips=self.tips[writer])

        self.store.run(body)
        self.expected_leaves += count

    @rule(writer=writers, seconds=st.integers(0, 1))
    def seal(self, writer: int, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))
        self.store.run(lambda unit: seal_due(unit, LOG, tips=self.tips[writer]))

    @rule()
    def checkpoint(self) -> None:
        if self.store.read(lambda view: read_head(view, LOG)).tip.size:
            self.notes.append(self.store.run(lambda unit: checkpoint(unit, LOG, KEY)))

    @invariant()
    def l01_seq_counts_from_0_without_a_gap(self) -> None:
        """L-01."""
        records = self.store.read(lambda view: read_records(view, LOG, 0, 10**6))
        assert [record.seq for record in records] == list(range(len(records)))
        assert sum(record.kind != "batch.sealed" for record in records) == self.expected_records

    @invariant()
    def l02_every_record_names_the_one_before(self) -> None:
        """L-02."""
        records = self.store.read(lambda view: read_records(view, LOG, 0, 10**6))
        assert [record.prev for record in records] == [GENESIS, *(record.hash for record in records)][: len(records)]

    @invariant()
    def l03_disclosures_are_numbered_without_a_gap(self) -> None:
        """L-03."""
        leaves = self.store.read(lambda view: read_disclosures(view, LOG, 0, 10**6))
        assert [leaf.number for leaf in leaves] == list(range(self.expected_leaves))

    @invariant()
    def l04_every_checkpoint_fits_the_log(self) -> None:
        """L-04."""
        for note in self.notes[-2:]:
            lines = self.store.read(lambda view: list(export_lines(view, LOG, with_evidence=False)))
            verdict = verify_export(lines, key=KEY.public, kept=note)
            assert verdict.kept == verify_signed_checkpoint(note, log=LOG, key=KEY.public)

    @invariant()
    def l05_seals_state_exactly_the_disclosures_between_them(self) -> None:
        """L-05."""
        records = self.store.read(lambda view: read_records(view, LOG, 0, 10**6))
        sealed = 0
        for record in records:
            if record.kind == "batch.sealed":
                first, size = sealed, int(str(record.body["size"]))
                data = self.store.read(lambda view, f=first, s=size: disclosure_data(view, LOG, f, f + s))
                assert record.body["first"] == first
                assert record.body["root"] == b64u.encode(root([leaf_hash(leaf) for leaf in data]))
                assert len(data) == size
                sealed += size
        head = self.store.read(lambda view: read_head(view, LOG))
        assert (head.sealed, head.leaves) == (sealed, self.expected_leaves)
        assert head.waiting < 256


TestLog = Log.TestCase
TestLog.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
