"""Anthropic messages, as the vendor streams them: blocks started, grown and stopped inside one message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers.chat import bearer
from sayso.testing.vendor_servers.histories import Step, find_fault
from sayso.testing.vendor_servers.server import Problem, Received, Vendor
from sayso.testing.vendor_servers.turns import Said, arguments_of, frame, pieces_of

__all__ = ("MESSAGES", "event")

_MOST_MARKS = 4
_ENDINGS = {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"}
_MEMBERS = frozenset(
    ("model", "messages", "max_tokens", "stream", "system", "thinking", "output_config",
     "tools", "tool_choice", "metadata")
)  # fmt: skip
_VERSIONS: Mapping[str, frozenset[str]] = {
    "2023-06-01": frozenset(("temperature", "top_p", "top_k")),
    "2026-10-21": frozenset(),
}
"""What each version of the API takes besides: the present one takes no sampling settings, not even the defaults."""


def event(type_: str, **members: object) -> bytes:
    """One event, named and typed alike."""
    return frame({"type": type_, **members}, type_)


def _stream(said: Said) -> list[bytes]:
    first, second = said.counted or (0, 0)
    counted = {} if said.counted is None else {"usage": {"input_tokens": first, "output_tokens": 1}}
    message: dict[str, object] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "fixture", "content": [], "stop_reason": None,
        "stop_sequence": None, **counted,
    }  # fmt: skip
    frames = [event("message_start", message=message), event("ping")]
    for index, step in enumerate(said.steps):
        frames += _block(step, index)
    stop = "tool_use" if said.ending == "stop" and said.has_calls else _ENDINGS[said.ending]
    totals = {} if said.counted is None else {"usage": {"output_tokens": second}}
    frames.append(event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, **totals))
    return [*frames, event("message_stop")]


def _block(step: Say | Think | Call, index: int) -> Iterator[bytes]:
    match step:
        case Think() if not step.text:
            data = "" if step.carry is UNSET else step.carry
            yield event("content_block_start", index=index, content_block={"type": "redacted_thinking", "data": data})
        case Think():
            block = {"type": "thinking", "thinking": "", "signature": ""}
            yield event("content_block_start", index=index, content_block=block)
            for piece in pieces_of(step.text):
                yield event("content_block_delta", index=index, delta={"type": "thinking_delta", "thinking": piece})
            if step.carry is not UNSET:
                delta = {"type": "signature_delta", "signature": step.carry}
                yield event("content_block_delta", index=index, delta=delta)
        case Say():
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            for piece in step.deltas:
                yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
        case Call():
            use = {"type": "tool_use", "id": step.tool_call_id or f"toolu_{index}", "name": step.name, "input": {}}
            yield event("content_block_start", index=index, content_block=use)
            for piece in ["", *pieces_of(arguments_of(step))]:
                delta = {"type": "input_json_delta", "partial_json": piece}
                yield event("content_block_delta", index=index, delta=delta)
    yield event("content_block_stop", index=index)


def _judge(received: Received) -> Problem | None:
    body: Any = received.body
    if received.path != "/v1/messages":
        return Problem(404, "not_found_error", "there is nothing here")
    version = received.headers.get("anthropic-version", "")
    if version not in _VERSIONS:
        return Problem(400, "invalid_request_error", "anthropic-version: header is required")
    unknown = sorted(set(body) - _MEMBERS - _VERSIONS[version])
    if unknown:
        return Problem(400, "invalid_request_error", f"{unknown[0]}: Extra inputs are not permitted")
    if not isinstance(body.get("max_tokens"), int):
        return Problem(400, "invalid_request_error", "max_tokens: Field required")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or messages[0].get("role") != "user":
        return Problem(400, "invalid_request_error", "messages: first message must use the user role")
    fault = find_fault(step for message in messages for step in _steps(message)) or _shape_fault(messages)
    fault = fault or _marks_fault(body)
    return Problem(400, "invalid_request_error", fault) if fault else None


def _steps(message: Mapping[str, Any]) -> Iterator[Step]:
    if isinstance(message["content"], str):
        yield "other", ""
        return
    for block in message["content"]:
        if block["type"] == "tool_use":
            yield "call", block["id"]
        elif block["type"] == "tool_result":
            yield "result", block["tool_use_id"]
        else:
            yield "other", ""


def _shape_fault(messages: list[Any]) -> str | None:
    for message in messages:
        for block in () if isinstance(message["content"], str) else message["content"]:
            if block["type"] == "text" and not block["text"]:
                return "text content blocks must be non-empty"
            if block["type"] == "tool_use" and not isinstance(block["input"], dict):
                return "tool_use.input: Input should be a valid dictionary"
            if block["type"] == "thinking" and not block.get("signature"):
                return "thinking.signature: Field required"
    return None


def _marks_fault(body: Mapping[str, Any]) -> str | None:
    """At most four marks, each of the one kind there is, and none on a thought."""
    turns = [message["content"] for message in body["messages"] if not isinstance(message["content"], str)]
    given = body.get("system", [])
    places = [
        *body.get("tools", ()),
        *(given if isinstance(given, list) else ()),
        *(each for turn in turns for each in turn),
    ]
    marked = [place for place in places if "cache_control" in place]
    if len(marked) > _MOST_MARKS:
        return f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
    for place in marked:
        if place["cache_control"].get("type") != "ephemeral":
            return "cache_control.type: Input should be 'ephemeral'"
        if place.get("type") in ("thinking", "redacted_thinking"):
            return "cache_control: Extra inputs are not permitted"
    return None


def _error(problem: Problem) -> object:
    return {"type": "error", "error": {"type": problem.name, "message": problem.message}}


def _credential(received: Received) -> str | None:
    """Both forms are taken, and of two the key counts; the vendor's clients send the bearer."""
    return received.headers.get("x-api-key") or bearer(received)


def _listing(models: Sequence[str], query: Mapping[str, str]) -> object:
    """Pages of at most `limit` models (20 where it is not said), each going on behind `after_id`."""
    start = models.index(query["after_id"]) + 1 if query.get("after_id") in models else 0
    shown = models[start : start + int(query.get("limit", "20"))]
    data = [
        {
            "type": "model", "id": name, "display_name": name.title(), "created_at": "2026-09-21T14:13:20Z",
            "lifecycle": "active", "max_input_tokens": 200_000, "max_tokens": 64_000,
        }
        for name in shown
    ]  # fmt: skip
    ends = {"first_id": shown[0] if shown else None, "last_id": shown[-1] if shown else None}
    return {"data": data, "has_more": start + len(shown) < len(models), **ends}


MESSAGES = Vendor("anthropic-messages", "", _stream, _judge, _error, _credential, _listing)
