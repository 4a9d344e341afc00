"""The few scalar shapes all payloads are made of, and the closed Struct they derive from (common.schema.json).

An optional member is `Maybe[T]`: absent or a `T`, never null, because the schemas give null no meaning. Structs are
closed; msgspec leaves an UNSET member out when it writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar, Union

import msgspec
from msgspec import UNSET, Meta, UnsetType

__all__ = (
    "UNSET",
    "Json",
    "JsonObject",
    "Maybe",
    "Natural",
    "OpaqueId",
    "Ordinal",
    "Percent",
    "Role",
    "Text",
    "Texts",
    "Wire",
    "refuse_repeats",
)

T = TypeVar("T")

Maybe = Union[T, UnsetType]  # noqa: UP007 - a generic alias of T and a sentinel needs Union on 3.11
OpaqueId = Annotated[str, Meta(min_length=1)]
Text = Annotated[str, Meta(min_length=1)]
Texts = tuple[Text, ...]
Natural = Annotated[int, Meta(ge=0)]
Ordinal = Annotated[int, Meta(ge=1)]
Percent = Annotated[int, Meta(ge=1, le=100)]
Role = Literal["system", "developer", "user", "assistant", "tool"]
Json = object
"""Any JSON value, where the schemas say `true`."""
JsonObject = Mapping[str, object]


class Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A closed object of the wire: an unknown member, a null and a wrong type are all refused when it is read."""


def refuse_repeats(wire: Wire, *names: str) -> None:
    """For `__post_init__`: a list the schema calls unique holds no value twice. Raises ValueError, which the reader
    turns into `schema_invalid` with the place.
    """
    for name in names:
        values = getattr(wire, name)
        if values is not UNSET and len(set(values)) != len(values):
            raise ValueError(f"`{name}` holds a value twice")
