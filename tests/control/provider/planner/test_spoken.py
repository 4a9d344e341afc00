"""Days, times and windows in words."""

from __future__ import annotations

from datetime import date, time

import pytest

from sayso.control.provider.planner.language.understood import TimeWindow
from sayso.control.provider.planner.spoken import sentence, spoken_day, spoken_list, spoken_time, spoken_window


def test_days_and_times_are_worded_like_the_consent_texts() -> None:
    """One style for what is said and what is signed."""
    assert spoken_day(date(2026, 10, 15)) == "Thursday 15 October"
    assert [spoken_time(time(*at)) for at in ((0, 5), (12, 0), (13, 0))] == ["12:05 a.m.", "12:00 p.m.", "1:00 p.m."]


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (TimeWindow(time(13), time(13)), "at 1:00 p.m."),
        (TimeWindow(time(11), time(15), time(13)), "around 1:00 p.m."),
        (TimeWindow(time(14), time(16)), "between 2:00 p.m. and 4:00 p.m."),
        (TimeWindow(time(15)), "from 3:00 p.m. on"),
        (TimeWindow(None, time(11, 59)), "until 11:59 a.m."),
        (TimeWindow(), ""),
    ],
)
def test_windows_are_worded(window: TimeWindow, words: str) -> None:
    """As a person would say them back."""
    assert spoken_window(window) == words


def test_lists_and_sentences_end_well() -> None:
    """No comma too many, no full stop after another."""
    assert [spoken_list(items) for items in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a or b",
        "a, b or c",
    ]
    assert [sentence(text) for text in ("at 1 p.m.", "free")] == ["at 1 p.m.", "free."]
