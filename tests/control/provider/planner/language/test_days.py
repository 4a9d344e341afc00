"""Days as people name them, on Tuesday 13 October 2026."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from sayso.control.provider.planner.language.day_atoms import mark_days
from sayso.control.provider.planner.language.days import find_days, join_days, mark_groups
from sayso.control.provider.planner.language.sheet import Sheet, tidy
from sayso.control.provider.planner.language.understood import Problem

TODAY = date(2026, 10, 13)


def days_of(text: str) -> tuple[list[str], set[str]]:
    sheet = Sheet(tidy(text))
    mark_days(sheet, TODAY)
    mark_groups(sheet)
    days, problems = join_days(find_days(sheet, TODAY, moving=False), sheet.said, TODAY)
    return [day.isoformat()[5:] for day in days], {problem.value for problem in problems}


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("thursday", "10-15", "10-15"),
        ("this coming thurs.", "10-15", "10-15"),
        ("tmrw", "10-14", "10-14"),
        ("the day after tomorrow", "10-15", "10-15"),
        ("in 3 days", "10-16", "10-16"),
        ("in a couple of weeks", "10-27", "10-27"),
        ("two weeks from tomorrow", "10-28", "10-28"),
        ("Oct 15th, 2026", "10-15", "10-15"),
        ("the fifteenth of October", "10-15", "10-15"),
        ("15.10.2026", "10-15", "10-15"),
        ("10/15", "10-15", "10-15"),
        ("the 10th", "11-10", "11-10"),
        ("friday the 16th", "10-16", "10-16"),
        ("thursday of next week", "10-22", "10-22"),
        ("a week from thursday", "10-22", "10-22"),
        ("thursday week", "10-22", "10-22"),
        ("first monday of november", "11-02", "11-02"),
        ("the last friday of the month", "10-30", "10-30"),
        ("this week", "10-13", "10-18"),
        ("early next week", "10-19", "10-20"),
        ("the week of oct 19", "10-19", "10-25"),
        ("monday to wednesday", "10-19", "10-21"),
        ("between monday and wednesday", "10-19", "10-21"),
        ("oct 15-17", "10-15", "10-17"),
        ("by friday", "10-13", "10-16"),
        ("before friday", "10-13", "10-15"),
        ("from monday on", "10-19", "11-02"),
        ("before the end of the month", "10-13", "10-31"),
        ("within the next ten days", "10-13", "10-23"),
        ("mid november", "11-11", "11-20"),
    ],
)
def test_days_are_read(text: str, first: str, last: str) -> None:
    """One day or every day of a span, and nothing is open."""
    start, end = date.fromisoformat(f"2026-{first}"), date.fromisoformat(f"2026-{last}")
    span = [(start + timedelta(days=n)).isoformat()[5:] for n in range((end - start).days + 1)]
    assert days_of(text) == (span, set())


@pytest.mark.parametrize(
    ("text", "days", "problem"),
    [
        ("next thursday", ["10-15", "10-22"], "which_day"),
        ("tuesday", ["10-13", "10-20"], "which_day"),
        ("11/12", ["11-12", "12-11"], "which_day"),
        ("next weekend", ["10-17", "10-18", "10-24", "10-25"], "which_day"),
        ("feb 30", [], "impossible"),
        ("2026-13-45", [], "impossible"),
        ("in 99999 days", [], "impossible"),
        ("tomorrow, friday", [], "contradiction"),
        ("friday oct 15", [], "contradiction"),
        ("yesterday", ["10-12"], "past"),
        ("oct 10", ["10-10"], "past"),
        ("last friday", ["10-09"], "past"),
        ("every thursday", [], "recurring"),
        ("on thursdays", [], "recurring"),
    ],
)
def test_what_is_open_or_wrong_is_named(text: str, days: list[str], problem: str) -> None:
    """Two readings are both given; what cannot be is left out."""
    assert days_of(text) == (days, {problem})


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("monday or wednesday", ["10-14", "10-19"]),
        ("thursday at 2, otherwise friday", ["10-15", "10-16"]),
        ("thursday, friday or saturday", ["10-15", "10-16", "10-17"]),
        ("tomorrow or the day after", ["10-14", "10-15"]),
        ("next week but not monday", ["10-20", "10-21", "10-22", "10-23", "10-24", "10-25"]),
    ],
)
def test_alternatives_and_exceptions_are_kept(text: str, days: list[str]) -> None:
    """Any of the days named, none of those ruled out."""
    assert days_of(text) == (days, set())


@pytest.mark.parametrize("text", ["may i book", "the second one", "the first available", "march at 3 pm", "24/7"])
def test_words_that_only_look_like_days_are_none(text: str) -> None:
    """A modal verb, a place in a list and a figure of speech name no day."""
    assert days_of(text) == ([], set())


def test_next_weekday_is_plain_where_both_readings_agree() -> None:
    """On a Tuesday next Monday can only be the one of next week."""
    assert days_of("next monday") == (["10-19"], set())
    assert days_of("next tuesday") == (["10-20"], set())


def test_past_is_a_problem_only_as_a_whole() -> None:
    """A span that began earlier is cut to what is to come."""
    assert Problem.PAST.value not in days_of("this week")[1]
