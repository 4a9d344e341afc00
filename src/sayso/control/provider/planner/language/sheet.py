"""The working sheet on which a message is read: the words as said beside a copy of the same length in which everything
already understood is painted over, so that each reader sees only what is left and grammar is written over signs.

Reading goes in two strokes. First words that mean something alone (a clock time, a day, an amount) become atoms: their
letters are replaced by a sign and their value is kept by position. Then patterns over signs ("between SIGN and SIGN")
give them their role, and the whole phrase is painted as used. What is left over names services, hosts and people.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import TypeVar

__all__ = ("AMOUNT", "CLOCK", "DAY", "HOUR", "LONGEST", "PART", "USED", "Sheet", "run_of", "tidy")

T = TypeVar("T")

# Private-use characters; `tidy` removes any that a message brings along.
USED = "\ue000"
AMOUNT = "\ue001"
CLOCK = "\ue002"
HOUR = "\ue003"
DAY = "\ue004"
PART = "\ue005"

LONGEST = 2000
"""Beyond this a message is no request for an appointment, and reading it would only cost time."""

_PRIVATE = re.compile("[\ue000-\uf8ff]")
_SPACES = re.compile(r"\s+")
_VERBS = "ca wo do does did is are was were could would should must need have has"
_APOSTROPHES = {
    **{f"{verb}nt": f"{verb}n't" for verb in _VERBS.split()},
    **{f"{word}s": f"{word}'s" for word in ("what", "when", "where", "how", "let", "that")},
    "im": "i'm",
    "ive": "i've",
}
_LOST_APOSTROPHE = re.compile(rf"\b(?:{'|'.join(_APOSTROPHES)})\b")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "`": "'", "´": "'", "“": '"', "”": '"', "«": '"', "»": '"',
                         "–": "-", "‑": "-", "−": "-", "‐": "-", "…": "."})  # fmt: skip


def run_of(sign: str) -> str:
    """The pattern of one whole atom; it never matches a part of one."""
    return f"(?<!{sign}){sign}++"


def tidy(text: str) -> str:
    """One spelling for one meaning: case, width, quotes, dashes, white space and lost apostrophes no longer matter."""
    text = _PRIVATE.sub(" ", text[:LONGEST].translate(_QUOTES).replace("—", " - "))
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = _SPACES.sub(" ", _PRIVATE.sub(" ", text.translate(_QUOTES))).strip()
    return _LOST_APOSTROPHE.sub(lambda match: _APOSTROPHES[match[0]], text)


class Sheet:
    """A tidied message (`said`) and what is left of it to read (`text`), equally long."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.text = said
        self._atoms: dict[int, object] = {}

    def mark(
        self,
        pattern: re.Pattern[str],
        sign: str,
        read: Callable[[re.Match[str]], object | None],
        group: int | str = 0,
    ) -> None:
        """Turns each match, or one group of it, into an atom whose value `read` gives; None leaves the words alone."""
        for match in pattern.finditer(self.text):
            value = read(match)
            if value is not None:
                self._atoms[match.start(group)] = value
                self._paint(match.start(group), match.end(group), sign)

    def atom(self, start: int, kind: type[T]) -> T:
        """The value of the atom that begins at `start`."""
        value = self._atoms[start]
        assert isinstance(value, kind)
        return value

    def atoms(self, sign: str, kind: type[T]) -> list[tuple[int, int, T]]:
        """Every atom of one sign still standing, in order: start, end, value."""
        return [(m.start(), m.end(), self.atom(m.start(), kind)) for m in re.finditer(run_of(sign), self.text)]

    def use(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yields each match on the sheet as it was when asked, and paints it as used."""
        for match in list(pattern.finditer(self.text)):
            self._paint(match.start(), match.end(), USED)
            yield match

    def take(self, start: int, end: int) -> None:
        """Paints a stretch as used."""
        self._paint(start, end, USED)

    def restore(self, sign: str) -> None:
        """Gives back the letters of atoms that found no role."""
        self.text = re.sub(f"{sign}+", lambda m: self.said[m.start() : m.end()], self.text)

    def _paint(self, start: int, end: int, sign: str) -> None:
        self.text = self.text[:start] + sign * (end - start) + self.text[end:]
