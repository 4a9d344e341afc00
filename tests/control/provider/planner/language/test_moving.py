"""Which of two times is the old one: every way people say it."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from sayso.control.provider.planner.language.understand import understand

ZONE = ZoneInfo("America/Toronto")
NOW = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("move my thursday trim to friday", "15", "16"),
        ("move my trim from thursday to friday", "15", "16"),
        ("reschedule thursday's trim for friday", "15", "16"),
        ("can we do friday instead of thursday?", "15", "16"),
        ("i can't make thursday, can we do friday instead?", "15", "16"),
        ("i won't be able to come on thursday, how about friday?", "15", "16"),
        ("i have an appointment thursday, can you push it to friday", "15", "16"),
        ("push thursday to friday", "15", "16"),
        ("i need to reschedule my appointment for thursday to friday", "15", "16"),
        ("make my thursday appointment friday instead", "15", "16"),
        ("postpone the trim until friday", "", "16"),
        ("i need a different time for my thursday trim", "15", ""),
        ("reschedule my trim on thursday", "15", ""),
        ("move it earlier, to friday", "", "16"),
    ],
)
def test_old_and_new_days_are_told_apart(text: str, old: str, new: str) -> None:
    """The day of the booking is not the day it goes to."""
    seen = understand(text, NOW, ZONE)
    assert ([f"{d:%d}" for d in seen.from_days], [f"{d:%d}" for d in seen.days]) == (
        [old] * bool(old),
        [new] * bool(new),
    )


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("push my trim back an hour", 60),
        ("push it back by an hour and a half", 90),
        ("delay my trim by half an hour", 30),
        ("make it two hours later", 120),
        ("bring my trim forward by 30 minutes", -30),
        ("can i come an hour earlier", -60),
        ("move my trim a day later", 1440),
        ("postpone thursday's trim by a week", 10080),
    ],
)
def test_a_shift_is_read_in_minutes(text: str, minutes: int) -> None:
    """Later is positive."""
    seen = understand(text, NOW, ZONE)
    assert (seen.intent.value, seen.shift) == ("move", minutes)


def test_moved_forward_is_earlier_for_some_and_later_for_others() -> None:
    """So it is no shift at all, and the new time is asked."""
    seen = understand("move my trim forward an hour", NOW, ZONE)
    assert (seen.intent.value, seen.shift, seen.days, seen.times) == ("move", None, (), ())
