"""The limits of the doors, and the two checks of what a body may hold (GTW-020, GTW-021).

The envelope's nesting is scanned on raw bytes, before any parser sees them. The payload's nesting and the length of its
texts are judged on the parsed value, from where the domain's own data begins: an envelope's levels are not the caller's
to choose. Texts are measured in code points, members' names too.
"""

from __future__ import annotations

import re
from datetime import timedelta

import msgspec

from sayso.core.gcra import Limit
from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.guard.rules.codes import refusal

__all__ = ("DEFAULTS", "Limits", "check_payload", "scan_depth")

_MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)
# An unclosed string runs to the end. Possessive, so that no input is looked at twice.
_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|([\[{])|([\]}])', re.DOTALL)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Every limit. `minute` and `second` are an agent's class rate, `coarse` what any request of its costs,
    `address` what one client address may try without a known key.
    """

    body_bytes: int = 8192
    string_chars: int = 2000
    payload_levels: int = 4
    envelope_levels: int = 12
    minute: Limit = Limit(_MINUTE, 20)
    second: Limit = Limit(_SECOND, 3)
    coarse: Limit = Limit(_SECOND, 10)
    address: Limit = Limit(_MINUTE, 30)
    signature_age: timedelta = timedelta(seconds=60)
    violations: int = 5
    violation_window: timedelta = timedelta(hours=24)
    settle_within: timedelta = timedelta(seconds=120)


DEFAULTS = Limits()


def scan_depth(raw: bytes, levels: int = DEFAULTS.envelope_levels) -> None:
    """Looks how deep objects and arrays stand in raw bytes, brackets inside strings aside.

    Refused: `payload_limits` (reason `too_deep`). Linear in the bytes whatever they are; it does not care whether they
    are JSON.
    """
    if raw.count(b"{") + raw.count(b"[") <= levels:
        return
    depth = 0
    for mark in _MARK.finditer(raw):
        if mark[1]:
            depth += 1
            if depth > levels:
                raise _passed("too_deep", "$", f"The message is nested deeper than {levels} levels", levels)
        elif mark[2]:
            depth -= 1


def check_payload(value: JsonValue, place: str, limits: Limits = DEFAULTS) -> None:
    """Judges a domain payload. `place` is where it stands, such as `$.params.arguments`; an object or array counts one
    level, so `{"a": [1]}` has two.

    Refused: `payload_limits` (reason `too_deep` or `string_too_long`), naming the member.
    """
    _check(value, place, limits, limits.payload_levels)


def _check(value: JsonValue, place: str, limits: Limits, left: int) -> None:
    if isinstance(value, str):
        if len(value) > limits.string_chars:
            raise _passed("string_too_long", place, f"A text is longer than {limits.string_chars} characters",
                          limits.string_chars)  # fmt: skip
    elif isinstance(value, dict):
        _descend(place, limits, left)
        for name, item in value.items():
            if len(name) > limits.string_chars:
                raise _passed("string_too_long", place, f"A name is longer than {limits.string_chars} characters",
                              limits.string_chars)  # fmt: skip
            if isinstance(item, str | dict | list):
                _check(item, f"{place}.{name}", limits, left - 1)
    elif isinstance(value, list):
        _descend(place, limits, left)
        for number, item in enumerate(value):
            if isinstance(item, str | dict | list):
                _check(item, f"{place}[{number}]", limits, left - 1)


def _descend(place: str, limits: Limits, left: int) -> None:
    if left <= 0:
        levels = limits.payload_levels
        raise _passed("too_deep", place, f"The payload is nested deeper than {levels} levels", levels)


def _passed(reason: str, place: str, message: str, limit: int) -> Refused:
    return Refused(refusal("payload_limits", message, reason=reason, place=place[:300], limit=limit))
