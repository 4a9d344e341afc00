"""The most something may cost, out of words and symbols ("under $100", "at most a hundred dollars", "80 CAD tops").

Only an upper limit is a price here. An amount that is none ("around", "over") is a problem to ask about, for a limit
that was guessed would be signed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from sayso.control.provider.planner.language.numbers import NUMBER, read_number
from sayso.control.provider.planner.language.sheet import AMOUNT, Sheet, run_of
from sayso.control.provider.planner.language.understood import Price, Problem

__all__ = ("Amount", "find_price", "mark_amounts")

_SYMBOLS = {"$": "$", "c$": "CAD", "ca$": "CAD", "cad$": "CAD", "cad $": "CAD", "cdn$": "CAD", "us$": "USD",
            "usd$": "USD", "usd $": "USD", "a$": "AUD", "au$": "AUD", "aud$": "AUD", "nz$": "NZD", "hk$": "HKD",
            "s$": "SGD", "sg$": "SGD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₪": "ILS",
            "zł": "PLN"}  # fmt: skip
# Codes that read as money beside a figure; codes that are English words ("all", "try", "top") stay words.
_CODE_WORDS = (
    "cad usd eur gbp chf aud nzd jpy sek nok dkk pln czk huf mxn brl inr cny hkd sgd krw zar kwd ils "
    "aed isk ron bgn thb php idr myr"
)
_CODES = tuple(_CODE_WORDS.split())
_COUNTRIES = {"canadian": "CAD", "cdn": "CAD", "american": "USD", "us": "USD", "u.s.": "USD", "australian": "AUD",
              "new zealand": "NZD", "singapore": "SGD", "hong kong": "HKD"}  # fmt: skip
_WORDS = {"dollar": "$", "dollars": "$", "buck": "$", "bucks": "$", "euro": "EUR", "euros": "EUR", "pounds": "GBP",
          "pound": "GBP", "pounds sterling": "GBP", "quid": "GBP", "swiss francs": "CHF", "francs": "CHF",
          "yen": "JPY", "rupees": "INR", "loonies": "CAD"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount of money as written; `currency` as in `Price`. Without a value it is none that anybody could pay."""

    value: Decimal | None
    currency: str | None


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_DIGITS = r"(?:[0-9]{1,3}(?:[, ][0-9]{3})+(?:\.[0-9]{1,2})?|[0-9]{1,7}(?:[.,][0-9]{1,2})?)(?![0-9])"
_FIGURE = rf"(?:{_DIGITS}|{NUMBER})"
_BEFORE = rf"(?:(?:{_any(_SYMBOLS)}) ?|(?:{_any(_CODES)}) )"
_AFTER = rf"(?: ?(?:{_any(_SYMBOLS)})| ?(?:{_any(_CODES)})\b|[ -](?:(?:{_any(_COUNTRIES)}) )?(?:{_any(_WORDS)})\b)"
_MONEY = re.compile(
    rf"(?<![\w.])(?P<before>{_BEFORE})(?P<prefixed>{_FIGURE})(?P<extra>{_AFTER})?"
    rf"|(?<![\w.:])(?P<suffixed>{_FIGURE})(?P<after>{_AFTER})"
)

