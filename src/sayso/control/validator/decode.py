"""Phase one: bytes to the JSON values of a trace, each with its index and line (OAP-020, OAP-022).

A trace is a JSON array of envelopes, or envelopes one a line. Lines end at byte 0x0A alone; blank ones are passed over.
A line is at most 16 MiB, as on every wire of ours, and a fault of one line does not hide the next.

One difference from the readers of our wires, decided by the specification's own fixtures (decision 0025): a repeat that
says the same again harms nobody and is read, except in the six members every reader routes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from json import JSONDecoder
from math import isfinite
from typing import Any, BinaryIO

import msgspec

from sayso.control.validator.diagnostics import Finding, Phase
from sayso.core import strictjson
from sayso.core.refusal import Misuse, Refusal, Refused

__all__ = ("MAX_LINE", "Frame", "TraceReader")

MAX_LINE = 16 * 1024 * 1024
_DEPTH = 64
_BLANK = b" \t\r\n"
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},]|[^\s\[\]{},":]+', re.DOTALL)
_HEAD = frozenset(("protocol", "version", "profile", "type", "id", "payload"))


class Frame(msgspec.Struct, frozen=True):
    """One value of a trace, read and not yet judged."""

    index: int
    value: object
    line: int | None = None


class TraceReader:
    """Reads one trace, once. Lines are read as they come; an array is read whole."""

    def __init__(self, source: bytes | BinaryIO, is_heard: Callable[[bytes], bool] | None = None) -> None:
        self._is_heard = is_heard
        self._stream = BytesIO(source) if isinstance(source, bytes) else source
        self._array: bytes | None = None
        self._places: list[int] | None = None
        self.mended = 0
        """How many values, or whole arrays, said something twice and were read all the same."""
        self.heard = 0
        """How many lines `is_heard` took by itself: of those no frame comes."""

    def frames(self) -> Iterator[Frame | Finding]:
        """The values of the trace, and a finding for each that could not be read."""
        number, first = _first_line(self._stream)
        start = first.lstrip(_BLANK)[:1]
        if start == b"[":
            rest = self._stream.read()
            # Lines that each hold a value are lines, whatever the first one is; anything else is trailing data.
            if rest.lstrip(_BLANK)[:1] not in (b"{", b"[") or not _is_value(first):
                yield from self._whole(b"\n" * (number - 1) + first + rest)
                return
            self._stream = BytesIO(rest)
        elif start == b"{" and not _is_value(first):
            rest = self._stream.read()
            if _is_value(first + rest):
                yield from self._whole(b"\n" * (number - 1) + first + rest)
                return
            self._stream = BytesIO(rest)
        yield from self._lines(number, first)

    def line_of(self, index: int) -> int | None:
        """The line on which this element of an array begins; looked for only when somebody asks."""
        if self._array is None:
            return None
        if self._places is None:
            self._places = list(_places(self._array))
        return self._places[index] if index < len(self._places) else None

    def _whole(self, data: bytes) -> Iterator[Frame | Finding]:
        self._array = data
        try:
            value = self._read(data, _DEPTH + 1)
        except Refused as refused:
            line = _line_in(refused.refusal.place)
            before = b"\n".join(data.split(b"\n")[:line])
            index = max(0, sum(1 for _ in _starts(before)) - 1)
            yield _finding(refused.refusal, index, None)
            return
        values = value if isinstance(value, list) else [value]
        if not values:
            yield Finding(phase=Phase.DECODE.value, code="malformed_json", message="the trace is empty")
        yield from (Frame(index, each) for index, each in enumerate(values))

    def _lines(self, number: int, line: bytes) -> Iterator[Frame | Finding]:
        index, is_heard = 0, self._is_heard
        while line:
            if is_heard is not None and is_heard(line):
                self.heard += 1
                index += 1
            elif line.strip(_BLANK):
                yield self._line(index, number, line)
                index += 1
            number += 1
            line = self._stream.readline(MAX_LINE + 1)
        if index == 0:
            yield Finding(phase=Phase.DECODE.value, code="malformed_json", message="the trace is empty")

    def _line(self, index: int, number: int, line: bytes) -> Frame | Finding:
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            size = len(line)
            while line and not line.endswith(b"\n"):
                line = self._stream.readline(MAX_LINE)
                size += len(line)
            refusal = Refusal(code="malformed_json", message=f"a line of {size} bytes is over the bound of {MAX_LINE}")
            return _finding(refusal, index, number)
        try:
            return Frame(index, self._read(line, _DEPTH), number)
        except Refused as refused:
            return _finding(refused.refusal, index, number)

    def _read(self, data: bytes, depth: int) -> object:
        try:
            return strictjson.parse(data, depth=depth)
        except Refused as refused:
            said_once = _without_harmless_repeats(data) if refused.refusal.reason == "duplicate_member" else None
            if said_once is None:
                raise
        value = strictjson.parse(said_once, depth=depth)
        self.mended += 1
        return value


def _starts(data: bytes) -> Iterator[int]:
    """Where the elements of an array begin; of a text that is no array, where it begins."""
    depth, is_due = 0, True
    for token in _TOKEN.finditer(data):
        mark = token.group()[:1]
        if is_due and ((depth == 1 and mark != b"]") or (depth == 0 and mark != b"[")):
            yield token.start()
        is_due = (depth == 1 and mark == b",") or (depth == 0 and mark == b"[")
        depth += (mark in b"[{") - (mark in b"]}")


def _places(data: bytes) -> Iterator[int]:
    """The lines on which the elements of an array begin."""
    line, seen = 1, 0
    for start in _starts(data):
        line += data.count(b"\n", seen, start)
        seen = start
        yield line


def _line_in(place: str | None) -> int:
    words = (place or "").split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 1


def _first_line(stream: BinaryIO) -> tuple[int, bytes]:
    number = 1
    line = stream.readline(MAX_LINE + 1)
    while line and not line.strip(_BLANK):
        number += line.endswith(b"\n")
        line = stream.readline(MAX_LINE + 1)
    return number, line


def _is_value(data: bytes) -> bool:
    try:
        TraceReader(b"")._read(data, _DEPTH + 1)
    except Refused:
        return False
    return True


def _finding(refusal: Refusal, index: int | None, line: int | None) -> Finding:
    code = "duplicate_key" if refusal.reason == "duplicate_member" else "malformed_json"
    place = refusal.place
    if line is not None and place is not None:
        place = f"line {line} {place.partition(' column ')[1].strip()} {place.rpartition(' ')[2]}"
    return Finding(phase=Phase.DECODE.value, code=code, message=refusal.message, index=index, line=line, place=place)


class _Harmful(ValueError):
    """A repeat that two readers could read differently, or a number that no JSON has."""


def _without_harmless_repeats(data: bytes) -> bytes | None:
    """The same text with every repeat left out that says the same again; None when one does not, or routes.

    What comes back goes through the strict reader like any text, so nothing else is forgiven here.
    """
    try:
        value = _FORGIVING.decode(data.decode())
        return strictjson.encode(value)
    except (ValueError, RecursionError, Misuse):
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        is_envelope = "protocol" in found
        seen: set[str] = set()
        for name, value in pairs:
            if name in seen and is_envelope and name in _HEAD:
                raise _Harmful(name)
            if not _is_same(found[name], value):
                raise _Harmful(name)
            seen.add(name)
    return found


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and strictjson.encode(one) == strictjson.encode(other)


def _number(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise _Harmful(text)
    return value


_FORGIVING = JSONDecoder(object_pairs_hook=_once, parse_float=_number, parse_constant=_number)
