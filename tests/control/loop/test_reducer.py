"""What provider envelopes amount to for a person who watches."""

from __future__ import annotations

import pytest

from sayso.control.loop.reducer import add_usage, spoken
from sayso.control.protocol.payloads.content import Message, ReasoningPart, TextPart, ToolCallPart, Usage
from sayso.control.protocol.payloads.scalars import UNSET, Maybe

THOUGHT = ReasoningPart(reasoning="hm", carry="opaque")
CALL = ToolCallPart(tool_call_id="a", name="look", arguments_json={})


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message(role="assistant", content="hello"), "hello"),
        (Message(role="assistant", content=(THOUGHT, CALL)), (THOUGHT,)),
        (Message(role="assistant", content=(CALL,)), ""),
        (Message(role="assistant", content=(TextPart(text="a"), CALL)), (TextPart(text="a"),)),
    ],
)
def test_a_final_response_is_what_was_said_without_the_calls(message: Message, expected: object) -> None:
    """Calls are told as events of their own; carries stay with the reasoning."""
    assert spoken(message).content == expected


def test_what_the_model_says_of_its_turn_stays_with_the_response() -> None:
    """Metadata of the message is the provider's word to whoever shows it."""
    message = Message(role="assistant", content=(TextPart(text="a"), CALL), metadata={"dev.sayso.outcome": "done"})
    assert spoken(message).metadata == {"dev.sayso.outcome": "done"}


@pytest.mark.parametrize(
    ("one", "other", "total"),
    [
        (UNSET, UNSET, UNSET),
        (Usage(input_tokens=1), UNSET, Usage(input_tokens=1)),
        (UNSET, Usage(output_tokens=2), Usage(output_tokens=2)),
        (Usage(input_tokens=1), Usage(output_tokens=2), Usage(input_tokens=1, output_tokens=2)),
        (Usage(total_tokens=1), Usage(total_tokens=2), Usage(total_tokens=3)),
    ],
)
def test_absent_tokens_stay_absent(one: Maybe[Usage], other: Maybe[Usage], total: Maybe[Usage]) -> None:
    """Unknown is not zero (B23)."""
    assert add_usage(one, other) == total
