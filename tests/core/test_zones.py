"""Zones by exact name, local times that exist, and arithmetic across clock changes."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.instants import write_local
from sayso.core.refusal import Refused
from sayso.core.zones import ZONE_RULES_VERSION, at_local, find_zone, zone_names

TORONTO = find_zone("America/Toronto")


@pytest.mark.req("SCH-276")
@pytest.mark.parametrize(
    "name",
    ["localtime", "posixrules", "Factory", "right/UTC", "posix/UTC", "america/toronto", "America/toronto", "Toronto",
     "America/Toronto ", "/America/Toronto", "America", "../zones", "UTC+1", "EDT", "", "Eastern Standard Time",
     "America/Toronto\x00", "zone.tab", "tzdata.zi", "__init__.py"],
)  # fmt: skip
def test_a_name_that_is_not_in_the_list_is_refused(name: str) -> None:
    """Files that lie near the zones, other spellings and other vendors' names are no zones."""
    with pytest.raises(Refused) as caught:
        find_zone(name)
    assert caught.value.refusal.code == "unknown_zone"


def test_every_listed_zone_loads_under_its_own_name() -> None:
    """The list and the rules are of one package."""
    assert {name: find_zone(name).key for name in zone_names()} == {name: name for name in zone_names()}
    assert len(zone_names()) > 500


def test_the_version_of_the_rules_is_known() -> None:
    """Anyone who doubts a local time can ask by which rules it was reckoned."""
    assert len(ZONE_RULES_VERSION) == 5
    assert ZONE_RULES_VERSION[:4].isdigit()


@pytest.mark.req("SCH-277")
def test_openings_stay_local_across_the_autumn_change() -> None:
    """Nine o'clock on Saturday is 13:00Z, eight o'clock on Monday as well."""
    saturday = at_local(date(2026, 10, 31), time(9), TORONTO)
    monday = at_local(date(2026, 11, 2), time(8), TORONTO)
    assert [write_local(saturday, TORONTO), write_local(monday, TORONTO)] == [
        "2026-10-31T09:00:00-04:00",
        "2026-11-02T08:00:00-05:00",
    ]
    assert monday - saturday == timedelta(days=2)


@pytest.mark.req("SCH-280")
@pytest.mark.parametrize(
    ("zone", "day", "clock_time"),
    [
        ("America/Toronto", date(2026, 3, 8), time(2)),
        ("America/Toronto", date(2026, 3, 8), time(2, 59, 59)),
        ("Australia/Lord_Howe", date(2026, 10, 4), time(2, 15)),
        ("Pacific/Apia", date(2011, 12, 30), time(12)),
    ],
)
def test_a_local_time_that_clocks_skip_is_refused(zone: str, day: date, clock_time: time) -> None:
    """An hour, half an hour, or a whole day that never was."""
    with pytest.raises(Refused) as caught:
        at_local(day, clock_time, find_zone(zone))
    assert caught.value.refusal.code == "nonexistent_local_time"


@pytest.mark.req("SCH-280")
def test_the_last_and_first_moment_around_a_gap_exist() -> None:
    """A skipped hour ends where the next one begins: both sides are one second apart."""
    before = at_local(date(2026, 3, 8), time(1, 59, 59), TORONTO)
    after = at_local(date(2026, 3, 8), time(3), TORONTO)
    assert after - before == timedelta(seconds=1)


@pytest.mark.req("SCH-280")
def test_of_a_time_that_happens_twice_the_first_is_meant() -> None:
    """Unless the second is asked for."""
    first = at_local(date(2026, 11, 1), time(1, 30), TORONTO)
    second = at_local(date(2026, 11, 1), time(1, 30), TORONTO, second=True)
    assert [first, second] == [datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 1, 6, 30, tzinfo=UTC)]


@pytest.mark.req("SCH-278")
def test_elapsed_time_across_a_change_is_real_time() -> None:
    """From half past midnight to half past two is three hours on the night clocks go back."""
    night = date(2026, 11, 1)
    assert at_local(night, time(2, 30), TORONTO) - at_local(night, time(0, 30), TORONTO) == timedelta(hours=3)


@given(st.datetimes(datetime(1900, 1, 2), datetime(2100, 1, 1)), st.sampled_from(sorted(zone_names())), st.booleans())
def test_a_local_time_is_refused_or_shown_by_clocks_there(wall: datetime, name: str, second: bool) -> None:
    """Whatever instant comes out, clocks in that zone show the time that was asked for."""
    zone = find_zone(name)
    try:
        instant = at_local(wall.date(), wall.time(), zone, second=second)
    except Refused:
        # PEP 495: in a gap, and only there, the offset said for fold=1 is the larger one.
        offsets = [wall.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1)]
        assert offsets == sorted(offsets, key=lambda offset: offset or timedelta(0))
        assert offsets[0] != offsets[1]
        return
    assert instant.tzinfo is UTC
    assert instant.astimezone(zone).replace(tzinfo=None, fold=0) == wall


@pytest.mark.parametrize(("day", "name"), [(date.min, "Asia/Tokyo"), (date.max, "America/Toronto")])
def test_the_ends_of_the_calendar_are_a_refusal(day: date, name: str) -> None:
    """No overflow escapes."""
    with pytest.raises(Refused):
        at_local(day, time(0 if day == date.min else 23), find_zone(name))


def test_rules_come_from_the_package_and_not_from_the_machine() -> None:
    """The library's own zone of that name is another object: it may come from the machine's files."""
    assert find_zone("America/Toronto") is TORONTO
    assert zoneinfo.ZoneInfo("America/Toronto") is not TORONTO
