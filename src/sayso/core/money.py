"""Money as decimal text outside and whole minor units inside, never a binary float (SCH-269, SCH-271, SCH-272).

How many digits a currency has is ISO 4217's word, not a locale library's, so that two implementations add up alike.
Amounts are written with exactly those digits: `10.5` yen and `1.0000` dinar are refused, not rounded. Currencies are
never added across. Percentages round half up, once per line, on integers (SCH-279). What a price is made of is decided
in scheduling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from sayso.core.refusal import Misuse, Refused

__all__ = (
    "MAX_MINOR",
    "MINOR_DIGITS",
    "Money",
    "MoneyText",
    "add",
    "percent",
    "read_money",
    "times",
    "total",
    "write_money",
)

MAX_MINOR = 10**15 - 1
"""The largest amount in minor units; it fits a double exactly, as canonical JSON needs."""

_TWO = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY "
    "COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS "
    "INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR "
    "MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP "
    "STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG"
)
_NONE = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_THREE = "BHD IQD JOD KWD LYD OMR TND"
_FOUR = "CLF UYW"

MINOR_DIGITS: dict[str, int] = {
    code: digits for codes, digits in ((_NONE, 0), (_TWO, 2), (_THREE, 3), (_FOUR, 4)) for code in codes.split()
}
"""ISO 4217 list one as published on 1 January 2026. Codes without minor units (metals, SDR, tests) price nothing."""

_AMOUNT = re.compile(r"(0|[1-9][0-9]*)(?:\.([0-9]+))?")
_MAX_TEXT = 20
_WHOLE = 10_000


class MoneyText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An amount as it travels: `{"amount": "89.27", "currency": "CAD"}`."""

    amount: str
    currency: str


@dataclass(frozen=True, slots=True)
class Money:
    """A sum of `minor` units (cents) of one currency; never negative."""

    minor: int
    currency: str

    def __post_init__(self) -> None:
        if self.currency not in MINOR_DIGITS or self.minor < 0:
            raise Misuse(f"{self.minor} {self.currency} is no sum of money")
        if self.minor > MAX_MINOR:
            raise Refused.because("malformed_money", "this amount is larger than any price", reason="too_large")

    def __str__(self) -> str:
        return f"{self.currency} {_decimal(self)}"


def read_money(text: MoneyText) -> Money:
    """Raises `Refused("malformed_money")` with reason unknown_currency, syntax, digits or too_large."""
    digits = MINOR_DIGITS.get(text.currency)
    if digits is None:
        raise _malformed("unknown_currency", "this is no ISO 4217 code of a currency with minor units")
    if len(text.amount) > _MAX_TEXT:
        raise _malformed("too_large", "this amount is larger than any price")
    found = _AMOUNT.fullmatch(text.amount)
    if found is None:
        raise _malformed("syntax", "an amount is written like 89.27: digits, a point, digits")
    whole, fraction = found.group(1), found.group(2) or ""
    if len(fraction) != digits:
        raise _malformed("digits", f"an amount in {text.currency} has exactly {digits} digits after the point")
    return Money(int(whole + fraction), text.currency)


def write_money(money: Money) -> MoneyText:
    """The one spelling that `read_money` takes for this sum."""
    return MoneyText(amount=_decimal(money), currency=money.currency)


def add(left: Money, right: Money) -> Money:
    """Raises `Refused("mixed_currency")`: there is no conversion."""
    if left.currency != right.currency:
        raise Refused.because("mixed_currency", f"{left.currency} and {right.currency} are never added")
    return Money(left.minor + right.minor, left.currency)


def total(amounts: Iterable[Money], currency: str) -> Money:
    """The sum of all lines, zero for none; raises `Refused("mixed_currency")`."""
    whole = Money(0, currency)
    for amount in amounts:
        whole = add(whole, amount)
    return whole


def times(money: Money, count: int) -> Money:
    """`count` of the same price, as for each of several persons."""
    return Money(money.minor * count, money.currency)


def percent(money: Money, basis_points: int) -> Money:
    """A share in hundredths of a percent, rounded half up to the minor unit: 13 % is 1300."""
    if basis_points < 0:
        raise Misuse("a share is not negative")
    return Money((money.minor * basis_points + _WHOLE // 2) // _WHOLE, money.currency)


def _decimal(money: Money) -> str:
    digits = MINOR_DIGITS[money.currency]
    if not digits:
        return str(money.minor)
    text = str(money.minor).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}"


def _malformed(reason: str, message: str) -> Refused:
    return Refused.because("malformed_money", message, reason=reason)
