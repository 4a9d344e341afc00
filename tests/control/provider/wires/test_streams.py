"""Vendor streams that go wrong in the ways that were reported of other programs: B16-B19, B22, B23, on every wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from sayso.control.protocol.payloads.content import ReasoningPart, TextPart, ToolCallPart, Usage
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers import VENDORS, Said, Status, Stream, chat, faults, frame, generate, messages
from sayso.testing.vendor_servers.broken import resetting
from sayso.testing.vendor_servers.responses import ResponseScript
from tests.control.provider.wires.bench import (
    ALL,
    CHAT,
    GENERATE,
    MESSAGES,
    RESPONSES,
    Bench,
    Heard,
    open_bench,
)

pytestmark = pytest.mark.anyio
every_wire = pytest.mark.parametrize("wire", ALL)

TRICKY = 'data: {"a"}\u2028\u2029\u0085 żółw 🐢 end'
TURN = Said([Think("hm", "token"), Say("let me ", TRICKY), Call("look", {"path": TRICKY, "deep": {"n": [1, 2]}}, "c1")])


async def hear(wire: str, *frames: bytes, **more: Any) -> Heard:
    async with open_bench(wire, [Stream(frames, **more)]) as bench:
        return await bench.infer()


def frames_of(wire: str, said: Said) -> list[bytes]:
    return VENDORS[wire].stream(said)


@every_wire
@pytest.mark.parametrize("cut", [faults.every_byte, faults.crlf_cut, faults.bare_cr, faults.commented, list])
@pytest.mark.req("OAP-133", "OAP-131")
async def test_b16_b17_however_the_stream_is_cut_the_parts_are_the_same(
    wire: str, cut: Callable[[list[bytes]], list[bytes]], provider_schema: Any
) -> None:
    """A byte at a time, CR and LF apart, CR alone, with keepalives; U+2028 and `data: ` inside a text are text."""
    async with open_bench(wire, [Stream(cut(frames_of(wire, TURN)))], schema=provider_schema) as bench:
        heard = await bench.infer()
    thought, text, call = heard.parts
    assert isinstance(thought, ReasoningPart)
    assert isinstance(call, ToolCallPart)
    assert (thought.reasoning, text) == ("hm", TextPart(text="let me " + TRICKY))
    assert (call.tool_call_id, call.name, call.arguments_json) == (
        "c1",
        "look",
        {"path": TRICKY, "deep": {"n": [1, 2]}},
    )
    assert (heard.stop_reason, heard.types[-1]) == ("tool_use", "completed")


OVERLOADED: dict[str, list[bytes]] = {
    CHAT: [chat.chunk({"content": "half"}), frame({"error": {"message": "busy", "type": "server_error", "code": 503}}),
           frame("[DONE]")],
    RESPONSES: [frame({"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0,
                       "delta": "half"}),
                frame({"type": "response.failed", "response": {"status": "failed", "error":
                       {"code": "server_error", "message": "busy"}}})],
    MESSAGES: [messages.event("content_block_start", index=0, content_block={"type": "text", "text": "half"}),
               messages.event("error", error={"type": "overloaded_error", "message": "busy"})],
    GENERATE: [generate.chunk([{"text": "half"}]), frame({"error": {"code": 503, "message": "busy",
                                                                    "status": "UNAVAILABLE"}})],
}  # fmt: skip
CODES = {CHAT: "provider_unavailable", RESPONSES: "endpoint_error", MESSAGES: "provider_unavailable",
         GENERATE: "provider_unavailable"}  # fmt: skip


@every_wire
@pytest.mark.req("OAP-133")
async def test_b18_an_error_inside_a_stream_of_200_fails_the_inference(wire: str) -> None:
    """Mapped to the closed set, told once; what was streamed stays a part and never becomes a completed message."""
    heard = await hear(wire, *OVERLOADED[wire])
    assert heard.types[-2:] == ["part.delta", "failed"]
    assert (heard.deltas, heard.error.code, heard.error.retriable) == (["half"], CODES[wire], True)
    assert "busy" in heard.error.message


@every_wire
@pytest.mark.parametrize("odd", [[], {}, [429], {"code": 429}, True, 1.5, None, 10**18, "\u0000"])
@pytest.mark.req("OAP-133")
async def test_b18_an_error_of_another_shape_is_an_error_all_the_same(wire: str, odd: object) -> None:
    """Whatever type its members have, at any depth; nothing but a failure leaves the provider."""
    error = {"code": odd, "type": odd, "status": odd, "message": odd, "details": odd}
    for data in ({"type": "error", "error": error}, {"type": "response.failed", "response": {"error": error}}):
        heard = await hear(wire, frame(data))
        assert heard.types == ["create.response", "started", "failed"]
    heard = await hear(wire, frame({"type": "error", "error": {"error": error}}))
    assert heard.types[-1] == "failed"


@pytest.mark.parametrize(
    ("wire", "data", "code"),
    [
        (CHAT, {"error": "X"}, "endpoint_error"),
        (CHAT, {"error": {"code": "insufficient_quota", "message": "pay"}}, "resource_exhausted"),
        (CHAT, {"error": {"code": 429, "message": "slow"}}, "rate_limited"),
        (RESPONSES, {"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, "rate_limited"),
        (RESPONSES, {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}, "invalid_request"),
        (MESSAGES, {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}, "rate_limited"),
        (MESSAGES, {"error": {"type": "api_error", "message": "oops"}}, "endpoint_error"),
        (GENERATE, {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}, "rate_limited"),
    ],
)
@pytest.mark.req("OAP-132", "OAP-133")
async def test_b18_each_form_of_an_error_has_its_code(wire: str, data: dict[str, object], code: str) -> None:
    """An error in the first event is no empty success, not even with `[DONE]` behind it."""
    heard = await hear(wire, frame(data), frame("[DONE]"))
    assert (heard.types[-1], heard.error.code) == ("failed", code)


@every_wire
@pytest.mark.req("OAP-133")
async def test_b19_an_end_without_the_vendors_terminal_is_no_success(wire: str) -> None:
    """Cut before every event of the end; keepalives alone; nothing at all."""
    whole = frames_of(wire, Said([Say("one"), Call("look", {"a": 1}, "c1")], counted=None))
    last = {CHAT: 2, RESPONSES: 1, MESSAGES: 1, GENERATE: 1}[wire]
    for frames in ([], faults.comments_only(), whole[:2], whole[:-last]):
        heard = await hear(wire, *frames)
        assert (heard.error.code, heard.reason, heard.error.retriable) == ("provider_unavailable", "no_terminal", True)


@every_wire
@pytest.mark.req("OAP-133")
async def test_b19_comments_and_empty_events_are_passed_over(wire: str) -> None:
    """Keepalives do not end a stream and are no part of it."""
    heard = await hear(wire, *faults.commented(frames_of(wire, Said([Say("fine")]))))
    assert heard.parts == (TextPart(text="fine"),)


@every_wire
@pytest.mark.req("OAP-133")
async def test_b19_a_connection_that_breaks_is_no_end(wire: str) -> None:
    """Torn in the middle of the answer, and reset by the peer."""
    frames = frames_of(wire, Said([Say("one", "two")]))
    heard = await hear(wire, *frames[:3], is_torn=True)
    assert (heard.error.code, heard.error.retriable) == ("provider_unavailable", True)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n"
    async with resetting(head + b"".join(frames[:2])) as url, open_bench(wire, base_url=url) as bench:
        assert (await bench.infer()).error.code == "provider_unavailable"


@every_wire
@pytest.mark.parametrize(("ending", "reason"), [("length", "length"), ("filter", "content_filter")])
@pytest.mark.req("OAP-132", "OAP-133")
async def test_b19_a_cut_answer_says_what_cut_it(wire: str, ending: Any, reason: str) -> None:
    """`response.incomplete`, `max_tokens`, `MAX_TOKENS`, `length`: one closed word."""
    heard = await hear(wire, *frames_of(wire, Said([Say("as far as")], ending=ending)))
    assert (heard.stop_reason, heard.parts) == (reason, (TextPart(text="as far as"),))


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, MESSAGES])  # on the fourth, calls come whole
@pytest.mark.req("OAP-133")
async def test_b20_a_call_cut_by_the_limit_is_no_part_of_the_message(wire: str) -> None:
    """Half of its arguments is not a call; a call that was whole before it stays."""
    cut = Said([Call("look", {"a": 1}, "c1"), Call("write", '{"path":"a', "c2")], ending="length")
    heard = await hear(wire, *frames_of(wire, cut))
    assert heard.stop_reason == "length"
    assert heard.parts == (ToolCallPart(tool_call_id="c1", name="look", arguments_json={"a": 1}),)


@every_wire
@pytest.mark.parametrize("arguments", ['{"path":"a', '"text"', "[1]", "{} {}", '{"a":1}x', "nonsense", '{"a":1,"a":2}'])
@pytest.mark.req("OAP-133")
async def test_b20_a_call_that_is_no_object_is_never_executed(wire: str, arguments: str) -> None:
    """However the vendor ends the turn: nothing is repaired, and `{}` stands in for nothing."""
    heard = await hear(wire, *frames_of(wire, Said([Call("write", arguments, "c1")])))
    if wire == GENERATE and arguments == '{"a":1,"a":2}':
        return
    assert (heard.types[-1], heard.error.code) == ("failed", "endpoint_error")
    assert heard.reason in ("truncated_tool_call", "trailing_arguments")
    assert not any(kind == "part.ended" for kind in heard.types)


@every_wire
@pytest.mark.parametrize("arguments", ["", "  ", "{}", "{} ", "\n{}\n"])
@pytest.mark.req("OAP-133")
async def test_b22_empty_arguments_are_an_empty_object(wire: str, arguments: str) -> None:
    """No delta, blank deltas, `{}` with blanks around it."""
    if wire == GENERATE:
        arguments = "{}"
    heard = await hear(wire, *frames_of(wire, Said([Call("list", arguments, "c1")])))
    (call,) = heard.parts
    assert isinstance(call, ToolCallPart)
    assert (call.arguments_json, heard.stop_reason) == ({}, "tool_use")


@pytest.mark.req("OAP-133")
async def test_b22_a_call_whose_arguments_are_absent_has_none() -> None:
    """Google leaves `args` out; Anthropic says them where the block starts; OpenAI may say null."""
    heard = await hear(GENERATE, generate.chunk([{"functionCall": {"name": "list"}}], "STOP"))
    assert [part.arguments_json for part in heard.parts if isinstance(part, ToolCallPart)] == [{}]
    use = {"type": "tool_use", "id": "t", "name": "list", "input": {"all": True}}
    heard = await hear(
        MESSAGES,
        messages.event("content_block_start", index=0, content_block=use),
        messages.event("content_block_stop", index=0),
        messages.event("message_delta", delta={"stop_reason": "tool_use"}),
        messages.event("message_stop"),
    )
    assert [part.arguments_json for part in heard.parts if isinstance(part, ToolCallPart)] == [{"all": True}]
    call = {"index": 0, "id": "c", "function": {"name": "list", "arguments": None}}
    heard = await hear(CHAT, chat.chunk({"tool_calls": [call]}), chat.chunk({}, "tool_calls"))
    assert [part.arguments_json for part in heard.parts if isinstance(part, ToolCallPart)] == [{}]


def used(first: int, second: int) -> dict[str, object]:
    return {"usage": {"prompt_tokens": first, "completion_tokens": second, "total_tokens": first + second}}


USAGE: dict[str, list[bytes]] = {
    "behind, with no choices": [
        chat.chunk({"content": "x"}),
        chat.chunk({}, "stop"),
        chat.chunk(None, **used(2612, 8)),
    ],
    "on the finish": [chat.chunk({"content": "x"}), chat.chunk({}, "stop", **used(2612, 8))],
    "before an empty last chunk": [chat.chunk({"content": "x"}, **used(2612, 8)), chat.chunk({}, "stop", usage=None)],
    "growing": [chat.chunk({"content": "x"}, **used(2607, 0)), chat.chunk({}, "stop", **used(2612, 8))],
    "without a list of choices": [chat.chunk({"content": "x"}, "stop"), frame(used(2612, 8))],
}


@pytest.mark.parametrize("where", USAGE)
@pytest.mark.req("OAP-133")
async def test_b23_usage_is_read_wherever_it_stands(where: str) -> None:
    """Before the choices are looked at; the last figure counts."""
    heard = await hear(CHAT, *USAGE[where], frame("[DONE]"))
    assert heard.usage == Usage(input_tokens=2612, output_tokens=8, total_tokens=2620)


@every_wire
@pytest.mark.req("OAP-133")
async def test_b23_usage_that_is_absent_stays_absent(wire: str) -> None:
    """No estimate, no zero; and a figure that is none is not known."""
    assert (await hear(wire, *frames_of(wire, Said([Say("x")], counted=None)))).usage is UNSET
    assert (await hear(wire, *frames_of(wire, Said([Say("x")], counted=(-1, -1))))).usage in (
        UNSET, Usage(output_tokens=1), Usage(total_tokens=UNSET),
    )  # fmt: skip


@pytest.mark.req("OAP-133")
async def test_b23_figures_that_come_in_two_places_are_one_sum() -> None:
    """Anthropic counts what went in at the start, cached or not, and what came out at the end; Google counts thoughts
    apart.
    """
    start = {"usage": {"input_tokens": 2607, "cache_read_input_tokens": 100, "output_tokens": 1}}
    heard = await hear(
        MESSAGES,
        messages.event("message_start", message=start),
        messages.event("message_delta", delta={"stop_reason": "end_turn"},
                       usage={"input_tokens": 2612, "output_tokens": 8, "cache_read_input_tokens": None}),
        messages.event("message_stop"),
    )  # fmt: skip
    assert heard.usage == Usage(input_tokens=2712, output_tokens=8)
    heard = await hear(
        GENERATE,
        generate.chunk([{"text": "x"}], usageMetadata={"promptTokenCount": 5, "thoughtsTokenCount": 4}),
        generate.chunk([], "STOP", usageMetadata={"candidatesTokenCount": 3, "totalTokenCount": 12}),
    )
    assert heard.usage == Usage(input_tokens=5, output_tokens=7, total_tokens=12)


@every_wire
@pytest.mark.req("OAP-131", "OAP-133")
async def test_an_answer_that_is_no_event_stream_is_no_success(wire: str) -> None:
    """An error as JSON with status 200; a page; an event that is no JSON; one that is no object."""
    told = Status(200, {"error": {"message": "out of funds", "code": "insufficient_quota"}})
    page = Status(200, b"<html>", {"content-type": "text/html"})
    garbled, listed = Stream([b"data: {nope\n\n"]), Stream([b"data: []\n\n"])
    async with open_bench(wire, [told, page, garbled, listed]) as bench:
        errors = [(await bench.infer()).error for _ in range(4)]
    assert [error.code for error in errors] == ["resource_exhausted", *["endpoint_error"] * 3]
    assert [(error.details or {}).get("reason") for error in errors[1:]] == [  # type: ignore[union-attr]
        "not_a_stream", "malformed_event", "malformed_event",
    ]  # fmt: skip


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, MESSAGES])  # the fourth has no last word
@pytest.mark.req("OAP-133")
async def test_what_follows_the_vendors_last_word_is_not_heard(wire: str) -> None:
    """`[DONE]`, `message_stop` and `response.completed` end a stream even while the connection stays open."""
    frames = frames_of(wire, Said([Say("x")]))
    heard = await hear(wire, *frames, b"data: {broken\n\n", hangs=True)
    assert heard.parts == (TextPart(text="x"),)


@pytest.mark.req("OAP-132")
@pytest.mark.parametrize(
    ("wire", "frames", "reason"),
    [
        (CHAT, [chat.chunk({"content": "x"}, "eos_of_some_kind")], "error"),
        (CHAT, [chat.chunk({"content": "x"}, "tool_calls")], "stop"),
        (MESSAGES, [messages.event("message_delta", delta={"stop_reason": "new_thing"}),
                    messages.event("message_stop")], "error"),
        (MESSAGES, [messages.event("message_delta", delta={"stop_reason": "pause_turn"}),
                    messages.event("message_stop")], "stop"),
        (GENERATE, [generate.chunk([{"text": "x"}], "OTHER")], "error"),
        (GENERATE, [generate.chunk([], "RECITATION")], "content_filter"),
        (GENERATE, [frame({"promptFeedback": {"blockReason": "SAFETY"}})], "content_filter"),
    ],
)  # fmt: skip
async def test_every_reason_becomes_one_of_the_closed_set(wire: str, frames: list[bytes], reason: str) -> None:
    """A reason nobody knows is `error`, and calls that never came make no `tool_use`."""
    assert (await hear(wire, *frames)).stop_reason == reason


@pytest.mark.req("OAP-133")
async def test_a_call_that_google_calls_malformed_is_a_failure() -> None:
    """The model tried to call and the vendor dropped it: an empty success would hide that."""
    heard = await hear(GENERATE, generate.chunk([], "MALFORMED_FUNCTION_CALL"))
    assert (heard.error.code, heard.reason) == ("endpoint_error", "malformed_tool_call")


@every_wire
@pytest.mark.req("OAP-131")
async def test_a_slow_stream_is_heard_as_it_comes(wire: str) -> None:
    """Each piece is told before the next one is sent: nothing is held back to the end."""
    frames = frames_of(wire, Said([Say("one", "two", "three")]))
    async with open_bench(wire, [Stream(frames, drips=True)]) as bench:
        seen = await drip(bench, len(frames))
    assert seen == ["one", "two", "three"]


async def drip(bench: Bench, count: int) -> list[str]:
    seen: list[str] = []

    async def let_go() -> None:
        for _ in range(count):
            await bench.server.sent()
            bench.server.drip()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(let_go)
        seen += (await bench.infer()).deltas
    return seen


@pytest.mark.req("OAP-131")
async def test_thoughts_of_several_paragraphs_are_one_part() -> None:
    """OpenAI streams a summary in parts; they are paragraphs of one reasoning item with one carry."""
    script = ResponseScript()
    place = {"item_id": "rs_0", "output_index": 0}
    for number, text in enumerate(("first", "second")):
        script.event("response.reasoning_summary_text.delta", **place, summary_index=number, delta=text)
    item = {"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "e"}
    script.event("response.output_item.done", output_index=0, item=item)
    script.end(Said([]))
    (thought,) = (await hear(RESPONSES, *script.frames)).parts
    assert isinstance(thought, ReasoningPart)
    assert (thought.reasoning, '"encrypted_content":"e"' in str(thought.carry)) == ("first\n\nsecond", True)


@every_wire
@pytest.mark.req("OAP-131")
async def test_one_connection_serves_one_inference_after_another(wire: str) -> None:
    """The end of an answer is read after its terminal was told, so that the next request needs no new connection."""
    async with open_bench(wire, [Said([Say("x")])] * 3) as bench:
        for _ in range(3):
            await bench.infer()
        assert len({received.client for received in bench.server.received}) == 1
