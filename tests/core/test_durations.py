"""Exact durations: one grammar in, one spelling out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.durations import LONGEST, parse_duration, write_duration
from sayso.core.refusal import Misuse, Refused


@pytest.mark.req("SCH-274", "SCH-281")
@pytest.mark.parametrize(
    ("text", "canonical", "length"),
    [
        ("PT45M", "PT45M", timedelta(minutes=45)),
        ("PT90M", "PT1H30M", timedelta(minutes=90)),
        ("PT60M", "PT1H", timedelta(hours=1)),
        ("PT1H", "PT1H", timedelta(hours=1)),
        ("P60D", "P60D", timedelta(days=60)),
        ("P1W", "P7D", timedelta(days=7)),
        ("P7D", "P7D", timedelta(days=7)),
        ("P1DT12H", "P1DT12H", timedelta(hours=36)),
        ("PT36H", "P1DT12H", timedelta(hours=36)),
        ("PT24H", "P1D", timedelta(days=1)),
        ("PT1H0M1S", "PT1H1S", timedelta(seconds=3601)),
        ("P0D", "PT0S", timedelta(0)),
        ("PT0S", "PT0S", timedelta(0)),
        ("PT86400S", "P1D", timedelta(days=1)),
        ("P36525D", "P36525D", LONGEST),
    ],
)
def test_a_duration_is_read_by_length_and_written_in_one_way(text: str, canonical: str, length: timedelta) -> None:
    """Equal lengths are equal, whatever units they came in."""
    assert parse_duration(text) == length
    assert write_duration(length) == canonical


@pytest.mark.req("SCH-274")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("P1M", "inexact"),
        ("P1Y", "inexact"),
        ("P1Y2M3DT4H", "inexact"),
        ("P1MT1H", "inexact"),
        ("", "syntax"),
        ("P", "syntax"),
        ("PT", "syntax"),
        ("P1", "syntax"),
        ("P1DT", "syntax"),
        ("P1D1", "syntax"),
        ("P1W2D", "syntax"),
        ("P1WT1H", "syntax"),
        ("P0.5D", "syntax"),
        ("PT1.5S", "syntax"),
        ("PT1,5H", "syntax"),
        ("+PT1H", "syntax"),
        ("-PT5M", "syntax"),
        ("P-1D", "syntax"),
        ("PT1M1H", "syntax"),
        ("PT1D", "syntax"),
        ("P1H", "syntax"),
        ("P1D2D", "syntax"),
        ("PT01H", "syntax"),
        ("pt1h", "syntax"),
        ("PT1H ", "syntax"),
        ("PT1H\n", "syntax"),
        ("PT１H", "syntax"),
        ("1H", "syntax"),
        ("P36525DT1S", "too_long"),
        ("P9999999999W", "too_long"),
        ("PT9999999999S", "too_long"),
    ],
)
def test_what_has_no_exact_length_is_refused(text: str, reason: str) -> None:
    """Months and years under their own reason; everything looser than the grammar as syntax."""
    with pytest.raises(Refused) as caught:
        parse_duration(text)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("malformed_duration", reason)


@given(st.integers(0, LONGEST // timedelta(seconds=1)))
def test_what_is_written_is_read_back(seconds: int) -> None:
    """Every whole number of seconds has one text."""
    length = timedelta(seconds=seconds)
    assert parse_duration(write_duration(length)) == length


@given(st.from_regex(r"P([0-9]{1,3}[WDYM])?(T([0-9]{1,3}[HMS]){0,3})?", fullmatch=True))
def test_the_canonical_text_of_what_is_read_is_stable(text: str) -> None:
    """Writing what was read, and reading that, changes nothing more."""
    try:
        length = parse_duration(text)
    except Refused:
        return
    assert parse_duration(write_duration(length)) == length


@pytest.mark.parametrize("length", [timedelta(seconds=-1), timedelta(microseconds=1)])
def test_a_length_without_a_text_is_misuse(length: timedelta) -> None:
    """Negative lengths and fractions are never written."""
    with pytest.raises(Misuse):
        write_duration(length)
