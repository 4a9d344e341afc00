"""The decision as a whole: pure, unshakable by what tools answer, and without a word of the demonstration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sayso.control.provider.planner as package
from sayso.control.protocol.payloads.content import Message
from sayso.control.provider.planner.plan import INTRODUCTION, plan
from sayso.control.provider.planner.steps import Call, Outcome, Say
from tests.control.provider.planner.shop import NOW, TOOLS, ZONE, Town, booked

MEMBERS = (
    "hosts services host service_id title total amount currency slots start bookings booking_id what status hold_id "
    "refused reason message details alternatives could_not_be_read more_from"
)
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
JSON = st.recursive(
    SCALARS | st.sampled_from(["2026-10-14T10:00:00-04:00", "5.00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS.split()), inner, max_size=5),
    max_leaves=25,
)
WISHES = (
    "Book a trim tomorrow at 10 am",
    "Cancel my trim",
    "Move my trim to Friday",
    "What do I have?",
    "what is free?",
)


@given(st.sampled_from(WISHES), st.lists(JSON, min_size=8, max_size=8))
@settings(max_examples=200, deadline=None)
def test_whatever_tools_answer_the_planner_comes_to_an_end(wish: str, answers: list[object]) -> None:
    """A tool may answer anything; the planner ends with words and never with an exception."""
    left = list(answers)
    town = Town(answers={tool: lambda _: left.pop() if left else {} for tool in TOOLS})
    assert town.say(wish)


@given(st.lists(st.text(max_size=40) | st.sampled_from(WISHES), max_size=4))
@settings(max_examples=100, deadline=None)
def test_the_same_conversation_gets_the_same_step(texts: list[str]) -> None:
    """Nothing is kept between calls."""
    messages = tuple(Message(role="user", content=text) for text in texts)
    first = plan(messages, TOOLS, NOW, ZONE)
    assert plan(messages, TOOLS, NOW, ZONE) == first
    assert isinstance(first, Call | Say)


@pytest.mark.parametrize("words", ["hello", "What is the capital of France?", "write me a poem about spring", ""])
def test_what_is_not_understood_is_said_with_what_it_is(words: str) -> None:
    """No language model, and no pretending."""
    town = Town()
    assert (town.say(words), town.last.outcome, town.calls) == (INTRODUCTION, Outcome.REFUSED, [])


def test_a_tool_that_is_not_there_is_never_called() -> None:
    """It says which one it lacks."""
    town = Town(tools=("discover_host",), bookings=[booked("b", "Beard trim", "2026-10-15T13:00")])
    assert town.say("Cancel my trim").startswith("I cannot do that here: it needs the tool booking_status")


def test_no_word_of_the_demonstration_stands_in_the_source() -> None:
    """It understands what tools reveal and what people say; it was taught no shop, service or sentence."""
    words = r"oil|maple|auto|sam|alex|tires?|tyres?|brakes?|detailing|haircut|toronto|main street"
    demo = re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    sources = sorted(Path(package.__file__).parent.rglob("*.py"))
    found = [f"{path.name}: {word}" for path in sources for word in demo.findall(path.read_text(encoding="utf-8"))]
    assert (len(sources) > 20, found) == (True, [])
