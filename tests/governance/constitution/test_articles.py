"""The constitution's text: written for people, and kept by something in every article."""

from __future__ import annotations

from importlib.resources import files

import pytest

from sayso.core.refusal import Misuse
from sayso.governance.constitution import Constitution
from sayso.governance.constitution.articles import read_articles

TEXT = """
version = "9"
title = "T"
preamble = "P"
[[articles]]
number = "I"
title = "One"
text = "words"
kept_by = [{kept}]
"""


@pytest.mark.req("GTW-031")
def test_ten_articles_are_numbered_and_say_something() -> None:
    """Version 2.0, each with a title and at least two sentences of text."""
    constitution = Constitution.load()
    assert constitution.version == "2.0"
    numbers = [article.number for article in constitution.articles]
    assert numbers == ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"]
    assert all(article.title and article.text.count(".") >= 2 for article in constitution.articles)


@pytest.mark.req("GTW-031")
def test_an_article_that_nothing_keeps_stops_the_start() -> None:
    """Words without a policy and without a reason why none is needed are decoration."""
    with pytest.raises(Misuse, match="nothing keeps the articles I"):
        read_articles(TEXT.replace("{kept}", "").encode())
    assert read_articles(TEXT.replace("{kept}", '"rule"').encode()).version == "9"


def test_a_text_with_an_unknown_member_stops_the_start() -> None:
    """A misspelt member would otherwise be an article without its rule."""
    with pytest.raises(Misuse, match="cannot be read"):
        read_articles((TEXT.replace("{kept}", '"rule"') + 'keptby = ["x"]\n').encode())


def test_changed_words_are_another_constitution() -> None:
    """A decision is bound to the words it was made under, not to a number alone."""
    folder = files("sayso.governance.constitution")
    text = folder.joinpath("articles.toml").read_bytes()
    policies, schema = (folder.joinpath(name).read_text() for name in ("policies.cedar", "schema.cedarschema"))
    changed = Constitution(text.replace(b"at once", b"right away"), policies, schema)
    assert changed.version == Constitution.load().version
    assert changed.tag != Constitution.load().tag
