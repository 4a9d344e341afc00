"""A request as the body of `POST /chat/completions`. Reasoning goes back only under the member it came in (DeepSeek and
others ask for it inside a turn that calls tools; OpenAI itself has none).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sayso.control.protocol.payloads.content import (
    ContentPart,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.provider.wires.asking import Ask, is_strict, parts_of, result_text
from sayso.control.provider.wires.carry import read_carry
from sayso.control.provider.wires.offering import Offering
from sayso.core import strictjson

__all__ = ("WIRE", "body_of", "path_of")

WIRE = "openai-chat-completions"
Json = dict[str, object]


def path_of(_: Offering) -> str:
    """Behind the base URL."""
    return "/chat/completions"


def body_of(ask: Ask, offering: Offering) -> Json:
    """The JSON body; always streaming."""
    quirks = offering.compatibility
    body: Json = {
        "model": offering.model,
        "messages": [item for message in ask.messages for item in _message(message, offering)],
        "stream": True,
    }
    if quirks.usage_in_streaming != "never":
        body["stream_options"] = {"include_usage": True}
    if ask.max_output_tokens is not None:
        body["max_completion_tokens" if quirks.max_tokens_field is UNSET else quirks.max_tokens_field] = (
            ask.max_output_tokens
        )
    for name, value in (("temperature", ask.temperature), ("top_p", ask.top_p)):
        if value is not None:
            body[name] = value
    if ask.level is not None and quirks.supports_reasoning_effort is not False:
        body["reasoning_effort"] = "none" if ask.level == "off" else ask.level
    if ask.tools:
        body["tools"] = [_tool(tool.name, tool.description, tool.input_schema) for tool in ask.tools]
    if ask.choice is not None:
        body["tool_choice"] = (
            {"type": "function", "function": {"name": ask.choice[0]}} if isinstance(ask.choice, tuple) else ask.choice
        )
    if ask.output_schema is not None:
        strict = is_strict(ask.output_schema) and quirks.supports_strict_mode is not False
        schema = {"name": "answer", "schema": ask.output_schema, "strict": strict}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _tool(name: str, description: object, schema: object) -> Json:
    function: Json = {"name": name, "parameters": schema}
    if description is not UNSET:
        function["description"] = description
    return {"type": "function", "function": function}


def _message(message: Message, offering: Offering) -> Iterator[Json]:
    """One message of ours may be several of theirs: each tool result is a message."""
    parts = parts_of(message)
    for part in parts:
        if isinstance(part, ToolResultPart):
            yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": result_text(part)}
    rest = [part for part in parts if not isinstance(part, ToolResultPart)]
    if not rest:
        return
    if message.role == "assistant":
        # Thoughts that a cancel cut off from what they led to are no message; some servers refuse an empty one.
        if any(isinstance(part, TextPart | ToolCallPart) for part in rest):
            yield _assistant(rest)
    elif any(isinstance(part, ImagePart) for part in rest):
        yield {"role": "user", "content": [_piece(part) for part in rest if isinstance(part, TextPart | ImagePart)]}
    else:
        yield {"role": _role(message.role, offering), "content": _text(rest)}


def _role(role: str, offering: Offering) -> str:
    if role in ("system", "developer"):
        return "developer" if offering.compatibility.supports_developer_role is True else "system"
    return "user"


def _text(parts: Sequence[ContentPart]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def _piece(part: TextPart | ImagePart) -> Json:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    image = part.image
    url = image.url if image.url is not UNSET else f"data:{image.media_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _assistant(parts: Sequence[ContentPart]) -> Json:
    item: Json = {"role": "assistant", "content": _text(parts) or None}
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    if calls:
        item["tool_calls"] = [_call(part) for part in calls]
    for part in parts:
        if isinstance(part, ReasoningPart):
            member = read_carry(WIRE, part.carry).get("member")
            if member in ("reasoning_content", "reasoning"):
                item[str(member)] = str(item.get(str(member), "")) + part.reasoning
    return item


def _call(part: ToolCallPart) -> Json:
    function = {"name": part.name, "arguments": strictjson.encode(part.arguments_json).decode()}
    return {"id": part.tool_call_id, "type": "function", "function": function}
