from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.core.instants import write_local
from sayso.core.refusal import Misuse
from sayso.core.zones import find_zone
from sayso.scheduling.rules.opening import day_span, grid, is_on_grid, local_dates, openings
from sayso.scheduling.rules.spans import SECOND, Span, instant, micros

TORONTO = find_zone("America/Toronto")
QUARTER = timedelta(minutes=15)


def local(spans, zone=TORONTO):
    return [(write_local(instant(span.start), zone), write_local(instant(span.end), zone)) for span in spans]


@pytest.mark.req("SCH-277", "SCH-278")
def test_hours_keep_the_wall_clock_across_the_autumn_change():
    """Saturday opens at 09:00-04:00 and Monday at 08:00-05:00: 47 hours apart by the wall, 48 in truth."""
    saturday = openings(((540, 960),), date(2026, 10, 31), TORONTO)
    monday = openings(((480, 1080),), date(2026, 11, 2), TORONTO)
    assert local(saturday + monday) == [
        ("2026-10-31T09:00:00-04:00", "2026-10-31T16:00:00-04:00"),
        ("2026-11-02T08:00:00-05:00", "2026-11-02T18:00:00-05:00"),
    ]


@pytest.mark.req("SCH-280")
@pytest.mark.parametrize(
    ("day", "hours", "expected"),
    [
        (date(2026, 3, 8), (150, 300), ("2026-03-08T03:30:00-04:00", "2026-03-08T05:00:00-04:00")),
        (date(2026, 3, 8), (60, 150), ("2026-03-08T01:00:00-05:00", "2026-03-08T03:30:00-04:00")),
        (date(2026, 11, 1), (90, 180), ("2026-11-01T01:30:00-04:00", "2026-11-01T03:00:00-05:00")),
        (date(2026, 11, 1), (30, 90), ("2026-11-01T00:30:00-04:00", "2026-11-01T01:30:00-05:00")),
    ],
)
def test_hours_where_the_clock_jumps(day, hours, expected):
    """A missing hour is read with the offset before it; a repeated one opens first and closes last."""
    assert local(openings((hours,), day, TORONTO)) == [expected]


@pytest.mark.req("SCH-280")
def test_an_opening_inside_the_missing_hour_that_ends_before_it_starts_is_no_opening():
    """02:45 to 03:30 on the spring day would run from 03:45 to 03:30."""
    assert openings(((165, 210),), date(2026, 3, 8), TORONTO) == ()


@pytest.mark.req("SCH-116", "SCH-280")
def test_the_grid_skips_a_missing_hour_and_offers_a_repeated_one_twice():
    """92 quarter hours on the spring day, 100 on the autumn day; the four repeated ones differ by their offset."""
    spring, autumn = grid(date(2026, 3, 8), TORONTO, QUARTER), grid(date(2026, 11, 1), TORONTO, QUARTER)
    repeated = [
        write_local(instant(start), TORONTO) for start in autumn if instant(start).astimezone(TORONTO).hour == 1
    ]
    assert (len(spring), len(autumn), repeated[0], repeated[4]) == (
        92,
        100,
        "2026-11-01T01:00:00-04:00",
        "2026-11-01T01:00:00-05:00",
    )


@pytest.mark.req("SCH-116")
def test_the_grid_stands_on_the_local_clock_of_odd_offsets():
    """Kathmandu is 5:45 ahead and Lord Howe jumps by half an hour: both start their hour on their own wall clock."""
    kathmandu, howe = find_zone("Asia/Kathmandu"), find_zone("Australia/Lord_Howe")
    hour = timedelta(hours=1)
    assert write_local(instant(grid(date(2026, 10, 15), kathmandu, hour)[9]), kathmandu) == "2026-10-15T09:00:00+05:45"
    after_the_jump = grid(date(2026, 10, 4), howe, hour)
    assert {write_local(instant(start), howe)[14:16] for start in after_the_jump} == {"00"}
    assert len(after_the_jump) == 23


@settings(max_examples=60)
@given(
    st.sampled_from(["America/Toronto", "Australia/Lord_Howe", "America/Havana", "Africa/Cairo", "Asia/Kathmandu"]),
    st.dates(date(2026, 1, 1), date(2027, 12, 31)),
    st.sampled_from([900, 1800, 3600, 1500]),
)
def test_the_grid_is_exactly_the_instants_whose_wall_clock_stands_on_it(name, day, seconds):
    """The list and the question about one instant are the same rule, on every day of two years."""
    zone, step = find_zone(name), timedelta(seconds=seconds)
    today = day_span(day, zone)
    asked = [t for t in range(today.start, today.end, 60 * SECOND) if is_on_grid(t, zone, step)]
    assert grid(day, zone, step) == asked


def test_a_day_without_a_midnight_still_follows_the_one_before():
    """Havana's spring day starts at 01:00; no instant is lost or counted twice between the two days."""
    havana = find_zone("America/Havana")
    saturday, sunday = day_span(date(2026, 3, 7), havana), day_span(date(2026, 3, 8), havana)
    assert (saturday.end, sunday.end - sunday.start) == (sunday.start, 23 * 3600 * SECOND)


def test_local_dates_are_the_hosts_and_an_empty_span_has_none():
    """04:00Z is still the day before in Toronto until midnight there."""
    start = micros(datetime(2026, 10, 16, 3, 59, tzinfo=UTC))
    assert list(local_dates(Span(start, start + 60 * SECOND), TORONTO)) == [date(2026, 10, 15)]
    assert list(local_dates(Span(start, start + 61 * SECOND), TORONTO)) == [date(2026, 10, 15), date(2026, 10, 16)]
    assert list(local_dates(Span(start, start), TORONTO)) == []


def test_a_step_of_nothing_is_misuse():
    """A grid needs a positive number of whole seconds."""
    with pytest.raises(Misuse):
        grid(date(2026, 10, 15), TORONTO, timedelta(0))
