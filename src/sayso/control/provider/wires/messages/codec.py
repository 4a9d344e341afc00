"""A request as the body of `POST /v1/messages`: instructions apart, roles in turns, results first in their message,
thinking blocks sent back with the signature they came with.

What does not change from turn to turn is marked for the vendor's prompt cache: the tools, the instructions, and the
conversation up to its last words. A mark on something too short to be kept is no fault, and costs nothing.
"""

from __future__ import annotations

import re

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
from sayso.control.provider.wires.asking import Ask, instructions_of, parts_of, result_text
from sayso.control.provider.wires.carry import read_carry
from sayso.control.provider.wires.offering import Offering
from sayso.proof.hashes import sha256_hex

__all__ = ("HEADERS", "VERSION", "WIRE", "body_of", "object_to", "path_of")

WIRE = "anthropic-messages"
VERSION = "2026-10-21"
HEADERS = (("anthropic-version", VERSION),)
Json = dict[str, object]

_SAMPLING_VERSION = "2023-06-01"
"""The last version that takes a temperature."""
_MAX_TOKENS = 8192
"""Sent where neither the request nor the offering names a limit: this wire must have one."""
_LEAST_BUDGET = 1024
_NO_WORDS = "it failed and said nothing"
"""An error's content may not be empty."""
_KEPT = {"type": "ephemeral"}
"""For the vendor's shortest time, five minutes from the last use."""
_VERSION = re.compile(r"v[0-9]+[a-z0-9]*")
_THOUGHTS = ("thinking", "redacted_thinking")
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def path_of(offering: Offering) -> str:
    """Behind the base URL. The vendor's clients are given one without a version, other vendors name it in theirs."""
    return "/messages" if _VERSION.fullmatch(offering.base_url.rstrip("/").rpartition("/")[2]) else "/v1/messages"


def object_to(ask: Ask, offering: Offering) -> str | None:
    """The API samples its own way since its present version; an offering whose headers name the one before may be
    told how, as long as it does not think. A tool is not forced while it thinks.
    """
    is_told = ask.temperature is not None or ask.top_p is not None
    pinned = {name.lower(): value for name, value in offering.headers.items()}.get("anthropic-version")
    if is_told and pinned != _SAMPLING_VERSION:
        return "temperature and top_p are no part of this version of the API"
    if is_told and ask.thinks:
        return "temperature and top_p cannot be set while the model thinks"
    if ask.thinks and (ask.choice == "required" or isinstance(ask.choice, tuple)):
        return "a tool cannot be forced while the model thinks"
    return None


def body_of(ask: Ask, offering: Offering) -> Json:
    """The JSON body; always streaming."""
    limit = ask.max_output_tokens or offering.max_output_tokens or _MAX_TOKENS
    body: Json = {"model": offering.model, "messages": _turns(ask.messages), "stream": True}
    body |= _told(ask)
    for name, value in (("temperature", ask.temperature), ("top_p", ask.top_p)):
        if value is not None:
            body[name] = value
    thinking, output = _thinking_of(ask, offering)
    if thinking is not None:
        body["thinking"] = thinking
        limit = max(limit, _budget_in(thinking) + _LEAST_BUDGET)
    if ask.output_schema is not None:
        output["format"] = {"type": "json_schema", "schema": ask.output_schema}
    if output:
        body["output_config"] = output
    if ask.choice is not None:
        body["tool_choice"] = _choice(ask)
    if offering.caches_prompts:
        _mark(body)
    return {**body, "max_tokens": limit}


def _told(ask: Ask) -> Json:
    """Instructions and tools, which stand in front of every turn."""
    told: Json = {}
    if instructions := instructions_of(ask.messages):
        told["system"] = [{"type": "text", "text": text} for text in instructions]
    if ask.tools:
        told["tools"] = [_tool(tool.name, tool.description, tool.input_schema) for tool in ask.tools]
    return told


