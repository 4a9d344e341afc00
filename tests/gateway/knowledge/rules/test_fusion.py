"""Two lists become one order, the same every time."""

from __future__ import annotations

import pytest

from sayso.gateway.knowledge.rules.asking import words_in, write_fts5, write_tsquery
from sayso.gateway.knowledge.rules.fusion import fuse


def order(*lists: object) -> list[str]:
    return [each.observation for each in fuse(*lists)]  # type: ignore[arg-type]


@pytest.mark.req("GTW-043")
def test_what_both_found_comes_before_what_one_found() -> None:
    """Agreement outweighs a better place in one list."""
    assert order(["a", "c"], ["b", "c"]) == ["c", "b", "a"]
    assert fuse(["a"], ["a"])[0].text_rank == fuse(["a"], ["a"])[0].vector_rank == 1


@pytest.mark.req("GTW-043")
def test_a_passage_with_every_word_counts_as_much_as_the_nearest() -> None:
    """Whoever asks for a name gets it; one that shares a word with the question does not win by that."""
    near = [f"n{number}" for number in range(20)]
    assert order(["named"], near, ["named"]).index("named") == 0 or order(["named"], near, ["named"])[1] == "named"
    assert order(["named"], near).index("named") > 10


@pytest.mark.req("GTW-043")
def test_equals_stand_in_the_order_of_their_ids() -> None:
    """Neither chance nor the order of insertion decides."""
    assert order(["b"], ["b"], ["b"]) + order(["z"], ["y"], ["z"]) == ["b", "y", "z"]
    assert order([], []) == []


def test_telling_words_are_asked_for_and_never_as_syntax() -> None:
    """Stop words go, unless there is nothing else; operators and quotes are letters or nothing."""
    assert words_in("Where is the NEAREST dentist? the nearest!") == ("nearest", "dentist")
    assert words_in("who are you") == ("who", "are", "you")
    assert words_in('" OR 1=1 -- NEAR(x)') == ("1", "near", "x") or "or" not in words_in('" OR 1=1 -- NEAR(x)')
    assert write_fts5(("a", "b")) == '"a" OR "b"'
    assert write_tsquery(("a", "b"), every=True) == "'a' & 'b'"
