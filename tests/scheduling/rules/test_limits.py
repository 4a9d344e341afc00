from datetime import timedelta

import pytest

from sayso.core.refusal import Refused
from sayso.scheduling.rules.limits import Ceilings, Counts, check_counts, granted_ttl

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