# Figures without a unit are money beside another amount, or after words of spending; after words that limit anything
# ("max", "up to") only figures too large for an hour or a head count are.
_A = run_of(AMOUNT)
_LONELY = r"(?! ?(?:[\w%]|[:.,][0-9]))(?! (?:o'clock|am|pm))"
_LARGE = r"(?:[0-9]{3,6}|2[5-9]|[3-9][0-9])(?:[.,][0-9]{1,2})?"
_ENDING = r"(?! ?(?:%|[:.,/-]?[0-9]| ?(?:min|hour|day|week|month|year|people|person|km|mile|am\b|pm\b|hr|h\b)))"
_CAP = r"(?:max(?:imum)?|limit|cap|ceiling|budget)"
_CAP_WORD = rf"(?:(?:price|spending|cost) )?{_CAP}(?: (?:price|cost|spend))?(?: (?:is|of|at)|:)?"
_TAIL = (
    rf"(?:(?:is )?(?:the |my |our )?(?:absolute )?(?:price )?{_CAP}\b|tops\b|at (?:the )?(?:most|max(?:imum)?)\b"
    r"|or (?:less|under|below|lower|cheaper)\b|and (?:no more|not a \w+ more|under|below|less)\b)"
)
_BARE = (
    re.compile(rf"(?<![\w.:$])(?P<figure>{_FIGURE})(?= ?(?:-|to|and|or) ?{AMOUNT})"),
    re.compile(rf"{AMOUNT} ?(?:-|to) ?(?P<figure>{_DIGITS}){_ENDING}(?!\w)"),
    re.compile(
        r"\b(?:under|below|less than|cheaper than|no more than|not more than|no higher than|not over|nothing over"
        r"|(?:spend|pay)(?:ing)?(?: up to| at most| (?:no )?more than| over)?|(?:budget|price|cost|costs|costing)"
        rf"(?: limit| is| of| under| below|:)*) (?P<figure>{_FIGURE}){_ENDING}(?!\w)"
    ),
    re.compile(rf"\b(?:{_CAP_WORD}|at (?:the )?most|up to|within|over|above) ?(?P<figure>{_LARGE}){_ENDING}(?!\w)"),
    re.compile(rf"(?<![\w.:$])(?P<figure>{_LARGE})(?= ?,? ?{_TAIL})"),
)

_NOT = r"(?:no|not|nothing|never|without|cannot|\w+n't)"
_ABOVE = r"(?:more than|more|higher than|higher|over|above|exceed(?:ing)?|beyond|going over)"
_RANGE = rf"{_A}(?: ?(?:-|to|and|or) ?{_A})?"
_NO_CEILING = re.compile(
    rf"\b{_NOT} (?:less|under|below|lower|cheaper)(?: than)? {_A}"
    rf"|(?:\b(?:around|about|approximately|approx\.?|roughly|circa|near|close to|in the (?:range|region|area) of) "
    rf"|~ ?){_A}(?! ?,? ?{_TAIL})"
    rf"|{_A} ?(?:or more|and up|\+|or so|ish\b|-ish\b)"
)
_CEILING = re.compile(
    rf"\b{_NOT}(?: [a-z']+){{0,6}}? {_ABOVE} {_A}"
    rf"|(?:\b(?:under|below|less than|lower than|cheaper than|at (?:the )?most|up to|upto|within|inside|{_CAP_WORD}) ?"
    rf"(?:of |to |a |the )*|<=? ?|≤ ?){_RANGE}(?: ?,? ?{_TAIL})?"
    rf"|{_RANGE} ?,? ?{_TAIL}"
)
_FLOOR = re.compile(rf"\b(?:at least|more than|over|above|minimum(?: of)?|starting (?:at|from)|upwards of) {_A}")
_PLAIN = re.compile(rf"(?:\b(?:for|at|between|from) )?{_RANGE}")


# What looks like an amount and is none: signed, nothing, too much, in cents, with other fractions, or multiplied by a
# word. The patterns above would cut such a figure short, so it is marked before them, to be asked about.
_MOST = Decimal(10_000_000)
_SIGN = r"(?:-|(?:minus|negative) )"
_NUMERAL = r"[0-9](?:[0-9]|[.,'](?=[0-9])| (?=[0-9]{3}(?![0-9])))*"
_TIMES = r"(?:[km]\b| ?(?:mio|mil|million|billion|trillion|grand)\b|e[0-9]+| ?%)"
_CENTS = r"(?: ?¢| cents?\b)"
_FEW = r"(?:a )?(?:couple|few|several)(?: of)? (?:hundred|thousand|million)s?|an? [mb]illion"
_WRITTEN = re.compile(
    rf"(?<![\w.,:/-])(?P<sign>{_SIGN} ?)?(?P<before>{_BEFORE})?(?P<inner>{_SIGN})?(?P<figure>\b(?:{_FEW})\b|{_NUMERAL}"
    rf"|{NUMBER})(?P<times>{_TIMES})?(?P<after>{_AFTER}|{_CENTS})?(?![\w:])"
)
_LIMITING = re.compile(
    r"\b(?:under|below|less than|lower than|cheaper than|more than|over|above|at (?:the )?most|up to|upto|within"
    rf"|spend(?:ing)?|pay(?:ing)?|cost(?:s|ing)?|price|exceed(?:ing)?|{_CAP}(?: (?:price|cost|spend))?)"
    r"(?: (?:is|of|to|at|a|the)\b| ?:)? $"
)
_TAILED = re.compile(rf" ?,? ?{_TAIL}")
# Money that stands in no amount.
_UNREAD = re.compile(r"[$€£¥¢₹₩₪]|\b(?:dollars?|bucks?|euros?|quid|cents?)\b")


