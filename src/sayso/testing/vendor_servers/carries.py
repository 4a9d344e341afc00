"""What a vendor gave a turn to carry, and whether it came back: signatures, encrypted items, thought signatures.

A model goes on behind a tool's result only with the tokens of the turn that made the call; without them, or with one
that was changed, the request is refused as vendors refuse it. Chat completions has no such tokens. A call that this
server never made is none of its business: a conversation may have begun elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sayso.core import strictjson
from sayso.core.frames import SseDecoder
from sayso.core.refusal import Refused

__all__ = ("Carries",)


class Carries:
    """The tokens of one vendor's streams, by the calls they came with. An id may be used by several conversations."""

    def __init__(self, wire: str) -> None:
        self._wire = wire
        self._given: dict[str, list[frozenset[str]]] = {}

    def give(self, frames: Sequence[bytes]) -> None:
        """Remembers what a stream carries."""
        events = list(_events(frames))
        tokens = frozenset(token for event in events for token in _tokens_given(self._wire, event) if token)
        for event in events:
            for call in _calls_given(self._wire, event):
                self._given.setdefault(call, []).append(tokens)

    def fault(self, body: Mapping[str, Any]) -> str | None:
        """Why the vendor would refuse what came back, or None."""
        back = set(_tokens_back(self._wire, body))
        for call in _calls_answered(self._wire, body):
            given = self._given.get(call)
            if given and not any(tokens <= back for tokens in given):
                return f"The turn that made the call {call} came back without what it carried"
        return None


def _events(frames: Sequence[bytes]) -> Iterator[Any]:
    for event in SseDecoder().feed(b"".join(frames)):
        try:
            value = strictjson.parse(event.data)
        except Refused:
            continue  # `[DONE]`, and what a script breaks on purpose
        if isinstance(value, dict):
            yield value


def _tokens_given(wire: str, event: Any) -> Iterator[str]:
    match wire:
        case "anthropic-messages":
            yield event.get("delta", {}).get("signature") or ""
            yield event.get("content_block", {}).get("data") or ""
        case "openai-responses" if event.get("type") == "response.output_item.done":
            yield event["item"].get("encrypted_content") or ""
        case "google-generate-content":
            yield from (part.get("thoughtSignature", "") for part in _parts(event))


def _calls_given(wire: str, event: Any) -> Iterator[str]:
    match wire:
        case "anthropic-messages" if event.get("content_block", {}).get("type") == "tool_use":
            yield event["content_block"]["id"]
        case "openai-responses" if event.get("type") == "response.output_item.done":
            if event["item"]["type"] == "function_call":
                yield event["item"]["call_id"]
        case "google-generate-content":
            for part in _parts(event):
                # Matched by id where there is one and it came back, else by name.
                called = part.get("functionCall") or {}
                yield from (called[name] for name in ("id", "name") if name in called)


def _tokens_back(wire: str, body: Mapping[str, Any]) -> Iterator[str]:
    match wire:
        case "anthropic-messages":
            for message in body["messages"]:
                for block in () if isinstance(message["content"], str) else message["content"]:
                    yield block.get("signature") or block.get("data") or ""
        case "openai-responses" if isinstance(body["input"], list):
            yield from (item.get("encrypted_content") or "" for item in body["input"])
        case "google-generate-content":
            for content in body["contents"]:
                yield from (part.get("thoughtSignature", "") for part in content["parts"])


def _calls_answered(wire: str, body: Mapping[str, Any]) -> Iterator[str]:
    """The calls whose results stand at the end."""
    match wire:
        case "anthropic-messages" if not isinstance(body["messages"][-1]["content"], str):
            blocks = body["messages"][-1]["content"]
            yield from (block["tool_use_id"] for block in blocks if block["type"] == "tool_result")
        case "openai-responses" if isinstance(body["input"], list):
            if body["input"][-1].get("type") == "function_call_output":
                yield body["input"][-1]["call_id"]
        case "google-generate-content":
            for part in body["contents"][-1]["parts"]:
                if "functionResponse" in part:
                    yield part["functionResponse"].get("id") or part["functionResponse"]["name"]


def _parts(event: Any) -> Iterator[Any]:
    for candidate in event.get("candidates", ()):
        yield from candidate.get("content", {}).get("parts", ())
