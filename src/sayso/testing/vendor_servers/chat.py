"""OpenAI chat completions, as the vendor streams them: chunks, a finish reason, a chunk of usage, `[DONE]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers.histories import Step, find_fault
from sayso.testing.vendor_servers.server import Problem, Received, Vendor
from sayso.testing.vendor_servers.turns import Said, arguments_of, frame, pieces_of

__all__ = ("CHAT", "bearer", "chunk", "listing")

_ENDINGS = {"stop": "stop", "length": "length", "filter": "content_filter"}
_ROLES = ("system", "developer", "user", "assistant", "tool")
_MEMBERS = frozenset(
    ("model", "messages", "stream", "stream_options", "max_completion_tokens", "max_tokens", "temperature", "top_p",
     "reasoning_effort", "tools", "tool_choice", "response_format")
)  # fmt: skip


def chunk(delta: Mapping[str, object] | None, finish: str | None = None, **more: object) -> bytes:
    """One chunk; without a delta its list of choices is empty."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "fixture"}
    return frame({**head, "choices": choices, **more})


def _stream(said: Said) -> list[bytes]:
    frames = [chunk({"role": "assistant", "content": ""}, usage=None)]
    calls = 0
    for step in said.steps:
        match step:
            case Think():
                frames += [chunk({"reasoning_content": piece}) for piece in pieces_of(step.text)]
            case Say():
                frames += [chunk({"content": piece}) for piece in step.deltas]
            case Call():
                frames += _call(step, calls)
                calls += 1
    finish = "tool_calls" if said.ending == "stop" and said.has_calls else _ENDINGS[said.ending]
    frames.append(chunk({}, finish))
    if said.counted is not None:
        first, second = said.counted
        usage = {"prompt_tokens": first, "completion_tokens": second, "total_tokens": first + second}
        frames.append(chunk(None, usage=usage))
    return [*frames, frame("[DONE]")]


def _call(step: Call, index: int) -> Iterator[bytes]:
    call_id = step.tool_call_id or f"call_{index}"
    function: dict[str, object] = {"name": step.name, "arguments": ""}
    yield chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
    for piece in pieces_of(arguments_of(step)):
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _judge(received: Received) -> Problem | None:
    body: Any = received.body
    if received.path != "/v1/chat/completions":
        return Problem(404, "not_found_error", "there is nothing here")
    unknown = sorted(set(body) - _MEMBERS)
    if unknown:
        return Problem(400, "invalid_request_error", f"Unrecognized request argument supplied: {unknown[0]}")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or any(item.get("role") not in _ROLES for item in messages):
        return Problem(400, "invalid_request_error", "messages are missing or of an unknown role")
    fault = find_fault(step for message in messages for step in _steps(message))
    return Problem(400, "invalid_request_error", fault) if fault else None


def _steps(message: Mapping[str, Any]) -> Iterator[Step]:
    if message["role"] == "tool":
        yield "result", message["tool_call_id"]
        return
    yield "other", ""
    for call in message.get("tool_calls") or ():
        yield "call", call["id"]


def _error(problem: Problem) -> object:
    code = "invalid_api_key" if problem.status == 401 else None
    return {"error": {"message": problem.message, "type": problem.name, "param": None, "code": code}}


def bearer(received: Received) -> str | None:
    """The token of an Authorization header."""
    return received.headers.get("authorization", "").removeprefix("Bearer ") or None


def listing(models: Sequence[str], _: Mapping[str, str]) -> object:
    """All models at once."""
    data = [{"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "fixture"} for name in models]
    return {"object": "list", "data": data}


CHAT = Vendor("openai-chat-completions", "/v1", _stream, _judge, _error, bearer, listing)
