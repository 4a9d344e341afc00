"""A vendor that gave a turn something to carry sees whether it comes back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sayso.control.protocol.payloads.content import ContentPart, Message, ReasoningPart, ToolCallPart, ToolResultPart
from sayso.control.protocol.payloads.inference import InferenceTool
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers import Said
from tests.control.provider.wires.bench import ALL, CHAT, ask, open_bench

pytestmark = pytest.mark.anyio
TURN = Said([Think("a thought", "token/+="), Say("let me"), Call("look", {"q": "x"}, "c1")])
FINE = Said([Say("fine")])
LOOK = InferenceTool(name="look", input_schema={"type": "object"})
Change = Callable[[ContentPart], ContentPart | None]


async def second_turn(wire: str, change: Change) -> str:
    """How the vendor answers the result, with the first turn's parts as `change` leaves them."""
    async with open_bench(wire, [TURN, FINE], keeps_carries=True) as bench:
        said = (await bench.infer(ask(tools=(LOOK,)))).end.message
        kept = tuple(part for each in said.content if (part := change(each)) is not None)
        result = Message(role="tool", content=(ToolResultPart(tool_call_id="c1", result="found"),))
        asked = (Message(role="user", content="go"), Message(role="assistant", content=kept), result)
        heard = await bench.infer(ask(asked, tools=(LOOK,)))
        return heard.stop_reason if heard.types[-1] == "completed" else heard.error.code


def untouched(part: ContentPart) -> ContentPart:
    return part


def dropped(part: ContentPart) -> ContentPart | None:
    if isinstance(part, ToolCallPart):
        return ToolCallPart(tool_call_id=part.tool_call_id, name=part.name, arguments_json=part.arguments_json)
    return None if isinstance(part, ReasoningPart) else part


def changed(part: ContentPart) -> ContentPart:
    if isinstance(part, ReasoningPart) and part.carry is not UNSET:
        return ReasoningPart(reasoning=part.reasoning, carry=part.carry.replace("token", "forged"))
    return part


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-131")
async def test_two_turns_round_trip_with_everything_they_carry(wire: str) -> None:
    """As the parts ended, so they go back, and the model goes on."""
    assert await second_turn(wire, untouched) == "stop"


@pytest.mark.parametrize("wire", [wire for wire in ALL if wire != CHAT])
@pytest.mark.parametrize("change", [dropped, changed])
async def test_what_is_lost_or_changed_is_seen(wire: str, change: Change) -> None:
    """So the test above can fail."""
    assert await second_turn(wire, change) == "invalid_request"
