"""The documents of our bundle, made from the typed payloads: shapes by inspection, dependencies from `conditions`.

`documents` gives them by file name, each under its `$id`; references between them are relative, as in the published
bundle. The files in this folder are its printout (`python -m docs.schemas`). Presentation control has no document here,
because nothing serves it (OAP-217).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import inspect

from sayso.control.protocol.envelope import Envelope, ProviderEnvelope
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.schema.conditions import CONDITIONS, OPEN_MEMBERS, UNIQUE, Schema
from sayso.control.protocol.schema.names import AGENT_BRANCHES, DEFS, PROVIDER_BRANCHES, ROOTS
from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES, MessageType
from sayso.core.refusal import Misuse

__all__ = ("BASE", "branch_of", "documents")

BASE = "https://sayso.example/schema/oap/0.1/"
_TITLES: Mapping[str, str] = {
    "common": "Shapes that several documents share",
    "capabilities": "Initialization, capabilities and the model catalog",
    "session": "Opening, state, submitting, switching and compacting",
    "run": "One run: cancel, events, steers, compactions, terminals",
    "action": "Tools, their calls and permissions",
    "interaction": "Questions to a person",
    "auth": "Signing in to model providers",
    "provider": "What a model-provider endpoint publishes, and credentials",
    "inference": "One inference",
    "pack": "An extension pack's own document",
}
_SCOPES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "envelope": {
        "response": ("in_reply_to",),
        "session": ("session_id",),
        "run": ("session_id", "run_id"),
        "runEvent": ("session_id", "run_id", "sequence"),
        "typed": ("type", "payload"),
    },
    "provider-envelope": {
        "response": ("in_reply_to",),
        "scoped": ("inference_id",),
        "event": ("inference_id", "sequence"),
    },
}


@cache
def documents() -> Mapping[str, Schema]:
    """Every document by its file name (`run.schema.json`)."""
    found = {name: _Printer(name).payloads() for name in DEFS}
    found["envelope"] = _Printer("envelope").envelope(Envelope[Wire], AGENT_TYPES, AGENT_BRANCHES)
    found["provider-envelope"] = _Printer("provider-envelope").envelope(
        ProviderEnvelope[Wire], PROVIDER_TYPES, PROVIDER_BRANCHES
    )
    return {f"{name}.schema.json": document for name, document in found.items()}


def branch_of(type_name: str) -> str | None:
    """The address of the one branch that judges envelopes of this type, or None for a type unknown here."""
    for document, branches in (("envelope", AGENT_BRANCHES), ("provider-envelope", PROVIDER_BRANCHES)):
        if type_name in branches:
            return f"{BASE}{document}.schema.json#/$defs/{branches[type_name][0]}"
    return None


@cache
def _names() -> list[tuple[inspect.Type, str, str]]:
    """The inspected shape of every name, its document, the name."""
    return [(inspect.type_info(shape), file, name) for file, defs in DEFS.items() for name, shape in defs.items()]


class _Printer:
    """Prints one document."""

    def __init__(self, document: str) -> None:
        self._document = document

    def payloads(self) -> Schema:
        defs: Schema = {}
        for shape, file, name in _names():
            if file == self._document:
                first = self._refer(shape)
                own = f"#/$defs/{name}"
                defs[name] = self._shape(shape) if first is None or first == own else {"$ref": first}
        root = self._shape(inspect.type_info(ROOTS[self._document])) if self._document in ROOTS else {}
        return {**self._head(f"Open Agent Protocol 0.1: {_TITLES[self._document]}"), **root, "$defs": defs}

    def envelope(self, type_: Any, types: Mapping[str, MessageType], branches: Mapping[str, tuple[str, str]]) -> Schema:
        """The document that judges whole envelopes: what all have in common, and a branch a type."""
        struct = inspect.type_info(type_)
        if not isinstance(struct, inspect.StructType):
            raise Misuse("an envelope is a Struct")
        common = self._struct(struct)
        common["properties"]["payload"] = {"type": "object"}
        common["required"] = [*_HEAD]
        defs: Schema = {name: {"required": list(members)} for name, members in _SCOPES[self._document].items()}
        if self._document == "provider-envelope":
            defs["unscoped"] = {"not": {"required": ["inference_id"]}}
        for name, (branch, payload) in branches.items():
            defs[branch] = self._branch(types[name], payload)
        alternatives = [{"$ref": f"#/$defs/{branch}"} for branch, _payload in branches.values()]
        return {**self._head("Open Agent Protocol 0.1: one envelope"), **common, "oneOf": alternatives, "$defs": defs}

    def _head(self, title: str) -> Schema:
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"{BASE}{self._document}.schema.json",
            "title": title,
        }

    def _branch(self, kind: MessageType, payload: str) -> Schema:
        file, _, name = payload.partition("#")
        shape = {"$ref": f"{file}.schema.json#/$defs/{name}"} if name else self._shape(inspect.type_info(ErrorResponse))
        branch: Schema = {"properties": {"type": {"const": kind.name}, "payload": shape}}
        if kind.required:
            branch["required"] = list(kind.required)
        if kind.name == "inference.create.request":
            branch["allOf"] = [{"$ref": "#/$defs/unscoped"}]
        if kind.name == "inference.create.response":
            is_accepted = {"properties": {"payload": {"properties": {"accepted": {"const": True}}}}}
            branch |= {"if": is_accepted, "then": {"$ref": "#/$defs/scoped"}, "else": {"$ref": "#/$defs/unscoped"}}
        return branch

    def _refer(self, shape: inspect.Type) -> str | None:
        """Where a shape is defined, as seen from this document; None where it has no name."""
        for known, file, name in _names():
            if known == shape:
                return f"#/$defs/{name}" if file == self._document else f"{file}.schema.json#/$defs/{name}"
        return None

    def _print(self, shape: inspect.Type) -> Schema | bool:
        if isinstance(shape, inspect.CustomType | inspect.AnyType):
            return True
        found = self._refer(shape)
        return {"$ref": found} if found else self._shape(shape)

    def _shape(self, shape: inspect.Type) -> Schema:
        match shape:
            case inspect.VarTupleType() | inspect.CollectionType():
                return {"type": "array", **_bounds(minItems=shape.min_length), "items": self._print(shape.item_type)}
            case inspect.DictType():
                value = self._print(shape.value_type)
                return {"type": "object"} if value is True else {"type": "object", "additionalProperties": value}
            case inspect.UnionType():
                return {"oneOf": [self._print(one) for one in shape.types]}
            case inspect.StructType():
                return self._struct(shape)
        return _scalar(shape)

    def _struct(self, shape: inspect.StructType) -> Schema:
        unique = UNIQUE.get(shape.cls, ())
        required = [shape.tag_field] if shape.tag_field else []
        properties: Schema = {shape.tag_field: {"const": shape.tag}} if shape.tag_field else {}
        for field in shape.fields:
            member = self._member(shape.cls, field)
            properties[field.encode_name] = {**member, "uniqueItems": True} if field.name in unique else member
            if field.required:
                required.append(field.encode_name)
        schema: Schema = {"type": "object"}
        if required:
            schema["required"] = required
        schema["properties"] = properties
        if shape.forbid_unknown_fields:
            schema["additionalProperties"] = False
        conditions = CONDITIONS.get(shape.cls, ())
        return {**schema, "allOf": list(conditions)} if conditions else schema

    def _member(self, owner: type, field: inspect.Field) -> Any:
        if (owner, field.name) in OPEN_MEMBERS:
            return self._struct(_struct_info(OPEN_MEMBERS[owner, field.name]))
        return self._print(field.type)


_HEAD = ("protocol", "version", "profile", "type", "id", "payload")


def _scalar(shape: inspect.Type) -> Schema:
    match shape:
        case inspect.StrType():
            return {"type": "string", **_bounds(minLength=shape.min_length), **_pattern(shape.pattern)}
        case inspect.IntType():
            return {"type": "integer", **_bounds(minimum=shape.ge, maximum=shape.le)}
        case inspect.FloatType():
            return {"type": "number"}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.NoneType():
            return {"type": "null"}
        case inspect.LiteralType():
            values = sorted(shape.values, key=str)
            return {"enum": values} if len(values) > 1 else {"const": values[0]}
    raise Misuse(f"no schema is known for {shape}")


def _bounds(**limits: int | float | None) -> Schema:
    return {name: limit for name, limit in limits.items() if limit is not None}


def _pattern(pattern: str | None) -> Schema:
    return {"pattern": pattern} if pattern else {}


def _struct_info(type_: type) -> inspect.StructType:
    found = inspect.type_info(type_)
    if not isinstance(found, inspect.StructType):
        raise Misuse(f"{type_} is no Struct")
    return found
