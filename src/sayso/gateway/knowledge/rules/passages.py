"""Cutting a document into passages, and reading the words out of an artifact of any shape (GTW-006, GTW-043).

A passage is what is observed, found and weighed as one: whole sentences of one paragraph, up to `LONGEST` code points.
Each keeps the place it was cut from, so that text[start:stop] is the passage and a reader can go and look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue

__all__ = ("EMPTY_DOCUMENT", "LONGEST", "LONGEST_DOCUMENT", "TOO_LONG", "Span", "split", "words_of")

LONGEST = 600
LONGEST_DOCUMENT = 200_000
EMPTY_DOCUMENT = "empty_document"
TOO_LONG = "document_too_long"

_PARAGRAPH = re.compile(r"\S(?:.*\S)?(?:\n[^\S\n]*\S(?:.*\S)?)*")
# A sentence ends at a stop that white space follows, or where its paragraph does.
_SENTENCE = re.compile(r"\S.*?(?:[.!?…。！？]+[\"'”’)\]]*(?=\s|$)|$)", re.DOTALL)


class Span(msgspec.Struct, frozen=True):
    """A passage by its place: code points from `start` up to before `stop`."""

    start: int
    stop: int


def split(text: str) -> tuple[Span, ...]:
    """The passages of a text, in order. Refused: `empty_document` without any word, `document_too_long`."""
    if len(text) > LONGEST_DOCUMENT:
        raise Refused.because(
            TOO_LONG, f"a document has at most {LONGEST_DOCUMENT} characters", place="$.text", help="Send it in parts."
        )
    found = tuple(_passages(text))
    if not any(each.isalnum() for each in text):
        raise Refused.because(EMPTY_DOCUMENT, "there is nothing in this document to read", place="$.text")
    return found


def words_of(body: JsonValue) -> str:
    """The words of an artifact's body: a text as it is, anything else a line for each value, led by its path.

    A NUL, which JSON can carry and Postgres cannot keep, becomes the replacement character.
    """
    if isinstance(body, str):
        words = body
    else:
        words = "\n".join(f"{path}: {value}" if path else value for path, value in _leaves(body, ""))
    return words.replace("\0", "\ufffd")


def _leaves(value: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _leaves(inner, path)
    elif value is not None:
        yield path, str(value).lower() if isinstance(value, bool) else str(value)


def _passages(text: str) -> Iterator[Span]:
    for paragraph in _PARAGRAPH.finditer(text):
        start = stop = paragraph.start()
        for first, last in _sentences(text, paragraph.start(), paragraph.end()):
            if stop > start and last - start > LONGEST:
                yield Span(start, stop)
                start = first
            stop = last
        yield Span(start, stop)


def _sentences(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Sentences; one that is longer than a passage may be is cut at white space, or where it must."""
    for found in _SENTENCE.finditer(text, start, stop):
        first, last = found.span()
        while last - first > LONGEST:
            cut = text.rfind(" ", first + 1, first + LONGEST)
            cut = cut if cut > 0 else first + LONGEST
            yield first, cut
            first = cut + (len(text[cut:last]) - len(text[cut:last].lstrip()))
        if last > first:
            yield first, last
