"""RFC 3339 and nothing else; instants are compared as instants and written in one way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.instants import epoch, from_epoch, parse_instant, write_instant, write_local
from sayso.core.refusal import Misuse, Refused
from sayso.core.zones import find_zone

NOON = datetime(2026, 10, 13, 13, 5, tzinfo=UTC)
aware = st.datetimes(timezones=st.just(UTC))


@pytest.mark.req("SCH-275")
@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-10-13T13:05:00Z", NOON),
        ("2026-10-13t13:05:00z", NOON),
        ("2026-10-13T09:05:00-04:00", NOON),
        ("2026-10-14T02:50:00+13:45", NOON),
        ("2026-10-13T13:05:00+00:00", NOON),
        ("2026-10-13T13:05:00.5Z", NOON + timedelta(milliseconds=500)),
        ("2026-10-13T13:05:00.000001Z", NOON + timedelta(microseconds=1)),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1, tzinfo=UTC)),
        ("2016-12-31T18:59:60.25-05:00", datetime(2017, 1, 1, microsecond=250_000, tzinfo=UTC)),
        ("2015-06-30T23:59:60Z", datetime(2015, 7, 1, tzinfo=UTC)),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
    ],
)
def test_an_rfc_3339_instant_is_read(text: str, instant: datetime) -> None:
    """Any offset, either case, fractions to the microsecond, and leap seconds where they can be."""
    assert parse_instant(text) == instant
    assert parse_instant(text).tzinfo is UTC


@pytest.mark.req("SCH-275", "SCH-276")
@pytest.mark.parametrize(
    "text",
    [
        "2026-10-13T13:05:00",
        "2026-10-13 13:05:00Z",
        "2026-10-13T13:05:00-00:00",
        "2026-10-13T13:05:00-0400",
        "2026-10-13T13:05Z",
        "2026-10-13T13Z",
        "2026-10-13",
        "20261013T130500Z",
        "2026-W42-2T13:05:00Z",
        "2026-10-13T13:05:00,5Z",
        "2026-10-13T13:05:00.Z",
        "2026-10-13T13:05:00.1234567Z",
        "2026-10-13T13:05:00+04:00:30",
        "2026-10-13T13:05:00+24:00",
        "2026-10-13T13:05:00+01:60",
        "2026-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-10T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "2026-10-13T24:00:00Z",
        "2026-10-13T13:60:00Z",
        "2026-10-13T13:05:61Z",
        "2026-10-13T13:05:60Z",
        "2026-12-31T23:59:60-05:00",
        "2026-03-31T23:59:60Z",
        "9999-12-31T23:59:60Z",
        "２026-10-13T13:05:00Z",
        "2026-10-13T13:05:00Z\n",
        " 2026-10-13T13:05:00Z",
        "",
    ],
)
def test_what_is_no_rfc_3339_instant_is_refused(text: str) -> None:
    """Missing or unknown offsets, impossible dates, and every form the library's reader would forgive."""
    with pytest.raises(Refused) as caught:
        parse_instant(text)
    assert caught.value.refusal.code == "malformed_instant"


@given(aware)
def test_what_is_written_is_read_back(instant: datetime) -> None:
    """The text holds the instant whole."""
    assert parse_instant(write_instant(instant)) == instant


@given(aware, st.sampled_from(["America/Toronto", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC", "Africa/Monrovia"]))
def test_a_local_text_names_the_same_instant(instant: datetime, name: str) -> None:
    """Also where a zone's offset was no whole number of minutes."""
    try:
        text = write_local(instant, find_zone(name))
    except OverflowError:
        return  # the local time falls out of the calendar at its very ends
    assert parse_instant(text) == instant


@pytest.mark.req("SCH-275")
@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2026, 10, 31, 13, tzinfo=UTC), "2026-10-31T09:00:00-04:00"),
        (datetime(2026, 11, 2, 13, tzinfo=UTC), "2026-11-02T08:00:00-05:00"),
        (datetime(2026, 11, 1, 5, 30, tzinfo=UTC), "2026-11-01T01:30:00-04:00"),
        (datetime(2026, 11, 1, 6, 30, tzinfo=UTC), "2026-11-01T01:30:00-05:00"),
        (datetime(2026, 7, 1, microsecond=120_000, tzinfo=UTC), "2026-06-30T20:00:00.12-04:00"),
    ],
)
def test_local_text_carries_the_offset_of_that_very_instant(instant: datetime, text: str) -> None:
    """Either side of a clock change, and in both of the hours that happen twice."""
    assert write_local(instant, find_zone("America/Toronto")) == text


def test_one_instant_has_one_text_in_utc() -> None:
    """Other offsets and trailing zeros do not show."""
    elsewhere = (NOON + timedelta(milliseconds=120)).astimezone(timezone(timedelta(hours=5, minutes=45)))
    assert write_instant(elsewhere) == "2026-10-13T13:05:00.12Z"
    assert write_instant(NOON) == "2026-10-13T13:05:00Z"


@given(st.integers(-62_135_596_800, 253_402_300_799))
def test_seconds_since_1970_come_back(seconds: int) -> None:
    """Over the whole calendar."""
    assert epoch(from_epoch(seconds)) == seconds


def test_seconds_are_rounded_down() -> None:
    """Also before 1970, where rounding to zero would go up."""
    assert epoch(NOON + timedelta(microseconds=999_999)) == epoch(NOON)
    assert epoch(datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC)) == -1


@pytest.mark.parametrize("seconds", [10**12, -(10**12), 10**30])
def test_seconds_outside_the_calendar_are_refused(seconds: int) -> None:
    """A NumericDate may be any integer; only some are dates."""
    with pytest.raises(Refused) as caught:
        from_epoch(seconds)
    assert caught.value.refusal.code == "malformed_instant"


def test_a_naive_time_is_no_instant() -> None:
    """Whoever forgets the offset has made a mistake of ours, not of a caller."""
    for write in (epoch, write_instant):
        with pytest.raises(Misuse):
            write(datetime(2026, 10, 13))


@given(
    st.text(max_size=30) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}.*", fullmatch=True)
)
def test_no_text_escapes_the_reader(text: str) -> None:
    """An instant or a refusal, never another exception."""
    try:
        code = write_instant(parse_instant(text)) and "read"
    except Refused as refused:
        code = refused.refusal.code
    assert code in ("read", "malformed_instant")
