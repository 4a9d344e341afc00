"""Rate limits as arithmetic: how many pass, and that waiting as told is enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core import gcra
from sayso.core.gcra import Limit, Pass, Wait
from sayso.core.refusal import Misuse

START = datetime(2026, 10, 13, 13, tzinfo=UTC)
TWENTY_A_MINUTE = Limit(timedelta(minutes=1), 20)
limits = st.builds(Limit, st.timedeltas(timedelta(microseconds=1), timedelta(days=1)), st.integers(1, 50))


def test_a_burst_passes_and_the_next_waits_for_one_interval() -> None:
    """Twenty at once, then the twenty-first three seconds later."""
    tat: datetime | None = None
    for _ in range(20):
        verdict = gcra.test(TWENTY_A_MINUTE, tat, START)
        assert isinstance(verdict, Pass)
        tat = verdict.tat
    assert gcra.test(TWENTY_A_MINUTE, tat, START) == Wait(timedelta(seconds=3))
    later = START + timedelta(seconds=3)
    assert gcra.test(TWENTY_A_MINUTE, tat, later) == Pass(START + timedelta(seconds=63))
    just_before = later - timedelta(microseconds=1)
    assert gcra.test(TWENTY_A_MINUTE, tat, just_before) == Wait(timedelta(microseconds=1))


def test_a_rested_bucket_is_full_and_not_fuller() -> None:
    """After a long rest a burst passes, not two."""
    verdict = gcra.test(TWENTY_A_MINUTE, START - timedelta(days=1), START)
    assert verdict == Pass(START + timedelta(seconds=3))


@given(limits, st.lists(st.timedeltas(timedelta(0), timedelta(hours=1)), max_size=60))
def test_waiting_exactly_as_told_is_enough(limit: Limit, gaps: list[timedelta]) -> None:
    """A retry after exactly `retry_after` passes, and a microsecond less does not."""
    now, tat = START, None
    for gap in gaps:
        now += gap
        verdict = gcra.test(limit, tat, now)
        if isinstance(verdict, Wait):
            assert verdict.retry_after > timedelta(0)
            early = gcra.test(limit, tat, now + verdict.retry_after - timedelta(microseconds=1))
            assert early == Wait(timedelta(microseconds=1))
            now += verdict.retry_after
            verdict = gcra.test(limit, tat, now)
        assert isinstance(verdict, Pass)
        tat = verdict.tat


@given(
    st.builds(Limit, st.timedeltas(timedelta(microseconds=7), timedelta(seconds=10)), st.integers(1, 7)),
    st.lists(st.timedeltas(timedelta(0), timedelta(seconds=3)), max_size=120),
)
def test_no_period_holds_more_than_two_bursts_less_one(limit: Limit, gaps: list[timedelta]) -> None:
    """A full bucket and what one period earns back: never more, though intervals are rounded."""
    now, tat, passed = START, None, []
    for gap in gaps:
        now += gap
        verdict = gcra.test(limit, tat, now)
        if isinstance(verdict, Pass):
            tat = verdict.tat
            passed.append(now)
    for index, first in enumerate(passed):
        inside = [at for at in passed[index:] if at - first < limit.period]
        assert len(inside) <= 2 * limit.burst - 1


def test_the_interval_is_rounded_up() -> None:
    """Sixty seconds do not divide by seven: the limit is never exceeded for that."""
    limit = Limit(timedelta(minutes=1), 7)
    assert limit.interval == timedelta(microseconds=8_571_429)
    assert limit.interval * limit.burst >= limit.period


@pytest.mark.parametrize(("period", "burst"), [(timedelta(minutes=1), 0), (timedelta(0), 1), (timedelta(-1), 1)])
def test_a_limit_that_lets_nothing_through_is_misuse(period: timedelta, burst: int) -> None:
    """Closing a door is not a rate."""
    with pytest.raises(Misuse):
        Limit(period, burst)
