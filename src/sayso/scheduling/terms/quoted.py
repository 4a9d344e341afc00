"""Somebody else's words inside our own sentences (spec section 15.7; SCH-104, SCH-105, SCH-169).

What a person signs or reads at a terminal is ours, and names, titles and messages in it are not. Every one of them goes
through here: it stays on its line, cannot close its quotation, and where it could be taken for words of ours it stands
in quotation marks. The straight double quotation mark is ours alone.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ("BLANK", "named", "quoted")

# What is no letter of anybody's language, or shows nothing where it stands.
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_DOUBLE = re.compile(
    '["\u00ab\u00bb\u02ba\u02dd\u02ee\u05f4\u201c-\u201f\u2033\u2034\u2036\u2037\u2057\u275d\u275e\u2760'
    "\u300a\u300b\u301d-\u301f\u3003\uff02]|['`\u00b4\u02b9\u02bc\u2018-\u201b\u2032\u2035]{2,}"
)
_MOST_MARKS = 4
_LONGEST_NAME = 60
_WITHIN = frozenset(" -'\u2019&/+%")
# Words by which our sentences speak of the reader, or join one name to the next.
_OURS = frozenset({"i", "me", "my", "and", "or", "with", "at", "by", "from", "until", "to"})


def quoted(text: str) -> str:
    """`"their words"`: on one line, whatever is not to be seen shown by its number, no mark in it like ours."""
    return f'"{_shown(text)}"'


def named(text: str) -> str:
    """A name as it is where it is plainly one, as `Maple Street Auto`; anything else in quotation marks."""
    return text if _is_plainly_a_name(text) else quoted(text)


def _shown(text: str) -> str:
    parts: list[str] = []
    marks = 0
    for each in text:
        category = unicodedata.category(each)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in _UNSHOWN or each in BLANK or marks > _MOST_MARKS:
            parts.append(f"[U+{ord(each):04X}]")
        else:
            parts.append(" " if category == "Zs" else each)
    return _DOUBLE.sub("\u2019", "".join(parts))


def _is_plainly_a_name(text: str) -> bool:
    if not text or len(text) > _LONGEST_NAME or text != _shown(text) or text.split() != text.split(" "):
        return False
    if not any(each.isalpha() for each in text) or not _OURS.isdisjoint(re.split("[ /+&-]", text.casefold())):
        return False
    return all(
        each in _WITHIN
        or (unicodedata.category(each)[0] in "LMN" and unicodedata.bidirectional(each) not in ("R", "AL", "AN"))
        for each in text
    )
