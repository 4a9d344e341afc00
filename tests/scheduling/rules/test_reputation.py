from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refused
from sayso.scheduling.rules.reputation import allowance, check_standing, is_abandoned, noted, share

NOW = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
DAY = timedelta(days=1)
NONE, SHORT, LONGER = timedelta(0), timedelta(seconds=60), timedelta(seconds=120)


def after(*outcomes, at=NOW):
    """The tally after outcomes at one moment: True for an abandoned hold."""
    tally = None
    for abandoned in outcomes:
        tally = noted(tally, abandoned=abandoned, at=at)
    return tally


FIVE = after(*[True] * 5)


@pytest.mark.req("SCH-142", "SCH-152", "SCH-385")
@pytest.mark.parametrize(
    ("later", "allowed"),
    [
        (timedelta(0), NONE),
        (timedelta(hours=22), NONE),
        (timedelta(hours=23), SHORT),
        (DAY, SHORT),
        (2 * DAY, SHORT),
        (3 * DAY, LONGER),
        (6 * DAY, LONGER),
        (7 * DAY, None),
    ],
)
def test_five_straight_expiries_suspend_and_each_step_back_is_where_it_is_stated(later, allowed):
    """60 seconds at about one day, 120 at three days, full length at one week."""
    assert allowance(FIVE, NOW + later) == allowed


@pytest.mark.req("SCH-141", "SCH-152")
@pytest.mark.parametrize(("days", "expected"), [(0, 1.0), (1, 0.906), (3, 0.743), (7, 0.5), (14, 0.25)])
def test_the_share_halves_every_seven_days(days, expected):
    """With the floor of five and nothing new, the figures of the requirement."""
    assert share(FIVE, NOW + days * DAY) == pytest.approx(expected, abs=0.0005)


@pytest.mark.req("SCH-141")
def test_fewer_than_five_outcomes_never_suspend():
    """One forgotten hold is one in five, not one in one; four are four in five."""
    assert [allowance(after(*[True] * count), NOW) for count in range(1, 6)] == [None, None, LONGER, SHORT, NONE]


@pytest.mark.req("SCH-140")
def test_holds_that_were_used_or_given_back_in_time_outweigh_some_that_were_not():
    """Five of fifty leave full length, five of six do not."""
    assert allowance(after(*[False] * 45, *[True] * 5), NOW) is None
    assert allowance(after(False, *[True] * 5), NOW) == SHORT


def test_a_suspension_of_many_expiries_fades_too():
    """A hundred abandoned holds cost weeks, not for ever."""
    hundred = after(*[True] * 100)
    assert [allowance(hundred, NOW + timedelta(weeks=weeks)) for weeks in (0, 4, 6)] == [NONE, NONE, None]


@pytest.mark.req("SCH-140")
def test_the_refusal_says_to_the_second_when_the_first_holds_are_given_again():
    """One second earlier it is still refused; then it is not."""
    with pytest.raises(Refused) as refused:
        check_standing([None, FIVE], NOW)
    assert refused.value.refusal.reason == "suspended"
    wait = timedelta(seconds=refused.value.refusal.details["retry_after"])
    with pytest.raises(Refused):
        check_standing([FIVE], NOW + wait - timedelta(seconds=1))
    assert check_standing([FIVE], NOW + wait) == SHORT


def test_the_least_of_what_all_tallies_allow_is_granted():
    """A clean key does not lengthen a careless person's holds, nor the other way round."""
    assert check_standing([after(*[True] * 3), after(*[True] * 4), None], NOW) == SHORT
    assert check_standing([None, after(False)], NOW) is None


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30 * 86_400)), min_size=1, max_size=12), st.randoms())
def test_the_order_in_which_outcomes_are_heard_of_does_not_matter(outcomes, chance):
    """A hold whose expiry is noticed late counts as if it had been noticed in time."""
    shuffled = list(outcomes)
    chance.shuffle(shuffled)
    ends = NOW + 31 * DAY
    shares = []
    for order in (outcomes, shuffled):
        tally = None
        for abandoned, seconds in order:
            tally = noted(tally, abandoned=abandoned, at=NOW + timedelta(seconds=seconds))
        shares.append(share(tally, ends))
    assert shares[0] == pytest.approx(shares[1], abs=1e-4)


@pytest.mark.req("SCH-143", "SCH-385")
@pytest.mark.parametrize(("seconds", "late"), [(0, False), (239, False), (240, True), (299, True)])
def test_giving_back_in_the_last_fifth_counts_as_letting_run_out(seconds, late):
    """Of five minutes the last one."""
    assert is_abandoned(NOW, NOW + timedelta(minutes=5), NOW + timedelta(seconds=seconds)) is late
