"""A value without the members its type does not know: what tolerant mode reads (OAP-024).

Only members of closed objects are left out. Wrong types, values outside an enumeration and missing members stay as they
are, so the typed reader still refuses them. A pruner is built once for each type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import inspect

__all__ = ("known_only",)

Pruner = Callable[[Any], Any]


def known_only(type_: Any, value: Any) -> Any:
    """The value, pruned to what `type_` knows; a value that does not fit is left alone."""
    prune = _pruner_of(type_)
    return prune(value) if prune else value


@cache
def _pruner_of(type_: Any) -> Pruner | None:
    return _pruner(inspect.type_info(type_))


def _pruner(info: inspect.Type) -> Pruner | None:
    """What to do with a value of this type; None when nothing can be left out of it."""
    if isinstance(info, inspect.Metadata):
        return _pruner(info.type)
    if isinstance(info, inspect.StructType):
        return _struct(info)
    if isinstance(info, inspect.UnionType):
        return _union(info)
    if isinstance(info, inspect.VarTupleType | inspect.ListType):
        inner = _pruner(info.item_type)
        return (lambda value: [inner(each) for each in value] if isinstance(value, list) else value) if inner else None
    if isinstance(info, inspect.DictType):
        held = _pruner(info.value_type)
        return (lambda value: _each(held, value)) if held else None
    return None


def _each(prune: Pruner, value: Any) -> Any:
    return {name: prune(inner) for name, inner in value.items()} if isinstance(value, dict) else value


def _struct(info: inspect.StructType) -> Pruner:
    if info.cls in _BEING_BUILT:
        # A type that holds itself is looked up when a value of it comes.
        return lambda value: known_only(info.cls, value)
    _BEING_BUILT.add(info.cls)
    try:
        fields = {field.encode_name: _pruner(field.type) for field in info.fields}
    finally:
        _BEING_BUILT.discard(info.cls)
    tag = info.tag_field

    def prune(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        kept = {}
        for name, inner in value.items():
            if name in fields:
                deeper = fields[name]
                kept[name] = deeper(inner) if deeper else inner
            elif name == tag:
                kept[name] = inner
        return kept

    return prune


_BEING_BUILT: set[type] = set()


def _union(info: inspect.UnionType) -> Pruner | None:
    structs = [kind for kind in info.types if isinstance(kind, inspect.StructType)]
    tagged = {kind.tag: _struct(kind) for kind in structs if kind.tag_field}
    plain = next((_struct(kind) for kind in structs if not kind.tag_field), None)
    others = [kind for kind in info.types if not isinstance(kind, inspect.StructType)]
    deeper = next((found for found in map(_pruner, others) if found), None)
    if not structs and deeper is None:
        return None
    field = structs[0].tag_field if structs else None

    def prune(value: Any) -> Any:
        if isinstance(value, dict) and structs:
            found = tagged.get(value.get(field)) if field and isinstance(value.get(field), str) else plain
            return found(value) if found else value
        return deeper(value) if deeper else value

    return prune
