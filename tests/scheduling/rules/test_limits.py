from datetime import timedelta

import pytest

from sayso.core.refusal import Refused
from sayso.scheduling.rules.limits import Ceilings, Counts, Pool, check_counts, granted_ttl

CEILINGS = Ceilings(ttl_min=timedelta(minutes=1), ttl_max=timedelta(minutes=10), per_agent=3, unproven=6)


@pytest.mark.req("SCH-133")
def test_the_granted_ttl_is_the_least_of_asked_and_allowed():
    """Five minutes are given when asked; an hour becomes the host's ten minutes."""
    assert [granted_ttl(timedelta(minutes=asked), CEILINGS) for asked in (1, 5, 60)] == [
        timedelta(minutes=1),
        timedelta(minutes=5),
        timedelta(minutes=10),
    ]


@pytest.mark.req("SCH-153")
def test_a_hold_shorter_than_the_floor_is_refused():
    """59 seconds are too short to do anything with."""
    with pytest.raises(Refused) as refused:
        granted_ttl(timedelta(seconds=59), CEILINGS)
    assert refused.value.refusal.reason == "ttl_too_short"


@pytest.mark.req("SCH-135", "SCH-136", "SCH-137")
@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (Counts(2, 5, is_proven=False), None),
        (Counts(3, 0, is_proven=True), "too_many_holds"),
        (Counts(0, 6, is_proven=False), "newcomers_full"),
        (Counts(0, 600, is_proven=True), None),
    ],
)
def test_caps(counts, reason):
    """The agent's cap binds everybody, the pool of newcomers only newcomers."""
    if reason is None:
        check_counts(counts, CEILINGS)
        return
    with pytest.raises(Refused) as refused:
        check_counts(counts, CEILINGS)
    assert refused.value.refusal.reason == reason


@pytest.mark.req("SCH-137")
def test_no_pool_touches_a_principal_with_standing():
    """However full pool and lane are, it is counted in neither."""
    assert check_counts(Counts(0, 600, is_proven=True, in_lane=600), CEILINGS) is Pool.OPEN


@pytest.mark.req("SCH-285")
@pytest.mark.parametrize(
    ("in_lane", "of_newcomers", "pool"),
    [(0, 6, Pool.LANE), (3, 0, Pool.LANE), (4, 5, Pool.NEWCOMERS), (None, 5, Pool.NEWCOMERS)],
)
def test_a_vouched_newcomer_stands_in_the_lane_and_with_the_others_where_that_is_full(in_lane, of_newcomers, pool):
    """An attestation never makes anybody worse off; nothing left in either is a refusal."""
    assert check_counts(Counts(0, of_newcomers, is_proven=False, in_lane=in_lane), CEILINGS) is pool
    with pytest.raises(Refused) as refused:
        check_counts(Counts(0, 6, is_proven=False, in_lane=4), CEILINGS)
    assert refused.value.refusal.reason == "newcomers_full"
