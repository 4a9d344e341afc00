"""What a message orders: an act by name and its arguments, from the one thing a caller says (GTW-004).

A run takes one message. It holds either one part of JSON, or text alone. To an act's own agent the JSON is the act's
arguments; to the general agent it is `{"act": name, "arguments": {...}}`. Text is the value of the act's only required
argument, where that is a text; anything else would be guessing.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.doors.acp.wire import Message, Part
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.guard.rules.limits import DEFAULTS, scan_depth
from sayso.governance.acts import Act

__all__ = (
    "GENERAL",
    "JSON",
    "TEXT",
    "WITHDRAW",
    "Order",
    "act_of",
    "find_label",
    "is_withdrawal",
    "label_of",
    "read_order",
)

GENERAL = "sayso"
"""The agent that carries any act; no act's own agent can be called so."""

WITHDRAW = "withdraw"
"""What a resume says to take the proposal back."""
JSON = "application/json"
TEXT = "text/plain"
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One act to do. `place` is where its arguments stand in the request."""

    act: str
    arguments: JsonValue
    place: str


class _General(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    act: str
    arguments: dict[str, Any] = {}


def label_of(act: str) -> str:
    """The name of an act's own agent: an RFC 1123 label, so underscores and dots become hyphens."""
    return act.replace("_", "-").replace(".", "-").lower()


def find_label(acts: Sequence[Act]) -> dict[str, Act]:
    """Each act's own agent. An act whose label is none, is taken or is the general agent's has that one only."""
    found: dict[str, Act] = {}
    for act in acts:
        label = label_of(act.name)
        if _LABEL.fullmatch(label) and label != GENERAL:
            found.setdefault(label, act)
    return found


def act_of(agent_name: str, acts: Sequence[Act]) -> Act | None:
    """The act an agent stands for, None for the general one. Refused: `unknown_entity`."""
    if agent_name == GENERAL:
        return None
    act = find_label(acts).get(agent_name)
    if act is None:
        raise Refused(refusal("unknown_entity", "There is no such agent", reason="agent", place="agent_name"))
    return act


def read_order(act: Act | None, messages: Sequence[Message]) -> Order:
    """The order in a run's input.

    Refused: `malformed_request`, `malformed_json`, `schema_invalid`, `payload_limits`.
    """
    if len(messages) != 1:
        raise _unclear("A run takes one message", "$.input")
    parts = messages[0].parts
    if not parts or (len(parts) > 1 and any(_media_type(part) != TEXT for part in parts)):
        raise _unclear("A message holds one part of JSON, or text alone", "$.input[0].parts")
    place = "$.input[0].parts[0].content"
    if _media_type(parts[0]) == TEXT:
        return _from_text(act, "".join(map(read_text, parts)), place)
    value = _read_json(parts[0], place)
    if act is not None:
        return Order(act=act.name, arguments=value, place=place)
    general = _placed(value, place)
    return Order(act=general.act, arguments=general.arguments, place=f"{place}.arguments")


def is_withdrawal(message: Message) -> bool:
    """Whether a resume takes the proposal back: its text is `withdraw`. Whatever else it says only asks again."""
    texts = [part.content or "" for part in message.parts if _media_type(part) == TEXT]
    return "".join(texts).strip() == WITHDRAW


def read_text(part: Part) -> str:
    """A part's text. Refused: `malformed_request`."""
    if part.content_url is not None:
        # Nothing is fetched from an address that a caller names; and both at once is no part at all.
        raise _unclear("A part carries its content itself, not an address of it", "content_url")
    if part.content is None:
        raise _unclear("A part has content", "content")
    if part.content_encoding != "base64":
        return part.content
    try:
        return base64.b64decode(part.content, validate=True).decode()
    except (binascii.Error, ValueError):
        raise _unclear("The content is no base64 of UTF-8 text", "content") from None


def _media_type(part: Part) -> str:
    said = (part.content_type or TEXT).partition(";")[0].strip().lower()
    if said not in (JSON, TEXT):
        raise _unclear(f"A part is {JSON} or {TEXT}", "content_type")
    return said


def _from_text(act: Act | None, text: str, place: str) -> Order:
    needed = _only_text(act) if act is not None else None
    if act is None or needed is None:
        shape = '{"act": name, "arguments": {...}}' if act is None else "the act's arguments as an object"
        raise _unclear(f"This agent takes a part of {JSON}: {shape}", place)
    return Order(act=act.name, arguments={needed: text}, place=place)


def _only_text(act: Act) -> str | None:
    """The one argument an act cannot do without, where it is a text."""
    needed = [field for field in msgspec.structs.fields(act.arguments) if field.required]
    info = msgspec.inspect.type_info(needed[0].type) if len(needed) == 1 else None
    return needed[0].encode_name if isinstance(info, msgspec.inspect.StrType) else None


def _read_json(part: Part, place: str) -> JsonValue:
    data = read_text(part).encode()
    scan_depth(data)
    try:
        return strictjson.parse(data, depth=DEFAULTS.envelope_levels)
    except Refused as refused:
        raise Refused(msgspec.structs.replace(refused.refusal, place=f"{place} {refused.refusal.place}")) from None


def _placed(value: JsonValue, place: str) -> _General:
    try:
        return strictjson.convert(value, _General)
    except Refused as refused:
        inner = (refused.refusal.place or "$").removeprefix("$")
        raise Refused(msgspec.structs.replace(refused.refusal, place=place + inner)) from None


def _unclear(message: str, place: str) -> Refused:
    return Refused(refusal("malformed_request", message, reason="input", place=place))
