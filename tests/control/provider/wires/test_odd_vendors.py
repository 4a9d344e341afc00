"""What vendors do beside their formats, and what an answer survives of it (OAP-130, OAP-132, OAP-133)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sayso.control.protocol.payloads.content import Message, TextPart, ToolCallPart, ToolResultPart, Usage
from sayso.control.protocol.payloads.inference import ReasoningRequest
from sayso.control.provider.wires.faults import failure_of_status
from sayso.core import strictjson
from sayso.testing.provider import Call, Say
from sayso.testing.vendor_servers import Said, Status, Stream
from tests.control.provider.wires.bench import ALL, CHAT, GENERATE, MESSAGES, PATIENCE, RESPONSES, ask, open_bench

every_wire = pytest.mark.parametrize("wire", ALL)
FINE = Said([Say("fine")])
THINKING = ReasoningRequest(effort="high")


def raw(*chunks: bytes) -> Stream:
    """A chat stream of these events, and an end."""
    end = b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
    return Stream([b"data: " + chunk + b"\n\n" for chunk in (*chunks, end)])


def said(text: bytes) -> bytes:
    return b'{"choices":[{"index":0,"delta":{"content":"' + text + b'"}}]}'


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([rb"a\ud83d", rb"\ude00b"], "a\ufffd\ufffdb"),
        ([rb"\ud83d\ude00"], "\U0001f600"),
        ([rb"\\ud83d \ud83dx \"\\"], '\\ud83d \ufffdx "\\'),
        ([b"a\xffb", b"\xf0\x9f"], "a\ufffdb\ufffd"),
    ],
)
@pytest.mark.req("OAP-133")
async def test_half_a_character_costs_no_answer(pieces: list[bytes], whole: str) -> None:
    """A server that cuts texts in the middle of a character, or sends bytes that are none."""
    async with open_bench(CHAT, [raw(*map(said, pieces))]) as bench:
        heard = await bench.infer()
    assert heard.parts == (TextPart(text=whole),)


@pytest.mark.anyio
@pytest.mark.parametrize("number", [b"18446744073709551615", b"-99999999999999999999", b"1e400", b"9" * 400])
@pytest.mark.req("OAP-133")
async def test_a_number_nobody_can_hold_is_unknown_and_costs_no_answer(number: bytes) -> None:
    """A seed of 64 bits without a sign, and figures that are none."""
    seeded = b'{"choices":[{"index":0,"seed":' + number + b',"delta":{"content":"a \\"1e999\\" b"}}]}'
    counted = b'{"choices":[],"usage":{"prompt_tokens":' + number + b',"completion_tokens":3}}'
    async with open_bench(CHAT, [raw(seeded, counted)]) as bench:
        heard = await bench.infer()
    assert (heard.parts, heard.usage) == ((TextPart(text='a "1e999" b'),), Usage(output_tokens=3))


@pytest.mark.anyio
@pytest.mark.parametrize("odd", [rb"{\"a\":\"\ud83d\"}", b'{\\"a\\":\\"\xff\\"}'])
@pytest.mark.req("OAP-133")
async def test_half_a_character_in_a_call_fails_it(odd: bytes) -> None:
    """What a tool does is done: nothing in its arguments is guessed (B20)."""
    called = b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"write",'
    async with open_bench(CHAT, [raw(called + b'"arguments":"' + odd + b'"}}]}}]}')]) as bench:
        heard = await bench.infer()
    assert (heard.error.code, heard.reason) == ("endpoint_error", "malformed_event")


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-131", "OAP-133")
async def test_a_call_id_that_was_given_before_names_no_second_call(wire: str) -> None:
    """Some servers count from zero in every answer, and one id is one call to whoever reads the history (B25)."""
    earlier = (
        Message(role="user", content="go"),
        Message(role="assistant", content=(ToolCallPart(tool_call_id="c0", name="look", arguments_json={"q": 1}),)),
        Message(role="tool", content=(ToolResultPart(tool_call_id="c0", result="one"),)),
    )
    async with open_bench(wire, [Said([Call("look", {"q": 2}, "c0"), Call("look", {"q": 3}, "c1")]), FINE]) as bench:
        heard = await bench.infer(ask(earlier))
        calls = [part for part in heard.parts if isinstance(part, ToolCallPart)]
        results = tuple(ToolResultPart(tool_call_id=call.tool_call_id, result="more") for call in calls)
        answered = (*earlier, heard.end.message, Message(role="tool", content=results))
        assert (await bench.infer(ask(answered))).stop_reason == "stop"
    assert [call.tool_call_id == name for call, name in zip(calls, ("c0", "c1"), strict=True)] == [False, True]
    assert bench.server.received[-1].text.count('"more"') == 2


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("nothing", ["", " \n\t"])
@pytest.mark.req("OAP-130")
async def test_a_conversation_that_says_nothing_is_refused_at_create(wire: str, nothing: str) -> None:
    """No vendor takes it, and none is asked."""
    async with open_bench(wire, [FINE]) as bench:
        heard = await bench.infer(ask(nothing))
    assert (heard.types, heard.error.code, bench.server.received) == (["create.response"], "invalid_request", [])


@pytest.mark.anyio
@pytest.mark.req("OAP-133")
async def test_anthropic_is_sent_no_blank_text_and_no_empty_error() -> None:
    """It refuses both, in this turn and in every later one (B25)."""
    call = ToolCallPart(tool_call_id="c1", name="look", arguments_json={})
    history = (
        Message(role="user", content="go"),
        Message(role="assistant", content=(TextPart(text="\n\n"), call)),
        Message(role="tool", content=(ToolResultPart(tool_call_id="c1", result="", is_error=True),)),
    )
    async with open_bench(MESSAGES, [FINE]) as bench:
        assert (await bench.infer(ask(history))).stop_reason == "stop"
        blocks = [block for turn in bench.sent["messages"] for block in turn["content"]]
    assert [block["type"] for block in blocks] == ["text", "tool_use", "tool_result"]
    assert blocks[2]["content"] == "it failed and said nothing"


OLDER: dict[str, tuple[str, Any, Any]] = {
    "anthropic": (MESSAGES, "adaptive thinking is not supported on this model",
                  lambda body: body["thinking"] == {"type": "enabled", "budget_tokens": 16384}
                  and "output_config" not in body),
    "anthropic's effort": (MESSAGES, "This model does not support the effort parameter.",
                           lambda body: body["thinking"]["type"] == "enabled"),
    "google": (GENERATE, "Thinking level is not supported for this model.",
               lambda body: body["generationConfig"]["thinkingConfig"]
               == {"includeThoughts": True, "thinkingBudget": 16384}),
    "openai": (RESPONSES, "Encrypted content is not supported with this model.", lambda body: "include" not in body),
}  # fmt: skip


def refusal(message: str) -> Status:
    return Status(400, {"error": {"type": "invalid_request_error", "status": "INVALID_ARGUMENT", "message": message}})


@pytest.mark.anyio
@pytest.mark.parametrize("which", OLDER)
@pytest.mark.req("OAP-130", "OAP-133")
async def test_an_older_model_is_asked_once_more_in_its_own_way_and_then_always(which: str) -> None:
    """What is asked for stays; how it is said is what the vendor said no to."""
    wire, message, is_older = OLDER[which]
    async with open_bench(wire, [refusal(message), FINE, FINE]) as bench:
        heard = [await bench.infer(ask(reasoning=THINKING)), await bench.infer(ask(reasoning=THINKING, name="q2"))]
        bodies = [received.body for received in bench.server.received]
    assert [each.stop_reason for each in heard] == ["stop"] * 2
    assert [is_older(body) for body in bodies] == [False, True, True]


@pytest.mark.anyio
@pytest.mark.req("OAP-133")
async def test_a_no_that_another_way_does_not_lift_is_told_and_changes_nothing() -> None:
    """The first no is the answer; the next inference is asked as the first was."""
    first, second = "messages.1: a thinking block must come first", "thinking.type.enabled is not supported here"
    async with open_bench(MESSAGES, [refusal(first), refusal(second), FINE]) as bench:
        told = await bench.infer(ask(reasoning=THINKING))
        assert (await bench.infer(ask(reasoning=THINKING, name="q2"))).stop_reason == "stop"
        kinds = [received.body["thinking"]["type"] for received in bench.server.received]
    assert (told.error.code, first in told.error.message) == ("invalid_request", True)
    assert kinds == ["adaptive", "enabled", "adaptive"]


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-133")
async def test_a_no_about_something_else_is_asked_once(wire: str) -> None:
    """Nor is anything asked again of whoever did not ask to think."""
    answers = [refusal("tools.0.name: too many letters"), refusal("thinking cannot be set")]
    async with open_bench(wire, answers) as bench:
        codes = [(await bench.infer(ask(reasoning=THINKING))).error.code, (await bench.infer(ask())).error.code]
    assert (codes, len(bench.server.received)) == (["invalid_request"] * 2, 2)


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-135")
async def test_two_hundred_inferences_stream_at_once(wire: str) -> None:
    """None of them waits for a connection that another one holds."""
    most = 200
    async with open_bench(wire, [Stream([], hangs=True)] * most) as bench, anyio.create_task_group() as tasks:
        for number in range(most):
            tasks.start_soon(bench.infer, ask(name=f"q{number}"))
        with anyio.fail_after(PATIENCE):
            while len(bench.server.received) < most:
                await anyio.sleep(0.01)
        await bench.provider.aclose()  # each settles as aborted


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (429, {"type": "usage_limit_reached", "message": "The usage limit has been reached"}, "resource_exhausted"),
        (429, {"type": "exceeded_current_quota_error", "message": "no balance"}, "resource_exhausted"),
        (503, {"code": "server_is_overloaded", "message": "busy"}, "provider_unavailable"),
        (500, {"code": "invalid_prompt", "message": "no"}, "invalid_request"),
    ],
)
@pytest.mark.req("OAP-132")
def test_a_vendors_own_names_count_before_its_status(status: int, error: dict[str, object], code: str) -> None:
    """A plan that is used up is not waited for; a prompt that is refused is no fault of the server."""
    assert failure_of_status(status, strictjson.encode({"error": error}), None).code == code


@pytest.mark.anyio
@pytest.mark.parametrize("value", [" b", "b ", "\tb", "b\t"])
@pytest.mark.req("OAP-132")
async def test_a_header_that_http_would_not_carry_as_it_is_is_the_callers(value: str) -> None:
    """Refused at create, and not told as a vendor's fault after it."""
    async with open_bench(CHAT, [FINE]) as bench:
        heard = await bench.infer(ask(headers={"x-a": value}))
    assert (heard.types, heard.error.code) == (["create.response"], "invalid_request")
