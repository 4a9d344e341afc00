"""Numbers as people write and say them: digits, "ninety", "a hundred and twenty", "fifteenth"."""

from __future__ import annotations

import re

__all__ = ("COUNT", "NUMBER", "ORDINAL", "read_number", "read_ordinal")

_UNIT_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
         "ninety": 90}  # fmt: skip
_VALUES = {word: value for value, word in enumerate(_UNIT_WORDS.split())} | _TENS
_LARGE = {"hundred": 100, "thousand": 1000}
_FEW = {"a": 1, "an": 1, "a couple": 2, "a couple of": 2, "couple": 2, "couple of": 2, "a few": 3, "few": 3}

_ORDINAL_WORDS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
)
_ORDINALS = {word: place for place, word in enumerate(_ORDINAL_WORDS.split(), 1)} | {"twentieth": 20, "thirtieth": 30}
_TENTHS = {f"{ten}{dash}{unit}": value + _ORDINALS[unit] for ten, value in (("twenty", 20), ("thirty", 30))
           for dash in ("-", " ") for unit in list(_ORDINALS)[:9]}  # fmt: skip
_ORDINALS |= _TENTHS

_WORD = "|".join(sorted(_VALUES, key=len, reverse=True))
_SPOKEN = (
    rf"(?:(?:(?:a|{_WORD})[ -])?(?:hundred|thousand)(?:[ -](?:and )?(?:{_WORD})(?:[ -](?:{_WORD}))?)?"
    rf"|(?:{_WORD})(?:[ -](?:{_WORD}))?)"
)

NUMBER = rf"(?:[0-9]{{1,6}}|\b{_SPOKEN}\b)"
"""A whole number in digits or words; read it with `read_number`."""

COUNT = rf"(?:{NUMBER}|\b(?:(?:a )?couple of|(?:a )?couple|(?:a )?few|an?)\b)"
"""How many of something: a number, or "a", "a couple of", "a few"."""

ORDINAL = rf"(?:[0-9]{{1,2}}(?:st|nd|rd|th)|\b(?:{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})\b)"
"""A position in digits or words ("15th", "fifteenth")."""


def read_number(text: str) -> int:
    """The value of a text that `NUMBER` or `COUNT` matched."""
    text = text.strip()
    if text in _FEW:
        return _FEW[text]
    if text[:1].isdigit():
        return int(text)
    total = current = 0
    for word in re.split(r"[ -]", text):
        if word in _LARGE:
            current = max(current, 1) * _LARGE[word]
        elif word in _VALUES:
            current += _VALUES[word]
    return total + current


def read_ordinal(text: str) -> int:
    """The value of a text that `ORDINAL` matched."""
    digits = re.match("[0-9]+", text)
    return int(digits[0]) if digits else _ORDINALS[text]
