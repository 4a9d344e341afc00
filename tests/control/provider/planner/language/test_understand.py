"""Reading never breaks, never wavers, and does not care how something is typed."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.control.provider.planner.language.understand import understand
from sayso.control.provider.planner.language.understood import Intent, Problem, TimeWindow, Understood

ZONE = ZoneInfo("America/Toronto")
NOW = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)

VOCABULARY = (
    "book cancel move my the a trim thursday friday tomorrow next at around after before between and or to from 1 2:30 "
    "13:00 noon pm half past quarter under $100 at most ninety bucks on the 15th oct 30 feb 2026-10-15 not instead of "
    "week in 3 days morning later earlier an hour back by until done what do i have when is 's with dana at ? , . !"
)
WORDS = st.sampled_from(VOCABULARY.split())


@given(st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=40).map(" ".join)))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_without_an_exception_and_always_alike(text: str) -> None:
    """Whatever is typed, the answer is a value, and the same one twice."""
    first = understand(text, NOW, ZONE)
    assert isinstance(first, Understood)
    assert understand(text, NOW, ZONE) == first


@given(st.lists(WORDS, max_size=25).map(" ".join), st.sampled_from([str.upper, str.title, str.swapcase]))
@settings(max_examples=200, deadline=None)
def test_case_and_spaces_do_not_matter(text: str, recase) -> None:
    """Shouting and gaps say nothing."""
    assert understand(f"\t{recase(text)} \n".replace(" ", "  "), NOW, ZONE) == understand(text, NOW, ZONE)


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("I don’t want to pay more than €50, it’s for my mum’s “blow dry” on Friday", None),
        ("Book a trim on Friday, 2–4 pm", "Book a trim on Friday, 2-4 pm"),
        ("cant make thursday, can we do friday instead", "can't make thursday, can we do friday instead"),
        ("Ｂook a trim on Ｆriday at １ pm", "book a trim on friday at 1 pm"),
    ],
)
def test_typographic_spellings_do_not_matter(typed: str, plain: str | None) -> None:
    """Curly quotes, long dashes, wide letters and lost apostrophes read as their plain forms."""
    plain = plain or typed.replace("’", "'").replace("“", '"').replace("”", '"')
    assert understand(typed, NOW, ZONE) == understand(plain, NOW, ZONE)


def test_today_is_the_day_of_the_persons_zone() -> None:
    """Late in the evening in Toronto it is tomorrow in UTC, and still today for who is there."""
    late = datetime(2026, 10, 14, 2, 30, tzinfo=UTC)
    assert understand("book a trim tomorrow at 10 am", late, ZONE).days == (date(2026, 10, 14),)
    assert understand("book a trim tomorrow at 10 am", late, ZoneInfo("Etc/UTC")).days == (date(2026, 10, 15),)


def test_a_year_turns_over_where_the_nearest_date_lies_ahead() -> None:
    """In December "Jan 5" is next year's; just after it, it is past."""
    december = datetime(2026, 12, 28, 15, 0, tzinfo=UTC)
    january = datetime(2027, 1, 8, 15, 0, tzinfo=UTC)
    assert understand("book a trim on Jan 5", december, ZONE).days == (date(2027, 1, 5),)
    late = understand("book a trim on Jan 5", january, ZONE)
    assert (late.days, late.problems) == ((date(2027, 1, 5),), frozenset({Problem.PAST}))


def test_around_means_a_start_within_two_hours() -> None:
    """SCH-377: around one o'clock is from eleven to three, nearest to one."""
    windows = understand("book a trim thursday around 1 pm", NOW, ZONE).times
    assert windows == (TimeWindow(earliest=time(11), latest=time(15), near=time(13)),)


def test_an_hour_without_half_of_the_day_stays_open() -> None:
    """The likelier reading is given and marked; nobody guessed."""
    seen = understand("book a trim thursday at 7", NOW, ZONE)
    assert seen.times == (TimeWindow(earliest=time(19), latest=time(19), either_half=True),)
    assert seen.problems == {Problem.AM_PM}


def test_whole_wishes_in_one_breath_are_no_single_wish() -> None:
    """Thursday at two or Friday at four cannot be held apart as days and times, so it is asked."""
    seen = understand("book a trim thursday at 2 pm or friday at 4 pm", NOW, ZONE)
    assert (seen.days, seen.times, seen.problems) == ((), (), frozenset({Problem.CONTRADICTION}))


def test_small_talk_is_not_mined_for_services() -> None:
    """Not being understood is an answer too."""
    assert understand("tell me a joke about tomorrow", NOW, ZONE).intent is Intent.UNKNOWN


def test_a_very_long_message_is_read_from_its_beginning() -> None:
    """Nobody makes an appointment in ten thousand words, and reading them would only cost time."""
    seen = understand("book a trim tomorrow at 10 am" + " blah" * 5000, NOW, ZONE)
    assert (seen.intent, seen.days) == (Intent.BOOK, (date(2026, 10, 14),))
