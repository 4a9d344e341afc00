"""Envelopes of any type by chance, valid as far as their members stand alone, and ways to spoil one."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES, Kind
from tests.control.protocol.seeds import seeds

TEXTS = st.sampled_from(["a", "b", "x y", "<U+2028>", "\u2028", "0", "dev.sayso.x"])
INTEGERS = st.sampled_from([0, 1, 2, 100, 101, -1, 2**53, 2**63 - 1, 1.0, 7.0, -0.0])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=3,
)
SIMPLE = {
    inspect.BoolType: st.booleans(),
    inspect.FloatType: st.floats(-10, 10) | st.integers(-3, 3),
    inspect.NoneType: st.none(),
}
SCALAR_SPOILERS = [None, True, False, 0, 1, -1, 1.0, 0.5, -0.0, 2**53, 2**63 - 1, 1e19, "", " ", "x", "auto", "share"]
NESTED_SPOILERS = [[], [None], {}, [[]], {"a": {"a": []}}, ["x", "x"], {"type": "text", "text": "x"}]
SPOILERS = st.sampled_from([*SCALAR_SPOILERS, *NESTED_SPOILERS]).map(copy.deepcopy)


def value(shape: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of this type as its Struct is annotated; what depends on other members is left to chance."""
    match shape:
        case inspect.StrType():
            return TEXTS
        case inspect.IntType():
            return INTEGERS
        case inspect.LiteralType():
            return st.sampled_from(shape.values)
        case inspect.VarTupleType() | inspect.CollectionType():
            return st.lists(value(shape.item_type), min_size=shape.min_length or 0, max_size=2)
        case inspect.DictType():
            return st.dictionaries(TEXTS, value(shape.value_type), max_size=2)
        case inspect.UnionType():
            return st.one_of([value(one) for one in shape.types])
        case inspect.StructType():
            return struct(shape.cls)
        case _:
            return SIMPLE.get(type(shape), ANY)


@cache
def struct(cls: type) -> st.SearchStrategy[dict[str, Any]]:
    shape = inspect.type_info(cls)
    assert isinstance(shape, inspect.StructType)
    tag = {shape.tag_field: st.just(shape.tag)} if shape.tag_field else {}
    known = {field.encode_name: value(field.type) for field in shape.fields if field.required}
    maybe = {field.encode_name: value(field.type) for field in shape.fields if not field.required}
    return st.fixed_dictionaries({**tag, **known}, optional=maybe)


@st.composite
def envelopes(draw: st.DrawFn) -> dict[str, Any]:
    """An envelope of any of the 80 types with a payload by chance and the scope it must carry, or nearly."""
    name = draw(st.sampled_from(sorted(seeds())))
    kind = AGENT_TYPES.get(name) or PROVIDER_TYPES[name]
    whole = copy.deepcopy(seeds()[name])
    if draw(st.booleans()):
        whole["payload"] = draw(struct(kind.payload))
    loose = [member for member in whole if member not in kind.required and member not in NEEDED]
    for member in draw(st.lists(st.sampled_from(loose), unique=True)) if loose else ():
        del whole[member]
    if kind.kind is Kind.EVENT:
        whole["sequence"] = draw(INTEGERS)
    return whole


NEEDED = ("protocol", "version", "profile", "type", "id", "payload")


@st.composite
def spoilt(draw: st.DrawFn) -> dict[str, Any]:
    """The same with up to three changes anywhere: a member dropped, added, renamed, repeated or replaced."""
    whole = draw(envelopes())
    for _ in range(draw(st.integers(1, 3))):
        inner = whole
        for _depth in range(draw(st.integers(0, 5))):
            below = [one for one in children(inner) if isinstance(one, dict | list) and one]
            if not below:
                break
            inner = draw(st.sampled_from(below))
        spoil(draw, inner)
    return whole


def children(inner: Any) -> list[Any]:
    return list(inner.values()) if isinstance(inner, dict) else list(inner)


def spoil(draw: st.DrawFn, inner: Any) -> None:
    keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
    what = draw(st.sampled_from(["drop", "add", "set", "swap", "twice"]))
    if what == "add" or not keys:
        if isinstance(inner, dict):
            inner[draw(st.sampled_from(["x", "scope", "type", "options", "carry", "reason", "error"]))] = draw(SPOILERS)
        return
    key = draw(st.sampled_from(keys))
    if what == "drop":
        del inner[key]
    elif what == "set":
        inner[key] = draw(SPOILERS)
    elif what == "twice" and isinstance(inner, list):
        inner.append(copy.deepcopy(inner[key]))
    else:
        other = draw(st.sampled_from(keys))
        inner[key], inner[other] = copy.deepcopy(inner[other]), copy.deepcopy(inner[key])


__all__ = ("envelopes", "spoilt", "struct")
