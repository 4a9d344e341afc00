"""Every statement of a host is served by an index that begins with the host and goes on: no table is ever walked.

What makes 100,000 bookings cost what 100 cost, told by the planner instead of by a stopwatch.
"""

import re

import pytest

from sayso.scheduling.host import allocations, bookings, changes, due, entries, holds, reputation
from sayso.store.engines import sqlite_library
from sayso.store.statements import Statement
from sayso.testing.store import fresh_file

STATEMENTS = {
    f"{module.__name__.rpartition('.')[2]}{name}": value
    for module in (allocations, bookings, changes, due, entries, holds, reputation)
    for name, value in vars(module).items()
    if isinstance(value, Statement)
}


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_no_statement_walks_a_table(name, tmp_path):
    """Each access names an index and at least two of its columns, the host first."""
    connection = sqlite_library.connect(fresh_file(tmp_path / "sayso.db"))
    sql = STATEMENTS[name].on("sqlite").sql
    steps = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + sql.replace("?", "NULL")).fetchall()]
    connection.close()
    accesses = [step for step in steps if re.match("SEARCH|SCAN", step) and "CONSTANT ROW" not in step]
    assert accesses or sql.startswith("INSERT")
    for step in accesses:
        assert re.search(r"SEARCH .*\(host=\? AND ", step), step


def test_the_picture_is_read_from_its_index_alone(tmp_path):
    """The widest read of all touches no table row."""
    connection = sqlite_library.connect(fresh_file(tmp_path / "sayso.db"))
    sql = STATEMENTS["allocations_PICTURE"].on("sqlite").sql.replace("?", "NULL")
    (step,) = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + sql).fetchall()]
    connection.close()
    assert "COVERING INDEX ix_host_allocation_time (host=? AND start_us>? AND start_us<?)" in step
