"""A history every provider accepts, whatever happened to the run that wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.loop.history import calls_in, repair
from sayso.control.protocol.payloads.content import (
    ContentPart,
    Message,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    text_of,
)

IDS = st.sampled_from(["a", "b", "c"])
PARTS: st.SearchStrategy[ContentPart] = st.one_of(
    st.builds(TextPart, text=st.sampled_from(["x", "y"])),
    st.builds(ToolCallPart, tool_call_id=IDS, name=st.just("look"), arguments_json=st.just({})),
    st.builds(ToolResultPart, tool_call_id=IDS, result=st.integers(0, 3)),
)
CONTENT = st.one_of(st.just("said"), st.lists(PARTS, min_size=1, max_size=4).map(tuple))
HISTORIES = st.lists(
    st.builds(Message, role=st.sampled_from(["user", "assistant", "tool"]), content=CONTENT), max_size=6
)


def call(name: str) -> ToolCallPart:
    return ToolCallPart(tool_call_id=name, name="look", arguments_json={})


def result(name: str, value: object = 1) -> ToolResultPart:
    return ToolResultPart(tool_call_id=name, result=value)


def parts_of(message: Message) -> tuple[ContentPart, ...]:
    return () if isinstance(message.content, str) else message.content


def is_sound(history: tuple[Message, ...]) -> bool:
    """Each message that calls is followed by exactly its results, and no result stands anywhere else."""
    owed: list[str] = []
    for message in history:
        results = [part.tool_call_id for part in parts_of(message) if isinstance(part, ToolResultPart)]
        if results != owed or (owed and message.role != "tool"):
            return False
        owed = [part.tool_call_id for part in calls_in(message)]
    return owed == []


@given(HISTORIES)
def test_a_repaired_history_answers_each_call_once_and_right_behind_it(history: list[Message]) -> None:
    """Any mixture of calls, results, repetitions and texts becomes sound."""
    assert is_sound(repair(history))


@given(HISTORIES)
def test_repairing_twice_is_repairing_once(history: list[Message]) -> None:
    """A sound history comes back as it is."""
    once = repair(history)
    assert repair(once) == once


@given(HISTORIES)
def test_nothing_that_was_said_is_lost(history: list[Message]) -> None:
    """Text of the user and the model survives in its order."""
    texts = [text_of(message.content) for message in history if message.role != "tool"]
    after = [text_of(message.content) for message in repair(history) if message.role != "tool"]
    assert [text for text in after if text] == [text for text in texts if text]


@pytest.mark.req("OAP-013")
def test_an_interrupted_call_gets_a_result_that_says_so() -> None:
    """The next request does not fail for ever because one run was cancelled (B25)."""
    history = (Message(role="assistant", content=(call("a"), call("b"))), Message(role="tool", content=(result("a"),)))
    answers = parts_of(repair(history)[1])
    assert answers[0] == result("a")
    assert isinstance(answers[1], ToolResultPart)
    assert (answers[1].tool_call_id, answers[1].is_error) == ("b", True)


def test_results_nobody_asked_for_are_dropped() -> None:
    """A result before its call, and a second result."""
    history = (
        Message(role="tool", content=(result("a", 1),)),
        Message(role="assistant", content=(call("a"),)),
        Message(role="tool", content=(result("a", 2), result("a", 3), result("z", 4))),
    )
    assert repair(history) == (history[1], Message(role="tool", content=(result("a", 2),)))
