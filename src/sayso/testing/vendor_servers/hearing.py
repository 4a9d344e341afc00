"""What a vendor was asked, in the profile's own words, so that one script decides for every wire.

Only what a script looks at is read: who said what, calls and results in their order, the tools with their schemas. A
result that is JSON is given as what it says; the opaque tokens of reasoning are `carries`' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sayso.control.protocol.payloads.content import ContentPart, Message, TextPart, ToolCallPart, ToolResultPart
from sayso.control.protocol.payloads.inference import InferenceCreateRequest, InferenceTool
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.testing.vendor_servers.server import Received

__all__ = ("hear",)

Body = Mapping[str, Any]
Said = Iterator[tuple[str, ContentPart]]


def hear(wire: str, received: Received) -> InferenceCreateRequest:
    """The request that a wire wrote; the vendor has judged it before."""
    said, tools = _HEARD[wire]
    body: Any = received.body
    return InferenceCreateRequest(
        model_ref=str(body.get("model", "fixture")), messages=tuple(_messages(said(body))), tools=tuple(tools(body))
    )


def _messages(said: Said) -> Iterator[Message]:
    """Parts of one role that stand together are one message."""
    role, parts = "", []  # type: tuple[str, list[ContentPart]]
    for who, part in said:
        if parts and who != role:
            yield Message(role=role, content=tuple(parts))  # type: ignore[arg-type]
            parts = []
        role = who
        parts.append(part)
    if parts:
        yield Message(role=role, content=tuple(parts))  # type: ignore[arg-type]


def _chat(body: Body) -> Said:
    for message in body["messages"]:
        role = "system" if message["role"] == "developer" else message["role"]
        if role == "tool":
            yield "tool", _result(message["tool_call_id"], message["content"])
            continue
        for text in _texts(message.get("content")):
            yield role, TextPart(text=text)
        for call in message.get("tool_calls") or ():
            function = call["function"]
            yield role, _call(call["id"], function["name"], function["arguments"])


def _responses(body: Body) -> Said:
    given = body["input"]
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        match item.get("type"):
            case "function_call":
                yield "assistant", _call(item["call_id"], item["name"], item["arguments"])
            case "function_call_output":
                yield "tool", _result(item["call_id"], item["output"])
            case None | "message":
                role = "system" if item["role"] == "developer" else item["role"]
                for text in _texts(item.get("content")):
                    yield role, TextPart(text=text)
    if isinstance(body.get("instructions"), str):
        yield "system", TextPart(text=body["instructions"])


def _anthropic(body: Body) -> Said:
    for text in _texts(body.get("system")):
        yield "system", TextPart(text=text)
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    yield message["role"], TextPart(text=block["text"])
                case "tool_use":
                    yield "assistant", _call(block["id"], block["name"], block["input"])
                case "tool_result":
                    yield (
                        "tool",
                        _result(block["tool_use_id"], block["content"], is_error=block.get("is_error") is True),
                    )


def _google(body: Body) -> Said:
    """Calls without an id are matched by their order."""
    for text in _texts(body.get("systemInstruction", {}).get("parts")):
        yield "system", TextPart(text=text)
    made: list[str] = []
    answered = 0
    for content in body["contents"]:
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content["parts"]:
            if "functionCall" in part:
                called = part["functionCall"]
                made.append(called.get("id") or f"call_{len(made)}")
                yield "assistant", _call(made[-1], called["name"], called.get("args", {}))
            elif "functionResponse" in part:
                response = part["functionResponse"]["response"]
                is_error = set(response) == {"error"}
                plain = next(iter(response.values())) if set(response) in ({"error"}, {"output"}) else response
                yield "tool", _result(made[answered], plain, is_error=is_error)
                answered += 1
            elif part.get("text") and part.get("thought") is not True:
                yield role, TextPart(text=part["text"])


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (piece["text"] for piece in content if isinstance(piece.get("text"), str) and piece["text"])


def _call(call_id: str, name: str, arguments: object) -> ToolCallPart:
    return ToolCallPart(tool_call_id=call_id, name=name, arguments_json=_plain(arguments))


def _result(call_id: str, result: object, *, is_error: bool = False) -> ToolResultPart:
    told = "".join(_texts(result)) if isinstance(result, list) else result
    return ToolResultPart(tool_call_id=call_id, result=_plain(told), is_error=True if is_error else UNSET)


def _plain(value: object) -> object:
    """A text that is a JSON object or list, as that; everything else as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return strictjson.parse(value.encode())
    except Refused:
        return value


def _tools_of(tools: Sequence[Body], schema: str) -> Iterator[InferenceTool]:
    for tool in tools:
        described = tool.get("description", UNSET)
        yield InferenceTool(name=tool["name"], input_schema=tool.get(schema, {}), description=described)


def _chat_tools(body: Body) -> Iterator[InferenceTool]:
    return _tools_of([tool["function"] for tool in body.get("tools", ())], "parameters")


def _google_tools(body: Body) -> Iterator[InferenceTool]:
    declared = [each for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ())]
    return _tools_of(declared, "parametersJsonSchema")


_HEARD: Mapping[str, tuple[Callable[[Body], Said], Callable[[Body], Iterator[InferenceTool]]]] = {
    "openai-chat-completions": (_chat, _chat_tools),
    "openai-responses": (_responses, lambda body: _tools_of(body.get("tools", ()), "parameters")),
    "anthropic-messages": (_anthropic, lambda body: _tools_of(body.get("tools", ()), "input_schema")),
    "google-generate-content": (_google, _google_tools),
}
