"""Google generateContent, as the vendor streams it: chunks of candidates, whole calls, usage in every chunk."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers.histories import Step, find_fault
from sayso.testing.vendor_servers.server import Problem, Received, Vendor
from sayso.testing.vendor_servers.turns import Said, frame, pieces_of

__all__ = ("GENERATE", "chunk")

Json = dict[str, object]
_ENDINGS = {"stop": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"}
_NAMES = {"invalid_request_error": "INVALID_ARGUMENT", "authentication_error": "UNAUTHENTICATED"}
_MEMBERS = frozenset(("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"))


def chunk(parts: list[Json], finish: str | None = None, **more: object) -> bytes:
    """One chunk with one candidate."""
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return frame({"candidates": [candidate], "modelVersion": "fixture", "responseId": "r1", **more})


def _stream(said: Said) -> list[bytes]:
    frames = [chunk([part]) for index, step in enumerate(said.steps) for part in _parts(step, index)]
    more: Json = {}
    if said.counted is not None:
        first, second = said.counted
        figures = {"promptTokenCount": first, "candidatesTokenCount": second, "totalTokenCount": first + second}
        more["usageMetadata"] = figures
    return [*frames, chunk([{"text": ""}], _ENDINGS[said.ending], **more)]


def _parts(step: Say | Think | Call, index: int) -> Iterator[Json]:
    match step:
        case Think():
            pieces = pieces_of(step.text) or [""]
            for piece in pieces[:-1]:
                yield {"text": piece, "thought": True}
            signed: Json = {} if step.carry is UNSET else {"thoughtSignature": step.carry}
            yield {"text": pieces[-1], "thought": True, **signed}
        case Say():
            for piece in step.deltas:
                yield {"text": piece}
        case Call():
            called: Json = {"name": step.name, "args": _arguments(step.arguments)}
            if step.tool_call_id is not None:
                called["id"] = step.tool_call_id
            yield {"functionCall": called, "thoughtSignature": b64encode(f"sig-{index}".encode()).decode()}


def _arguments(arguments: object) -> object:
    """The vendor sends no text for arguments, so a script's text that is none goes out as the text it is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return strictjson.parse(arguments.encode())
    except Refused:
        return arguments


def _judge(received: Received) -> Problem | None:
    body: Any = received.body
    if received.path != "/v1beta/models/fixture:streamGenerateContent" or received.query != "alt=sse":
        return Problem(404, "NOT_FOUND", "there is nothing here")
    unknown = sorted(set(body) - _MEMBERS)
    if unknown:
        return Problem(400, "INVALID_ARGUMENT", f'Unknown name "{unknown[0]}": Cannot find field.')
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents or any(not item.get("parts") for item in contents):
        return Problem(400, "INVALID_ARGUMENT", "contents are required")
    fault = _fault(contents)
    return Problem(400, "INVALID_ARGUMENT", fault) if fault else None


def _fault(contents: list[Mapping[str, Any]]) -> str | None:
    """Calls and responses are matched by name and order, which this vendor counts turn by turn."""
    steps: list[Step] = []
    made = answered = 0
    for content in contents:
        for part in content["parts"]:
            if "functionCall" in part:
                made += 1
                steps.append(("call", f"{made} {part['functionCall']['name']}"))
            elif "functionResponse" in part:
                answered += 1
                steps.append(("result", f"{answered} {part['functionResponse']['name']}"))
            else:
                steps.append(("other", ""))
    return find_fault(steps)


def _error(problem: Problem) -> object:
    status = _NAMES.get(problem.name, problem.name)
    return {"error": {"code": problem.status, "message": problem.message, "status": status}}


def _credential(received: Received) -> str | None:
    return received.headers.get("x-goog-api-key")


GENERATE = Vendor("google-generate-content", "/v1beta", _stream, _judge, _error, _credential)
