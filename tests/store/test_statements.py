"""Statements carry integers, text and bytes, are compiled once, and say so when asked for more."""

from __future__ import annotations

import pytest
from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    false,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.schema import CreateTable

from sayso.core.refusal import Misuse
from sayso.store.statements import DialectName, statement

LAX = Table("lax", MetaData(), Column("at", DateTime), Column("on", Boolean))
DEFAULTED = Table("defaulted", MetaData(), Column("id", Text, default=str), Column("a", Text))
PLAIN = Table("plain", MetaData(), Column("a", Text), Column("b", Integer), Column("c", Integer))
BOTH: tuple[DialectName, ...] = ("sqlite", "postgresql")


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize(
    "construct",
    [
        select(LAX.c.at),
        select(LAX.c.on),
        update(LAX).values(on=false()),
        select(PLAIN.c.a == "x"),
        insert(LAX).values(at=bindparam("at")),
        insert(LAX).returning(LAX.c.at),
    ],
    ids=lambda each: str(each).replace("\n", ""),
)
def test_values_that_would_need_converting_are_refused(construct: object, dialect: DialectName) -> None:
    """The two drivers would hand back two different things."""
    with pytest.raises(Misuse, match="integers, text and bytes only"):
        statement(construct).on(dialect)  # type: ignore[arg-type]


def test_defaults_computed_in_python_are_refused() -> None:
    """Nobody would compute them."""
    with pytest.raises(Misuse, match="default computed in Python"):
        statement(insert(DEFAULTED), "a").on("sqlite")


def test_lists_without_a_fixed_length_are_refused() -> None:
    """Their statement would be another one each time; an empty list matches nothing and is a mistake."""
    for names in (bindparam("names", expanding=True), []):
        with pytest.raises(Misuse, match="IN list"):
            statement(select(PLAIN.c.a).where(PLAIN.c.a.in_(names))).on("sqlite")


def test_a_statement_reads_or_writes_rows() -> None:
    """The database's shape is changed by migrations."""
    with pytest.raises(Misuse, match="no statement"):
        statement(CreateTable(PLAIN)).on("sqlite")


@pytest.mark.parametrize("dialect", BOTH)
def test_a_statement_is_compiled_once(dialect: DialectName) -> None:
    """Its second run costs nothing but its arguments."""
    stmt = statement(select(func.count()).select_from(PLAIN))
    assert stmt.on(dialect) is stmt.on(dialect)


def test_arguments_are_laid_out_as_the_dialect_wants_them() -> None:
    """Constants in their places, a name as often as it occurs, lists spread out."""
    stmt = statement(
        update(PLAIN)
        .where(PLAIN.c.a.in_(["x", "y"]), PLAIN.c.b < bindparam("bound"), PLAIN.c.c < bindparam("bound"))
        .values(c=PLAIN.c.c + 1),
        "b",
    )
    sqlite, postgres = stmt.on("sqlite"), stmt.on("postgresql")
    given = {"b": 7, "bound": 9}
    assert (sqlite.sql, list(sqlite.arguments(given))) == (
        "UPDATE plain SET b=?, c=(plain.c + ?) WHERE plain.a IN (?, ?) AND plain.b < ? AND plain.c < ?",
        [7, 1, "x", "y", 9, 9],
    )
    assert (postgres.sql.count("%s"), list(postgres.arguments(given))) == (6, [7, 1, "x", "y", 9, 9])
