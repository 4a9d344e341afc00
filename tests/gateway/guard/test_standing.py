"""Rates as arithmetic, against the one-call algorithm they are built on."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core import gcra
from sayso.core.gcra import Limit, Pass
from sayso.gateway.guard.rules.limits import DEFAULTS, Limits
from sayso.gateway.guard.rules.standing import NOBODY, Charged, Standing, counting_since, judge_rates
from sayso.store.tables import from_micros, micros
from sayso.testing.store import START

NOW = micros(START)


def after(charged: Charged) -> Standing:
    return NOBODY._replace(coarse_us=charged[0], minute_us=charged[1], second_us=charged[2])


def one_by_one(limit: Limit, tat: datetime | None, now: datetime, calls: int) -> datetime | None:
    for _ in range(calls):
        match gcra.test(limit, tat, now):
            case Pass(later):
                tat = later
            case _:
                return None
    return tat


@pytest.mark.req("GTW-020")
@given(st.integers(1, 8), st.integers(0, 90_000_000), st.integers(0, 8))
def test_several_calls_at_once_are_so_many_calls_one_after_another(burst: int, ahead_us: int, calls: int) -> None:
    """A batch passes exactly when its calls would have, and leaves the same arrival time."""
    limit = Limit(timedelta(seconds=60), burst)
    limits = Limits(minute=limit, second=limit)
    standing = NOBODY._replace(minute_us=NOW + ahead_us, second_us=NOW + ahead_us)
    expected = one_by_one(limit, from_micros(NOW + ahead_us), START, calls) if calls else from_micros(NOW + ahead_us)
    judged = judge_rates(limits, standing, NOW, calls)
    if calls <= burst:
        assert (from_micros(judged.minute_us) if isinstance(judged, Charged) else None) == expected


@pytest.mark.req("GTW-020", "GTW-020a")
@given(st.integers(0, 70_000_000), st.integers(0, 70_000_000), st.integers(0, 2_000_000), st.integers(1, 3))
def test_a_retry_after_exactly_the_wait_passes_and_a_second_before_it_does_not(
    minute: int, second: int, coarse: int, charges: int
) -> None:
    """The wait is whole seconds, at least one, and the smallest that is enough."""
    standing = NOBODY._replace(minute_us=NOW + minute, second_us=NOW + second, coarse_us=NOW + coarse)
    judged = judge_rates(DEFAULTS, standing, NOW, charges)
    if isinstance(judged, Charged):
        return
    assert judged >= 1
    assert isinstance(judge_rates(DEFAULTS, standing, NOW + judged * 1_000_000, charges), Charged)
    assert not isinstance(judge_rates(DEFAULTS, standing, NOW + (judged - 1) * 1_000_000, charges), Charged)


@pytest.mark.req("GTW-020")
def test_three_calls_at_once_then_one_every_third_of_a_second_up_to_twenty() -> None:
    """The burst is three, and a minute's twenty are counted beside it."""
    standing, now, passed = NOBODY, NOW, 0
    while now < NOW + 60_000_000:
        judged = judge_rates(DEFAULTS, standing, now, 1)
        if isinstance(judged, Charged):
            standing, passed = after(judged), passed + 1
        now += 50_000
    # Twenty at the start, then one earned back every three seconds.
    assert passed == 20 + 19


@pytest.mark.req("GTW-020a")
def test_an_uncharged_request_costs_the_coarse_rate_alone() -> None:
    """Ten handshakes pass at once, an eleventh waits, and calls are as free as before."""
    standing = NOBODY
    for _ in range(10):
        judged = judge_rates(DEFAULTS, standing, NOW, 0)
        assert isinstance(judged, Charged)
        standing = after(judged)
    assert judge_rates(DEFAULTS, standing, NOW, 0) == 1
    assert (standing.minute_us, standing.second_us) == (0, 0)


def test_violations_count_for_a_day() -> None:
    """The window's edge is what no longer counts."""
    assert counting_since(DEFAULTS, NOW) == NOW - 86_400_000_000
