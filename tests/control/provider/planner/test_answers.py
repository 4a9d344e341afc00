"""Answers to questions: taken where they say something, asked again where they do not, dropped on a no."""

from __future__ import annotations

import pytest

from sayso.control.provider.planner.steps import Outcome
from tests.control.provider.planner.shop import Town, booked


def held(town: Town) -> list[tuple[str, str]]:
    return [(hold["service_id"], hold["start"][5:16]) for hold in town.made("hold_slot")]


@pytest.mark.parametrize(
    ("answer", "start"),
    [
        ("the 22nd", "10-22T10:00"),
        ("22", "10-22T10:00"),
        ("this week", "10-15T10:00"),
        ("next week", "10-22T10:00"),
        ("the second", "10-22T10:00"),
        ("first", "10-15T10:00"),
        ("the 22nd at 3 pm", "10-22T15:00"),
        ("Friday at 3 pm", "10-16T15:00"),
    ],
)
def test_a_day_is_answered(answer: str, start: str) -> None:
    """By date, by week, by place in the list, or with another day altogether."""
    town = Town()
    town.say("Book a haircut next Thursday at 10 am")
    town.say(answer)
    assert held(town) == [("cut", start)]


def test_an_answer_that_says_nothing_is_asked_again() -> None:
    """The question stands; nothing is guessed."""
    town = Town()
    town.say("Book a haircut next Thursday at 10 am")
    assert town.say("purple monkeys") == (
        "I did not understand that as an answer. Which day do you mean: Thursday 15 October or Thursday 22 October?"
    )
    town.say("the first")
    assert held(town) == [("cut", "10-15T10:00")]


@pytest.mark.parametrize("answer", ["no", "never mind", "No, thanks.", "forget it"])
def test_a_no_ends_it(answer: str) -> None:
    """And a new wish after it starts anew."""
    town = Town()
    town.say("Book a facial on Friday at 2 pm")
    assert (town.say(answer), town.last.outcome) == ("All right, I have done nothing more.", Outcome.REFUSED)
    town.say("Book a haircut tomorrow at 10 am")
    assert held(town) == [("cut", "10-14T10:00")]


def test_a_whole_new_wish_is_no_answer() -> None:
    """Its limits do not leak into it."""
    town = Town()
    town.say("Book a facial on Friday at 2 pm under $10")
    town.say("Book a haircut tomorrow at 10 am")
    assert held(town) == [("cut", "10-14T10:00")]
    assert "max_price" not in town.made("hold_slot")[0]


def test_the_service_and_another_time_in_one_answer() -> None:
    """Both are taken."""
    town = Town()
    town.say("Book a facial on Friday at 2 pm")
    town.say("the deluxe one, but at 4 pm")
    assert held(town) == [("deluxe", "10-16T16:00")]


def test_a_limit_is_answered_by_a_bare_figure() -> None:
    """What was asked about tells how to read it."""
    town = Town()
    town.say("Book a haircut on Friday at 10 am for around $30")
    town.say("45")
    assert town.made("hold_slot")[0]["max_price"] == {"amount": "45", "currency": "CAD"}


def test_what_is_free_can_be_booked_in_the_next_breath() -> None:
    """The service and the day of the answer carry on."""
    town = Town()
    town.say("When is a haircut free tomorrow afternoon?")
    assert held(town) == []
    town.say("book the 2 pm one")
    assert held(town) == [("cut", "10-14T14:00")]


def test_a_question_in_between_is_answered_and_not_taken_as_an_answer() -> None:
    """Asking what one has is a wish of its own."""
    town = Town(bookings=[booked("b", "Beard trim", "2026-10-15T13:00")])
    town.say("Book a facial on Friday at 2 pm")
    assert town.say("What do I have on Thursday?").startswith("Beard trim")
    assert held(town) == []
