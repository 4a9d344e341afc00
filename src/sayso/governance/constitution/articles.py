"""The constitution's text for people, read from its data file (GTW-031)."""

from __future__ import annotations

import tomllib

import msgspec

from sayso.core.refusal import Misuse

__all__ = ("Article", "Text", "read_articles")


class Article(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One article. `kept_by` names the policies that evaluate it; one that no policy can keep says how it is kept."""

    number: str
    title: str
    text: str
    kept_by: tuple[str, ...]
    by_construction: str | None = None


class Text(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole text."""

    version: str
    title: str
    preamble: str
    articles: tuple[Article, ...]


def read_articles(data: bytes) -> Text:
    """The text from TOML. Misuse: it is a part of the program, so whatever is wrong with it is a bug."""
    try:
        text = msgspec.convert(tomllib.loads(data.decode()), Text)
    except (msgspec.ValidationError, ValueError) as wrong:
        raise Misuse(f"the constitution's text cannot be read: {wrong}") from wrong
    idle = [each.number for each in text.articles if not each.kept_by and each.by_construction is None]
    if idle:
        raise Misuse(f"nothing keeps the articles {', '.join(idle)}")
    return text
