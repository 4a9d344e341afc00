"""The contract of a unit of work, on both engines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import bindparam, select

from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse
from sayso.store.tables.store import buckets
from sayso.store.unit import Reading, Store, Taken, Unit, insert, statement
from sayso.testing.store import START
from tests.store.rows import ADD, FIND, KEYS, add, increment, keys, number


class Broken(Exception):
    """What a body raises when it wants nothing to have happened."""


def test_what_a_unit_wrote_is_there_once_it_is_answered(store: Store) -> None:
    """The value of the body is the value of the call, and its rows are visible to everybody."""
    assert (store.run(lambda unit: add(unit, "a", 7)), store.read(lambda view: number(view, "a"))) == (1, 7)


def test_an_exception_undoes_everything_its_unit_wrote(store: Store) -> None:
    """All of a decision is written, or none of it."""

    def body(unit: Unit) -> None:
        add(unit, "a")
        add(unit, "b")
        raise Broken

    with pytest.raises(Broken):
        store.run(body)
    assert store.read(keys) == []


@pytest.mark.req("SCH-121")
def test_a_body_that_returns_a_coroutine_is_refused_and_undone(store: Store) -> None:
    """Whatever would have run after the await would have run outside the transaction."""

    def body(unit: Unit) -> object:
        add(unit, "a")
        return asyncio.sleep(0)

    with pytest.raises(Misuse, match="neither await nor yield"):
        store.run(body)
    assert store.read(keys) == []


@pytest.mark.req("SCH-121")
def test_an_async_body_or_a_generator_is_refused(store: Store) -> None:
    """A body that was never run must not look like one that succeeded."""

    async def waits(unit: Unit) -> None:
        add(unit, "a")

    def yields(unit: Unit) -> Iterator[int]:
        yield add(unit, "a")

    for body in (waits, yields):
        with pytest.raises(Misuse, match="neither await nor yield"):
            store.run(body)
    assert store.read(keys) == []


def test_a_body_that_lets_stop_iteration_out_is_refused(store: Store) -> None:
    """StopIteration would vanish on its way through a coroutine."""
    with pytest.raises(Misuse, match="StopIteration"):
        store.run(lambda unit: next(iter(())))


def test_a_unit_inside_a_unit_is_refused(store: Store) -> None:
    """It would wait for itself; so would a reading."""
    calls = (lambda unit: store.run(keys), lambda unit: store.read(keys))
    for call in calls:
        with pytest.raises(Misuse, match="inside a unit"):
            store.run(call)
    with pytest.raises(Misuse, match="inside a unit"):
        store.read(lambda view: store.run(keys))


@pytest.mark.anyio
async def test_a_blocking_unit_on_an_event_loop_is_refused(store: Store) -> None:
    """It would stop everything else the loop serves."""
    with pytest.raises(Misuse, match="event loop"):
        store.run(keys)


def test_a_unit_that_got_away_from_its_body_is_dead(store: Store) -> None:
    """What it wrote later would belong to somebody else's transaction."""
    escaped = store.run(lambda unit: unit)
    with pytest.raises(Misuse, match="the unit is over"):
        add(escaped, "a")
    with pytest.raises(Misuse, match="the unit is over"):
        escaped.many(ADD, [{"key": "a", "tat": 1}])


def test_a_taken_key_is_told_from_a_broken_rule(store: Store) -> None:
    """One is an answer to somebody, the other is a bug."""
    store.run(lambda unit: add(unit, "a"))
    with pytest.raises(Taken):
        store.run(lambda unit: add(unit, "a"))
    with pytest.raises(Misuse, match=r"breaks a rule|refused a statement"):
        store.run(lambda unit: add(unit, "b", None))


def test_a_unit_that_swallows_its_own_failure_is_undone(store: Store) -> None:
    """Postgres would commit nothing without a word; both engines say so."""
    store.run(lambda unit: add(unit, "a"))

    def body(unit: Unit) -> None:
        add(unit, "b")
        with pytest.raises(Taken):
            add(unit, "a")

    with pytest.raises(Misuse, match="went on after"):
        store.run(body)
    assert store.read(keys) == ["a"]


def test_nothing_runs_after_a_failed_statement(store: Store) -> None:
    """A body cannot build on a transaction that is lost."""

    def body(unit: Unit) -> None:
        add(unit, "a")
        with pytest.raises(Taken):
            add(unit, "a")
        add(unit, "c")

    with pytest.raises(Misuse, match="the unit is over"):
        store.run(body)
    assert store.read(keys) == []