def _mark(body: Json) -> None:
    """Three of the four marks the vendor allows: behind the last tool, the last instruction, the last user turn."""
    turns = body["messages"]
    last = turns[-1] if isinstance(turns, list) and turns[-1]["role"] == "user" else {}
    for blocks in (body.get("tools"), body.get("system"), last.get("content")):
        if isinstance(blocks, list):
            blocks[-1] = {**blocks[-1], "cache_control": _KEPT}


def _thinking_of(ask: Ask, offering: Offering) -> tuple[Json | None, Json]:
    """How it is told to think: as a number of tokens, or as a level that stands in the output's settings."""
    if not ask.thinks:
        return ({"type": "disabled"} if ask.level == "off" else None), {}
    if offering.thinking == "budget":
        return {"type": "enabled", "budget_tokens": max(ask.budget or 0, _LEAST_BUDGET)}, {}
    return {"type": "adaptive", "display": "summarized"}, {"effort": "low" if ask.level == "minimal" else ask.level}


def _budget_in(thinking: Json) -> int:
    budget = thinking.get("budget_tokens")
    return budget if isinstance(budget, int) else 0


def _choice(ask: Ask) -> Json:
    if isinstance(ask.choice, tuple):
        return {"type": "tool", "name": ask.choice[0]}
    return {"type": "any" if ask.choice == "required" else ask.choice}


def _tool(name: str, description: object, schema: object) -> Json:
    tool: Json = {"name": name, "input_schema": schema}
    if description is not UNSET:
        tool["description"] = description
    return tool


def _turns(messages: tuple[Message, ...]) -> list[Json]:
    """Messages of one role that follow one another are one message; results stand first in theirs."""
    turns: list[tuple[str, list[Json]]] = []
    for message in messages:
        if message.role in ("system", "developer"):
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in parts_of(message) if (block := _block(part)) is not None]
        # A thought that a cancel cut off from what it led to: the vendor refuses a turn that ends in one.
        while blocks and blocks[-1]["type"] in _THOUGHTS:
            blocks.pop()
        if not blocks:
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    return [{"role": role, "content": sorted(blocks, key=_is_no_result)} for role, blocks in turns]


def _is_no_result(block: Json) -> bool:
    return block["type"] != "tool_result"


def _block(part: ContentPart) -> Json | None:
    match part:
        case TextPart():
            # A model may well write a blank line before a call, and then the vendor refuses it in every later turn.
            return {"type": "text", "text": part.text} if part.text.strip() else None
        case ImagePart():
            return {"type": "image", "source": _source(part)}
        case ToolCallPart():
            return {
                "type": "tool_use", "id": _call_id(part.tool_call_id), "name": part.name, "input": part.arguments_json,
            }  # fmt: skip
        case ToolResultPart():
            return _result(part)
        case ReasoningPart():
            return _thinking(part)


def _thinking(part: ReasoningPart) -> Json | None:
    token = read_carry(WIRE, part.carry)
    if "redacted" in token:
        return {"type": "redacted_thinking", "data": token["redacted"]}
    if "signature" in token:
        return {"type": "thinking", "thinking": part.reasoning, "signature": token["signature"]}
    return None


def _source(part: ImagePart) -> Json:
    if part.image.url is not UNSET:
        return {"type": "url", "url": part.image.url}
    return {"type": "base64", "media_type": part.image.media_type, "data": part.image.data}


def _result(part: ToolResultPart) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": _call_id(part.tool_call_id), "content": result_text(part)}
    if part.is_error is True:
        block |= {"is_error": True, "content": block["content"] or _NO_WORDS}
    return block


def _call_id(call_id: str) -> str:
    """The id as this wire takes one: another vendor's id of other characters becomes its digest, always alike."""
    return call_id if _CALL_ID.fullmatch(call_id) else f"toolu_{sha256_hex(call_id.encode())[:24]}"
