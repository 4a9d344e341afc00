"""Statements: a SQLAlchemy Core construct, compiled once for each dialect and then run on the driver's cursor directly.

SQLAlchemy writes the SQL and is then out of the way, because its execution layer costs more than the statement does.
That works only while no value needs converting on its way in or out, so a statement may touch integers, text and
bytes and nothing else; anything more is refused when it is first compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from sqlalchemy import BigInteger, Integer, LargeBinary, SmallInteger, String, Text
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement, UpdateBase
from sqlalchemy.types import NullType

from sayso.core.refusal import Misuse

__all__ = ("Compiled", "DialectName", "Parameters", "Row", "Statement", "insert", "statement")

# `insert` is Postgres's own: both compilers render its ON CONFLICT clauses, so one construct serves both engines.

DialectName = Literal["sqlite", "postgresql"]
Parameters = Mapping[str, Any]
Row = tuple[Any, ...]

# NullType stands for a bound LIMIT and for functions SQLAlchemy has no type for.
_PLAIN = frozenset({BigInteger, Integer, LargeBinary, NullType, SmallInteger, String, Text})
# A list bound by in_() is left open by the compiler; the marker's form is fixed by SQLAlchemy's own expander.
_LIST = re.compile(r"__\[POSTCOMPILE_(?P<name>[^\]~]+)(?:~~.*?~~)?\]")
_DIALECTS: dict[DialectName, tuple[Dialect, str]] = {
    "sqlite": (sqlite.dialect(paramstyle="qmark"), "?"),
    "postgresql": (PGDialect_psycopg(paramstyle="format"), "%s"),  # type: ignore[no-untyped-call]
}


class Compiled(NamedTuple):
    """SQL text and how to lay out its positional arguments."""

    sql: str
    arguments: Callable[[Parameters | None], Sequence[Any]]


class Statement:
    """One construct with its compiled forms. Made once, at import, and shared by every thread."""

    __slots__ = ("_columns", "_compiled", "_construct")

    def __init__(self, construct: ClauseElement, columns: Sequence[str]) -> None:
        self._construct = construct
        self._columns = columns
        self._compiled: dict[DialectName, Compiled] = {}

    def on(self, dialect: DialectName) -> Compiled:
        """The compiled form; two threads that race here compile the same thing twice, which harms nobody."""
        found = self._compiled.get(dialect)
        if found is None:
            found = self._compiled[dialect] = _compile(self._construct, self._columns, dialect)
        return found


def statement(construct: ClauseElement, *columns: str) -> Statement:
    """Wraps a Core construct. `columns` names the columns an INSERT or UPDATE without `.values()` sets by parameter;
    an INSERT that names none takes all of the table's.

    Values written into the construct are constants; a `bindparam("x")` and every named column must then be given,
    exactly, each time the statement runs. Raises `Misuse` on first use where a column is neither integer, text nor
    bytes, has a default computed in Python, or an IN list has no fixed length.
    """
    return Statement(construct, columns)


def _compile(construct: ClauseElement, columns: Sequence[str], dialect: DialectName) -> Compiled:
    rules, mark = _DIALECTS[dialect]
    if isinstance(construct, ExecutableDDLElement):
        raise Misuse(f"{type(construct).__name__} is no statement that reads or writes rows")
    compiled = construct.compile(dialect=rules, column_keys=list(columns) or None)
    assert isinstance(compiled, SQLCompiler)
    _check_types(construct, compiled)
    constants = {name: value for name, value in compiled.params.items() if not compiled.binds[name].required}
    order: list[str] = list(compiled.positiontup or ())
    for name in dict.fromkeys(match["name"] for match in _LIST.finditer(compiled.string)):
        if not constants.get(name):
            raise Misuse(f"the IN list {name} needs its values written into the statement, at least one")
        # Each value of a list is a constant of its own: a bound name has no bracket in it, so none can collide.
        values = {f"{name}[{number}]": value for number, value in enumerate(constants.pop(name))}
        constants |= values
        order = [each for bound in order for each in (values if bound == name else (bound,))]

    def spread(match: re.Match[str]) -> str:
        return ", ".join(mark for name in constants if name.startswith(f"{match['name']}["))

    return Compiled(_LIST.sub(spread, compiled.string), _layout(order, constants))


def _check_types(construct: ClauseElement, compiled: SQLCompiler) -> None:
    if compiled.prefetch:
        raise Misuse(f"{compiled.prefetch[0]} has a default computed in Python, which statements do not run")
    bound = [(bind.key, bind.type) for bind in compiled.binds.values()]
    returned = [(str(column), column.type) for column in getattr(construct, "exported_columns", ())]
    written = [(str(column), column.type) for column in construct.table.c] if isinstance(construct, UpdateBase) else []
    for name, type_ in bound + returned + written:
        if type(type_) not in _PLAIN:
            raise Misuse(f"{name} is {type_!r}: statements carry integers, text and bytes only")


def _layout(order: Sequence[str], constants: Parameters) -> Callable[[Parameters | None], Sequence[Any]]:
    """Builds the function that turns named parameters into positional arguments; runs once a statement, not a call."""
    wanted = frozenset(order).difference(constants)
    count = len(wanted)
    if not count:
        fixed = tuple(constants[name] for name in order)
        return lambda given: fixed if not given else _complain(given, wanted)

    pick = itemgetter(*order)
    single = len(order) == 1

    def arguments(given: Parameters | None) -> Sequence[Any]:
        if given is None or len(given) != count:
            return _complain(given or {}, wanted)
        try:
            picked = pick({**given, **constants} if constants else given)
        except KeyError:
            return _complain(given, wanted)
        return (picked,) if single else picked

    return arguments


def _complain(given: Parameters, wanted: frozenset[str]) -> Sequence[Any]:
    raise Misuse(f"the statement takes {sorted(wanted)}, not {sorted(given)}")