@pytest.mark.req("SCH-123")
def test_now_is_read_once_in_a_unit(store: Store, clock: ManualClock) -> None:
    """Everything in one unit is judged at one instant, and the next unit at its own."""

    def body(unit: Unit) -> list[object]:
        seen = [unit.now]
        clock.advance(timedelta(seconds=1))
        return [*seen, unit.now]

    assert store.run(body) == [START, START]
    assert store.read(lambda view: view.now) == START + timedelta(seconds=1)


def test_calls_left_for_after_commit_run_then_and_in_order(store: Store) -> None:
    """They find the rows committed, and run before the caller has its answer."""
    seen: list[object] = []

    def look() -> None:
        with ThreadPoolExecutor(1) as elsewhere:
            seen.append(elsewhere.submit(store.read, keys).result())

    def body(unit: Unit) -> None:
        unit.after_commit(look)
        unit.after_commit(lambda: seen.append("second"))
        add(unit, "a")

    store.run(body)
    assert seen == [["a"], "second"]


def test_calls_left_for_after_commit_are_dropped_with_the_unit(store: Store) -> None:
    """What did not happen is not told."""
    seen: list[str] = []

    def body(unit: Unit) -> None:
        unit.after_commit(lambda: seen.append("told"))
        raise Broken

    with pytest.raises(Broken):
        store.run(body)
    store.run(lambda unit: add(unit, "a"))
    assert seen == []


