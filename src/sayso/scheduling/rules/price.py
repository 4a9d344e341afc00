"""What a booking costs all in: lines that add up, or nothing about money at all (SCH-166, SCH-269..273, SCH-279).

One line for the service, then one for each tax. A tax is a percentage of the sum of the priced lines before it,
rounded half up to the minor unit once, on its own line; so the total is the sum of lines that anyone can add again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sayso.core.money import Money, percent, total, write_money
from sayso.scheduling.rules.premises import BookableService
from sayso.scheduling.terms.discovery import Tax
from sayso.scheduling.terms.offer import Line

__all__ = ("Quote", "quote")


@dataclass(frozen=True, slots=True)
class Quote:
    """A stated price, what is added to it, and the all-in total that a person's ceiling is compared with."""

    price: Money
    lines: tuple[Line, ...]
    total: Money


def quote(service: BookableService, taxes: Sequence[Tax]) -> Quote | None:
    """The price of one booking of a service, or None where the host states none."""
    if service.price is None:
        return None
    taxed = [(tax.title, percent(service.price, tax.basis_points)) for tax in taxes]
    lines = (
        Line(kind="service", title=service.title, amount=write_money(service.price)),
        *(Line(kind="tax", title=title, amount=write_money(amount)) for title, amount in taxed),
    )
    whole = total([service.price, *(amount for _, amount in taxed)], service.price.currency)
    return Quote(price=service.price, lines=lines, total=whole)
