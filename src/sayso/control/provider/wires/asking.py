"""What a request asks for, read once for all wires; and what of it can be known beforehand to be impossible.

The history is made sound first (B25): a vendor answers 400 for ever to a call without a result or a result without its
call, so a call whose arguments are no object is dropped with its results, and the rest is repaired as the loop does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from sayso.control.loop.history import repair
from sayso.control.protocol.payloads.content import (
    ContentPart,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sayso.control.protocol.payloads.inference import (
    InferenceCreateRequest,
    InferenceTool,
    ProviderErrorCode,
    ReasoningLevel,
)
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.provider.wires.carry import is_foreign
from sayso.control.provider.wires.offering import Offering
from sayso.core import strictjson

__all__ = (
    "Ask",
    "Choice",
    "instructions_of",
    "is_strict",
    "object_to",
    "object_to_headers",
    "parts_of",
    "read_ask",
    "result_text",
    "sound",
)

Choice = Literal["auto", "none", "required"] | tuple[str]
Objection = tuple[ProviderErrorCode, str]

_CREDENTIAL_HEADERS = frozenset(
    ("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
)
_OUR_HEADERS = frozenset(
    ("accept", "accept-encoding", "connection", "content-length", "content-type", "expect", "host", "te", "trailer",
     "transfer-encoding", "upgrade")
)  # fmt: skip
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")
_BUDGETS: Mapping[ReasoningLevel, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 32_768,
}
_PICTURED = frozenset(("user", "tool"))


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as the wires write it. None is: not said. `level` and `budget` tell how much the model may think."""

    messages: tuple[Message, ...]
    tools: tuple[InferenceTool, ...]
    choice: Choice | None
    max_output_tokens: int | None
    temperature: float | None
    top_p: float | None
    output_schema: object | None
    level: ReasoningLevel | None
    budget: int | None

    @property
    def thinks(self) -> bool:
        """Whether reasoning was asked for."""
        return self.level not in (None, "off")


def read_ask(request: InferenceCreateRequest, provider: str) -> Ask:
    """Reads what `object_to` found possible, as `provider` may be asked it."""
    level, budget = _reasoning(request)
    return Ask(
        messages=tuple(_without_foreign(message, provider) for message in sound(request.messages)),
        tools=request.tools or (),
        choice=_choice(request.tool_choice) if request.tools else None,
        max_output_tokens=request.max_output_tokens or None,
        temperature=None if request.temperature is UNSET else request.temperature,
        top_p=None if request.top_p is UNSET else request.top_p,
        output_schema=None if request.output_schema is UNSET else request.output_schema,
        level=level,
        budget=budget,
    )


def object_to(request: InferenceCreateRequest, offering: Offering) -> Objection | None:
    """Why the create is refused at once; None where nothing speaks against it (OAP-130, OAP-132)."""
    if request.model_ref not in offering.refs:
        return "model_not_found", f"{offering.id} offers {offering.model} here"
    if request.credential_ref is not UNSET:
        return "credential_missing", "no credential was granted here, so none can be referred to"
    return object_to_headers(request.headers or {}) or _object_to_words(request) or _object_to_pictures(request)


