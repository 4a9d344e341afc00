"""The table of rate buckets as a plain map from text to number, which is all that tests of transactions need."""

from __future__ import annotations

from sqlalchemy import bindparam, func, select, update

from sayso.store.tables.store import buckets
from sayso.store.unit import Reading, Unit, insert, statement

ADD = statement(insert(buckets))
FIND = statement(select(buckets.c.tat).where(buckets.c.key == bindparam("of_key")))
SET = statement(update(buckets).where(buckets.c.key == bindparam("of_key")), "tat")
KEYS = statement(select(buckets.c.key).order_by(buckets.c.key))
SUM = statement(select(func.sum(buckets.c.tat)))


def add(unit: Unit, key: str, number: int | None = 0) -> int:
    """Writes a row; how many were written."""
    return unit.execute(ADD, {"key": key, "tat": number})


def increment(unit: Unit, key: str) -> int:
    """Reads, adds one and writes, as two statements with the arithmetic outside the database; the new number."""
    unit.lock(key)
    (number,) = unit.one(FIND, {"of_key": key}) or (0,)
    if unit.execute(SET, {"of_key": key, "tat": number + 1}) == 0:
        add(unit, key, number + 1)
    return number + 1


def keys(view: Reading) -> list[str]:
    """Every key there is, in order."""
    return [key for (key,) in view.all(KEYS)]


def number(view: Reading, key: str) -> int | None:
    """The number under a key."""
    row = view.one(FIND, {"of_key": key})
    return None if row is None else row[0]
