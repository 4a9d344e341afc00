"""Times as assistants write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core.instants import parse_instant, write_instant
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone
from sayso.scheduling.tools.moments import from_now, read_moment, said_until
from sayso.testing.store import START

TORONTO = find_zone("America/Toronto")


@pytest.mark.req("SCH-077", "SCH-275", "SCH-280")
@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-10-15T13:00", "2026-10-15T17:00:00Z"),
        ("2026-10-15T13:00:00", "2026-10-15T17:00:00Z"),
        ("2026-10-15T13:00:00-04:00", "2026-10-15T17:00:00Z"),
        ("2026-10-15T13:00-04:00", "2026-10-15T17:00:00Z"),
        ("2026-10-15T17:00Z", "2026-10-15T17:00:00Z"),
        ("2026-10-15T17:00:00.500Z", "2026-10-15T17:00:00.5Z"),
        ("2026-11-01T01:30", "2026-11-01T05:30:00Z"),
    ],
)
def test_a_time_is_an_instant_or_the_hosts_own_local_time(text, instant):
    """A local time that comes twice is the first."""
    assert write_instant(read_moment(text, TORONTO, "start")) == instant


@pytest.mark.req("SCH-276", "SCH-280")
@pytest.mark.parametrize(
    "text",
    [
        "2026-03-08T02:30",
        "2026-02-30T13:00",
        "2026-10-15T25:00",
        "2026-10-15T13:00-00:00",
        "2026-10-15T13:00+99:00",
        "Thursday",
    ],
)
def test_a_time_that_never_is_is_refused_with_the_argument_named(text):
    """Skipped by the clocks, not in the calendar, no known offset, loose words."""
    with pytest.raises(Refused) as caught:
        read_moment(text, TORONTO, "start")
    assert (caught.value.refusal.reason, caught.value.refusal.place) == ("outside_request", "$.start")


@pytest.mark.req("SCH-348")
@pytest.mark.parametrize(
    ("left", "said"),
    [
        (timedelta(0), "over already"),
        (timedelta(seconds=45), "about 45 seconds from now"),
        (timedelta(minutes=5), "about 5 minutes from now"),
        (timedelta(minutes=90), "about 90 minutes from now"),
        (timedelta(hours=26), "about 26 hours from now"),
        (timedelta(days=3), "about 3 days from now"),
    ],
)
def test_what_is_left_is_said_the_way_people_say_it(left, said):
    """Seconds, minutes, hours, days."""
    assert from_now(START + left, START) == said


@pytest.mark.req("SCH-348")
def test_a_deadline_is_clock_time_and_time_left():
    """Both, in the host's zone."""
    assert said_until(parse_instant("2026-10-13T13:10:00Z"), TORONTO, START) == (
        "Tuesday 13 October 2026 at 9:10 a.m. Eastern time, about 10 minutes from now"
    )
