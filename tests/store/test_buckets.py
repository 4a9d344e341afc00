"""Rate buckets: all limiters or none, and a Retry-After that holds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core.clock import ManualClock
from sayso.core.gcra import Limit
from sayso.core.refusal import Misuse
from sayso.store import buckets
from sayso.store.buckets import Admitted, Limited
from sayso.store.unit import Store
from tests.store.rows import keys

MINUTE = ("a minute", Limit(timedelta(minutes=1), 20))
SECOND = ("a second", Limit(timedelta(seconds=1), 3))


def charge(store: Store, *limits: tuple[str, Limit]) -> buckets.Verdict:
    return store.run(lambda unit: buckets.charge(unit, limits))


@pytest.mark.req("GTW-020")
def test_a_burst_passes_and_then_one_at_a_time(store: Store, clock: ManualClock) -> None:
    """Three at once, and after the wait that was promised one more."""
    assert [charge(store, SECOND) for _ in range(4)] == [Admitted()] * 3 + [Limited(1, "a second")]
    clock.advance(timedelta(seconds=1) / 3 + timedelta(microseconds=1))
    assert [charge(store, SECOND) for _ in range(2)] == [Admitted(), Limited(1, "a second")]


@pytest.mark.req("GTW-020a")
def test_a_refusal_by_one_limiter_charges_none(store: Store, clock: ManualClock) -> None:
    """Else a caller that is too fast would use up its minute by being refused."""
    for _ in range(3):
        charge(store, MINUTE, SECOND)
    for _ in range(100):
        assert charge(store, MINUTE, SECOND) == Limited(1, "a second")
    passed = 3
    while charge(store, MINUTE) == Admitted():
        passed += 1
    assert passed == 20


@pytest.mark.req("GTW-020", "GTW-020a")
def test_a_retry_after_exactly_the_promised_seconds_passes(store: Store, clock: ManualClock) -> None:
    """The longest of the limiters' waits, in whole seconds, never none."""
    for _ in range(20):
        charge(store, MINUTE)
    for _ in range(3):
        charge(store, SECOND)
    verdict = charge(store, SECOND, MINUTE)
    assert verdict == Limited(3, "a minute")
    clock.advance(timedelta(seconds=3))
    assert charge(store, SECOND, MINUTE) == Admitted()


def test_no_limiter_at_all_is_refused(store: Store) -> None:
    """An empty yes is a no; so is the same bucket twice."""
    for limits in ((), (SECOND, SECOND)):
        with pytest.raises(Misuse, match="at least one limiter"):
            charge(store, *limits)


def test_empty_buckets_are_removed(store: Store, clock: ManualClock) -> None:
    """A bucket that has run empty says the same as none; new ones pay for the removal of old ones."""
    for name in "abc":
        charge(store, (name, Limit(timedelta(seconds=1), 1)))
    clock.advance(timedelta(seconds=1))
    charge(store, ("d", Limit(timedelta(seconds=1), 1)))
    assert store.read(keys) == ["d"]
    clock.advance(timedelta(seconds=1))
    assert [store.run(buckets.prune), store.read(keys)] == [1, []]
