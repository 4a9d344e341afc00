"""What a message denies, takes back or only asks about is not done, however clear the rest of its words are.

The phrasings are in doing_nothing.toml; each is planned over the scripted shop, and every call is looked at.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.control.provider.planner.steps import Outcome, Topic
from tests.control.provider.planner.shop import Town, booked

EXECUTING = ("hold_slot", "approve_and_book", "cancel_booking", "change_booking")
TABLE = tomllib.loads((Path(__file__).parent / "doing_nothing.toml").read_text(encoding="utf-8"))
GOES_ON = [(text, tool) for tool, texts in TABLE["goes_on"].items() for text in texts]


def town() -> Town:
    """One booking that could be moved or cancelled, and everything free to book."""
    return Town(bookings=[booked("b_cut", "Haircut", "2026-10-16T10:00")])


@pytest.mark.parametrize("text", TABLE["nothing"])
def test_what_is_denied_taken_back_or_only_asked_is_not_done(text: str) -> None:
    """A person who says no must never find a booking made, moved or gone."""
    asked = town()
    asked.say(text)
    assert (asked.made(*EXECUTING), asked.last.outcome in (Outcome.ASKS, Outcome.REFUSED)) == ([], True)


@pytest.mark.parametrize("text", TABLE["no_limit"])
def test_an_amount_nobody_can_pay_is_asked_about(text: str) -> None:
    """A limit that is dropped or cut short would let more be paid than was said."""
    asked = town()
    asked.say(text)
    assert (asked.made(*EXECUTING), asked.last.outcome, asked.last.topic) == ([], Outcome.ASKS, Topic.PRICE)


@pytest.mark.parametrize(("text", "tool"), GOES_ON)
def test_limits_and_reasons_that_hold_a_denial_go_on(text: str, tool: str) -> None:
    """A planner that stops at every "not" is of no use."""
    asked = town()
    asked.say(text)
    assert (len(asked.made(tool)), asked.last.outcome) == (1, Outcome.DONE)


DENYING = ("Do not", "don't", "Please never", "I don't want you to", "There is no need to", "You must not", "Should I")
WISHES = ("book a haircut Thursday at 2 pm", "cancel my haircut", "move my haircut to Saturday", "book me a facial")
WITHDRAWING = ("never mind", "forget it", "actually don't", "no, don't", "scratch that", "don't", "no")


@given(st.sampled_from(DENYING), st.sampled_from(WISHES))
@settings(max_examples=40, deadline=None)
def test_no_wish_survives_a_denial_in_front_of_it(denying: str, wish: str) -> None:
    """Whatever is wished for."""
    asked = town()
    asked.say(f"{denying} {wish}")
    assert asked.made(*EXECUTING) == []


@given(st.sampled_from(WISHES), st.sampled_from((", ", ". ", " - ", "; ")), st.sampled_from(WITHDRAWING))
@settings(max_examples=80, deadline=None)
def test_no_wish_survives_a_withdrawal_behind_it(wish: str, joint: str, withdrawing: str) -> None:
    """The last word counts."""
    asked = town()
    asked.say(f"{wish}{joint}{withdrawing}")
    assert asked.made(*EXECUTING) == []


@pytest.mark.parametrize(
    ("first", "answer"),
    [
        ("Book a haircut next Thursday at 10 am", "not the 22nd"),
        ("Book a haircut next Thursday at 10 am", "don't book the 22nd"),
        ("Book a facial on Friday at 2 pm", "not the deluxe one"),
        ("Book a facial on Friday at 2 pm", "I don't want the deluxe one"),
        ("Book a facial on Friday at 2 pm", "ok, actually don't"),
        ("Book a haircut on Friday at 10 pm", "not the 5 pm one"),
        ("Book a haircut on Friday at 10 pm", "should I take the 5 pm one?"),
        ("I can't make it on Friday", "don't cancel it"),
        ("I can't make it on Friday", "please don't"),
        ("Book a haircut with Dana on Friday at 10 am", "ok no"),
        ("Book a haircut Friday at 10 am for around $30", "not 100"),
        ("Book a haircut Friday at 10 am for around $30", "-100"),
        ("Book a haircut Friday at 10 am for around $30", "minus 100"),
        ("Book a haircut Friday at 10 am for around $30", "99999999999999999999"),
        ("Book a haircut Friday at 10 am for around $30", "100k"),
        ("Book a haircut Friday at 10 am for around $30", "0"),
        ("When is a haircut free tomorrow afternoon?", "don't book the 2 pm one"),
    ],
)
def test_an_answer_that_names_what_is_not_meant_takes_nothing(first: str, answer: str) -> None:
    """To name a choice is not to choose it."""
    asked = town()
    asked.say(first)
    asked.say(answer)
    assert asked.made(*EXECUTING) == []


def test_an_excluded_day_stays_excluded_in_later_answers() -> None:
    """Unless it is named after all."""
    asked = town()
    asked.say("Book a haircut, not on Monday")
    asked.say("next week")
    assert [hold["start"][:10] for hold in asked.made("hold_slot")] == ["2026-10-20"]
    named = town()
    named.say("Book a haircut, not on Monday")
    named.say("all right, Monday")
    assert [hold["start"][:10] for hold in named.made("hold_slot")] == ["2026-10-19"]


def test_the_booking_on_an_excluded_day_is_not_the_one_cancelled() -> None:
    """The only booking there is may be the very one that shall stay."""
    asked = town()
    asked.say("Cancel my appointment, not the Friday one")
    other = town()
    other.say("I can't make Thursday, please cancel my haircut")
    assert (asked.made("cancel_booking"), other.made("cancel_booking")) == ([], [])


def test_what_stands_beyond_the_part_that_is_read_is_not_ignored() -> None:
    """The end of a long message may take back its beginning."""
    asked = town()
    asked.say("Book a haircut Thursday at 2 pm. " + "la " * 1000 + "No, do not book it.")
    assert (asked.made(*EXECUTING), asked.last.outcome) == ([], Outcome.ASKS)


def test_what_was_done_before_is_not_said_to_be_undone() -> None:
    """Words that come too late change nothing, and the answer speaks only of themselves."""
    asked = town()
    asked.say("Book a haircut Thursday at 2 pm")
    said = asked.say("never mind")
    assert said == "All right, I leave it. On these words I have booked, moved and cancelled nothing."
