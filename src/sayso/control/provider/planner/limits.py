"""The price ceiling in the host's currency, checked against the price the host states before anything is held."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sayso.control.provider.planner.picking import ServiceAt
from sayso.control.provider.planner.request import Request
from sayso.control.provider.planner.spoken import spoken_amount
from sayso.control.provider.planner.steps import Say, Topic, asks, refused

__all__ = ("Ceiling", "find_ceiling")

# "$100" is a limit wherever prices are in some dollar; which one, the host's prices tell.
_DOLLARS = frozenset(("AUD", "BBD", "BSD", "BZD", "CAD", "FJD", "HKD", "JMD", "NZD", "SGD", "TTD", "TWD", "USD", "XCD"))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that may be paid, all-in, as hold_slot takes it; nothing where the person said nothing."""

    amount: Decimal | None = None
    currency: str | None = None

    @property
    def argument(self) -> dict[str, str] | None:
        """`max_price` of hold_slot."""
        if self.amount is None:
            return None
        money = {"amount": f"{self.amount:f}"}
        return money | {"currency": self.currency} if self.currency else money

    def admits(self, total: tuple[Decimal, str] | None) -> bool:
        """Whether a price is within it; a price that is not stated is the host's own matter."""
        if self.amount is None or total is None:
            return True
        return total[1] == (self.currency or total[1]) and total[0] <= self.amount


def find_ceiling(request: Request, offer: ServiceAt) -> Ceiling | Say:
    """The ceiling, or why it cannot be: another currency, or already below what the service costs."""
    price = request.seen.price
    if price is None:
        return Ceiling()
    total = offer.service.total
    theirs = total[1] if total else offer.host.currency
    if price.currency is None or (price.currency == "$" and (theirs is None or theirs in _DOLLARS)):
        ceiling = Ceiling(price.amount, theirs)
    elif theirs is not None and price.currency != theirs:
        return asks(
            f"{offer.host.name} charges in {theirs}, and I do not convert money. What is the most you want to pay in "
            f"{theirs}?",
            Topic.PRICE,
        )
    else:
        ceiling = Ceiling(price.amount, price.currency)
    if total is not None and not ceiling.admits(total):
        words = offer.service.price_in_words or f"{spoken_amount(*total)} in total"
        limit = spoken_amount(price.amount, ceiling.currency)
        return refused(
            f"{offer.service.title} at {offer.host.name} costs {words}, above your limit of {limit}. "
            "Nothing was booked.",
            Topic.PRICE,
        )
    return ceiling
