"""From a person's words to a wish. Pure text, no guessing: a request is one of the forms below, whole, or none.

Texts and commands stand between quotes of any kind and are taken exactly as they stand. A path needs quotes only where
it holds a space; without them it must look like one, so that "show me the way" asks for no file.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sayso.control.provider.planner.workspace.wishes import Verb, Wish

__all__ = ("LONGEST", "understand")

LONGEST = 8000
"""A longer message is no request of these forms."""
_MOST_LINES = 2000
_LONGEST_PATH = 4096


def _form(*pieces: str) -> re.Pattern[str]:
    return re.compile("".join(pieces), re.IGNORECASE)


_QUOTES = {"'": "'", '"': '"', "`": "`", "“": "”", "‘": "’", "«": "»"}
_BARE = r"[^\s'\"`“”‘’«»]+"
_QUOTED = r"'[^']+'|\"[^\"]+\"|`[^`]+`|“[^”]+”|‘[^’]+’|«[^»]+»"
_PATH = rf"(?P<path>{_QUOTED}|{_BARE})"
_FOLDER = "(?:folder|directory)"
_IN = rf"(?:\s+(?:in|under|inside|of|from)\s+(?:the\s+)?(?:(?:{_FOLDER}|file)\s+)?{_PATH}(?:\s+{_FOLDER})?)"
_HERE = _form(r"(?:this|the|here|it|current|workspace|project|repo|repository|folder|directory)")

_POLITE = _form(r"(?:(?:please|kindly|hey|hi|ok|okay|now|then)[,!]?\s+|(?:can|could|would|will)\s+you\s+)+")
_THANKS = _form(r"(?:,\s*|\s)(?:please|thanks|thank you)[.!?]*$")
_THANKS_APART = _form(r",\s*(?:please|thanks|thank you)[.!?]*$")
_STOP = re.compile(r"(?<=[\w`'\")\]”’»*])(?:[!?]+|\.)$")

_RUN = _form(r"(?:(?:run|execute)(?:\s+the\s+command)?\s+|\$\s+)")
_NO_PROGRAM = r"(?!(?:a|an|the|my|your|it|this|that|these|those|some|me|through|over|into|out|all|any)\b)"
_COMMAND = _form(_NO_PROGRAM, r"[\w./~-]+(?: .*)?")
_WRITE = _form(r"(?:write|put|save)(?:\s+the\s+(?:text|words?|line))?\s+")
_TO_FILE = _form(r"\s+(?:to|into|in)\s+(?:(?:a|the)\s+)?(?:new\s+)?(?:file\s+)?", _PATH)
_CREATE = _form(
    r"(?:create|make|write)\s+(?:(?:a|the)\s+)?(?:new\s+)?(?:file\s+)?(?:(?:named|called)\s+)?",
    _PATH,
    r"\s+(?:with|containing|saying)(?:\s+the)?(?:\s+(?:text|contents?))?\s+",
)
_REPLACE = _form(r"(?:replace|change)(?P<all>\s+(?:all|every|each))?(?:\s+the\s+(?:text|word))?\s+")
_WITH = _form(r"\s+(?:with|by|to)\s+")
_IN_FILE = _form(r"(?P<all>\s+everywhere)?\s+in\s+(?:the\s+file\s+)?", _PATH, r"(?P<too>\s+everywhere)?")
_LIST = _form(
    r"(?:(?:list|show|find)(?:\s+me)?(?:\s+all)?(?:\s+the)?\s+(?:files|folder|directory|contents)",
    r"|(?:what|which)\s+files\s+are(?:\s+there|\s+here)?|ls|dir)(?:\s+here|",
    _IN,
    rf"|(?<=ls|ir)\s+(?!-)(?P<folder>{_QUOTED}|{_BARE}))?",
)
_FIND = _form(
    r"(?P<verb>find|list|show|look\s+for)(?:\s+me)?(?:\s+all)?(?:\s+the)?\s+",
    rf"(?P<named>files?\s+(?:named|called|matching|like)\s+)?(?P<glob>{_QUOTED}|{_BARE})(?:\s+files?)?",
    _IN,
    "?",
)
_SEARCH = _form(r"(?:search(?:\s+for)?|find|look\s+for|grep(?:\s+for)?)(?:\s+the\s+(?:text|word))?\s+")
_PLACE = _form(_IN, "?")
_SEARCH_WORD = _form(rf"(?:search\s+for|grep(?:\s+for)?)(?:\s+the\s+word)?\s+(?P<word>{_BARE})", _IN, "?")
_READ = _form(
    r"(?:read|open|cat|view|display|print|show)\s+(?:me\s+)?",
    r"(?:(?:the\s+)?(?:(?:first\s+(?P<first>\d{1,6})\s+)?lines?(?:\s+(?P<from>\d{1,7})(?:\s*(?:-|–|to)\s*(?P<to>\d{1,7}))?)?",
    r"|(?P<of>contents?|text))\s+(?:of|in|from)\s+)?(?P<file>(?:the\s+)?file\s+)?(?:the\s+)?",
    _PATH,
    r"(?P<after>\s+file)?",
)


def understand(said: str, *, is_alone: bool) -> Wish | None:
    """The wish, or None. `is_alone` is whether nothing but a workspace can be meant here: then a word to search for
    needs no quotes.
    """
    text = said.strip()
    if len(text) > LONGEST or "\0" in text:
        return None
    if polite := _POLITE.match(text):
        text = text[polite.end() :]
    if wish := _run(text):
        return wish
    text = _THANKS.sub("", text)
    readers = (*_READERS, _search_word) if is_alone else _READERS
    return next((wish for read in readers if (wish := read(text)) is not None), None)


def _run(text: str) -> Wish | None:
    found = _RUN.match(text)
    if found is None:
        return None
    rest = _STOP.sub("", _THANKS_APART.sub("", text[found.end() :].strip()))
    command = _whole(rest)
    if command is None and _COMMAND.fullmatch(rest):
        command = rest
    return Wish(Verb.SHELL, {"command": command}, command) if command and command.strip() else None


def _write(text: str) -> Wish | None:
    found = _WRITE.match(text)
    taken = _taken(text[found.end() :], _TO_FILE) if found else None
    if taken is not None:
        return _writes(taken[1]["path"], taken[0])
    found = _CREATE.match(text)
    content = _whole(_STOP.sub("", text[found.end() :])) if found else None
    return _writes(found["path"], content) if found and content is not None else None


def _writes(path: str, content: str) -> Wish | None:
    name = _path(path)
    return Wish(Verb.WRITE, {"path": name, "content": content}, name) if name else None


def _replace(text: str) -> Wish | None:
    found = _REPLACE.match(text)
    if found is None:
        return None
    rest = text[found.end() :]
    middles = ((end, middle) for end in _ends(rest) if (middle := _WITH.match(rest, end + 1)))
    end, middle = next(middles, (0, None))
    taken = _taken(rest[middle.end() :], _IN_FILE) if middle else None
    if taken is None or end == 1:
        return None
    new, tail = taken
    name = _path(tail["path"])
    arguments: dict[str, object] = {"path": name, "old_text": rest[1:end], "new_text": new}
    if found["all"] or tail["all"] or tail["too"]:
        arguments["replace_all"] = True
    return Wish(Verb.EDIT, arguments, name) if name else None


def _list(text: str) -> Wish | None:
    found = _LIST.fullmatch(_STOP.sub("", text)) or _LIST.fullmatch(text)
    return Wish(Verb.GLOB, {"pattern": "*", **_within(found["path"] or found["folder"])}, "*") if found else None


def _find(text: str) -> Wish | None:
    found = _FIND.fullmatch(_STOP.sub("", text))
    if found is None:
        return None
    pattern = _plain(found["glob"])
    is_quoted = pattern != found["glob"]
    by_name = found["verb"].lower() in ("find", "look for") and not is_quoted and _looks_like_a_path(pattern)
    if not (found["named"] or by_name or re.search(r"[*?\[]", found["glob"] if not is_quoted else "")):
        return None
    return Wish(Verb.GLOB, {"pattern": pattern, **_within(found["path"])}, pattern)


def _search(text: str) -> Wish | None:
    found = _SEARCH.match(text)
    taken = _taken(text[found.end() :], _PLACE) if found else None
    return _searches(taken[0], taken[1]["path"]) if taken else None


def _search_word(text: str) -> Wish | None:
    found = _SEARCH_WORD.fullmatch(_STOP.sub("", text))
    return _searches(found["word"], found["path"]) if found else None


def _searches(text: str, path: str | None) -> Wish | None:
    if not text or "\n" in text:
        return None
    return Wish(Verb.GREP, {"pattern": re.escape(text), **_within(path)}, text)


def _read(text: str) -> Wish | None:
    found = _READ.fullmatch(_STOP.sub("", text))
    if found is None:
        return None
    name = _path(found["path"])
    is_named = found["file"] or found["after"] or found["of"] or found["path"][0] in _QUOTES
    if not name or not (is_named or _looks_like_a_path(name)):
        return None
    return Wish(Verb.READ, {"path": name, **_lines(found)}, name)


def _lines(found: re.Match[str]) -> dict[str, object]:
    if found["first"]:
        return {"limit": min(max(int(found["first"]), 1), _MOST_LINES)}
    if not found["from"]:
        return {}
    first = max(int(found["from"]), 1)
    last = int(found["to"]) if found["to"] else first
    return {"offset": first, "limit": min(max(last - first + 1, 1), _MOST_LINES)}


_READERS: tuple[Callable[[str], Wish | None], ...] = (_write, _replace, _list, _find, _search, _read)
"""In the order in which they are asked: the first that understands a request has it."""


def _looks_like_a_path(name: str) -> bool:
    return "/" in name or "." in name.strip(".") or bool(re.fullmatch(r"[A-Z]{3,}|[A-Z][a-z]+file", name))


def _within(path: str | None) -> dict[str, object]:
    name = _path(path) if path else ""
    return {"path": name} if name and not _HERE.fullmatch(name) else {}


def _path(written: str) -> str:
    name = _plain(written).strip()
    return name if len(name) <= _LONGEST_PATH else ""


def _plain(written: str) -> str:
    """A name without the quotes around it."""
    whole = _whole(written)
    return written if whole is None else whole


def _whole(text: str) -> str | None:
    """What stands between quotes that hold all of the text."""
    return text[1:-1] if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] else None


def _taken(text: str, tail: re.Pattern[str]) -> tuple[str, re.Match[str]] | None:
    """A quoted text at the start, and the match of all that follows it. Quotes of its own kind inside it are its own:
    the last that can end it does.
    """
    for written in (_STOP.sub("", text), text):
        for end in reversed(_ends(written)):
            found = tail.fullmatch(written, end + 1)
            if found is not None:
                return written[1:end], found
    return None


def _ends(text: str) -> list[int]:
    """Where a quoted text that stands at the start may end."""
    closing = _QUOTES.get(text[:1])
    return [place for place in range(1, len(text)) if text[place] == closing] if closing else []
