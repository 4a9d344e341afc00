"""What only the Postgres engine does: retries, lost connections, the exclusion constraint, the missing extra."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import BigInteger, Column, MetaData, Table, Text, text

from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse, Refused
from sayso.store.engines.postgres_again import ATTEMPTS, LONGEST_PAUSE, repeat
from sayso.store.engines.postgres_library import Again
from sayso.store.open import open_store
from sayso.store.unit import Store, Taken, Unavailable, Unit, insert, statement
from sayso.testing.postgres import Database
from tests.store.rows import SET, SUM, add, increment, keys, number

KILL_MYSELF = statement(text("SELECT pg_terminate_backend(pg_backend_pid())"))
SLOTS = Table("slots", MetaData(), Column("unit", Text), Column("starts", BigInteger), Column("ends", BigInteger))


@pytest.fixture
def store(postgres: Database, clock: ManualClock) -> Iterator[Store]:
    with open_store(postgres.url, clock) as opened:
        yield opened


def test_two_units_that_wait_for_each_other_both_end(store: Store) -> None:
    """Postgres breaks the deadlock, and the one that lost runs again: once, or more often where it comes back first."""
    store.run(lambda unit: [add(unit, "a"), add(unit, "b")])
    both = threading.Barrier(2)
    attempts: list[str] = []

    def cross(unit: Unit, first: str, second: str) -> None:
        again = first in attempts
        attempts.append(first)
        unit.execute(SET, {"of_key": first, "tat": 1})
        if not again:
            both.wait()
        unit.execute(SET, {"of_key": second, "tat": 2})

    with ThreadPoolExecutor(2) as callers:
        ended = list(callers.map(lambda order: store.run(lambda unit: cross(unit, *order)), [("a", "b"), ("b", "a")]))
    # One alone starts twice at least, and neither more often than a unit may; the last to commit wrote both rows.
    starts = sorted((attempts.count("a"), attempts.count("b")))
    assert (starts[0] >= 1, 2 <= starts[1] <= ATTEMPTS, len(ended)) == (True, True, 2)
    assert store.read(lambda view: view.one(SUM)) == (3,)


def test_a_lost_transaction_that_its_body_swallowed_runs_again(store: Store) -> None:
    """Whether it may run again is the engine's to know, not the body's."""
    attempts: list[int] = []

    def body(unit: Unit) -> None:
        attempts.append(1)
        add(unit, "a")
        if len(attempts) == 1:
            with pytest.raises(Unavailable):
                unit.all(KILL_MYSELF)
            return

    store.run(body)
    assert (len(attempts), store.read(keys)) == (2, ["a"])


def test_losers_start_over_after_short_pauses_that_grow_and_differ() -> None:
    """Two that met once meet again where both start over at once, or both after the same time."""

    def lose() -> None:
        raise Again("lost to another transaction")

    def pauses() -> list[float]:
        taken: list[float] = []
        with pytest.raises(Unavailable):
            repeat(lose, taken.append)
        return taken

    once, twice = pauses(), pauses()
    bounds = [min(0.002 * 2**attempt, LONGEST_PAUSE) for attempt in range(ATTEMPTS - 1)]
    assert [0 < pause <= most for pause, most in zip(once, bounds, strict=True)] == [True] * len(bounds)
    assert once != twice
    assert max(once[5:]) > max(once[:2])


def test_attempts_are_bounded(store: Store) -> None:
    """A unit that loses every time says so in the end."""
    attempts: list[int] = []

    def body(unit: Unit) -> None:
        attempts.append(1)
        unit.all(KILL_MYSELF)

    with pytest.raises(Unavailable):
        store.run(body)
    assert len(attempts) == ATTEMPTS


def test_a_server_that_dropped_the_connection_is_connected_again(store: Store, postgres: Database) -> None:
    """After a restart of the server the next unit and the next reading simply work."""
    store.run(lambda unit: add(unit, "a"))
    store.read(keys)
    with psycopg.connect(postgres.url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert store.run(lambda unit: add(unit, "b")) == 1
    assert store.read(keys) == ["a", "b"]


def test_the_exclusion_constraint_is_the_second_line(store: Store, postgres: Database) -> None:
    """An overlap that the allocator let through is taken, and the constraint says which."""
    with psycopg.connect(postgres.url, autocommit=True) as admin:
        admin.execute(
            "CREATE TABLE slots (unit text, starts bigint, ends bigint, CONSTRAINT ex_slots"
            " EXCLUDE USING gist (unit WITH =, int8range(starts, ends) WITH &&))"
        )
    put = statement(insert(SLOTS))
    store.run(lambda unit: unit.execute(put, {"unit": "bay", "starts": 1, "ends": 5}))
    with pytest.raises(Taken) as caught:
        store.run(lambda unit: unit.execute(put, {"unit": "bay", "starts": 4, "ends": 6}))
    assert caught.value.constraint == "ex_slots"
    assert store.run(lambda unit: unit.execute(put, {"unit": "bay", "starts": 5, "ends": 6})) == 1


def test_the_unique_constraint_is_named(store: Store) -> None:
    """Postgres says which one it was."""
    store.run(lambda unit: add(unit, "a"))
    with pytest.raises(Taken) as caught:
        store.run(lambda unit: add(unit, "a"))
    assert caught.value.constraint == "pk_buckets"


def test_a_sum_is_a_whole_number(store: Store) -> None:
    """Postgres sums big integers as numeric."""
    store.run(lambda unit: [add(unit, "a", 2**62), add(unit, "b", 2**62)])
    (total,) = store.read(lambda view: view.one(SUM)) or ()
    assert (total, type(total)) == (2**63, int)


def test_a_server_that_answers_before_it_is_durable_is_overruled(postgres: Database, clock: ManualClock) -> None:
    """Nobody is answered before the log is on disk, whatever the database was set to."""
    with psycopg.connect(postgres.url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {admin.info.dbname} SET synchronous_commit = off")
    show = statement(text("SELECT current_setting('synchronous_commit')"))
    with open_store(postgres.url, clock) as store:
        assert store.run(lambda unit: unit.one(show)) == ("on",)


def test_units_without_a_common_lock_run_side_by_side(store: Store) -> None:
    """Two hosts do not wait for each other: both are inside at once."""
    together = threading.Barrier(2)

    def body(unit: Unit, key: str) -> int:
        unit.lock(key)
        together.wait()
        return increment(unit, key)

    with ThreadPoolExecutor(2) as callers:
        assert list(callers.map(lambda key: store.run(lambda unit: body(unit, key)), "ab")) == [1, 1]
    assert store.read(lambda view: [number(view, key) for key in "ab"]) == [1, 1]


def test_a_server_that_is_not_there_is_unavailable(clock: ManualClock) -> None:
    """Told when the store is opened, not at the first unit."""
    with pytest.raises(Unavailable):
        open_store("postgresql://nobody@127.0.0.1:1/nothing", clock)


def test_an_unknown_scheme_is_refused(clock: ManualClock) -> None:
    """A typing error never becomes a file of that name."""
    with pytest.raises(Refused) as caught:
        open_store("mysql://localhost/x", clock)
    assert caught.value.refusal.code == "location_not_understood"


def test_without_the_extra_the_refusal_names_it() -> None:
    """psycopg is asked for only here, and its absence is said in one sentence."""
    script = (
        "import sys\n"
        "sys.modules['psycopg'] = None\n"
        "from sayso.core.clock import SystemClock\n"
        "from sayso.core.refusal import Refused\n"
        "from sayso.store.open import open_store\n"
        "try:\n    open_store('postgresql://x/y', SystemClock())\n"
        "except Refused as no:\n    print(no.refusal.code, no.refusal.help)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "postgres_missing Install sayso[postgres].\n"


def test_text_that_postgres_cannot_hold_is_a_bug(store: Store) -> None:
    """A NUL must be refused where it comes in; here it is too late for a good answer."""
    with pytest.raises(Misuse):
        store.run(lambda unit: add(unit, "a\0b"))
