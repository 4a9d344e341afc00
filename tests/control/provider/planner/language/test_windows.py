"""Times of day as windows of starting times."""

from __future__ import annotations

from datetime import time

import pytest

from sayso.control.provider.planner.language.clock_atoms import mark_clocks, mark_hours
from sayso.control.provider.planner.language.day_parts import mark_parts
from sayso.control.provider.planner.language.sheet import Sheet, tidy
from sayso.control.provider.planner.language.times import find_pieces
from sayso.control.provider.planner.language.windows import Times, join_pieces


def times_of(text: str) -> Times:
    sheet = Sheet(tidy(text))
    mark_clocks(sheet)
    mark_parts(sheet)
    mark_hours(sheet)
    return join_pieces(find_pieces(sheet, moving=False), sheet.said)


def written(text: str) -> list[str]:
    def clock(value: time | None) -> str:
        return value.strftime("%H:%M") if value else ""

    return [
        f"{clock(w.earliest)}-{clock(w.latest)}{f'~{clock(w.near)}' if w.near else ''}{'?' if w.either_half else ''}"
        for w in times_of(text).windows
    ]


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("at 1 pm", ["13:00-13:00"]),
        ("13:00", ["13:00-13:00"]),
        ("noon", ["12:00-12:00"]),
        ("half past one in the afternoon", ["13:30-13:30"]),
        ("quarter to three pm", ["14:45-14:45"]),
        ("two-thirty pm", ["14:30-14:30"]),
        ("1.30pm", ["13:30-13:30"]),
        ("14h30", ["14:30-14:30"]),
        ("around 1 pm", ["11:00-15:00~13:00"]),
        ("3ish pm", ["13:00-17:00~15:00?"]),
        ("noonish", ["10:00-14:00~12:00"]),
        ("after 3 pm", ["15:00-"]),
        ("no earlier than 3pm", ["15:00-"]),
        ("3 pm or later", ["15:00-"]),
        ("i can't come before 3 pm", ["15:00-"]),
        ("before noon", ["-11:59"]),
        ("by 5 pm", ["-17:00"]),
        ("5 pm at the latest", ["-17:00"]),
        ("between 2 and 4 pm", ["14:00-16:00"]),
        ("11-1pm", ["11:00-13:00"]),
        ("between 10 and 2", ["10:00-14:00"]),
        ("9 to 5", ["09:00-17:00"]),
        ("after 10, before 2pm", ["10:00-13:59"]),
        ("after 2 but before 5 pm", ["14:00-16:59"]),
        ("in the afternoon after 3", ["15:00-16:59"]),
        ("in the morning at 9", ["09:00-09:00"]),
        ("saturday night from 7 to 11 pm", ["19:00-23:00"]),
        ("2 or 3 pm", ["14:00-14:00", "15:00-15:00"]),
        ("9 or 2 pm", ["09:00-09:00", "14:00-14:00"]),
        ("morning or afternoon", ["05:00-11:59", "12:00-16:59"]),
        ("not in the morning", ["12:00-"]),
        ("lunchtime", ["12:00-13:59"]),
        ("after work", ["17:00-"]),
        ("at 3", ["15:00-15:00?"]),
        ("at 9", ["09:00-09:00?"]),
        ("after half past one", ["13:30-?"]),
        ("between 2 and 4", ["14:00-16:00?"]),
        ("at 2 or 3", ["14:00-14:00?", "15:00-15:00?"]),
    ],
)
def test_windows_are_read(text: str, windows: list[str]) -> None:
    """A question mark stands for an hour that may be of the morning or of the afternoon."""
    assert written(text) == windows


@pytest.mark.parametrize(
    ("text", "problem"),
    [("25:00", "impossible"), ("8:75 pm", "impossible"), ("after 4 pm and before 2 pm", "contradiction"),
     ("at 2 pm at 4 pm", "contradiction"), ("after 4 and before 2", "contradiction")],
)  # fmt: skip
def test_what_no_clock_shows_is_left_out(text: str, problem: str) -> None:
    """No window, and the problem is named."""
    times = times_of(text)
    assert (times.windows, {p.value for p in times.problems}) == ((), {problem})


@pytest.mark.parametrize("text", ["2-3 people", "1-2 hours", "the synthetic one", "2 of them", "good morning"])
def test_other_numbers_and_greetings_are_no_times(text: str) -> None:
    """A number is an hour only where the words around it say so."""
    assert times_of(text) == Times()


def test_done_by_bounds_the_end() -> None:
    """It says when it must be over, not when it may start."""
    assert times_of("has to be finished by 5 pm") == Times(done_by=time(17))