def test_a_call_after_commit_that_raises_is_a_bug_but_undoes_nothing(store: Store) -> None:
    """The unit is committed; the bug is shown to its caller, and the other calls still run."""
    seen: list[str] = []

    def body(unit: Unit) -> None:
        add(unit, "a")
        unit.after_commit(lambda: 1 // 0)
        unit.after_commit(lambda: seen.append("second"))

    with pytest.raises(Misuse, match="the unit itself is committed"):
        store.run(body)
    assert (store.read(keys), seen) == (["a"], ["second"])


def test_a_call_after_commit_cannot_open_a_unit(store: Store) -> None:
    """It runs where units run, and would wait for itself."""
    with pytest.raises(Misuse, match="after COMMIT raised"):
        store.run(lambda unit: unit.after_commit(lambda: store.run(keys)))


def test_parameters_are_exactly_those_the_statement_takes(store: Store) -> None:
    """A misspelt or forgotten name never becomes a null."""
    for params in (None, {}, {"key": "a"}, {"key": "a", "tta": 1}, {"key": "a", "tat": 1, "more": 2}):
        with pytest.raises(Misuse, match="the statement takes"):
            store.run(lambda unit, params=params: unit.execute(ADD, params))
    with pytest.raises(Misuse, match="the statement takes"):
        store.run(lambda unit: unit.all(KEYS, {"key": "a"}))


@pytest.mark.parametrize("row", [{"key": "a", "tat": 2**63}, {"key": "\ud800", "tat": 1}], ids=["too big", "no text"])
def test_values_that_no_column_holds_are_a_bug(store: Store, row: dict[str, object]) -> None:
    """They are refused where they come in; here both engines say the same."""
    with pytest.raises(Misuse, match="refused a statement"):
        store.run(lambda unit: unit.execute(ADD, row))
    with pytest.raises(Misuse, match="refused a statement"):
        store.run(lambda unit: unit.many(ADD, [row]))


def test_many_rows_go_in_one_call(store: Store) -> None:
    """The count is of all of them; none is none."""
    rows = [{"key": str(count), "tat": count} for count in range(5)]
    assert store.run(lambda unit: (unit.many(ADD, rows), unit.many(ADD, []))) == (5, 0)
    assert store.read(keys) == ["0", "1", "2", "3", "4"]


def test_a_taken_key_among_many_rows_undoes_them_all(store: Store) -> None:
    """As for one row."""
    with pytest.raises(Taken):
        store.run(lambda unit: unit.many(ADD, [{"key": "a", "tat": 1}, {"key": "a", "tat": 2}]))
    assert store.read(keys) == []


def test_one_row_means_one(store: Store) -> None:
    """None where there is none, and a bug where there are several."""
    store.run(lambda unit: unit.many(ADD, [{"key": "a", "tat": 1}, {"key": "b", "tat": 2}]))
    assert store.read(lambda view: view.one(FIND, {"of_key": "c"})) is None
    with pytest.raises(Misuse, match="2 rows"):
        store.read(lambda view: view.one(KEYS))


def test_lists_and_upserts_written_once_run_on_both_engines(store: Store) -> None:
    """An IN list of constants, ON CONFLICT and RETURNING have one spelling."""
    write = insert(buckets)
    put = statement(write.on_conflict_do_update(index_elements=["key"], set_={"tat": write.excluded.tat + 1}))
    some = statement(
        select(buckets.c.key, buckets.c.tat)
        .where(buckets.c.key.in_(["a", "c"]), buckets.c.tat < bindparam("below"), buckets.c.tat.in_([5, 6]))
        .order_by(buckets.c.key)
    )
    keep = statement(insert(buckets).on_conflict_do_nothing().returning(buckets.c.key))
    row = {"key": "a", "tat": 5}
    store.run(lambda unit: [unit.execute(put, row), unit.execute(put, row), add(unit, "b", 5), add(unit, "c", 5)])
    assert store.read(lambda view: view.all(some, {"below": 9})) == [("a", 6), ("c", 5)]
    fresh = {"key": "d", "tat": 1}
    assert store.run(lambda unit: [unit.all(keep, row), unit.all(keep, fresh)]) == [[], [("d",)]]


def test_a_reading_cannot_write(store: Store) -> None:
    """Not even by a statement that returns rows."""
    write = statement(insert(buckets).returning(buckets.c.key))
    with pytest.raises(Misuse, match="refused a statement"):
        store.read(lambda view: view.all(write, {"key": "a", "tat": 1}))
    assert store.read(keys) == []


def test_a_reading_sees_one_instant(store: Store) -> None:
    """What commits while it reads is for the next one."""

    def body(view: Reading) -> list[list[str]]:
        before = keys(view)
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(store.run, lambda unit: add(unit, "a")).result()
        return [before, keys(view)]

    assert store.read(body) == [[], []]
    assert store.read(keys) == ["a"]


def test_readings_do_not_wait_for_a_unit(store: Store) -> None:
    """A long transaction delays other writers, never readers."""
    entered, leave = threading.Event(), threading.Event()

    def body(unit: Unit) -> None:
        add(unit, "a")
        entered.set()
        leave.wait()

    with ThreadPoolExecutor(1) as elsewhere:
        writing = elsewhere.submit(store.run, body)
        entered.wait()
        during = store.read(keys)
        leave.set()
        writing.result()
    assert (during, store.read(keys)) == ([], ["a"])


@pytest.mark.anyio
async def test_many_coroutines_lose_no_update(store: Store) -> None:
    """Units that name the same lock see each other's results, however many wait at once."""
    seen: list[int] = []

    async def several() -> None:
        for _ in range(5):
            seen.append(await store.unit(lambda unit: increment(unit, "a")))

    async with asyncio.TaskGroup() as group:
        for _ in range(32):
            group.create_task(several())
    assert (sorted(seen), await store.reading(lambda view: number(view, "a"))) == (list(range(1, 161)), 160)


@pytest.mark.anyio
async def test_one_units_failure_is_no_others(store: Store) -> None:
    """Of units that wait together, those that fail undo themselves alone and answer with their own exception."""

    def body(unit: Unit, count: int) -> int:
        add(unit, str(count))
        if count % 3 == 0:
            raise Broken(count)
        return count

    calls = (store.unit(lambda unit, count=count: body(unit, count)) for count in range(10))
    results = await asyncio.gather(*calls, return_exceptions=True)
    failed = [count for count, each in enumerate(results) if isinstance(each, Broken)]
    assert (failed, [each for each in results if isinstance(each, int)]) == ([0, 3, 6, 9], [1, 2, 4, 5, 7, 8])
    assert await store.reading(keys) == ["1", "2", "4", "5", "7", "8"]


@pytest.mark.anyio
async def test_a_cancelled_await_leaves_the_store_working(store: Store) -> None:
    """The unit itself is beyond recall; whoever comes next is served."""
    entered, leave = threading.Event(), threading.Event()

    def body(unit: Unit) -> None:
        add(unit, "a")
        entered.set()
        leave.wait()

    waiting = asyncio.ensure_future(store.unit(body))
    await asyncio.to_thread(entered.wait)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    leave.set()
    await store.unit(lambda unit: add(unit, "b"))
    assert await store.reading(keys) == ["a", "b"]


def test_closing_finishes_what_was_accepted_and_refuses_the_rest(store: Store) -> None:
    """Nobody is left waiting for an answer that never comes, and a second close is harmless."""
    entered, leave = threading.Event(), threading.Event()

    def body(unit: Unit) -> str:
        entered.set()
        leave.wait()
        return "done"

    with ThreadPoolExecutor(2) as elsewhere:
        running = elsewhere.submit(store.run, body)
        entered.wait()
        closing = elsewhere.submit(store.close)
        leave.set()
        closing.result()
        assert running.result() == "done"
    store.close()
    for call in (store.run, store.read):
        with pytest.raises(Misuse, match="the store is closed"):
            call(keys)
