"""What the person already has: told, cancelled, moved, and never the wrong one."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sayso.control.provider.planner.steps import Outcome, Topic
from tests.control.provider.planner.shop import Refusal, Shop, Town, booked, refusal

TRIM = booked("b_trim", "Beard trim", "2026-10-15T13:00")
CUT = booked("b_cut", "Haircut", "2026-10-16T10:00")
OVER = booked("b_over", "Haircut", "2026-10-01T10:00")
GONE = booked("b_gone", "Classic facial", "2026-10-17T10:00", status="cancelled")


def town(*bookings: dict, **more) -> Town:
    return Town(bookings=list(bookings), **more)


def test_bookings_ahead_are_told() -> None:
    """What is over or cancelled is not asked for."""
    said = town(CUT, TRIM, OVER, GONE).say("What do I have?")
    assert said == (
        "Beard trim at Harbour Salon (harbour.example), [2026-10-15T13:00]: confirmed.\n"
        "Haircut at Harbour Salon (harbour.example), [2026-10-16T10:00]: confirmed."
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("when is my beard trim?", "Beard trim at Harbour Salon (harbour.example), [2026-10-15T13:00]: confirmed."),
        (
            "is my haircut on friday confirmed?",
            "Haircut at Harbour Salon (harbour.example), [2026-10-16T10:00]: confirmed.",
        ),
        (
            "what do I have on Saturday?",
            "Classic facial at Harbour Salon (harbour.example), [2026-10-17T10:00]: cancelled.",
        ),
        (
            "when is my massage?",
            "You have nothing booked for “massage”. You have: Beard trim at Harbour Salon (harbour.example), "
            "[2026-10-15T13:00] and Haircut at Harbour Salon (harbour.example), [2026-10-16T10:00].",
        ),
    ],
)
def test_a_question_about_one_is_answered(words: str, said: str) -> None:
    """By service or by day."""
    asked = town(TRIM, CUT, GONE)
    assert (asked.say(words), asked.last.outcome, len(asked.calls)) == (said, Outcome.DONE, 1)


def test_the_booking_named_is_cancelled() -> None:
    """And no other."""
    asked = town(TRIM, CUT)
    said = asked.say("Cancel my haircut")
    assert asked.made("cancel_booking") == [{"booking_id": "b_cut"}]
    assert said.startswith("Cancelled: Haircut")


@pytest.mark.parametrize(
    "words", ["Cancel my massage", "Cancel my appointment on Monday", "Cancel my haircut on Thursday"]
)
def test_what_is_not_there_is_not_cancelled(words: str) -> None:
    """Words that fit no booking never fall back on one that is there."""
    asked = town(TRIM, CUT)
    said = asked.say(words)
    assert (asked.made("cancel_booking"), asked.last.outcome) == ([], Outcome.REFUSED)
    assert "You have nothing booked" in said
    assert said.endswith("Nothing was cancelled.")


@pytest.mark.parametrize("answer", ["the haircut", "Friday's", "the second one", "the one at 10 am"])
def test_several_that_fit_are_asked_about(answer: str) -> None:
    """One question that names them."""
    asked = town(TRIM, CUT)
    said = asked.say("Cancel my appointment")
    assert said == (
        "Which one do you mean: Beard trim at Harbour Salon (harbour.example), [2026-10-15T13:00] or Haircut at "
        "Harbour Salon (harbour.example), [2026-10-16T10:00]?"
    )
    assert asked.made("cancel_booking") == []
    asked.say(answer)
    assert asked.made("cancel_booking") == [{"booking_id": "b_cut"}]


def test_who_cannot_come_is_asked_what_to_do() -> None:
    """Not being able to make it may mean cancelling or moving."""
    asked = town(TRIM)
    said = asked.say("I can't make it on Thursday")
    assert said.startswith("Shall I cancel it, or move it to another time: ")
    assert asked.made("cancel_booking", "change_booking") == []
    asked.say("move it to Friday")
    assert asked.made("change_booking") == [{"booking_id": "b_trim", "start": "2026-10-16T13:00:00-04:00"}]
    other = town(TRIM)
    other.say("I can't make it on Thursday")
    other.say("cancel it")
    assert other.made("cancel_booking") == [{"booking_id": "b_trim"}]


@pytest.mark.parametrize(
    ("words", "start"),
    [
        ("Move my beard trim to Friday at 2", "2026-10-16T14:00:00-04:00"),
        ("Move my beard trim to Friday", "2026-10-16T13:00:00-04:00"),
        ("Change my Thursday appointment to 3 pm", "2026-10-15T15:00:00-04:00"),
        ("Push my beard trim back an hour", "2026-10-15T14:00:00-04:00"),
        ("Bring my Thursday appointment forward by 30 minutes", "2026-10-15T12:30:00-04:00"),
        ("Can we do Saturday instead of Thursday?", "2026-10-17T13:00:00-04:00"),
        ("Reschedule my beard trim on Monday", "2026-10-19T13:00:00-04:00"),
        ("Move next Thursday's appointment to Saturday", "2026-10-17T13:00:00-04:00"),
    ],
)
def test_a_booking_is_moved_by_one_call(words: str, start: str) -> None:
    """Never by cancelling and booking again; a new day keeps the clock, a new time the day (SCH-350)."""
    asked = town(TRIM, CUT)
    assert asked.say(words).startswith("Moved: Beard trim")
    assert asked.made("change_booking") == [{"booking_id": "b_trim", "start": start}]
    assert asked.made("cancel_booking", "hold_slot") == []


def test_a_move_without_a_new_time_is_asked() -> None:
    """To when?"""
    asked = town(TRIM)
    said = asked.say("I need to change my appointment")
    assert said == (
        "To which day and time shall I move Beard trim at Harbour Salon (harbour.example), [2026-10-15T13:00]?"
    )
    asked.say("Friday at 3 pm")
    assert asked.made("change_booking") == [{"booking_id": "b_trim", "start": "2026-10-16T15:00:00-04:00"}]


def test_a_new_time_that_is_not_free_is_not_replaced_unasked() -> None:
    """The nearest are offered."""
    asked = town(TRIM, shops=[Shop(busy={"2026-10-16T13:00"})])
    said = asked.say("Move my beard trim to Friday")
    assert (asked.made("change_booking"), asked.last.topic) == ([], Topic.SLOT)
    assert "The nearest free: 12:15 p.m., 12:30 p.m., 12:45 p.m., 1:15 p.m. or 1:30 p.m." in said
    asked.say("12:45")
    assert asked.made("change_booking") == [{"booking_id": "b_trim", "start": "2026-10-16T12:45:00-04:00"}]


def test_a_booking_that_is_there_already_is_not_moved() -> None:
    """Nothing is asked of the host."""
    asked = town(TRIM)
    said = asked.say("Move my beard trim to Thursday at 1 pm")
    assert (said.startswith("It is at that time already"), asked.made("change_booking")) == (True, [])


@pytest.mark.parametrize(
    ("words", "tool", "reason", "end"),
    [
        ("Cancel my beard trim", "cancel_booking", "consent_refused", "The booking stands."),
        ("Cancel my beard trim", "cancel_booking", "already_started", "The booking stands."),
        ("Cancel my beard trim", "cancel_booking", "PEER_UNREACHABLE", "Ask me later what you have booked."),
        ("Move my beard trim to Friday", "change_booking", "consent_refused", "The booking stands as it was."),
        ("Move my beard trim to Friday", "change_booking", "host_unreachable", "Ask me later what you have."),
        ("Move my beard trim to Friday", "booking_status", "internal", "The booking stands as it was."),
    ],
)
def test_a_refusal_says_how_the_booking_stands(words: str, tool: str, reason: str, end: str) -> None:
    """And says so where that cannot be known."""

    def refuse(arguments: Mapping[str, object]) -> object:
        raise Refusal(refusal(reason, "No."))

    asked = town(TRIM, answers={tool: refuse})
    assert asked.say(words).endswith(end)
    assert asked.last.outcome is Outcome.REFUSED