def mark_amounts(sheet: Sheet) -> None:
    """Turns amounts of money into atoms. Comes before times, so that no figure of a price reads as an hour."""
    sheet.mark(_WRITTEN, AMOUNT, _read_odd)
    sheet.mark(_MONEY, AMOUNT, _read_money)
    for pattern in _BARE:
        sheet.mark(pattern, AMOUNT, lambda m: Amount(_figure(m["figure"]), None), group="figure")


def find_price(sheet: Sheet) -> tuple[Price | None, frozenset[Problem]]:
    """The ceiling that the marked amounts tell, and what is wrong with them."""
    problems: set[Problem] = set()
    has_odd = any(amount.value is None for _, _, amount in sheet.atoms(AMOUNT, Amount))
    if list(sheet.use(_NO_CEILING)):
        problems.add(Problem.PRICE)
    ceilings = [_highest(sheet, match) for match in sheet.use(_CEILING)]
    if list(sheet.use(_FLOOR)):
        problems.add(Problem.PRICE)
    ceilings += [_highest(sheet, match) for match in sheet.use(_PLAIN)]
    if has_odd or not ceilings:
        is_unread = has_odd or _UNREAD.search(sheet.text)
        return None, frozenset(problems | ({Problem.PRICE} if is_unread else set()))
    if len({(price.amount, price.currency) for price in ceilings}) > 1:
        problems.add(Problem.CONTRADICTION)
    return min(ceilings, key=lambda price: price.amount), frozenset(problems - {Problem.PRICE})


def _highest(sheet: Sheet, match: re.Match[str]) -> Price:
    """Of a range of amounts the upper end is the limit, in the currency that either end names."""
    starts = [m.start() for m in re.finditer(_A, match[0])]
    amounts = [sheet.atom(match.start() + start, Amount) for start in starts]
    currency = next((amount.currency for amount in amounts if amount.currency), None)
    return Price(max(amount.value or Decimal(0) for amount in amounts), currency)


def _read_odd(match: re.Match[str]) -> Amount | None:
    """An amount that is no limit anybody could mean, or None for one that reads well, and for what is no money."""
    before, figure = match.string[: match.start()], match["figure"]
    is_limited = bool(_LIMITING.search(before))
    is_money = match["before"] or match["after"] or is_limited or _TAILED.match(match.string, match.end())
    if not is_money or (match["sign"] == "- " and not is_limited):
        return None
    is_odd = match["sign"] or match["inner"] or match["times"] or re.fullmatch(_CENTS, match["after"] or "")
    is_odd = is_odd or re.fullmatch(_FEW, figure) or (figure[0].isdigit() and not re.fullmatch(_DIGITS, figure))
    return Amount(None, None) if is_odd or not 0 < _figure(figure) <= _MOST else None


def _read_money(match: re.Match[str]) -> Amount:
    figure = match["prefixed"] or match["suffixed"]
    told = [_currency(text.strip(" -")) for text in (match["before"], match["after"] or match["extra"]) if text]
    exact = [unit for unit in told if unit != "$"]
    return Amount(_figure(figure), (exact or told)[0])


def _currency(text: str) -> str:
    if text in _SYMBOLS:
        return _SYMBOLS[text]
    if text in _CODES:
        return text.upper()
    return next((code for country, code in _COUNTRIES.items() if text.startswith(country + " ")), None) or _WORDS[text]


def _figure(text: str) -> Decimal:
    if not text[0].isdigit():
        return Decimal(read_number(text))
    if re.fullmatch(r"[0-9]+,[0-9]{1,2}", text):
        text = text.replace(",", ".")
    return Decimal(re.sub("[, ]", "", text))
