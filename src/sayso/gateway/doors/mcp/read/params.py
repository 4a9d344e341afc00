"""What each method is given, as closed values; members that a method does not have are ignored, as MCP wants it.

Refused: `schema_invalid` with the member's place. Arguments of a tool stay as they are: the act's own schema judges
them, and the guard their depth and length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue, convert

__all__ = (
    "ARGUMENTS",
    "Completion",
    "Filter",
    "Initialize",
    "Listen",
    "Named",
    "Page",
    "PromptCall",
    "ToolCall",
    "Uri",
    "read_params",
)

_P = TypeVar("_P", bound=msgspec.Struct)

ARGUMENTS = "$.params.arguments"
"""The place of a tool's arguments, from which depth is counted."""


class Initialize(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What opens a session. Who the client says it is changes nothing here, so it is not kept."""

    protocol_version: str
    capabilities: dict[str, Any] = {}


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Where a list goes on."""

    cursor: str | None = None


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool by name and what it is given."""

    name: str
    arguments: dict[str, Any] = {}


class Uri(msgspec.Struct, frozen=True, kw_only=True):
    """A resource by address."""

    uri: str


class PromptCall(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt by name and what is filled in."""

    name: str
    arguments: dict[str, str] = {}


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """An argument and how its value begins."""

    name: str
    value: str


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """What a completion is for: a prompt by name, or a resource template."""

    type: str
    name: str | None = None
    uri: str | None = None


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """A value to complete."""

    ref: Reference
    argument: Named


class Filter(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a client wants to hear of; lists never change while a client listens, so only resources are honoured."""

    resource_subscriptions: tuple[str, ...] = ()


class Listen(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription that lasts as long as its stream."""

    notifications: Filter


def read_params(params: Mapping[str, JsonValue], type_: type[_P]) -> _P:
    """Params as their type. Refused: `schema_invalid`, its place under `$.params`."""
    try:
        return convert(params, type_)
    except Refused as refused:
        said = refused.refusal
        place = f"$.params{(said.place or '$')[1:]}"
        raise Refused(msgspec.structs.replace(said, place=place)) from None
