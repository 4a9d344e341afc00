"""Times, periods, amounts and zones in everyday words."""

from __future__ import annotations

import pytest

from sayso.core.instants import parse_instant
from sayso.core.money import Money
from sayso.core.zones import find_zone, zone_names
from sayso.scheduling.terms.spoken import (
    SPOKEN_ZONES,
    either,
    spoken_clock,
    spoken_day,
    spoken_money,
    spoken_period,
    spoken_span,
    spoken_zone,
)

TORONTO = find_zone("America/Toronto")


@pytest.mark.req("SCH-172")
@pytest.mark.parametrize(
    ("duration", "said"),
    [
        ("P365D", "1 year"),
        ("P730D", "2 years"),
        ("P60D", "60 days"),
        ("P1W", "7 days"),
        ("P1D", "1 day"),
        ("PT2H", "2 hours"),
        ("PT1H", "1 hour"),
        ("PT45M", "45 minutes"),
        ("PT1M", "1 minute"),
        ("PT1H30M", "90 minutes"),
        ("PT90S", "1 minute and 30 seconds"),
        ("P1DT1S", "1 day and 1 second"),
        ("PT0S", "no time"),
    ],
)
def test_periods_are_said_in_the_largest_unit_that_fits(duration, said):
    """A year is 365 days."""
    assert spoken_period(duration) == said


@pytest.mark.req("SCH-169")
@pytest.mark.parametrize(
    ("instant", "said"),
    [
        ("2026-10-15T13:00:00-04:00", "1:00 p.m."),
        ("2026-10-15T12:00:00-04:00", "12:00 p.m."),
        ("2026-10-15T00:05:00-04:00", "12:05 a.m."),
        ("2026-10-15T11:45:00-04:00", "11:45 a.m."),
        ("2026-10-15T17:00:30Z", "1:00:30 p.m."),
    ],
)
def test_clock_times_are_said_with_twelve_hours(instant, said):
    """Noon is 12:00 p.m., midnight 12:00 a.m."""
    assert spoken_clock(parse_instant(instant), TORONTO) == said


@pytest.mark.req("SCH-280")
def test_a_clock_time_that_comes_twice_is_told_apart():
    """On the night the clocks go back, and only then."""
    first, second = (parse_instant(text) for text in ("2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"))
    assert spoken_clock(first, TORONTO) == "1:30 a.m. (UTC-04:00)"
    assert spoken_clock(second, TORONTO) == "1:30 a.m. (UTC-05:00)"
    assert spoken_clock(parse_instant("2026-11-01T07:30:00Z"), TORONTO) == "2:30 a.m."
    assert spoken_clock(parse_instant("2026-03-08T07:30:00Z"), TORONTO) == "3:30 a.m."


@pytest.mark.req("SCH-173")
def test_zones_are_called_what_people_call_them_and_others_by_their_city():
    """And every zone in the table exists."""
    assert spoken_zone("America/Toronto") == "Eastern time"
    assert spoken_zone("America/Vancouver") == "Pacific time"
    assert spoken_zone("Asia/Dubai") == "Dubai time"
    assert spoken_zone("America/Argentina/Buenos_Aires") == "Buenos Aires time"
    assert set(SPOKEN_ZONES) <= zone_names()


def test_spans_name_the_day_once_unless_there_are_two():
    """And an open end says so."""
    start, end = parse_instant("2026-10-15T13:00:00-04:00"), parse_instant("2026-10-15T13:45:00-04:00")
    late = parse_instant("2026-10-16T01:00:00-04:00")
    assert spoken_day(start, TORONTO) == "Thursday 15 October 2026"
    assert spoken_span(start, end, TORONTO) == "Thursday 15 October 2026 from 1:00 p.m. to 1:45 p.m. Eastern time"
    assert spoken_span(start, None, TORONTO) == "Thursday 15 October 2026 from 1:00 p.m. Eastern time, open-ended"
    assert spoken_span(start, late, TORONTO, joint=("between", "and")) == (
        "between Thursday 15 October 2026 at 1:00 p.m. and Friday 16 October 2026 at 1:00 a.m. Eastern time"
    )


def test_amounts_and_lists_are_said_plainly():
    """The code before the amount, `or` before the last."""
    assert spoken_money(Money(8927, "CAD")) == "CAD 89.27"
    assert spoken_money(Money(900, "JPY")) == "JPY 900"
    assert [either(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a or b", "a, b or c"]
