"""Which call a piece belongs to (B21), at the parts manager and over the wires that stream calls in pieces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.control.protocol.payloads.content import ToolCallPart
from sayso.control.provider.parts import Ended, Parts
from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.testing.vendor_servers import Stream, chat, frame, generate, messages
from sayso.testing.vendor_servers.responses import ResponseScript
from sayso.testing.vendor_servers.turns import Said
from tests.control.provider.wires.bench import CHAT, GENERATE, MESSAGES, RESPONSES, Heard, open_bench

Piece = dict[str, Any]


def tell(*pieces: Piece) -> list[tuple[str, str, object]]:
    """The calls made of these pieces: id, name, arguments."""
    count = iter(range(9))
    parts = Parts(lambda given: given or f"minted_{next(count)}")
    events = []
    for piece in pieces:
        events += parts.call(piece.get("args", ""), call_id=piece.get("id"), index=piece.get("i"), name=piece.get("n"))
    ended = [event.part for event in [*events, *parts.finish()] if isinstance(event, Ended)]
    return [(part.tool_call_id, part.name, part.arguments_json) for part in ended if isinstance(part, ToolCallPart)]


A1, B2 = ("a", "look", {"x": 1}), ("b", "find", {"y": 2})
TOLD: dict[str, tuple[list[Piece], list[tuple[str, str, object]]]] = {
    "two calls share an index": (
        [{"i": 0, "id": "a", "n": "look"}, {"i": 0, "args": '{"x":1}'}, {"i": 0, "id": "b", "n": "find"},
         {"i": 0, "args": '{"y":2}'}], [A1, B2]),
    "an id is known under another index": (
        [{"i": 0, "id": "a", "n": "look", "args": '{"x"'}, {"i": 1, "id": "b", "n": "find", "args": '{"y"'},
         {"i": 5, "id": "a", "args": ":1}"}, {"i": 0, "id": "b", "args": ":2}"}], [A1, B2]),
    "no index at all": (
        [{"id": "a", "n": "look"}, {"args": '{"x"'}, {"args": ":1}"}, {"id": "b", "n": "find"}, {"args": '{"y":2}'}],
        [A1, B2]),
    "arguments drift to a new index": (
        [{"i": 0, "id": "a", "n": "look"}, {"i": 1, "args": '{"x"'}, {"i": 2, "args": ":1}"}], [A1]),
    "told in turns": (
        [{"i": 0, "id": "a", "n": "look"}, {"i": 1, "id": "b", "n": "find"}, {"i": 0, "args": '{"x":1}'},
         {"i": 1, "args": '{"y":2}'}], [A1, B2]),
    "name and id said with every piece": (
        [{"i": 0, "id": "a", "n": "look", "args": '{"x"'}, {"i": 0, "id": "a", "n": "look", "args": ":1}"}], [A1]),
    "no id": ([{"i": 0, "n": "look", "args": '{"x":1}'}, {"i": 1, "n": "find", "args": '{"y":2}'}],
              [("minted_0", "look", {"x": 1}), ("minted_1", "find", {"y": 2})]),
    "the name comes late": (
        [{"i": 0, "id": "a"}, {"i": 0, "args": '{"x"'}, {"i": 0, "n": "look", "args": ":1}"}], [A1]),
    "the id comes late": ([{"i": 0, "n": "look"}, {"i": 0, "id": "z", "args": '{"x":1}'}],
                          [("minted_0", "look", {"x": 1})]),
}  # fmt: skip

UNTOLD: dict[str, tuple[list[Piece], str]] = {
    "a new index while two are open": (
        [{"i": 0, "id": "a", "n": "look", "args": "{"}, {"i": 1, "id": "b", "n": "find", "args": "{"},
         {"i": 7, "args": "}"}], "ambiguous_tool_call"),
    "a new index behind a whole call": (
        [{"i": 0, "id": "a", "n": "look", "args": '{"x":1}'}, {"i": 1, "args": '{"y":2}'}], "ambiguous_tool_call"),
    "nothing said while an earlier one is open": (
        [{"id": "a", "n": "look", "args": '{"x'}, {"id": "b", "n": "find", "args": '{"y'}, {"args": '":1}'}],
        "ambiguous_tool_call"),
    "two names under one index and no ids": ([{"i": 0, "n": "look"}, {"i": 0, "n": "find"}], "ambiguous_tool_call"),
    "the same name again and nothing else": ([{"n": "look"}, {"n": "look"}], "ambiguous_tool_call"),
    "a call changes its name": ([{"id": "a", "n": "look"}, {"id": "a", "n": "find"}], "ambiguous_tool_call"),
    "arguments before any call": ([{"args": "{}"}], "unnamed_tool_call"),
    "a call without a name": ([{"i": 0, "id": "a", "args": "{}"}], "unnamed_tool_call"),
    "two objects in one call": ([{"i": 0, "id": "a", "n": "look", "args": "{}"}, {"i": 0, "args": "{}"}],
                                "trailing_arguments"),
}  # fmt: skip


@pytest.mark.parametrize("how", TOLD)
@pytest.mark.req("OAP-133")
def test_b21_a_piece_finds_its_call(how: str) -> None:
    """A seen id wins over the index, a new id is a new call, neither continues the one under way."""
    pieces, calls = TOLD[how]
    assert tell(*pieces) == calls


@pytest.mark.parametrize("how", UNTOLD)
@pytest.mark.req("OAP-133")
def test_b21_a_piece_that_may_belong_to_two_calls_fails(how: str) -> None:
    """Never merged, never guessed."""
    pieces, reason = UNTOLD[how]
    with pytest.raises(Refused) as caught:
        tell(*pieces)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("endpoint_error", reason)


VALUES = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), st.integers(-9, 9) | st.text(max_size=4),
                         max_size=3)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(wanted=st.lists(VALUES, min_size=1, max_size=3), data=st.data())
@pytest.mark.req("OAP-133")
def test_b21_calls_told_in_any_turns_stay_apart(wanted: list[dict[str, object]], data: st.DataObject) -> None:
    """Each piece under its id or its index, in any interleaving that keeps each call's own order."""
    queues: list[list[Piece]] = []
    for number, arguments in enumerate(wanted):
        text = strictjson.encode(arguments).decode()
        cut = data.draw(st.integers(0, len(text)))
        first = {"i": number, "id": f"c{number}", "n": f"n{number}", "args": text[:cut]}
        by = data.draw(st.sampled_from([{"i": number}, {"id": f"c{number}"}, {"id": f"c{number}", "i": 9 - number}]))
        queues.append([first, {**by, "args": text[cut:]}])
    pieces = [queue.pop(0) for queue in queues]
    while any(queues):
        queue = data.draw(st.sampled_from([queue for queue in queues if queue]))
        pieces.append(queue.pop(0))
    assert tell(*pieces) == [(f"c{n}", f"n{n}", arguments) for n, arguments in enumerate(wanted)]


