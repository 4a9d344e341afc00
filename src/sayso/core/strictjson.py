"""The only reader of JSON that came from outside (SCH-024), and the writer of what we send.

Every floor reads bytes through here, so one place decides what JSON is: UTF-8 without a byte order mark, no member
twice in one object however it is escaped, integers that fit 64 bits with sign, finite numbers, whole characters,
nesting up to a bound, and nothing after the value. Whatever the bytes hold, the reader answers with a value or with
`Refused`; no other exception leaves. What the members mean is the business of the Struct that `decode` is given; which
bytes are hashed is decided in `core.canonical`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import isinf
from typing import TypeAlias, TypeVar

import jiter
import msgspec
import orjson

from sayso.core.refusal import Misuse, Refused

__all__ = ("MAX_DEPTH", "MAX_INTEGER", "MIN_INTEGER", "JsonValue", "convert", "decode", "encode", "parse", "parse_flat")

JsonValue: TypeAlias = "Mapping[str, JsonValue] | Sequence[JsonValue] | str | int | float | bool | None"
T = TypeVar("T")

MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**63 - 1
MAX_DEPTH = 200
"""The parser gives up just above this, so a caller cannot allow more."""

_MESSAGE_LIMIT = 300
_POSITION = re.compile(r" at line (\d+) column (\d+)$")
_PATH = re.compile(r" - at (.+)$", re.DOTALL)
_KEY_PATH = re.compile(r"`(?:key|value)` in `(.*)`", re.DOTALL)
_NOT_FINITE = re.compile(rb"-?(?:NaN|Infinity)")
_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_LF = b"\n"
_NUMBER = re.compile(_STRING + rb"|(-?[0-9][0-9.eE+-]*)", re.DOTALL)
_FRACTIONAL = frozenset(b".eE")
_BRACKET = re.compile(_STRING + rb"|([\[{])|([\]}])", re.DOTALL)

# What the parser says, and the reason we register for it; the first match counts.
_REASONS = (
    ("Detected duplicate key", "duplicate_member"),
    ("invalid unicode code point", "not_utf8"),
    ("lone leading surrogate", "lone_surrogate"),
    ("unexpected end of hex escape", "lone_surrogate"),
    ("number out of range", "number_out_of_range"),
    ("recursion limit exceeded", "too_deep"),
    ("trailing characters", "trailing_data"),
)


def parse(data: bytes, *, depth: int = 64) -> JsonValue:
    """Reads one JSON value; `depth` is how many containers may stand inside one another.

    Raises `Refused("malformed_json")` with `place` "line L column C" and one of the reasons duplicate_member, not_utf8,
    bom, number_out_of_range, not_finite, lone_surrogate, too_deep, trailing_data, syntax.
    """
    if depth > MAX_DEPTH:
        raise Misuse(f"a depth of {depth} is more than the parser reads")
    value = parse_flat(data)
    # Two cheap bounds spare nearly every document the walk: there are no more levels than brackets, and a serialiser
    # in C refuses integers beyond 2^53 and writes an infinity (1e400) as one null more than were read.
    if data.count(b"{") + data.count(b"[") > depth or _may_hold_wild_number(value, data.count(b"null")):
        _walk(value, data, depth)
    return value


def parse_flat(data: bytes) -> JsonValue:
    """Reads as `parse` does, and looks neither at depth nor at the range of numbers: for whoever then holds all of the
    value to a closed type in which nothing nests, and looks at its numbers. Raises `Refused("malformed_json")`.
    """
    try:
        # Only member names are remembered between calls: values may be secrets.
        value: JsonValue = jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="keys")
    except ValueError as error:
        raise _explain(data, str(error)) from None
    return value


def decode(data: bytes, type_: type[T], *, depth: int = 64) -> T:
    """Reads bytes into a closed Struct: the one funnel from outside bytes to a typed value.

    Raises what `parse` raises, and `Refused("schema_invalid")` whose `place` is the path of the offending member
    (`$.window.start`). Types are compared strictly: no text becomes a number, no number a boolean.
    """
    return convert(parse(data, depth=depth), type_)


def convert(value: JsonValue, type_: type[T]) -> T:
    """The second half of `decode`, for whoever has to look at the parsed value first. Refused: `schema_invalid`."""
    try:
        return msgspec.convert(value, type_, strict=True)
    except msgspec.ValidationError as error:
        raise _misfit(str(error)) from None


def encode(value: object) -> bytes:
    """Compact JSON of Structs and builtins, members in the order they are declared.

    Raises `Misuse` for what has no JSON form: our own values are always writable. Floats must be finite, which is not
    looked at here: what was read is finite, and what we reckon with is not a float.
    """
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Misuse(f"a value cannot be written as JSON: {error}") from error


def _may_hold_wild_number(value: JsonValue, nulls: int) -> bool:
    # Written again, a text holds every "null" it was read with, so an infinity cannot hide behind one that is gone.
    try:
        return orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER).count(b"null") != nulls
    except TypeError:
        return True


def _walk(value: JsonValue, data: bytes, depth: int) -> None:
    """Looks at every number and every level; the place is searched for only once a fault is known."""
    level: list[JsonValue] = [value]
    for left in range(depth, -1, -1):
        inner: list[JsonValue] = []
        for item in level:
            if isinstance(item, str):
                continue
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
            elif isinstance(item, int | float) and not MIN_INTEGER <= item <= MAX_INTEGER and _is_wild(item):
                raise _out_of_range(data)
            if not left and isinstance(item, dict | list):
                raise _too_deep(data, depth)
        level = inner


def _out_of_range(data: bytes) -> Refused:
    numbers = (match for match in _NUMBER.finditer(data) if match.group(1))
    first = next(match.start() for match in numbers if _is_wild(_number(match.group(1))))
    message = "a number is outside the range of a 64-bit integer or of a double"
    return _malformed("number_out_of_range", message, _place_of(data, first))


def _number(text: bytes) -> float:
    return float(text) if _FRACTIONAL.intersection(text) else int(text)


def _is_wild(number: float) -> bool:
    """Whether a number is an integer beyond 64 bits with sign, or an infinity that a large exponent made."""
    return not MIN_INTEGER <= number <= MAX_INTEGER if isinstance(number, int) else isinf(number)


def _too_deep(data: bytes, depth: int) -> Refused:
    brackets = [match for match in _BRACKET.finditer(data) if match.group(1) or match.group(2)]
    levels = accumulate(1 if match.group(1) else -1 for match in brackets)
    first = next(match.start() for match, level in zip(brackets, levels, strict=True) if level > depth)
    return _malformed("too_deep", f"values are nested more than {depth} levels deep", _place_of(data, first))


def _explain(data: bytes, said: str) -> Refused:
    """Turns the parser's complaint into ours; the order matters, since a wrong encoding breaks the syntax as well."""
    if data.startswith(b"\xef\xbb\xbf"):
        return _malformed("bom", "JSON text starts with a byte order mark", "line 1 column 1")
    found = _POSITION.search(said)
    line, column = (int(found.group(1)), int(found.group(2))) if found else (1, 1)
    place = f"line {line} column {column}"
    for phrase, reason in _REASONS:
        if said.startswith(phrase):
            return _malformed(reason, _POSITION.sub("", said)[:_MESSAGE_LIMIT], place)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _malformed("not_utf8", "JSON text is not UTF-8", _place_of(data, error.start))
    offset = _offset_of(data, line, column)
    if any(_NOT_FINITE.match(data, start) for start in range(max(0, offset - 2), offset + 1)):
        return _malformed("not_finite", "NaN and Infinity are no JSON numbers", place)
    return _malformed("syntax", _POSITION.sub("", said)[:_MESSAGE_LIMIT], place)


def _misfit(said: str) -> Refused:
    found = _PATH.search(said)
    place = "$"
    if found:
        inside = _KEY_PATH.fullmatch(found.group(1))
        place = inside.group(1) if inside else found.group(1).strip("`")
    message = _PATH.sub("", said)[:_MESSAGE_LIMIT]
    return Refused.because("schema_invalid", message, place=place[:_MESSAGE_LIMIT])


def _malformed(reason: str, message: str, place: str) -> Refused:
    return Refused.because("malformed_json", message, reason=reason, place=place)


def _place_of(data: bytes, offset: int) -> str:
    line = data.count(b"\n", 0, offset) + 1
    return f"line {line} column {offset - data.rfind(_LF, 0, offset)}"


def _offset_of(data: bytes, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = data.find(b"\n", start) + 1
    return start + max(0, column - 1)
