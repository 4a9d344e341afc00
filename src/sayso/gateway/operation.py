"""One operation of a REST door as its description says it: how it is called, and every way it can be answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

__all__ = ("DENIALS", "EVENTS", "Operation", "Parameter", "Shape")

EVENTS = "text/event-stream"
DENIALS = (400, 401, 403, 404, 413, 429, 500, 503)
"""What the guard may answer on any route of a door."""

Shape: TypeAlias = "type[msgspec.Struct] | str"
"""A document of this type, or text of this media type."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the path or of the query, or a header."""

    name: str
    where: Literal["path", "query", "header"]
    schema: Mapping[str, Any]
    description: str
    required: bool = True


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """`path` as a template, `answers` by status; every status of `denials` is answered with a `failure`.

    `media_type` is what documents are called. Without `needs_key` the route is public.
    """

    id: str
    method: Literal["GET", "POST", "DELETE"]
    path: str
    summary: str
    answers: Mapping[int, tuple[Shape, ...]]
    failure: type[msgspec.Struct]
    denials: tuple[int, ...] = DENIALS
    parameters: tuple[Parameter, ...] = ()
    body: type[msgspec.Struct] | None = None
    media_type: str = "application/json"
    needs_key: bool = True
