"""What goes to the vendor: a request in each vendor's words, a history it takes (B25), carries as they came."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.protocol.payloads.content import (
    Image,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from sayso.control.protocol.payloads.inference import InferenceTool, ReasoningRequest
from sayso.control.protocol.payloads.provider import WireCompatibility
from sayso.control.provider.wires.asking import is_strict, sound
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers import Said, Stream
from sayso.testing.vendor_servers.responses import ResponseScript
from tests.control.provider.wires.bench import ALL, CHAT, GENERATE, MESSAGES, RESPONSES, ask, open_bench

every_wire = pytest.mark.parametrize("wire", ALL)
FINE = Said([Say("fine")])
CLOSED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
OPEN = {"type": "object", "properties": {"q": {"type": "string"}}}
LOOK = InferenceTool(name="look", description="Looks.", input_schema=OPEN)
LOOK_AGAIN = InferenceTool(name="look_again", input_schema=OPEN)
KEPT = {"cache_control": {"type": "ephemeral"}}
DOT = Image(data="aGVsbG8=", media_type="image/png")


def user(*parts: Any) -> Message:
    return Message(role="user", content=parts)


async def sent(wire: str, *messages: Message, offered: dict[str, Any] | None = None, **more: Any) -> Any:
    async with open_bench(wire, [FINE], **(offered or {})) as bench:
        heard = await bench.infer(ask(messages or "go", **more))
        assert heard.stop_reason == "stop", heard.end
        return bench.sent


SYSTEM = (Message(role="system", content="be brief"), Message(role="user", content="hi"))
BODIES: dict[str, Any] = {
    CHAT: {
        "model": "fixture", "stream": True, "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "max_completion_tokens": 99, "temperature": 0.5, "top_p": 0.9,
        "tools": [{"type": "function", "function": {"name": "look", "parameters": OPEN, "description": "Looks."}}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "response_format": {"type": "json_schema",
                            "json_schema": {"name": "answer", "schema": CLOSED, "strict": True}},
    },
    RESPONSES: {
        "model": "fixture", "stream": True, "store": False, "include": ["reasoning.encrypted_content"],
        "input": [{"role": "developer", "content": [{"type": "input_text", "text": "be brief"}]},
                  {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
        "max_output_tokens": 99, "temperature": 0.5, "top_p": 0.9,
        "tools": [{"type": "function", "name": "look", "parameters": OPEN, "strict": False, "description": "Looks."}],
        "tool_choice": {"type": "function", "name": "look"},
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": CLOSED, "strict": True}},
    },
    MESSAGES: {
        "model": "fixture", "stream": True, "system": [{"type": "text", "text": "be brief", **KEPT}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **KEPT}]}],
        "max_tokens": 99, "temperature": 0.5, "top_p": 0.9,
        "tools": [{"name": "look", "input_schema": OPEN, "description": "Looks.", **KEPT}],
        "tool_choice": {"type": "tool", "name": "look"},
        "output_config": {"format": {"type": "json_schema", "schema": CLOSED}},
    },
    GENERATE: {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": OPEN, "description": "Looks."}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
        "generationConfig": {"maxOutputTokens": 99, "temperature": 0.5, "topP": 0.9, "responseJsonSchema": CLOSED,
                             "responseMimeType": "application/json"},
    },
}  # fmt: skip


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-132")
async def test_a_whole_request_in_the_vendors_words(wire: str) -> None:
    """Instructions, tools, a forced tool, a schema, limits; and no `metadata`, which never goes upstream."""
    older = {"headers": {"Anthropic-Version": "2023-06-01"}} if wire == MESSAGES else {}
    body = await sent(
        wire, *SYSTEM, offered=older, tools=(LOOK,), tool_choice={"name": "look"}, output_schema=CLOSED,
        max_output_tokens=99, temperature=0.5, top_p=0.9, metadata={"secret_plan": "stays here"},
    )  # fmt: skip
    assert body == BODIES[wire]


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("choice", ["auto", "none", "required"])
async def test_each_choice_of_a_tool_has_its_word(wire: str, choice: str) -> None:
    """Closed words on both sides."""
    body = await sent(wire, tools=(LOOK,), tool_choice=choice)
    word = {MESSAGES: {"required": "any"}, GENERATE: {"auto": "AUTO", "none": "NONE", "required": "ANY"}}
    wanted = word.get(wire, {}).get(choice, choice)
    seen = body["toolConfig"]["functionCallingConfig"]["mode"] if wire == GENERATE else body["tool_choice"]
    assert seen == ({"type": wanted} if wire == MESSAGES else wanted)


PICTURED: dict[str, Any] = {
    CHAT: {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}},
    RESPONSES: {"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8=", "detail": "auto"},
    MESSAGES: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}, **KEPT},
    GENERATE: {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}},
}


def pieces(wire: str, body: Any) -> list[Any]:
    """The pieces of the last message of a body."""
    members = {CHAT: ("messages", "content"), RESPONSES: ("input", "content"), MESSAGES: ("messages", "content"),
               GENERATE: ("contents", "parts")}  # fmt: skip
    outer, inner = members[wire]
    return list(body[outer][-1][inner])


@pytest.mark.anyio
@every_wire
async def test_a_picture_goes_as_its_bytes(wire: str) -> None:
    """Beside the text it was sent with."""
    body = await sent(wire, user(TextPart(text="what is this"), ImagePart(image=DOT)))
    assert pieces(wire, body)[-1] == PICTURED[wire]
    assert len(pieces(wire, body)) == 2


@pytest.mark.anyio
@every_wire
async def test_a_picture_by_address_goes_where_the_vendor_fetches_it(wire: str) -> None:
    """Google does not, and says so at create."""
    url = "https://example.org/a.png"
    message = user(ImagePart(image=Image(url=url)))
    if wire == GENERATE:
        async with open_bench(wire) as bench:
            heard = await bench.infer(ask((message,)))
        assert (heard.error.code, bench.server.received) == ("unsupported_feature", [])
        return
    assert url in str(pieces(wire, await sent(wire, message)))


THINKING: dict[tuple[str, str], Any] = {
    (CHAT, "effort"): {"reasoning_effort": "high"},
    (RESPONSES, "effort"): {"reasoning": {"effort": "high", "summary": "auto"}},
    (MESSAGES, "effort"): {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "high"},
        "max_tokens": 8192,
    },
    (MESSAGES, "budget"): {"thinking": {"type": "enabled", "budget_tokens": 16384}, "max_tokens": 17408},
    (GENERATE, "effort"): {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"}}},
    (GENERATE, "budget"): {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 16384}}},
}


@pytest.mark.anyio
@pytest.mark.parametrize(("wire", "thinking"), THINKING)
async def test_a_level_of_reasoning_in_the_vendors_words(wire: str, thinking: str) -> None:
    """As a level, or as a number of tokens, which leaves room for the answer."""
    body = await sent(wire, offered={"thinking": thinking}, reasoning=ReasoningRequest(effort="high"))
    assert {name: body[name] for name in THINKING[wire, thinking]} == THINKING[wire, thinking]


@pytest.mark.anyio
async def test_a_server_that_differs_is_asked_its_own_way() -> None:
    """Compatible servers know less; the offering says what."""
    quirks = WireCompatibility(
        max_tokens_field="max_tokens", usage_in_streaming="never", supports_developer_role=True,
        supports_reasoning_effort=False, supports_strict_mode=False,
    )  # fmt: skip
    body = await sent(
        CHAT, *SYSTEM, offered={"compatibility": quirks}, max_output_tokens=5, output_schema=CLOSED,
        reasoning=ReasoningRequest(effort="low"),
    )  # fmt: skip
    assert sorted(body) == ["max_tokens", "messages", "model", "response_format", "stream"]
    assert (body["messages"][0]["role"], body["response_format"]["json_schema"]["strict"]) == ("developer", False)


def test_only_a_closed_schema_is_strict() -> None:
    """Strict decoding refuses anything else with an error."""
    nested = {"type": "object", "properties": {"a": OPEN}, "required": ["a"], "additionalProperties": False}
    loose = {**CLOSED, "required": []}
    assert [is_strict(each) for each in (CLOSED, OPEN, nested, loose, {"anyOf": [CLOSED, OPEN]})] == [
        True, False, False, False, False,
    ]  # fmt: skip


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("text", ["a thought", ""])
@pytest.mark.req("OAP-131")
async def test_what_a_part_carries_comes_back_as_it_came(wire: str, text: str) -> None:
    """Signatures, encrypted items, thought signatures, redacted blocks: through the message of the first turn."""
    turn = Said([Think(text, "opaque/+=token"), Say("let me"), Call("look", {"q": "x"}, "c1")])
    async with open_bench(wire, [turn, FINE]) as bench:
        said = (await bench.infer()).end.message
        result = ToolResultPart(tool_call_id="c1", result={"found": 1})
        asked = (Message(role="user", content="go"), said, Message(role="tool", content=(result,)))
        await bench.infer(ask(asked, tools=(LOOK,)))
        body = bench.sent
    call = {"name": "look", "args": {"q": "x"}, "id": "c1"}
    wanted: dict[str, list[Any]] = {
        CHAT: [{"role": "user", "content": "go"},
               {"role": "assistant", "content": "let me",
                "tool_calls": [{"id": "c1", "type": "function",
                                "function": {"name": "look", "arguments": '{"q":"x"}'}}],
                **({"reasoning_content": text} if text else {})},
               {"role": "tool", "tool_call_id": "c1", "content": '{"found":1}'}],
        RESPONSES: [{"role": "user", "content": [{"type": "input_text", "text": "go"}]},
                    {"type": "reasoning", "id": "rs_0", "encrypted_content": "opaque/+=token",
                     "summary": [{"type": "summary_text", "text": text}] if text else []},
                    {"role": "assistant", "content": [{"type": "output_text", "text": "let me"}]},
                    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"q":"x"}'},
                    {"type": "function_call_output", "call_id": "c1", "output": '{"found":1}'}],
        MESSAGES: [{"role": "user", "content": [{"type": "text", "text": "go"}]},
                   {"role": "assistant", "content": [
                       {"type": "thinking", "thinking": text, "signature": "opaque/+=token"} if text else
                       {"type": "redacted_thinking", "data": "opaque/+=token"},
                       {"type": "text", "text": "let me"},
                       {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "x"}}]},
                   {"role": "user", "content": [
                       {"type": "tool_result", "tool_use_id": "c1", "content": '{"found":1}', **KEPT}]}],
        GENERATE: [{"role": "user", "parts": [{"text": "go"}]},
                   {"role": "model", "parts": [
                       {"text": text, "thoughtSignature": "opaque/+=token", "thought": True}, {"text": "let me"},
                       {"functionCall": call, "thoughtSignature": "c2lnLTI="}]},
                   {"role": "user", "parts": [
                       {"functionResponse": {"id": "c1", "name": "look", "response": {"found": 1}}}]}],
    }  # fmt: skip
    assert (
        body[{CHAT: "messages", RESPONSES: "input", MESSAGES: "messages", GENERATE: "contents"}[wire]] == wanted[wire]
    )


@pytest.mark.anyio
@pytest.mark.req("OAP-131")
async def test_the_signature_of_a_text_comes_back_behind_it() -> None:
    """Google signs plain text too; a text part has no carry, so an empty thought holds it."""
    from sayso.testing.vendor_servers import Stream, generate  # noqa: PLC0415 - used here alone

    signed = generate.chunk([{"text": "hello", "thoughtSignature": "s1"}], "STOP")
    async with open_bench(GENERATE, [Stream([signed]), FINE]) as bench:
        message = (await bench.infer()).end.message
        await bench.infer(ask((Message(role="user", content="go"), message, Message(role="user", content="more"))))
        assert bench.sent["contents"][1]["parts"] == [{"text": "hello"}, {"text": "", "thoughtSignature": "s1"}]


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-131")
async def test_a_carry_of_another_wire_stays_behind(wire: str) -> None:
    """A conversation goes on with another model; what its first one carried means nothing there."""
    carries = [f'{{"wire":"{other}","signature":"alien","encrypted_content":"alien","member":"reasoning"}}'
               for other in ALL if other != wire]  # fmt: skip
    thoughts = tuple(ReasoningPart(reasoning="r", carry=carry) for carry in [*carries, "no json", '"alien"'])
    history = (Message(role="user", content="a"), Message(role="assistant", content=(*thoughts, TextPart(text="b"))))
    body = await sent(wire, *history, Message(role="user", content="c"))
    assert "alien" not in str(body)


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-131", "OAP-133")
async def test_a_carry_of_another_provider_over_the_same_wire_stays_behind(wire: str) -> None:
    """Its signature would be refused in this turn and in every later one (B25); the calls themselves go on."""
    turn = Said([Think("a thought", "opaque/+=token"), Say("let me"), Call("look", {"q": "x"}, "c1")])
    result = Message(role="tool", content=(ToolResultPart(tool_call_id="c1", result="found"),))
    async with open_bench(wire, [turn]) as bench:
        said = (await bench.infer()).end.message
    history = (Message(role="user", content="go"), said, result, Message(role="user", content="on"))
    body = str(await sent(wire, *history, offered={"id": "another", "model_ref": "vendor/fixture"}))
    own = str(await sent(wire, *history))
    for token in ("opaque/+=token", "a thought", "c2lnLTI=", "reasoning_content"):
        assert token not in body
    assert "opaque/+=token" in own or "a thought" in own
    assert "found" in body


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-133", "OAP-131")
async def test_b25_a_thought_that_led_to_nothing_poisons_no_later_turn(wire: str) -> None:
    """A cancel behind the first thought leaves it alone in its message."""
    async with open_bench(wire, [Said([Think("a thought", "opaque/+=token"), Say("so")])]) as bench:
        whole = (await bench.infer()).end.message
    alone = Message(role="assistant", content=tuple(part for part in whole.content if isinstance(part, ReasoningPart)))
    said = await sent(wire, Message(role="user", content="go"), alone, Message(role="user", content="on"))
    if wire != GENERATE:  # which takes a turn of thoughts
        assert "opaque/+=token" not in str(said)
        assert "a thought" not in str(said)
    turns = said.get("messages") or said.get("input") or said["contents"]
    assert turns[0]["role"] == turns[-1]["role"] == "user"


@pytest.mark.anyio
@pytest.mark.req("OAP-131")
async def test_the_phase_of_a_text_goes_back_with_it() -> None:
    """OpenAI says whether a text was a remark on the way or the answer, and wants to hear it again."""
    script = ResponseScript()
    script.say(Say("I will look."))
    script.call(Call("look", {"q": "x"}, "c1"))
    said = b'"role":"assistant"'
    script.frames = [each.replace(said, said + b',"phase":"commentary"') for each in script.frames]
    script.end(Said([]))
    result = Message(role="tool", content=(ToolResultPart(tool_call_id="c1", result="found"),))
    async with open_bench(RESPONSES, [Stream(script.frames), FINE]) as bench:
        message = (await bench.infer()).end.message
        await bench.infer(ask((Message(role="user", content="go"), message, result)))
        items = bench.sent["input"]
    assert items[1] == {
        "role": "assistant", "content": [{"type": "output_text", "text": "I will look."}], "phase": "commentary",
    }  # fmt: skip
    assert [item.get("type") for item in items] == [None, None, "function_call", "function_call_output"]


BROKEN = (
    Message(role="user", content="go"),
    Message(role="tool", content=(ToolResultPart(tool_call_id="ghost", result="nobody called"),)),
    Message(role="assistant", content=(
        TextPart(text="let me"),
        ToolCallPart(tool_call_id="c1", name="look", arguments_json={"q": 1}),
        ToolCallPart(tool_call_id="c2", name="look", arguments_json='{"path":"a'),
        ToolCallPart(tool_call_id="c3", name="look", arguments_json={"q": 3}),
    )),
    Message(role="tool", content=(
        ToolResultPart(tool_call_id="c2", result="synthetic"), ToolResultPart(tool_call_id="c3", result="found"),
        ToolResultPart(tool_call_id="c3", result="again"),
    )),
    Message(role="user", content="and now?"),
)  # fmt: skip


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-133", "OAP-132")
async def test_b25_a_poisoned_history_is_sent_sound(wire: str) -> None:
    """A call without a result, a result without its call, a partial call with a synthetic result, two results: the
    vendor would answer 400 to each, and takes what is sent.
    """
    body = await sent(wire, *BROKEN, tools=(LOOK,))
    assert "synthetic" not in str(body)
    assert "ghost" not in str(body)
    assert "again" not in str(body)
    assert "interrupted" in str(body)


PART = st.one_of(
    st.builds(TextPart, text=st.sampled_from(["", "x"])),
    st.builds(ToolCallPart, tool_call_id=st.sampled_from("abc"), name=st.just("look"),
              arguments_json=st.sampled_from([{}, {"q": 1}, "half"])),
    st.builds(ToolResultPart, tool_call_id=st.sampled_from("abcd"), result=st.just("r")),
)  # fmt: skip
HISTORIES = st.lists(
    st.builds(Message, role=st.sampled_from(["user", "assistant", "tool"]),
              content=st.lists(PART, min_size=1, max_size=4).map(tuple)), max_size=6,
)  # fmt: skip


@given(history=HISTORIES)
@pytest.mark.req("OAP-133")
def test_b25_any_history_becomes_sound_and_stays_so(history: list[Message]) -> None:
    """Each call has exactly one result behind it, each result its call, no call is partial; repairing twice is once."""
    repaired = sound(history)
    assert sound(repaired) == repaired
    open_calls: list[str] = []
    for message in repaired:
        for part in message.content:
            if isinstance(part, ToolCallPart):
                assert isinstance(part.arguments_json, dict)
                open_calls.append(part.tool_call_id)
            elif isinstance(part, ToolResultPart):
                open_calls.remove(part.tool_call_id)
        assert (
            message.role == "assistant" or not open_calls or any(isinstance(p, ToolCallPart) for p in message.content)
        )
    assert open_calls == []


@pytest.mark.anyio
async def test_ids_another_vendor_made_are_written_as_this_one_takes_them() -> None:
    """Anthropic takes letters, digits, `_` and `-`; the call and its result stay a pair."""
    call = ToolCallPart(tool_call_id="functions.look:0", name="look", arguments_json={})
    result = ToolResultPart(tool_call_id="functions.look:0", result="r")
    body = await sent(MESSAGES, user(TextPart(text="go")), Message(role="assistant", content=(call,)),
                      Message(role="tool", content=(result,)))  # fmt: skip
    use, answer = body["messages"][1]["content"][0], body["messages"][2]["content"][0]
    assert use["id"] == answer["tool_use_id"]
    assert use["id"].replace("_", "").isalnum()


@pytest.mark.anyio
async def test_what_stays_is_marked_for_the_vendors_cache_and_thoughts_are_not() -> None:
    """Three marks however long the conversation; a model that takes none is sent none."""
    turn = Said([Think("hm", "sig"), Say("a"), Call("look", {}, "c1"), Call("look", {}, "c2")])
    for caches in (True, False):
        async with open_bench(MESSAGES, [turn, FINE], caches_prompts=caches) as bench:
            said = (await bench.infer()).end.message
            results = tuple(ToolResultPart(tool_call_id=each, result="r") for each in ("c1", "c2"))
            history = (*SYSTEM, said, Message(role="tool", content=results))
            heard = await bench.infer(ask(history, tools=(LOOK, LOOK_AGAIN)))
            assert heard.stop_reason == "stop"
            body = bench.sent
        blocks = [block for message in body["messages"] for block in message["content"]]
        marked = [place for place in (*body["system"], *body["tools"], *blocks) if "cache_control" in place]
        wanted = [body["system"][-1], body["tools"][-1], body["messages"][-1]["content"][-1]]
        assert marked == (wanted if caches else [])
        assert body["messages"][-1]["content"][-1]["tool_use_id"] == "c2"


@pytest.mark.anyio
async def test_cached_tokens_are_tokens_that_went_in() -> None:
    """Anthropic counts them apart, and the profile has one figure; the other vendors count them in."""
    from sayso.testing.vendor_servers import Stream, messages  # noqa: PLC0415 - used here alone

    counted = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 1000,
        "output_tokens": 1,
    }
    frames = [
        messages.event("message_start", message={"usage": counted}),
        messages.event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 5}),
        messages.event("message_stop"),
    ]
    async with open_bench(MESSAGES, [Stream(frames)]) as bench:
        assert (await bench.infer()).usage == Usage(input_tokens=1023, output_tokens=5)


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("is_one", [True, False])
@pytest.mark.req("OAP-133")
async def test_a_picture_among_results_stands_between_none_of_them(wire: str, is_one: bool) -> None:
    """A tool may show one; vendors want all results of a turn right behind its calls, and the picture still goes."""
    calls = tuple(ToolCallPart(tool_call_id=each, name="look", arguments_json={}) for each in ("c1", "c2"))
    first, second = (ToolResultPart(tool_call_id=each, result="r") for each in ("c1", "c2"))
    shown = ImagePart(image=DOT)
    apart = (Message(role="tool", content=(first, shown)), Message(role="tool", content=(second,)))
    together = (Message(role="tool", content=(first, shown, second)),)
    body = await sent(wire, user(TextPart(text="go")), Message(role="assistant", content=calls),
                      *(together if is_one else apart), tools=(LOOK,))  # fmt: skip
    assert str(body).count("aGVsbG8=") == 1
