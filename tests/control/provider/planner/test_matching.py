"""Words against names: endings, compounds, slips of the keyboard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.provider.planner.matching import Matches, find_named, is_named_in, name_words

NAMES = (
    "Chain change",
    "Synthetic chain change",
    "Winter wheels",
    "Brake diagnosis",
    "Men's haircut",
    "60 minute massage",
    "90 minute massage",
)


@pytest.mark.parametrize(
    ("words", "fitting"),
    [
        ("chain change", ["Chain change"]),
        ("change the chain", ["Chain change"]),
        ("chain", ["Chain change", "Synthetic chain change"]),
        ("synthetic chain", ["Synthetic chain change"]),
        ("chian change", ["Chain change"]),
        ("my hair cut", ["Men's haircut"]),
        ("a quick mens haircut", ["Men's haircut"]),
        ("winter wheel fitting", ["Winter wheels"]),
        ("massages", ["60 minute massage", "90 minute massage"]),
        ("90 minute massage", ["90 minute massage"]),
        ("brakes looked at", []),
        ("pizza", []),
        ("", []),
    ],
)
def test_the_best_tier_fits(words: str, fitting: list[str]) -> None:
    """The same words beat a part of a name, which beats a name inside the words."""
    assert list(find_named(name_words(words), NAMES, str).fitting) == fitting


def test_a_shared_word_is_near_and_does_not_fit() -> None:
    """Good enough to ask about."""
    assert find_named(name_words("brakes looked at"), NAMES, str) == Matches((), ("Brake diagnosis",))


def test_a_name_is_found_inside_a_sentence_only_whole() -> None:
    """Half a name names nobody."""
    assert is_named_in("book a trim at the harbour salon please", "Harbour Salon")
    assert not is_named_in("book a trim at the harbour", "Harbour Salon")
    assert not is_named_in("anything", "!!!")


@given(st.text(max_size=30), st.lists(st.text(max_size=20), max_size=4))
def test_any_words_and_names_are_compared(words: str, names: list[str]) -> None:
    """Every name a host may publish, every word a person may type."""
    found = find_named(name_words(words), names, str)
    assert set(found.fitting) <= set(names)
