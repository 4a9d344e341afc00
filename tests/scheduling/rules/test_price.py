from dataclasses import replace

import pytest

from sayso.core.money import Money, MoneyText
from sayso.scheduling.rules.price import quote
from sayso.scheduling.terms.discovery import Tax
from sayso.scheduling.terms.offer import Line
from tests.scheduling.rules.shop import DIAGNOSIS, OIL

HST = Tax(title="HST 13%", basis_points=1300)


@pytest.mark.req("SCH-270", "SCH-271", "SCH-365")
def test_an_oil_change_is_89_27_all_in():
    """79.00 and 13% on it, 10.27, as two lines that add up to the total."""
    found = quote(OIL, [HST])
    assert (found.total, found.lines) == (
        Money(8927, "CAD"),
        (
            Line(kind="service", title="Synthetic oil change", amount=MoneyText(amount="79.00", currency="CAD")),
            Line(kind="tax", title="HST 13%", amount=MoneyText(amount="10.27", currency="CAD")),
        ),
    )


@pytest.mark.req("SCH-271", "SCH-279")
@pytest.mark.parametrize(
    ("minor", "points", "total"), [(10, 3300, 13), (7900, 2500, 9875), (50, 100, 51), (150, 100, 152)]
)
def test_a_tax_rounds_half_up_once_on_its_own_line(minor, points, total):
    """0.5 of a cent rounds up, also above an even cent, where half-even would not."""
    service = replace(OIL, price=Money(minor, "CAD"))
    assert quote(service, [Tax(title="T", basis_points=points)]).total == Money(total, "CAD")


@pytest.mark.req("SCH-279")
def test_two_taxes_are_two_lines_each_on_the_price():
    """5% and 9.975% of 1.10 are 0.06 and 0.11: neither is a tax on the other."""
    found = quote(
        replace(OIL, price=Money(110, "CAD")), [Tax(title="A", basis_points=500), Tax(title="B", basis_points=998)]
    )
    assert [line.amount.amount for line in found.lines] == ["1.10", "0.06", "0.11"]
    assert found.total == Money(127, "CAD")


@pytest.mark.req("SCH-166")
def test_no_price_means_nothing_about_money():
    """Taxes on nothing are not a total of zero."""
    assert quote(DIAGNOSIS, [HST]) is None
