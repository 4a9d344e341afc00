"""What holds between separate operating-system processes on one database."""

from __future__ import annotations

import pytest

from sayso.store import outbox
from sayso.store.unit import Store
from tests.store.processes import answers, workers
from tests.store.rows import add, keys, number


@pytest.mark.req("SCH-062", "GTW-012")
def test_four_processes_that_spend_one_nonce_spend_it_once(location: str) -> None:
    """There is one memory, not one for each process."""
    assert sorted(map(bool, answers("spend", location, [["alice", "n"]] * 4))) == [False, False, False, True]


@pytest.mark.req("SCH-122")
def test_four_processes_lose_no_increment(store: Store, location: str) -> None:
    """Each reads, adds outside the database and writes, 250 times."""
    answers("count", location, [["counter", "250"]] * 4)
    assert store.read(lambda view: number(view, "counter")) == 1000


@pytest.mark.req("GTW-020")
def test_a_limit_is_exact_across_processes(location: str) -> None:
    """Four processes with twenty tries each get twenty through between them."""
    admitted = answers("charge", location, [["agent", "20"]] * 4)
    assert sum(count for count in admitted if isinstance(count, int)) == 20


@pytest.mark.req("SCH-069")
def test_concurrent_duplicates_have_one_effect(store: Store, location: str) -> None:
    """One process acts, the others get its answer."""
    said = answers("act_once", location, [["slot"]] * 4)
    assert (sorted(map(str, said)), store.read(lambda view: number(view, "effects"))) == (
        ["Fresh", "Stored", "Stored", "Stored"],
        1,
    )


def test_no_delivery_is_claimed_twice(store: Store, location: str) -> None:
    """Four workers share out a hundred deliveries."""
    names = [f"{count:03}" for count in range(100)]
    store.run(lambda unit: [outbox.put(unit, "mail", key, b"") for key in names])
    taken = answers("drain", location, [["mail", f"w{count}"] for count in range(4)])
    assert sorted(key for each in taken if isinstance(each, list) for key in each) == names


@pytest.mark.req("GTW-053")
def test_a_killed_process_leaves_nothing_half_done(store: Store, location: str) -> None:
    """SIGKILL in the middle of a transaction: neither of its rows is there, and nobody waits for it."""
    with workers("stop_inside", location, [["a", "b"]]) as (worker,):
        worker.go()
        assert worker.hear() == "inside"
        worker.kill()
    assert store.run(lambda unit: add(unit, "c")) == 1
    assert store.read(keys) == ["c"]
