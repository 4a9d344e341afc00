"""A document is cut into passages that can be found again in it, whatever it holds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refused
from sayso.gateway.knowledge.rules.passages import LONGEST, LONGEST_DOCUMENT, split, words_of

TEXTS = st.text(alphabet=st.sampled_from("ab .!?\n\t\"')é漢"), max_size=3000) | st.text(max_size=400)


def cut(text: str) -> list[str]:
    return [text[span.start : span.stop] for span in split(text)]


@pytest.mark.req("GTW-043")
@given(TEXTS)
def test_passages_hold_every_character_once_and_in_order(text: str) -> None:
    """Only white space lies between them, and none is longer than a passage may be."""
    try:
        spans = split(text)
    except Refused:
        assert not any(each.isalnum() for each in text)
        return
    assert all(first.stop <= second.start for first, second in pairwise(spans))
    assert "".join("".join(cut(text)).split()) == "".join(text.split())
    assert all(0 < len(each) <= LONGEST for each in cut(text))


@pytest.mark.req("GTW-043")
def test_sentences_stay_whole_and_paragraphs_apart() -> None:
    """What was said together is found together."""
    sentence = f"{'word ' * 59}end."
    text = f"{sentence} {sentence} {sentence}\n\nAnother paragraph."
    assert cut(text) == [f"{sentence} {sentence}"[:LONGEST], sentence, "Another paragraph."]


def test_a_sentence_without_end_is_cut_between_words() -> None:
    """Where it has none, anywhere."""
    assert cut("x" * (2 * LONGEST + 1)) == ["x" * LONGEST, "x" * LONGEST, "x"]
    assert all(each.split(" ")[-1] == "word" for each in cut("word " * 400))


@pytest.mark.parametrize("text", ["", " \n ", "--- !!! ..."])
def test_a_document_without_words_is_refused(text: str) -> None:
    """There is nothing in it to observe."""
    with pytest.raises(Refused, match="nothing in this document"):
        split(text)


def test_a_document_that_is_too_long_is_refused() -> None:
    """It says how long one may be."""
    with pytest.raises(Refused, match=str(LONGEST_DOCUMENT)):
        split("a" * (LONGEST_DOCUMENT + 1))


@pytest.mark.req("GTW-006")
def test_the_words_of_any_body_are_read() -> None:
    """A text as it is; a structure a line for each value, led by where it stands."""
    assert words_of("as it is") == "as it is"
    assert words_of("nul\0") == words_of(["nul\0"]) == "nul\ufffd"
    body = {"summary": "Fine.", "rows": [{"n": 1, "ok": True}, None], "deep": {"er": ["a", 2.5]}}
    assert words_of(body) == "summary: Fine.\nrows.n: 1\nrows.ok: true\ndeep.er: a\ndeep.er: 2.5"
