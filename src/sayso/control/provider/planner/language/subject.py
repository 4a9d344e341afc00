"""What a message is about once times and prices are off the sheet: the service, the business, the person, and all the
content words, for whoever can compare them with the names that tools reveal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sayso.control.provider.planner.language.sheet import USED, Sheet
from sayso.control.provider.planner.language.small_words import ARTICLES, CLOSING, JOINTS, NO_PLACE, OPENING, SMALL

__all__ = ("Subject", "content_words", "find_subject")


@dataclass(frozen=True, slots=True)
class Subject:
    """The words that name a service, a business after "at", "from" or "by", a person after "with", and every content
    word that is left.
    """

    service: str | None
    host: str | None
    person: str | None
    words: tuple[str, ...]


_WORD = r"[^\W_][\w'&+/-]*"
_COUNTED = r"(?:[0-9]+|an?|one|two|three|four|half an) ?-?(?:minutes?|mins?|hours?|hrs?)"
_TOKEN = re.compile(rf"(?P<length>\b{_COUNTED}\b(?= [^\W_]))|{_WORD}|[&+]|{USED}+|[^\s\w]")
_TITLE = r"(?:dr|mr|mrs|ms|miss|prof)\.?"
_NAME = rf"(?P<name>(?:{_TITLE} )?{_WORD}(?: (?:& )?{_WORD})*)"
_AT = re.compile(rf"(?:\b(?:at|from|by)|@) (?:the )?{_NAME}")
_WITH = re.compile(rf"\b(?:with|(?:see|for)(?= {_TITLE} )) {_NAME}")
_POSSESSIVE = re.compile(rf"(?<={USED})'s?\b")
_BINDING = frozenset(("&", "and", "of", "the"))
# Clauses that give reasons or manners name no service.
_ASIDE = re.compile(
    r"\b(?:because|since my|so that|so i|as my|as i|before i|that way|otherwise)\b[^.;!?]*"
    r"|\b(?:if|when|whenever) (?:that's |that is |it's |it is |that |it |at all |you )*"
    r"(?:possible|okay|ok|available|works|suits|can|could|fits|free)\b"
    r"|\bi(?:'m| am) (?:free|available|flexible|off)\b"
)
_FOR = re.compile(
    r"\b(?:in|by|over|down|up|appointment|appt|booking|slot|reservation|time|session|visit|something|someone|anything"
    r"|openings?|availability|spot|space|me|us|date|available|free|room) for (?=\w)"
)
_VERB = re.compile(
    r"\b(?:book(?:ing)?|schedul(?:e|ing)|reserv(?:e|ing)|arrang(?:e|ing)|organi[sz]e|need(?:s|ed)?|want(?:s|ed)?|like"
    r"|love|get(?:ting)?|have|having|make|cancel(?:l?ing)?|call off|scrap|mov(?:e|ing)|re-?schedul(?:e|ing)"
    r"|postpon(?:e|ing)"
    r"|push(?:ing)?|shift(?:ing)?|rebook|chang(?:e|ing)|switch|swap|delay|bring|put off|find|looking for|due for|see"
    r"|when's|is|offer|much (?:is|for|does|would|do)|grab|fit|set up|hoping for)\b"
)


def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that are neither articles nor small talk, for comparing names."""
    return tuple(word for word in re.findall(_WORD, text) if word not in SMALL and not word.isdigit())


def find_subject(sheet: Sheet) -> Subject:
    """Reads the sheet once times and prices are used."""
    for pattern in (_POSSESSIVE, _ASIDE):
        list(sheet.use(pattern))
    person = _take_name(sheet, _WITH)
    host = _take_name(sheet, _AT)
    runs = _runs(sheet.text)
    words = tuple(word for _, run in runs for word in content_words(run))
    return Subject(_service(sheet.text, runs), host, person, words)


def _take_name(sheet: Sheet, pattern: re.Pattern[str]) -> str | None:
    """The first name after the preposition, taken off the sheet. "With a wash" adds to a service and names nobody."""
    for match in pattern.finditer(sheet.text):
        words = _name_words(match["name"].split(" "))
        if words:
            name = " ".join(words)
            sheet.take(match.start(), match.start("name") + len(name))
            return name
    return None


def _name_words(words: list[str]) -> list[str]:
    is_opening = words[0] in OPENING and words[1:] and words[1] not in SMALL
    if words[0] in ARTICLES or words[0][0].isdigit() or (words[0] in NO_PLACE and not is_opening):
        return []
    kept: list[str] = []
    for word in words:
        if (
            word in SMALL
            and word not in _BINDING
            and not (is_opening and not kept)
            and kept[-1:] not in (["&"], ["and"])
        ):
            break
        kept.append(word)
    while kept and kept[-1] in _BINDING:
        kept.pop()
    return kept


def _runs(text: str) -> list[tuple[int, str]]:
    """Every run of content words, with what may stand inside one, and where it begins."""
    runs: list[tuple[int, str]] = []
    start = end = -1
    for match in _TOKEN.finditer(text):
        word = match[0]
        is_content = bool(match["length"]) or (word[0].isalnum() and word not in SMALL and not word.isdigit())
        if is_content:
            start, end = (match.start() if start < 0 else start), match.end()
        elif start >= 0 and word in CLOSING and match.start() == end + 1:
            end = match.end()
        elif start >= 0 and word not in JOINTS:
            runs.append((start, text[start:end]))
            start = -1
    if start >= 0:
        runs.append((start, text[start:end]))
    return [(start, run) for start, run in runs if content_words(run)]


def _service(text: str, runs: list[tuple[int, str]]) -> str | None:
    """The run that names what is to be done: the one after "appointment for" or "bring it in for", else the first one
    after the verb, else the first.
    """
    if not runs:
        return None
    for cue in (_FOR.search(text), _VERB.search(text)):
        if cue:
            after = [(start, run) for start, run in runs if start >= cue.end() - 1]
            if after and (cue.re is not _FOR or _is_next(text, cue.end(), after[0][0])):
                return after[0][1]
    return runs[0][1]


def _is_next(text: str, end: int, start: int) -> bool:
    """Whether nothing but small words stands between."""
    return not re.search(rf"[{USED}.;!?]", text[end:start])
