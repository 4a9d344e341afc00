"""Which free start is meant: open hours, other times when none fits, times to be done by."""

from __future__ import annotations

import pytest

from sayso.control.provider.planner.steps import Outcome, Topic
from tests.control.provider.planner.shop import Shop, Town

LONG_DAY = Shop(hours=(7 * 60, 21 * 60))


def starts(town: Town) -> list[str]:
    return [hold["start"][5:16] for hold in town.made("hold_slot")]


@pytest.mark.parametrize(
    ("words", "start"),
    [
        ("tomorrow at 3", "10-14T15:00"),
        ("tomorrow at 9", "10-14T09:00"),
        ("tomorrow after 3", "10-14T15:00"),
        ("tomorrow before 9", "10-14T08:00"),
        ("tomorrow around 1", "10-14T13:00"),
        ("tomorrow between 2 and 4", "10-14T14:00"),
        ("tomorrow, done by 11", "10-14T08:00"),
    ],
)
def test_an_open_hour_is_settled_by_when_the_host_is_open(words: str, start: str) -> None:
    """From eight to a quarter past five only one reading is left."""
    town = Town()
    town.say(f"Book a haircut {words}")
    assert starts(town) == [start]


@pytest.mark.parametrize(
    ("answer", "start"),
    [
        ("pm", "10-14T20:00"),
        ("in the morning", "10-14T08:00"),
        ("8 am", "10-14T08:00"),
        ("20:00", "10-14T20:00"),
        ("make it 9 pm", "10-14T21:00"),
    ],
)
def test_an_open_hour_with_two_readings_left_is_asked(answer: str, start: str) -> None:
    """Open from seven to nine in the evening, eight o'clock may be either."""
    town = Town([LONG_DAY])
    said = town.say("Book a haircut tomorrow at 8")
    assert said == "In the morning or in the afternoon: at 8:00 a.m., or at 8:00 p.m.?"
    assert (town.last.topic, starts(town)) == (Topic.HALF, [])
    town.say(answer)
    assert starts(town) == [start]


@pytest.mark.parametrize(
    ("answer", "start"),
    [
        ("10:15", "10-16T10:15"),
        ("9:45 am", "10-16T09:45"),
        ("the second", "10-16T09:30"),
        ("2", "10-16T09:30"),
        ("the last one please", "10-16T10:30"),
        ("3 pm instead", "10-16T15:00"),
        ("Saturday at 10 am", "10-17T10:00"),
    ],
)
def test_when_the_time_asked_for_is_not_free_others_are_offered(answer: str, start: str) -> None:
    """None is taken unasked, and the answer may name one or something else altogether."""
    town = Town([Shop(busy={"2026-10-16T10:00"})])
    said = town.say("Book a haircut Friday at 10 am")
    assert said == (
        "Harbour Salon has no Haircut free on Friday 16 October at 10:00 a.m. The nearest free: 9:15 a.m., 9:30 a.m., "
        "9:45 a.m., 10:15 a.m. or 10:30 a.m. Shall I take one of these?"
    )
    assert (town.last.topic, starts(town)) == (Topic.SLOT, [])
    town.say(answer)
    assert starts(town) == [start]


def test_nothing_free_at_all_is_said() -> None:
    """After the days asked for and the week behind them."""
    town = Town([Shop(hours=(1, 0))])
    said = town.say("Book a haircut Friday at 10 am")
    assert said == (
        "Harbour Salon has nothing free on Friday 16 October at 10:00 a.m., nor in the week after. Nothing was booked."
    )
    assert town.last.outcome is Outcome.REFUSED


def test_starts_above_the_ceiling_are_not_taken() -> None:
    """A host may charge by the hour of the day; only what the limit admits is held."""
    slots = [
        {"start": f"2026-10-16T{clock}:00-04:00", "total": {"amount": amount, "currency": "CAD"}}
        for clock, amount in (("10:00", "60.00"), ("10:30", "45.00"))
    ]
    town = Town(answers={"find_slots": lambda a: {"slots": slots}})
    town.say("Book a haircut Friday around 10 am, under $50")
    assert starts(town) == ["10-16T10:30"]


def test_an_answer_that_is_cut_short_is_asked_on() -> None:
    """`more_from` says where the next request begins."""
    asked = []

    def slots(arguments: dict) -> object:
        asked.append(arguments["earliest_start"])
        if len(asked) == 1:
            return {"slots": [], "more_from": "2026-10-16T12:00:00-04:00"}
        return {"slots": [{"start": "2026-10-16T15:00:00-04:00"}]}

    town = Town(answers={"find_slots": slots})
    town.say("Book a haircut on Friday")
    assert (asked, starts(town)) == (["2026-10-16T00:00", "2026-10-16T12:00:00-04:00"], ["10-16T15:00"])


def test_done_by_counts_the_length_of_the_service() -> None:
    """An hour that must be over by five starts by four."""
    town = Town()
    town.say("Book a classic facial on Friday, done by 5 pm")
    assert town.made("find_slots")[0]["latest_start"] == "2026-10-16T16:00"


def test_as_soon_as_possible_takes_the_first_free_start() -> None:
    """Within the next two weeks."""
    town = Town([Shop(busy={f"2026-10-13T{h:02d}:{m:02d}" for h in range(24) for m in (0, 15, 30, 45)})])
    town.say("Book a haircut as soon as possible")
    assert starts(town) == ["10-14T08:00"]
