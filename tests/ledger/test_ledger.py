"""The log as the house uses it: from coroutines, in the caller's unit, exported and verified where it is."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from sqlalchemy import delete, update

from sayso.core.clock import ManualClock
from sayso.core.refusal import Corrupt, Refused
from sayso.ledger.heads import channel
from sayso.ledger.ledger import Ledger, Standing
from sayso.ledger.rules.verify import verify_export
from sayso.store.statements import statement
from sayso.store.tables import ledger as tables
from sayso.store.unit import Store, Unit
from tests.ledger.logs import KEY, LOG, OTHER_KEY, draft, lines_of

pytestmark = pytest.mark.anyio


@pytest.mark.req("GTW-053")
async def test_64_callers_at_once_make_one_chain(ledger: Ledger) -> None:
    """Whoever comes first is first; nobody is lost, nobody is twice."""

    async def call(caller: int) -> None:
        for number in range(4):
            await ledger.append(draft(caller * 100 + number))

    async with asyncio.TaskGroup() as tasks:
        for caller in range(64):
            tasks.create_task(call(caller))
    calls = [str(record.body["call"]) for record in await ledger.records()]
    assert sorted(calls) == sorted(f"c_{caller * 100 + number}" for caller in range(64) for number in range(4))
    assert (await ledger.verify(KEY.public)).records == 256


@pytest.mark.req("GTW-053")
async def test_a_receipt_and_what_it_tells_of_are_undone_together(store: Store, ledger: Ledger) -> None:
    """The caller's unit decides over both."""

    def act(unit: Unit) -> None:
        ledger.append_in(unit, draft(1))
        ledger.disclose_in(unit, draft(2))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.unit(act)
    assert await ledger.standing() == Standing(log=LOG, records=0, sealed=0, waiting=0)


async def test_two_ledgers_of_one_log_take_turns(store: Store, clock: ManualClock) -> None:
    """Neither trusts what it remembers."""
    ours, theirs = Ledger(store, LOG, clock), Ledger(store, LOG, clock)
    seqs = [(await ledger.append(draft(n))).seq for n, ledger in enumerate((ours, theirs, ours, ours, theirs))]
    assert seqs == [0, 1, 2, 3, 4]


async def test_a_log_is_verified_where_it_is(ledger: Ledger, clock: ManualClock) -> None:
    """Records, batches and checkpoint alike, in one view."""
    await ledger.append(draft(1))
    await ledger.disclose(draft(2))
    await ledger.seal()
    note = await ledger.checkpoint(KEY)
    await ledger.disclose(draft(3))
    verdict = await ledger.verify(KEY.public, kept=note)
    assert (verdict.receipts, verdict.covered, verdict.checkpoint) == (3, 2, verdict.kept)
    assert await ledger.standing() == Standing(log=LOG, records=2, sealed=1, waiting=1)
    with pytest.raises(Refused):
        await ledger.verify(OTHER_KEY.public)


async def test_the_last_record_is_held_by_the_head(store: Store, ledger: Ledger) -> None:
    """No record after it and no checkpoint names its hash, but the head does."""
    await ledger.append(draft(1))
    last = await ledger.append(draft(2))
    changed = last.data.replace(b"hold_slot", b"hold_slut")
    rewrite = statement(update(tables.ledger_record).where(tables.ledger_record.c.seq == 1).values(data=changed))
    await store.unit(lambda unit: unit.execute(rewrite))
    with pytest.raises(Refused) as refused:
        await ledger.verify(KEY.public)
    assert (refused.value.refusal.reason, refused.value.refusal.place) == ("changed", "record 1")


async def test_an_export_is_whole_or_not_there(store: Store, ledger: Ledger, tmp_path: Path) -> None:
    """Nothing half written is left behind, and what was there stays."""
    target = tmp_path / "log.jsonl"
    await ledger.append(draft(1))
    await ledger.append(draft(2))
    await ledger.export(target)
    before = target.read_bytes()
    assert verify_export(lines_of(target), key=KEY.public).records == 2
    await store.unit(lambda unit: unit.execute(statement(delete(tables.ledger_record))))
    with pytest.raises(Corrupt):
        await ledger.export(target)
    assert (target.read_bytes(), [path.name for path in tmp_path.glob("log*")]) == (before, ["log.jsonl"])


async def test_an_export_can_be_read_by_its_owner_alone(ledger: Ledger, tmp_path: Path) -> None:
    """It says what a person did and when."""
    await ledger.append(draft(1))
    await ledger.export(tmp_path / "log.jsonl")
    assert (tmp_path / "log.jsonl").stat().st_mode & 0o777 == 0o600


async def sealed(store: Store, ledger: Ledger, records: int) -> None:
    """Returns once so many records are chained; woken by the store, never by time."""
    mark = store.wake.mark(channel(LOG))
    while (await ledger.standing()).records < records:
        mark = await store.wake.wait(channel(LOG), mark)


@pytest.mark.req("GTW-051")
async def test_disclosures_are_sealed_a_second_later(store: Store, ledger: Ledger, clock: ManualClock) -> None:
    """Not before, and again for the next that come."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ledger.keep_sealed)
        for batch in (1, 2):
            await ledger.disclose(draft(batch))
            await ledger.disclose(draft(batch))
            clock.advance(timedelta(seconds=1))
            with anyio.fail_after(30):
                await sealed(store, ledger, batch)
        tasks.cancel_scope.cancel()
    assert [record.body["size"] for record in await ledger.records()] == [2, 2]


@pytest.mark.req("GTW-051")
async def test_disclosures_are_sealed_at_shutdown(ledger: Ledger) -> None:
    """Whoever stops the sealing leaves nothing waiting."""
    async with anyio.create_task_group() as tasks:
        await ledger.disclose(draft(1))
        tasks.start_soon(ledger.keep_sealed)
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert await ledger.standing() == Standing(log=LOG, records=1, sealed=1, waiting=0)


async def test_proofs_come_through_the_ledger(ledger: Ledger) -> None:
    """The facade hands them on."""
    await ledger.append(draft(1))
    await ledger.append(draft(2))
    await ledger.disclose(draft(3))
    await ledger.seal()
    assert (await ledger.prove_record(0)).size == 3
    assert len(await ledger.prove_consistency(1, 3)) == 2
    assert (await ledger.prove_disclosure(0)).sealed_by == 2
    assert [leaf.number for leaf in await ledger.disclosures()] == [0]
