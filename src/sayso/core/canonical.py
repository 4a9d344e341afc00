"""Canonical JSON (RFC 8785): the bytes that are hashed and signed when a document has no bytes of its own.

Most values take a fast path through a serialiser in C. It differs from RFC 8785 in three things only: how it writes
floating-point numbers, that it orders names by code point where the RFC orders by UTF-16 unit, and that it lets
infinities and NaN through as null. So a value with a float, or whose text holds a character beyond U+FFFF, takes the
slow path, which is the RFC written out. Integers beyond 2^53 - 1 have no exact double and are refused on both.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import cast

import orjson

from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue

__all__ = ("MAX_SAFE_INTEGER", "canonical")

MAX_SAFE_INTEGER = 2**53 - 1

_FAST = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_ASTRAL = re.compile(rb"[\xf0-\xf4]")
_PLAIN = frozenset((str, int, bool, type(None)))


def canonical(value: JsonValue) -> bytes:
    """The RFC 8785 bytes of a value made of dict, list, str, int, float, bool and None.

    Raises `Refused("not_canonical")` with reason integer_out_of_range, not_finite, lone_surrogate, too_deep or
    not_json.
    """
    if _has_no_float(value):
        try:
            fast = orjson.dumps(value, option=_FAST)
        except TypeError:
            fast = b""  # the slow path says what is wrong
        if fast and (fast.isascii() or not _ASTRAL.search(fast)):
            return fast
    try:
        return _write(value).encode("utf-8")
    except UnicodeEncodeError:
        raise _refused("lone_surrogate", "text holds half of a surrogate pair") from None
    except RecursionError:
        raise _refused("too_deep", "values are nested too deeply") from None


def _has_no_float(value: JsonValue) -> bool:
    """Whether only text, integers, booleans and null occur, at any depth."""
    if type(value) in _PLAIN:
        return True
    found: list[object] = [value]
    for container in found:
        if type(container) is dict:
            members = list(container.values())
        elif type(container) is list:
            members = container
        else:
            return False
        found.extend(member for member in members if type(member) not in _PLAIN)
    return True


def _write(value: object) -> str:
    match value:
        case None:
            return "null"
        case True:
            return "true"
        case False:
            return "false"
        case str():
            return _text(value)
        case int():
            if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                raise _refused("integer_out_of_range", "an integer beyond 2^53 - 1 has no canonical form")
            return int.__repr__(value)
        case float():
            return _number(value)
        case list() | tuple():
            return f"[{','.join(map(_write, value))}]"
        case dict():
            return _members(value)
    raise _refused("not_json", f"a {type(value).__name__} is no JSON value")


def _members(value: dict[object, object]) -> str:
    if not all(isinstance(name, str) for name in value):
        raise _refused("not_json", "a member's name is text")
    named = cast(dict[str, object], value)
    in_order = sorted(named, key=_utf16)
    return "{" + ",".join(f"{_text(name)}:{_write(named[name])}" for name in in_order) + "}"


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be")


_SHORT_ESCAPES = {0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r", 0x22: '\\"', 0x5C: "\\\\"}
_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)} | _SHORT_ESCAPES


def _text(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _number(value: float) -> str:
    """ECMAScript's spelling of a double: shortest digits, plain notation from 1e-6 up to 1e21 (RFC 8785 3.2.2.3)."""
    if not isfinite(value):
        raise _refused("not_finite", "NaN and infinities have no canonical form")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # `point` is where the decimal point stands, counted from the first significant digit.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{rest}e{point - 1:+d}"


def _refused(reason: str, message: str) -> Refused:
    return Refused.because("not_canonical", message, reason=reason)
