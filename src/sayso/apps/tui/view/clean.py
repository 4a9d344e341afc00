"""Text from elsewhere, made safe to print: no control sequences, no bidirectional tricks, nothing that hides.

A control sequence is taken out whole, its payload with it, and leaves `␛` behind; one that only colours leaves nothing.
Control characters become their pictures, invisible ones `[U+200B]`: replaced and not dropped, so that nobody can hide
that something was there. Line ends become `\\n`, tabs stay. Strict text (names, arguments, questions: what a person
decides by) shows every invisible character; running text drops those that only choose a glyph (variation selectors,
joiners between emoji, soft hyphens), because terminals disagree about how wide they are.

The result is plain text, never markup: widgets draw it as `Content`, which reads none.
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum

from sayso.scheduling.terms.quoted import BLANK

__all__ = ("Cleaner", "clean", "clean_name", "clean_strict")

ESCAPED = "␛"
_LONGEST_NAME = 120
_MOST_MARKS = 6
_BRAILLE_BLANK = "\u2800"

# Latin, Greek, Cyrillic, CJK, kana, Hangul, boxes and common signs: nothing here needs a second look.
_ORDINARY = re.compile(
    "[\t\n -~\u00a1-\u00ac\u00ae-\u02ff\u0391-\u03c9\u0410-\u044f\u2010-\u2015\u2018-\u201e\u2020-\u2022\u2026"
    "\u20ac\u2190-\u21ff\u2500-\u259f\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]*"
)
_LINE_ENDS = frozenset("\n\x85\u2028\u2029")
_SEQUENCES = {"[": "csi", "]": "string", "P": "string", "X": "string", "^": "string", "_": "string"}
_C1_SEQUENCES = {
    "\x9b": "csi", "\x9d": "string", "\x90": "string", "\x98": "string", "\x9e": "string", "\x9f": "string",
}  # fmt: skip
_COLOURS = frozenset("0123456789;:")
_ABORTS = "\x18\x1a"
_JOINERS = frozenset("\u200c\u200d\u200e\u200f\u061c")
_SOFT_HYPHEN = "\u00ad"


class _State(Enum):
    TEXT = "text"
    ESCAPE = "escape"
    INTERMEDIATE = "intermediate"
    CSI = "csi"
    STRING = "string"
    STRING_ESCAPE = "string escape"


class Cleaner:
    """Cleans a text that comes in pieces, wherever it is cut. Its own state is a few words, however long a sequence."""

    __slots__ = ("_after_return", "_colours", "_marks", "_previous", "_state", "_strict")

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._state = _State.TEXT
        self._after_return = False
        self._colours = False
        """Whether the sequence so far can only be one that colours."""
        self._marks = 0
        self._previous = ""
        """The category of the last character that was kept."""

    def feed(self, text: str) -> str:
        """What may be printed of the next piece."""
        if self._state is _State.TEXT and not self._after_return and _ORDINARY.fullmatch(text):
            if text:
                self._marks, self._previous = 0, unicodedata.category(text[-1])
            return text
        return "".join(map(self._take, text))

    def close(self) -> str:
        """What is left to print where the text ends: the trace of a sequence that was never finished."""
        unfinished, self._state = self._state is not _State.TEXT, _State.TEXT
        return ESCAPED if unfinished else ""

    def _take(self, each: str) -> str:
        match self._state:
            case _State.TEXT:
                return self._text(each)
            case _State.ESCAPE | _State.INTERMEDIATE:
                return self._escape(each)
            case _State.CSI:
                return self._csi(each)
            case _State.STRING:
                return self._string(each)
            case _State.STRING_ESCAPE:
                return self._end() if each == "\\" else self._begin_escape(ESCAPED) + self._escape(each)

    def _text(self, each: str) -> str:
        if each == "\n" and self._after_return:
            self._after_return = False
            return ""
        self._after_return = each == "\r"
        if each == "\x1b":
            return self._begin_escape("")
        if (sequence := _C1_SEQUENCES.get(each)) is not None:
            return self._begin(sequence)
        return self._keep(each)

    def _escape(self, each: str) -> str:
        if self._state is _State.ESCAPE and (sequence := _SEQUENCES.get(each)) is not None:
            return self._begin(sequence)
        if " " <= each <= "/":
            self._state = _State.INTERMEDIATE
            return ""
        if "0" <= each <= "~":
            return self._end()
        return self._abort(each)

    def _csi(self, each: str) -> str:
        if " " <= each <= "?":
            self._colours = self._colours and each in _COLOURS
            return ""
        if "@" <= each <= "~":
            return self._end(is_shown=self._strict or not (self._colours and each == "m"))
        return self._abort(each)

    def _string(self, each: str) -> str:
        if each in "\x07\x9c":
            return self._end()
        if each == "\x1b":
            self._state = _State.STRING_ESCAPE
            return ""
        # A line end ends it too: what was never finished hides no more than the rest of its line.
        return self._abort(each) if each in _LINE_ENDS or each == "\r" or each in _ABORTS else ""

    def _begin(self, sequence: str) -> str:
        self._state, self._colours = _State(sequence), True
        return ""

    def _begin_escape(self, before: str) -> str:
        self._state = _State.ESCAPE
        return before

    def _end(self, *, is_shown: bool = True) -> str:
        self._state, self._marks, self._previous = _State.TEXT, 0, ""
        return ESCAPED if is_shown else ""

    def _abort(self, each: str) -> str:
        return self._end() + self._text(each)

    def _keep(self, each: str) -> str:
        category = unicodedata.category(each)
        shown = self._shown(each, category)
        if shown:
            self._marks = self._marks + 1 if category in ("Mn", "Me") else 0
            self._previous = category if shown == each else "Po"
        return shown

    def _shown(self, each: str, category: str) -> str:
        if each in "\n\t" or each == "\r" or each in _LINE_ENDS:
            return "\t" if each == "\t" else "\n"
        if each < " " or each == "\x7f":
            return "␡" if each == "\x7f" else chr(0x2400 + ord(each))
        if category in ("Cc", "Cs", "Cf") or _is_no_character(each) or each in BLANK:
            return self._hidden(each)
        if category == "Zs":
            return " " if self._strict else each
        if category in ("Mn", "Me"):
            return self._mark(each)
        return self._tone(each) if "\U0001f3fb" <= each <= "\U0001f3ff" else each

    def _tone(self, each: str) -> str:
        """A skin tone picks a glyph where an emoji is before it, and is nothing by itself."""
        return "" if self._previous == "So" and not self._strict else _numbered(each)

    def _mark(self, each: str) -> str:
        if "\ufe00" <= each <= "\ufe0f" and not self._strict:
            return ""
        is_selector = "\ufe00" <= each <= "\ufe0f" or "\U000e0100" <= each <= "\U000e01ef"
        return _numbered(each) if is_selector or self._marks >= _MOST_MARKS else each

    def _hidden(self, each: str) -> str:
        """A character that shows nothing: kept in running text where words need it, dropped where it picks a glyph."""
        if self._strict or not (each in _JOINERS or each in (_SOFT_HYPHEN, _BRAILLE_BLANK)):
            return _numbered(each)
        if each == _BRAILLE_BLANK:
            return each
        is_within_word = self._previous[:1] in ("L", "M")
        return each if each in _JOINERS and is_within_word else ""


def clean(text: str) -> str:
    """Running text: what an assistant or a tool said."""
    return _whole(text, Cleaner())


def clean_strict(text: str) -> str:
    """Text that a person decides by: every invisible character is shown."""
    return _whole(text, Cleaner(strict=True))


def clean_name(text: str, longest: int = _LONGEST_NAME) -> str:
    """A name, title or id on one line of at most `longest` characters; what was cut off leaves an ellipsis."""
    line = " ".join(clean_strict(text[: 4 * longest]).split())
    return line if len(line) <= longest and len(text) <= 4 * longest else f"{line[: longest - 1]}…"


def _whole(text: str, cleaner: Cleaner) -> str:
    return cleaner.feed(text) + cleaner.close()


def _is_no_character(each: str) -> bool:
    return ord(each) & 0xFFFE == 0xFFFE or "\ufdd0" <= each <= "\ufdef"


def _numbered(each: str) -> str:
    return f"[U+{ord(each):04X}]"
