"""Appending in a unit of work: with what it tells of or not at all, in one gapless order."""

from __future__ import annotations

import pytest
from sqlalchemy import UniqueConstraint, delete

from sayso.core.clock import ManualClock
from sayso.core.refusal import Corrupt, Misuse, Refused
from sayso.ledger.append import append
from sayso.ledger.exporting import export_lines
from sayso.ledger.heads import read_head
from sayso.ledger.ledger import Ledger
from sayso.ledger.reading import read_records
from sayso.ledger.rules.chain import GENESIS, Tip
from sayso.ledger.rules.record import Draft
from sayso.ledger.rules.verify import verify_export
from sayso.store.statements import insert, statement
from sayso.store.tables import ledger as tables
from sayso.store.tables import metadata
from sayso.store.unit import Store, Taken, Unit
from tests.ledger.logs import KEY, LOG, draft


class Regret(Exception):
    """A body that thinks better of it."""


def written(store: Store) -> list[str]:
    """What stands in the log, as kinds and calls."""
    return [str(record.body.get("call")) for record in store.read(lambda view: read_records(view, LOG, 0, 10_000))]


def intact(store: Store) -> int:
    """How many records a verifier accepts."""
    lines = store.read(lambda view: list(export_lines(view, LOG, with_evidence=False)))
    return verify_export(lines, key=KEY.public).records


@pytest.mark.req("GTW-050")
def test_records_follow_one_another(store: Store, clock: ManualClock) -> None:
    """Each names its place and the record before it."""
    first = store.run(lambda unit: append(unit, LOG, draft(1)))
    second = store.run(lambda unit: append(unit, LOG, draft(2)))
    assert (first.seq, first.prev, second.seq, second.prev) == (0, GENESIS, 1, first.hash)
    assert store.read(lambda view: read_records(view, LOG, 0, 9)) == [first, second]
    assert first.at == clock.now()


def test_the_bytes_are_stored_as_they_were_hashed(store: Store) -> None:
    """Nothing is re-derived from columns."""
    record = store.run(lambda unit: append(unit, LOG, draft(1)))
    (again,) = store.read(lambda view: read_records(view, LOG, 0, 1))
    assert (again.data, again.hash) == (record.data, record.hash)


@pytest.mark.req("GTW-053")
def test_a_unit_that_fails_leaves_no_record_and_no_gap(store: Store) -> None:
    """The receipt goes with the change it tells of, and the next one takes its place."""
    tips: dict[str, Tip] = {}
    store.run(lambda unit: append(unit, LOG, draft(1), tips=tips))

    def regret(unit: Unit) -> None:
        append(unit, LOG, draft(2), tips=tips)
        raise Regret

    with pytest.raises(Regret):
        store.run(regret)
    third = store.run(lambda unit: append(unit, LOG, draft(3), tips=tips))
    assert (third.seq, written(store), intact(store)) == (1, ["c_1", "c_3"], 2)


def test_a_tip_that_was_overtaken_is_read_again(store: Store) -> None:
    """What one process remembers is no promise that the other has not written."""
    mine: dict[str, Tip] = {}
    theirs: dict[str, Tip] = {}
    for number, tips in enumerate((mine, theirs, theirs, mine, mine, theirs)):
        store.run(lambda unit, number=number, tips=tips: append(unit, LOG, draft(number), tips=tips))
    assert (written(store), intact(store)) == ([f"c_{number}" for number in range(6)], 6)


def test_two_records_of_one_unit_follow_one_another(store: Store) -> None:
    """The second links to the first although neither is committed."""

    def both(unit: Unit) -> None:
        append(unit, LOG, draft(1))
        append(unit, LOG, draft(2))

    store.run(both)
    assert (written(store), intact(store)) == (["c_1", "c_2"], 2)


def test_logs_do_not_mix(store: Store) -> None:
    """Each counts from 0 and links to its own."""
    store.run(lambda unit: append(unit, LOG, draft(1)))
    other = store.run(lambda unit: append(unit, "other.example", draft(2)))
    assert (other.seq, other.prev, written(store)) == (0, GENESIS, ["c_1"])


def test_a_malformed_draft_leaves_the_log_as_it_was(store: Store) -> None:
    """The refusal comes before anything is written."""
    with pytest.raises(Refused):
        store.run(lambda unit: append(unit, LOG, Draft(kind="nonsense", actor="a")))
    assert store.read(lambda view: read_head(view, LOG)).tip.size == 0


def test_nobody_else_writes_a_seal(store: Store) -> None:
    """A seal that covers nothing would make the whole log fail its verification."""
    with pytest.raises(Misuse):
        store.run(lambda unit: append(unit, LOG, Draft(kind="batch.sealed", actor="a")))


@pytest.mark.req("GTW-053")
@pytest.mark.parametrize("values", [{"seq": 0, "prev": b"x" * 32}, {"seq": 9, "prev": GENESIS}])
def test_the_database_refuses_a_second_record_in_one_place(store: Store, values: dict[str, object]) -> None:
    """Even code that goes round the head cannot take a place twice, by number or by what is named before."""
    store.run(lambda unit: append(unit, LOG, draft(1)))
    row = {"log": LOG, "data": b"{}", **values}
    with pytest.raises(Taken):
        store.run(lambda unit: unit.execute(statement(insert(tables.ledger_record)), row))


def test_a_head_that_contradicts_itself_is_corrupt(store: Store) -> None:
    """Its size and its tree are written together, so a difference is damage."""
    broken = {"log": LOG, "size": 3, "head": bytes(32), "frontier": bytes(8), "leaves": 0, "sealed": 0}
    store.run(lambda unit: unit.execute(statement(insert(tables.ledger_head)), {**broken, "waiting_since": None}))
    with pytest.raises(Corrupt):
        store.run(lambda unit: append(unit, LOG, draft(1)))


def test_a_log_whose_record_is_gone_is_found_by_verify(store: Store, ledger: Ledger) -> None:
    """A row deleted behind the ledger's back shows, and its number is named."""
    for number in range(3):
        store.run(lambda unit, number=number: append(unit, LOG, draft(number)))
    gone = statement(delete(tables.ledger_record).where(tables.ledger_record.c.seq == 1))
    store.run(lambda unit: unit.execute(gone))
    lines = store.read(lambda view: list(export_lines(view, LOG, with_evidence=True)))
    with pytest.raises(Refused) as refused:
        verify_export(lines, key=KEY.public)
    assert refused.value.refusal.place == "record 1"


def test_every_key_and_constraint_holds_the_log() -> None:
    """The log is the shard key: no constraint may need rows of two logs."""
    found = [table for name, table in metadata.tables.items() if name.startswith("ledger_")]
    assert len(found) == 6
    for table in found:
        keys = [table.primary_key, *(c for c in table.constraints if isinstance(c, UniqueConstraint)), *table.indexes]
        assert all("log" in key.columns for key in keys), table.name
