"""Looks into the tools' JSON results without trusting their shape: what is missing or of another type reads as absent.

A planner that broke on a member it did not expect would leave a person with nothing; one that invented a value would
be worse. So these readers give None, and who needs the value says that it is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation

__all__ = ("amount_in", "instant_in", "number_in", "object_in", "objects_in", "text_in", "texts_in")


def object_in(value: object, name: str) -> Mapping[str, object]:
    """The member as an object; empty when it is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def objects_in(value: object, name: str) -> tuple[Mapping[str, object], ...]:
    """The member's objects, where it is a list."""
    found = value.get(name) if isinstance(value, Mapping) else None
    items = found if isinstance(found, (list, tuple)) else ()
    return tuple(item for item in items if isinstance(item, Mapping))


def text_in(value: object, name: str) -> str:
    """The member as text; empty when it is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def texts_in(value: object, name: str) -> tuple[str, ...]:
    """The member's texts, where it is a list."""
    found = value.get(name) if isinstance(value, Mapping) else None
    items = found if isinstance(found, (list, tuple)) else ()
    return tuple(item for item in items if isinstance(item, str))


def number_in(value: object, name: str) -> int | None:
    """The member as a whole number."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def instant_in(value: object, name: str) -> datetime | None:
    """The member as a time with its offset, kept as written so that its clock is the host's."""
    try:
        found = datetime.fromisoformat(text_in(value, name))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def amount_in(value: object, name: str) -> tuple[Decimal, str] | None:
    """The member as money: amount and currency."""
    money = object_in(value, name)
    try:
        amount = Decimal(text_in(money, "amount"))
    except InvalidOperation:
        return None
    currency = text_in(money, "currency")
    return (amount, currency) if currency and amount.is_finite() else None