async def hear(wire: str, *frames: bytes) -> Heard:
    async with open_bench(wire, [Stream(frames)]) as bench:
        return await bench.infer()


def calls_in(heard: Heard) -> list[tuple[str, str, object]]:
    return [(p.tool_call_id, p.name, p.arguments_json) for p in heard.parts if isinstance(p, ToolCallPart)]


def chat_piece(piece: Piece) -> bytes:
    function = {"name": piece.get("n"), "arguments": piece.get("args", "")}
    call = {"index": piece.get("i"), "id": piece.get("id"), "type": "function", "function": function}
    return chat.chunk({"tool_calls": [{name: value for name, value in call.items() if value is not None}]})


@pytest.mark.anyio
@pytest.mark.parametrize("how", [*TOLD, *UNTOLD])
@pytest.mark.req("OAP-131", "OAP-133")
async def test_b21_chat_completions(how: str) -> None:
    """The same over the wire; calls told in turns are parts that are open side by side."""
    pieces = (TOLD.get(how) or UNTOLD[how])[0]
    heard = await hear(CHAT, *map(chat_piece, pieces), chat.chunk({}, "tool_calls"), frame("[DONE]"))
    if how in UNTOLD:
        assert (heard.error.code, heard.reason) == ("endpoint_error", UNTOLD[how][1])
    else:
        assert [call[1:] for call in calls_in(heard)] == [call[1:] for call in TOLD[how][1]]


