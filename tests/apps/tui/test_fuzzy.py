"""Which entry is meant by a few letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.apps.tui.fuzzy import rank, score

MODELS = ["openai/gpt-5", "openai/gpt-5-mini", "anthropic/claude-opus", "google/gemini-3-pro", "deepseek/deepseek-chat"]


def _ranked(query: str, names: list[str]) -> list[str]:
    return rank(query, names, lambda name: name)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("gpt", "openai/gpt-5"),
        ("mini", "openai/gpt-5-mini"),
        ("opus", "anthropic/claude-opus"),
        ("GEM pro", "google/gemini-3-pro"),
        ("pro gem", "google/gemini-3-pro"),
        ("dc", "deepseek/deepseek-chat"),
    ],
)
def test_the_entry_that_is_meant_comes_first(query: str, first: str) -> None:
    """Letters at the beginnings of words, side by side, in any order of words."""
    assert _ranked(query, MODELS)[0] == first


def test_what_does_not_hold_the_letters_in_their_order_is_left_out() -> None:
    """No entry is guessed."""
    assert _ranked("tpg", ["openai/gpt-5"]) == []
    assert score("zz", "openai/gpt-5") is None


def test_an_empty_query_leaves_the_list_as_it_came() -> None:
    """Nothing typed is no opinion."""
    assert _ranked("  ", MODELS) == MODELS


def test_a_name_as_a_whole_goes_before_its_letters_scattered() -> None:
    """Somebody who types a word means that word."""
    assert _ranked("notes", ["n/o/t/e/s.py", "deep/down/here/notes.md"])[0] == "deep/down/here/notes.md"


@given(st.lists(st.text(max_size=20), max_size=12), st.text(max_size=5))
def test_ranking_only_ever_leaves_out_and_reorders(names: list[str], query: str) -> None:
    """Whatever is typed: nothing is made up, nothing is there twice, and a kept entry holds every letter."""
    found = _ranked(query, names)
    rest = list(names)
    for each in found:
        rest.remove(each)
        assert all(letter in each.lower() for word in query.lower().split() for letter in word)