def sound(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same conversation as any vendor takes it. Idempotent."""
    partial = {
        part.tool_call_id
        for message in messages
        for part in parts_of(message)
        if isinstance(part, ToolCallPart) and not isinstance(part.arguments_json, dict)
    }
    return repair([kept for message in messages if (kept := _without(message, partial)) is not None])


def parts_of(message: Message) -> tuple[ContentPart, ...]:
    """A message's parts; a text that says nothing is none (vendors refuse empty texts)."""
    content = message.content
    parts = (TextPart(text=content),) if isinstance(content, str) else content
    return tuple(part for part in parts if not isinstance(part, TextPart) or part.text)


def instructions_of(messages: Sequence[Message]) -> list[str]:
    """The texts of all system and developer messages, in order."""
    said = [message for message in messages if message.role in ("system", "developer")]
    return [part.text for message in said for part in parts_of(message) if isinstance(part, TextPart)]


def result_text(result: ToolResultPart) -> str:
    """A tool's result as text: a text as it is, anything else as JSON."""
    if isinstance(result.result, str):
        return result.result
    return strictjson.encode(result.result).decode()


def is_strict(schema: object) -> bool:
    """Whether a schema is of the closed kind that strict decoding takes: every object in it closed, and all of its
    members required.
    """
    if isinstance(schema, list):
        return all(is_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        names = set(properties) if isinstance(properties, dict) else set()
        required = schema.get("required", [])
        if schema.get("additionalProperties") is not False or names != set(required):
            return False
    return all(is_strict(value) for value in schema.values())


def _without_foreign(message: Message, provider: str) -> Message:
    """The message without what another provider's parts carry."""
    if isinstance(message.content, str):
        return message
    return msgspec.structs.replace(message, content=tuple(_own_part(part, provider) for part in message.content))


def _own_part(part: ContentPart, provider: str) -> ContentPart:
    if isinstance(part, ReasoningPart | ToolCallPart) and is_foreign(part.carry, provider):
        return msgspec.structs.replace(part, carry=UNSET)
    return part


def _without(message: Message, calls: set[str]) -> Message | None:
    if not calls or isinstance(message.content, str):
        return message
    kept = tuple(
        part
        for part in message.content
        if not (isinstance(part, ToolCallPart | ToolResultPart) and part.tool_call_id in calls)
    )
    if not kept:
        return None
    return Message(role=message.role, content=kept, id=message.id, metadata=message.metadata)


def _reasoning(request: InferenceCreateRequest) -> tuple[ReasoningLevel | None, int | None]:
    asked = request.reasoning
    if asked is UNSET:
        return None, None
    if asked.enabled is False:
        return "off", None
    level: ReasoningLevel | None = None if asked.effort is UNSET else asked.effort
    if asked.budget_tokens is not UNSET:
        return level or ("medium" if asked.budget_tokens else "off"), asked.budget_tokens
    if level is None:
        level = "medium" if asked.enabled is True else None
    return level, None if level is None else _BUDGETS.get(level)


def _choice(said: object) -> Choice | None:
    if said is UNSET:
        return None
    if said in ("auto", "none", "required"):
        return said
    if said == "any":
        return "required"
    name = said.get("name") if isinstance(said, dict) else None
    return (name,) if isinstance(name, str) and name else None


def object_to_headers(headers: Mapping[str, str]) -> Objection | None:
    """A credential, a header that frames the request, or one that HTTP cannot carry (OAP-132). The message begins with
    the finding.
    """
    for name, value in headers.items():
        if name.lower() in _CREDENTIAL_HEADERS or value.lower().startswith("bearer "):
            return "invalid_request", "credential_in_headers: a credential never travels in `headers`"
        if name.lower() in _OUR_HEADERS or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            return "invalid_request", "header_not_allowed: this header is not the caller's to set"
    return None


def _object_to_words(request: InferenceCreateRequest) -> Objection | None:
    names = [tool.name for tool in request.tools or ()]
    if len(names) != len(set(names)):
        return "invalid_request", "two tools have one name"
    if request.tool_choice is not UNSET:
        choice = _choice(request.tool_choice)
        if choice is None:
            return "invalid_request", "`tool_choice` is auto, none, required or an object with a `name`"
        if isinstance(choice, tuple) and choice[0] not in names:
            return "invalid_request", "`tool_choice` names a tool that is not among the tools"
    if request.output_schema is not UNSET and not isinstance(request.output_schema, dict):
        return "invalid_request", "an output schema is a JSON object"
    if any(not isinstance(tool.input_schema, dict) for tool in request.tools or ()):
        return "invalid_request", "a tool's input schema is a JSON object"
    said = [message for message in sound(request.messages) if message.role not in ("system", "developer")]
    if not any(_says_something(part) for message in said for part in parts_of(message)):
        return "invalid_request", "a conversation says something besides its instructions"
    return None


def _says_something(part: ContentPart) -> bool:
    """Reasoning alone may be another wire's, and is then left behind."""
    return bool(part.text.strip()) if isinstance(part, TextPart) else not isinstance(part, ReasoningPart)


def _object_to_pictures(request: InferenceCreateRequest) -> Objection | None:
    for message in request.messages:
        if message.role not in _PICTURED and any(isinstance(part, ImagePart) for part in parts_of(message)):
            return "unsupported_feature", f"a message of the {message.role} holds a picture"
    return None
