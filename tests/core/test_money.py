"""Money in minor units: ISO digits, exact text, half up once, never across currencies."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.money import (
    MAX_MINOR,
    MINOR_DIGITS,
    Money,
    MoneyText,
    add,
    percent,
    read_money,
    times,
    total,
    write_money,
)
from sayso.core.refusal import Misuse, Refused


def cad(text: str) -> Money:
    return read_money(MoneyText(amount=text, currency="CAD"))


moneys = st.builds(Money, st.integers(0, 10**12), st.sampled_from(sorted(MINOR_DIGITS)))


@pytest.mark.req("SCH-269")
def test_the_table_is_the_list_of_iso_4217() -> None:
    """Digits by ISO 4217, where locale libraries say otherwise; metals and test codes price nothing."""
    odd = {code: digits for code, digits in MINOR_DIGITS.items() if digits != 2}
    by_digits = {digits: " ".join(sorted(code for code in odd if odd[code] == digits)) for digits in odd.values()}
    assert by_digits == {
        0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
        3: "BHD IQD JOD KWD LYD OMR TND",
        4: "CLF UYW",
    }
    assert len(MINOR_DIGITS) == 165
    assert {code: MINOR_DIGITS[code] for code in ("HUF", "IDR", "LBP", "EUR", "XCG", "ZWG")} == dict.fromkeys(
        ("HUF", "IDR", "LBP", "EUR", "XCG", "ZWG"), 2
    )
    assert MINOR_DIGITS.keys().isdisjoint({"XAU", "XXX", "XTS", "XDR", "BGN", "HRK", "ANG"})


@pytest.mark.req("SCH-269")
@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [("89.27", "CAD", 8927), ("0.00", "CAD", 0), ("0.05", "EUR", 5), ("10500", "JPY", 10500), ("1.500", "KWD", 1500),
     ("12.00", "HUF", 1200), ("27.1234", "CLF", 271234), ("9999999999999.99", "CAD", MAX_MINOR)],
)  # fmt: skip
def test_an_amount_is_read_in_its_currencys_own_units(amount: str, currency: str, minor: int) -> None:
    """Yen have no cents, dinars a thousand fils; what is read is written the same."""
    text = MoneyText(amount=amount, currency=currency)
    assert read_money(text) == Money(minor, currency)
    assert write_money(Money(minor, currency)) == text


@pytest.mark.req("SCH-269")
@pytest.mark.parametrize(
    ("amount", "currency", "reason"),
    [
        ("10.5", "JPY", "digits"),
        ("10.", "JPY", "syntax"),
        ("1.0000", "KWD", "digits"),
        ("1.00", "KWD", "digits"),
        ("79", "CAD", "digits"),
        ("79.0", "CAD", "digits"),
        ("79.000", "CAD", "digits"),
        ("079.00", "CAD", "syntax"),
        (".79", "CAD", "syntax"),
        ("-79.00", "CAD", "syntax"),
        ("+79.00", "CAD", "syntax"),
        ("1_000.00", "CAD", "syntax"),
        ("1,000.00", "CAD", "syntax"),
        (" 79.00", "CAD", "syntax"),
        ("79.00\n", "CAD", "syntax"),
        ("1E+2", "CAD", "syntax"),
        ("Infinity", "CAD", "syntax"),
        ("NaN", "CAD", "syntax"),
        ("٧٩.٠٠", "CAD", "syntax"),
        ("", "CAD", "syntax"),
        ("10000000000000.00", "CAD", "too_large"),
        ("9" * 5000 + ".00", "CAD", "too_large"),
        ("79.00", "cad", "unknown_currency"),
        ("79.00", "XXX", "unknown_currency"),
        ("79.00", "$", "unknown_currency"),
        ("79.00", "", "unknown_currency"),
    ],
)
def test_any_other_spelling_is_refused_and_never_rounded(amount: str, currency: str, reason: str) -> None:
    """Whatever a decimal library would forgive."""
    with pytest.raises(Refused) as caught:
        read_money(MoneyText(amount=amount, currency=currency))
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("malformed_money", reason)


@given(moneys)
def test_every_sum_has_one_text(money: Money) -> None:
    """Writing and reading are inverse, in every currency."""
    assert read_money(write_money(money)) == money


@pytest.mark.req("SCH-271", "SCH-279")
@pytest.mark.parametrize(
    ("amount", "basis_points", "share"),
    [
        ("79.00", 1300, "10.27"),
        ("79.00", 2500, "19.75"),
        ("0.10", 3300, "0.03"),
        ("0.10", 2500, "0.03"),
        ("0.50", 500, "0.03"),
        ("2.50", 100, "0.03"),
        ("0.10", 2499, "0.02"),
        ("79.00", 0, "0.00"),
        ("79.00", 10_000, "79.00"),
    ],
)
def test_a_share_is_rounded_half_up_on_integers(amount: str, basis_points: int, share: str) -> None:
    """The third to sixth are true halves or near them, where half-even and binary floats go wrong."""
    assert percent(cad(amount), basis_points) == cad(share)


@given(st.integers(0, 10**9), st.integers(0, 20_000))
def test_a_share_is_what_decimal_arithmetic_says(minor: int, basis_points: int) -> None:
    """An independent reckoning agrees everywhere."""
    exact = Decimal(minor) * basis_points / 10_000
    assert percent(Money(minor, "CAD"), basis_points).minor == int(exact.quantize(Decimal(1), ROUND_HALF_UP))


@pytest.mark.req("SCH-270", "SCH-271")
def test_the_sample_price_adds_up() -> None:
    """79.00 and HST at 13 % are 89.27 all-in."""
    service = cad("79.00")
    assert total([service, percent(service, 1300)], "CAD") == cad("89.27")
    assert str(cad("89.27")) == "CAD 89.27"
    assert times(cad("12.50"), 3) == cad("37.50")


@pytest.mark.req("SCH-272")
def test_currencies_are_never_added() -> None:
    """There is no conversion, not even with nothing."""
    mixtures: list[Callable[[], Money]] = [
        lambda: add(cad("1.00"), Money(100, "USD")),
        lambda: total([cad("1.00"), Money(0, "USD")], "CAD"),
        lambda: total([cad("1.00")], "USD"),
    ]
    for mixture in mixtures:
        with pytest.raises(Refused) as caught:
            mixture()
        assert caught.value.refusal.code == "mixed_currency"


def test_a_sum_beyond_the_bound_is_refused() -> None:
    """Arithmetic cannot leave what canonical JSON can hold."""
    with pytest.raises(Refused) as caught:
        add(Money(MAX_MINOR, "CAD"), Money(1, "CAD"))
    assert caught.value.refusal.reason == "too_large"


@pytest.mark.parametrize(("minor", "currency"), [(-1, "CAD"), (1, "XXX")])
def test_what_is_no_sum_of_money_is_misuse(minor: int, currency: str) -> None:
    """Our own arithmetic never goes below nothing."""
    with pytest.raises(Misuse):
        Money(minor, currency)


def test_a_share_below_nothing_is_misuse() -> None:
    """Discounts are lines of their own."""
    with pytest.raises(Misuse):
        percent(cad("1.00"), -1)


def test_money_text_is_closed() -> None:
    """A price has two members."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"amount": "1.00", "currency": "CAD", "tax": "0"}, MoneyText)
