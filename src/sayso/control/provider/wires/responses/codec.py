"""A request as the body of `POST /responses`. Nothing is kept at the vendor (`store` false), so reasoning travels as
encrypted items: each comes back whole inside the part's carry, and goes out again as it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sayso.control.protocol.payloads.content import (
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

__all__ = ("WIRE", "body_of", "items_of", "path_of")

WIRE = "openai-responses"
Json = dict[str, object]


def path_of(_: Offering) -> str:
    """Behind the base URL."""
    return "/responses"


def body_of(ask: Ask, offering: Offering) -> Json:
    """The JSON body; always streaming."""
    quirks = offering.compatibility
    body: Json = {
        "model": offering.model,
        "input": items_of(ask.messages, offering),
        "stream": True,
    }
    if offering.keeps_thoughts:
        body["include"] = ["reasoning.encrypted_content"]
    if quirks.supports_store is not False:
        body["store"] = False
    for name, value in (
        ("max_output_tokens", ask.max_output_tokens),
        ("temperature", ask.temperature),
        ("top_p", ask.top_p),
    ):
        if value is not None:
            body[name] = value
    if ask.level is not None and quirks.supports_reasoning_effort is not False:
        body["reasoning"] = {"effort": "none"} if ask.level == "off" else {"effort": ask.level, "summary": "auto"}
    if ask.tools:
        body["tools"] = [_tool(tool.name, tool.description, tool.input_schema) for tool in ask.tools]
    if ask.choice is not None:
        is_named = isinstance(ask.choice, tuple)
        body["tool_choice"] = {"type": "function", "name": ask.choice[0]} if is_named else ask.choice
    if ask.output_schema is not None:
        strict = is_strict(ask.output_schema) and quirks.supports_strict_mode is not False
        schema = {"type": "json_schema", "name": "answer", "schema": ask.output_schema, "strict": strict}
        body["text"] = {"format": schema}
    return body


def items_of(messages: Iterable[Message], offering: Offering) -> list[Json]:
    """A conversation as items. Reasoning that a cancel cut off from what it led to is left out: the vendor refuses it
    without its following item, in every later turn.
    """
    return [item for message in messages for item in _led_on(list(_items(message, offering)))]


def _led_on(items: list[Json]) -> list[Json]:
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _tool(name: str, description: object, schema: object) -> Json:
    # Said outright: this API takes tools as strict unless told otherwise, and rewrites the schema of those.
    tool: Json = {"type": "function", "name": name, "parameters": schema, "strict": False}
    if description is not UNSET:
        tool["description"] = description
    return tool


def _items(message: Message, offering: Offering) -> Iterator[Json]:
    """The items of one message, in order; texts and pictures that stand together are one item, up to one's phase."""
    role = _role(message.role, offering)
    held: list[Json] = []
    for part in parts_of(message):
        piece = _piece(part, role)
        if piece is not None:
            held.append(piece)
            continue
        if held and (phase := _phase(part, offering.wire)):
            yield {"role": role, "content": held, "phase": phase}
            held = []
            continue
        item = _item(part, offering.wire)
        if item is None:
            continue
        if held:
            yield {"role": role, "content": held}
            held = []
        yield item
    if held:
        yield {"role": role, "content": held}


def _role(role: str, offering: Offering) -> str:
    if role in ("system", "developer"):
        return "system" if offering.compatibility.supports_developer_role is False else "developer"
    return "assistant" if role == "assistant" else "user"


def _piece(part: object, role: str) -> Json | None:
    if isinstance(part, TextPart):
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part.text}
    if isinstance(part, ImagePart):
        image = part.image
        url = image.url if image.url is not UNSET else f"data:{image.media_type};base64,{image.data}"
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    return None


def _phase(part: object, wire: str) -> object:
    """What the text before this part was to its turn, if that is what the part carries."""
    return read_carry(wire, part.carry).get("phase") if isinstance(part, ReasoningPart) else None


def _item(part: object, wire: str) -> Json | None:
    match part:
        case ToolCallPart():
            arguments = strictjson.encode(part.arguments_json).decode()
            return {"type": "function_call", "call_id": part.tool_call_id, "name": part.name, "arguments": arguments}
        case ToolResultPart():
            return {"type": "function_call_output", "call_id": part.tool_call_id, "output": result_text(part)}
        case ReasoningPart():
            token = read_carry(wire, part.carry)
            if isinstance(token.get("encrypted_content"), str):
                return {"type": "reasoning", "summary": [], **token}
    return None
