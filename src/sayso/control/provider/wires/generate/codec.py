"""A request as the body of `POST /models/{model}:streamGenerateContent?alt=sse`. Calls and results are matched by name
and order, and by id where the vendor gave one; a thought signature goes back on the part it came with.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

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
from sayso.control.provider.wires.asking import Ask, instructions_of, parts_of
from sayso.control.provider.wires.carry import read_carry
from sayso.control.provider.wires.offering import Offering

__all__ = ("WIRE", "body_of", "object_to", "path_of")

WIRE = "google-generate-content"
Json = dict[str, object]

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def path_of(offering: Offering) -> str:
    """Behind the base URL, which ends in the version."""
    model = offering.model if "/" in offering.model else f"models/{offering.model}"
    # A segment of dots would climb out of the path; quoted, it is a name like any other.
    segments = [quote(segment, safe="").replace(".", "%2E") if set(segment) <= {"."} else quote(segment, safe="")
                for segment in model.split("/")]  # fmt: skip
    return f"/{'/'.join(segments)}:streamGenerateContent?alt=sse"


def object_to(ask: Ask, _: Offering) -> str | None:
    """The wire fetches no picture for us."""
    for message in ask.messages:
        if any(isinstance(part, ImagePart) and part.image.url is not UNSET for part in parts_of(message)):
            return "a picture goes here as its bytes, not as an address"
    return None


def body_of(ask: Ask, offering: Offering) -> Json:
    """The JSON body; that it streams is said by the path."""
    body: Json = {"contents": _turns(ask.messages)}
    if instructions := instructions_of(ask.messages):
        body["systemInstruction"] = {"parts": [{"text": text} for text in instructions]}
    if ask.tools:
        declared = [_tool(tool.name, tool.description, tool.input_schema) for tool in ask.tools]
        body["tools"] = [{"functionDeclarations": declared}]
    if ask.choice is not None:
        is_named = isinstance(ask.choice, tuple)
        calling: Json = {"mode": "ANY" if is_named else _MODES[str(ask.choice)]}
        if is_named:
            calling["allowedFunctionNames"] = list(ask.choice)
        body["toolConfig"] = {"functionCallingConfig": calling}
    if settings := _settings(ask, offering):
        body["generationConfig"] = settings
    return body


def _settings(ask: Ask, offering: Offering) -> Json:
    settings: Json = {}
    for name, value in (
        ("maxOutputTokens", ask.max_output_tokens),
        ("temperature", ask.temperature),
        ("topP", ask.top_p),
        ("responseJsonSchema", ask.output_schema),
    ):
        if value is not None:
            settings[name] = value
    if ask.output_schema is not None:
        settings["responseMimeType"] = "application/json"
    if ask.level is not None:
        settings["thinkingConfig"] = _thinking(ask, offering)
    return settings


def _thinking(ask: Ask, offering: Offering) -> Json:
    if offering.thinking == "budget":
        return {"includeThoughts": ask.thinks, "thinkingBudget": (ask.budget or 0) if ask.thinks else 0}
    level = "minimal" if ask.level == "off" else ask.level
    return {"includeThoughts": ask.thinks, "thinkingLevel": str(level).upper()}


def _tool(name: str, description: object, schema: object) -> Json:
    tool: Json = {"name": name, "parametersJsonSchema": schema}
    if description is not UNSET:
        tool["description"] = description
    return tool


def _turns(messages: tuple[Message, ...]) -> list[Json]:
    calls = {part.tool_call_id: part for message in messages for part in parts_of(message)
             if isinstance(part, ToolCallPart)}  # fmt: skip
    turns: list[tuple[str, list[Json]]] = []
    for message in messages:
        if message.role in ("system", "developer"):
            continue
        role = "model" if message.role == "assistant" else "user"
        pieces = [piece for part in parts_of(message) if (piece := _piece(part, calls)) is not None]
        if not pieces:
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(pieces)
        else:
            turns.append((role, pieces))
    return [{"role": role, "parts": pieces} for role, pieces in turns]


def _piece(part: ContentPart, calls: Mapping[str, ToolCallPart]) -> Json | None:
    match part:
        case TextPart():
            return {"text": part.text}
        case ImagePart():
            return {"inlineData": {"mimeType": part.image.media_type, "data": part.image.data}}
        case ToolCallPart():
            token = read_carry(WIRE, part.carry)
            called: Json = {"name": part.name, "args": part.arguments_json}
            if "id" in token:
                called["id"] = token["id"]
            signed: Json = {"thoughtSignature": token["signature"]} if "signature" in token else {}
            return {"functionCall": called, **signed}
        case ToolResultPart():
            return {"functionResponse": _response(part, calls[part.tool_call_id])}
        case ReasoningPart():
            token = read_carry(WIRE, part.carry)
            if "signature" not in token:
                return None
            signed = {"text": part.reasoning, "thoughtSignature": token["signature"]}
            return signed if token.get("of") == "text" else {**signed, "thought": True}


def _response(part: ToolResultPart, call: ToolCallPart) -> Json:
    """A result is an object here; what is none is put into one, under the names the vendor asks for."""
    is_object = isinstance(part.result, dict) and part.is_error is not True
    response = part.result if is_object else {"error" if part.is_error is True else "output": part.result}
    token = read_carry(WIRE, call.carry)
    named: Json = {"id": token["id"]} if "id" in token else {}
    return {**named, "name": call.name, "response": response}
