"""Google generateContent, as the vendor streams it: chunks of candidates, whole calls, usage in every chunk."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
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
_PATH = re.compile(r"/v1beta/models/[A-Za-z0-9.-]+:streamGenerateContent")
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
    if not _PATH.fullmatch(received.path) or received.query != "alt=sse":
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


def _listing(models: Sequence[str], query: Mapping[str, str]) -> object:
    """Pages of at most `pageSize` models (50 where it is not said); the token of a page is the place it begins at."""
    start, size = int(query.get("pageToken", "0")), int(query.get("pageSize", "50"))
    shown = [
        {
            "name": f"models/{name}", "displayName": name.title(), "inputTokenLimit": 1_000_000,
            "outputTokenLimit": 64_000, "supportedGenerationMethods": ["generateContent"],
        }
        for name in models[start : start + size]
    ]  # fmt: skip
    more = {"nextPageToken": str(start + size)} if start + size < len(models) else {}
    return {"models": shown, **more}


GENERATE = Vendor("google-generate-content", "/v1beta", _stream, _judge, _error, _credential, _listing)