@pytest.mark.anyio
@pytest.mark.req("OAP-133")
async def test_b21_responses() -> None:
    """The item's id decides, whatever its output index says; what ends replaces what was streamed."""
    script = ResponseScript()
    for number, (call_id, name) in enumerate((("a", "look"), ("b", "find"))):
        item = {"type": "function_call", "id": f"fc{number}", "call_id": call_id, "name": name, "arguments": ""}
        script.event("response.output_item.added", output_index=0, item=item)
    for item_id, piece in (("fc0", '{"x"'), ("fc1", '{"y"'), ("fc0", ":1}"), ("fc1", ":3}")):
        script.event("response.function_call_arguments.delta", item_id=item_id, output_index=0, delta=piece)
    for number, text in enumerate(('{"x":1}', '{"y":2}')):
        item = {"type": "function_call", "id": f"fc{number}", "call_id": "ab"[number], "name": ("look", "find")[number],
                "arguments": text}  # fmt: skip
        script.event("response.output_item.done", output_index=number, item=item)
    script.end(Said([]))
    assert calls_in(await hear(RESPONSES, *script.frames)) == [A1, B2]


def block(index: int | None, kind: str, **more: object) -> bytes:
    named: dict[str, object] = {} if index is None else {"index": index}
    return messages.event(f"content_block_{kind}", **named, **more)


def use(call_id: str, name: str) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def said(text: str) -> dict[str, object]:
    return {"type": "input_json_delta", "partial_json": text}


END = [messages.event("message_delta", delta={"stop_reason": "tool_use"}), messages.event("message_stop")]


@pytest.mark.anyio
@pytest.mark.req("OAP-133")
async def test_b21_messages() -> None:
    """Blocks told in turns stay apart; deltas without an index continue the one block; a lost index is refused."""
    turns = [
        block(0, "start", content_block=use("a", "look")), block(1, "start", content_block=use("b", "find")),
        block(0, "delta", delta=said('{"x":1}')), block(1, "delta", delta=said('{"y":2}')), block(0, "stop"),
        block(1, "stop"),
    ]  # fmt: skip
    assert calls_in(await hear(MESSAGES, *turns, *END)) == [A1, B2]
    bare = [block(None, "start", content_block=use("a", "look")), block(None, "delta", delta=said('{"x":1}'))]
    assert calls_in(await hear(MESSAGES, *bare, *END)) == [A1]
    lost = [*turns[:2], block(7, "delta", delta=said('{"x":1}'))]
    heard = await hear(MESSAGES, *lost, *END)
    assert (heard.error.code, heard.reason) == ("endpoint_error", "ambiguous_tool_call")


@pytest.mark.anyio
@pytest.mark.req("OAP-133")
async def test_b21_generate_content() -> None:
    """Calls come whole: two of one name are two calls, with ids of their own where the vendor gave none."""
    twice = [{"functionCall": {"name": "look", "args": {"x": n}}} for n in (1, 2)]
    heard = await hear(GENERATE, generate.chunk(twice), generate.chunk([], "STOP"))
    first, second = calls_in(heard)
    assert (first[1:], second[1:]) == (("look", {"x": 1}), ("look", {"x": 2}))
    assert first[0] != second[0]
    nameless = generate.chunk([{"functionCall": {"args": {}}}], "STOP")
    assert (await hear(GENERATE, nameless)).reason == "unnamed_tool_call"
