"""OpenAI responses, as the vendor streams them: items added, grown and done, and the whole response at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers.chat import bearer, listing
from sayso.testing.vendor_servers.histories import Step, find_fault
from sayso.testing.vendor_servers.server import Problem, Received, Vendor
from sayso.testing.vendor_servers.turns import Said, arguments_of, frame, pieces_of

__all__ = ("RESPONSES", "ResponseScript")

Json = dict[str, object]
_CUT = {"length": "max_output_tokens", "filter": "content_filter"}
_MEMBERS = frozenset(
    ("model", "input", "stream", "include", "store", "max_output_tokens", "temperature", "top_p", "reasoning", "tools",
     "tool_choice", "text")
)  # fmt: skip


class ResponseScript:
    """Writes the numbered events of one response."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.output: list[Json] = []
        self.event("response.created", response=self.response("in_progress"))

    def event(self, type_: str, **members: object) -> None:
        """One event, under the next number."""
        self.frames.append(frame({"type": type_, "sequence_number": len(self.frames), **members}, type_))

    def response(self, status: str, **members: object) -> Json:
        """The response as it stands."""
        return {
            "id": "resp_1", "object": "response", "created_at": 1_790_000_000, "status": status, "model": "fixture",
            "error": None, "incomplete_details": None, "output": list(self.output), "parallel_tool_calls": True,
            "tool_choice": "auto", "tools": [], "usage": None, "instructions": None, "metadata": {},
            "temperature": 1.0, "top_p": 1.0, **members,
        }  # fmt: skip

    def say(self, step: Say) -> None:
        """A message item with one text."""
        index, item_id = len(self.output), f"msg_{len(self.output)}"
        item: Json = {"id": item_id, "type": "message", "status": "in_progress", "role": "assistant", "content": []}
        self.event("response.output_item.added", output_index=index, item=item)
        place = {"item_id": item_id, "output_index": index, "content_index": 0}
        empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        self.event("response.content_part.added", **place, part=empty)
        for piece in step.deltas:
            self.event("response.output_text.delta", **place, delta=piece, logprobs=[])
        text = "".join(step.deltas)
        self.event("response.output_text.done", **place, text=text, logprobs=[])
        part = {**empty, "text": text}
        self.event("response.content_part.done", **place, part=part)
        self._done(index, {**item, "status": "completed", "content": [part]})

    def think(self, step: Think) -> None:
        """A reasoning item: a summary in the open, the rest encrypted."""
        index, item_id = len(self.output), f"rs_{len(self.output)}"
        item: Json = {"id": item_id, "type": "reasoning", "summary": []}
        self.event("response.output_item.added", output_index=index, item=item)
        place = {"item_id": item_id, "output_index": index, "summary_index": 0}
        if step.text:
            part = {"type": "summary_text", "text": ""}
            self.event("response.reasoning_summary_part.added", **place, part=part)
            for piece in pieces_of(step.text):
                self.event("response.reasoning_summary_text.delta", **place, delta=piece)
            self.event("response.reasoning_summary_text.done", **place, text=step.text)
            item["summary"] = [{**part, "text": step.text}]
        carried: Json = {} if step.carry is UNSET else {"encrypted_content": step.carry}
        self._done(index, {**item, **carried})

    def call(self, step: Call) -> None:
        """A function call item."""
        index, item_id = len(self.output), f"fc_{len(self.output)}"
        call_id = step.tool_call_id or f"call_{index}"
        item: Json = {
            "id": item_id, "type": "function_call", "status": "in_progress", "call_id": call_id, "name": step.name,
            "arguments": "",
        }  # fmt: skip
        self.event("response.output_item.added", output_index=index, item=item)
        place = {"item_id": item_id, "output_index": index}
        arguments = arguments_of(step)
        for piece in pieces_of(arguments):
            self.event("response.function_call_arguments.delta", **place, delta=piece)
        self.event("response.function_call_arguments.done", **place, name=step.name, arguments=arguments)
        self._done(index, {**item, "status": "completed", "arguments": arguments})

    def end(self, said: Said) -> None:
        """The terminal."""
        usage = None
        if said.counted is not None:
            first, second = said.counted
            usage = {
                "input_tokens": first, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": second,
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": first + second,
            }  # fmt: skip
        if said.ending == "stop":
            self.event("response.completed", response=self.response("completed", usage=usage))
        else:
            details = {"reason": _CUT[said.ending]}
            response = self.response("incomplete", usage=usage, incomplete_details=details)
            self.event("response.incomplete", response=response)

    def _done(self, index: int, item: Json) -> None:
        self.output.append(item)
        self.event("response.output_item.done", output_index=index, item=item)


def _stream(said: Said) -> list[bytes]:
    script = ResponseScript()
    for step in said.steps:
        match step:
            case Think():
                script.think(step)
            case Say():
                script.say(step)
            case Call():
                script.call(step)
    script.end(said)
    return script.frames


def _judge(received: Received) -> Problem | None:
    body: Any = received.body
    if received.path != "/v1/responses":
        return Problem(404, "not_found_error", "there is nothing here")
    unknown = sorted(set(body) - _MEMBERS)
    if unknown:
        return Problem(400, "invalid_request_error", f"Unknown parameter: '{unknown[0]}'.")
    items = [{"role": "user"}] if isinstance(body.get("input"), str) else body.get("input")
    if not isinstance(items, list) or not items:
        return Problem(400, "invalid_request_error", "there is no input")
    fault = find_fault(map(_step, items))
    return Problem(400, "invalid_request_error", fault) if fault else None


def _step(item: Mapping[str, Any]) -> Step:
    match item.get("type"):
        case "function_call":
            return "call", item["call_id"]
        case "function_call_output":
            return "result", item["call_id"]
    return "other", ""


def _error(problem: Problem) -> object:
    code = "invalid_api_key" if problem.status == 401 else None
    return {"error": {"message": problem.message, "type": problem.name, "param": None, "code": code}}


RESPONSES = Vendor("openai-responses", "/v1", _stream, _judge, _error, bearer, listing)
