"""Numbers in words, as far as prices, days and counts need them."""

from __future__ import annotations

import re

import pytest

from sayso.control.provider.planner.language.numbers import COUNT, NUMBER, ORDINAL, read_number, read_ordinal


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("ninety", 90), ("eighty-five", 85), ("a hundred", 100), ("a hundred and twenty", 120),
     ("two hundred fifty", 250), ("one hundred twenty five", 125), ("a thousand", 1000), ("twelve", 12)],
)  # fmt: skip
def test_numbers_are_read_whole(text: str, value: int) -> None:
    """The pattern takes all of it, and the value is right."""
    assert re.fullmatch(NUMBER, text)
    assert read_number(text) == value


@pytest.mark.parametrize(("text", "value"), [("a", 1), ("a couple of", 2), ("a few", 3), ("few", 3), ("ten", 10)])
def test_counts_are_read(text: str, value: int) -> None:
    """ "A couple of days" is a count too."""
    assert re.fullmatch(COUNT, text)
    assert read_number(text) == value


@pytest.mark.parametrize(("text", "value"), [("1st", 1), ("fifteenth", 15), ("twenty-first", 21), ("thirty first", 31)])
def test_ordinals_are_read(text: str, value: int) -> None:
    """In digits or words."""
    assert re.fullmatch(ORDINAL, text)
    assert read_ordinal(text) == value


def test_a_word_inside_another_is_no_number() -> None:
    """ "Tennis" is no ten."""
    assert re.search(NUMBER, "tennis often") is None
