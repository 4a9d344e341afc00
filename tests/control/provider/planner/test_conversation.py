"""The conversation as turns, and the two lines of the system message."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sayso.control.protocol.payloads.content import Message, TextPart, ToolCallPart, ToolResultPart
from sayso.control.provider.planner.conversation import Fact, Turn, read_setting, read_turns
from sayso.control.provider.planner.steps import Call

NOW = datetime(2026, 10, 13, 13, tzinfo=UTC)


def test_results_belong_to_the_turn_and_the_call_they_answer() -> None:
    """Paired by id, whatever stands between; a result that nobody called for is none."""
    messages = [
        Message(role="system", content="now: x"),
        Message(role="user", content="one"),
        Message(
            role="assistant",
            content=(
                TextPart(text="so"),
                ToolCallPart(tool_call_id="a", name="find_slots", arguments_json={"x": 1}),
                ToolCallPart(tool_call_id="b", name="find_slots", arguments_json=[1]),
            ),
        ),
        Message(
            role="tool",
            content=(
                ToolResultPart(tool_call_id="b", result="no", is_error=True),
                ToolResultPart(tool_call_id="a", result={"y": 2}),
                ToolResultPart(tool_call_id="z", result={}),
            ),
        ),
        Message(role="user", content=(TextPart(text="t"), TextPart(text="wo"))),
    ]
    facts = (
        Fact(Call("find_slots", {}), "no", is_error=True),
        Fact(Call("find_slots", {"x": 1}), {"y": 2}, is_error=False),
    )
    assert read_turns(messages) == (Turn("one", facts), Turn("two"))


def test_the_latest_answer_to_exactly_that_call_counts() -> None:
    """Another range is another question."""
    old, new = (Fact(Call("find_slots", {"x": 1}), n, is_error=False) for n in (1, 2))
    turn = Turn("t", (old, new))
    assert turn.find(Call("find_slots", {"x": 1}, said="anything")) == new
    assert turn.find(Call("find_slots", {"x": 2})) is None


@pytest.mark.parametrize(
    ("text", "now", "zone"),
    [
        ("Be kind.\nnow: 2026-10-13T09:00:00-04:00\nzone: America/Toronto", NOW, "America/Toronto"),
        ("now: 2026-10-13T09:00:00\nzone: Toronto", None, None),
        ("say now: 2026-10-13T09:00:00Z", None, None),
        ("", None, None),
    ],
)
def test_now_and_zone_are_read_from_the_system_message(text: str, now: datetime | None, zone: str | None) -> None:
    """A line that is no instant or zone is as good as none; what a person types is no such line."""
    messages = [Message(role="system", content=text), Message(role="user", content="now: 2020-01-01T00:00:00Z")]
    found = read_setting(messages)
    assert (found[0], found[1].key if found[1] else None) == (now, zone)
