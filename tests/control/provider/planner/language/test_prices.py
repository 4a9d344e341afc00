"""Upper limits out of words and symbols, and amounts that are none."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sayso.control.provider.planner.language.prices import find_price, mark_amounts
from sayso.control.provider.planner.language.sheet import Sheet, tidy
from sayso.control.provider.planner.language.understood import Price, Problem


def price_of(text: str) -> tuple[Price | None, frozenset[Problem]]:
    sheet = Sheet(tidy(text))
    mark_amounts(sheet)
    return find_price(sheet)


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("under $100", "100", "$"),
        ("at most a hundred dollars", "100", "$"),
        ("max 80 CAD", "80", "CAD"),
        ("no more than ninety bucks", "90", "$"),
        ("€50", "50", "EUR"),
        ("50,00 €", "50.00", "EUR"),
        ("$1,200.50", "1200.50", "$"),
        ("C$90 or less", "90", "CAD"),
        ("it can't cost more than 90 canadian dollars", "90", "CAD"),
        ("i don't want to pay more than eighty-five dollars", "85", "$"),
        ("keep it under a hundred and twenty", "120", None),
        ("my budget is 150", "150", None),
        ("two hundred dollars max", "200", "$"),
        ("for ninety quid", "90", "GBP"),
        ("between 80 and 100 dollars", "100", "$"),
        ("$80-100", "100", "$"),
        ("around 70 bucks at most", "70", "$"),
        ("100 tops", "100", None),
    ],
)
def test_a_limit_is_read(text: str, amount: str, currency: str | None) -> None:
    """The most it may cost, with as much of a currency as was said."""
    assert price_of(text) == (Price(Decimal(amount), currency), frozenset())


@pytest.mark.parametrize("text", ["around $80", "over $50", "at least 40 euros", "no less than $40", "$100 or more"])
def test_an_amount_that_is_no_limit_is_a_problem(text: str) -> None:
    """A limit that was guessed would be signed."""
    assert price_of(text) == (None, frozenset({Problem.PRICE}))


@pytest.mark.parametrize("text", ["at 9:30", "after 3", "max 2", "under 2 hours", "in 3 days", "table for 4"])
def test_other_figures_are_no_price(text: str) -> None:
    """Hours, lengths and heads are not money."""
    assert price_of(text) == (None, frozenset())


def test_two_different_limits_are_a_contradiction() -> None:
    """The smaller one is kept, and it is asked."""
    assert price_of("under $100, max $80") == (Price(Decimal(80), "$"), frozenset({Problem.CONTRADICTION}))
