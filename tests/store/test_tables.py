"""Rules that every table of the house keeps, whichever floor it belongs to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import (
    BigInteger,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from sayso.core.refusal import Misuse
from sayso.store.tables import every_table, from_micros, micros

TABLES = every_table().sorted_tables


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_instant_survives_storing_exactly(instant: datetime) -> None:
    """To the microsecond, whatever the year."""
    assert from_micros(micros(instant)) == instant


def test_an_instant_is_stored_in_utc() -> None:
    """The same moment told with another offset is the same number; without one it is refused."""
    toronto = datetime(2026, 10, 13, 9, tzinfo=timezone(timedelta(hours=-4)))
    assert micros(toronto) == micros(datetime(2026, 10, 13, 13, tzinfo=UTC)) == 1_791_896_400_000_000
    with pytest.raises(Misuse, match="offset"):
        micros(datetime(2026, 10, 13))


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_columns_are_of_types_that_need_no_conversion(table: Table) -> None:
    """And have no default that only SQLAlchemy would compute."""
    strange = [
        str(column)
        for column in table.columns
        if type(column.type) not in (BigInteger, Integer, LargeBinary, Text) or column.default or column.onupdate
    ]
    assert strange == []


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_no_constraint_waits_for_commit(table: Table) -> None:
    """One that failed only then would fail everybody's units."""
    assert [str(each) for each in table.constraints if each.deferrable or each.initially] == []


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_key_and_constraint_holds_its_shard_key(table: Table) -> None:
    """The first column (a log, a host, an owner, a scope) places a row; no rule may compare rows of two places."""
    shard = next(iter(table.columns)).name
    keys = [each for each in table.constraints if isinstance(each, PrimaryKeyConstraint | UniqueConstraint)]
    links = [each for each in table.constraints if isinstance(each, ForeignKeyConstraint)]
    unique = [index for index in table.indexes if index.unique]
    assert table.primary_key.columns, "every table has a primary key"
    assert [str(each.name) for each in [*keys, *links, *unique] if shard not in [c.name for c in each.columns]] == []
