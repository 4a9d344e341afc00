"""The head of a log: the one row that says how far it goes, and the statements that move it.

A tip may be remembered between units, because it is never trusted: the head moves only from the size and hash that the
remembered tip names, and a hash stands for every byte of the log before it. A tip that another process has overtaken,
or that belongs to a unit that was undone, matches no row and is read again.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from datetime import datetime
from typing import TypeAlias

import msgspec
from sqlalchemy import bindparam, case, func, select, update

from sayso.core.refusal import Corrupt
from sayso.ledger.rules.chain import START, Tip, read_tip
from sayso.store.statements import insert, statement
from sayso.store.tables import from_micros, micros
from sayso.store.tables.ledger import ledger_head
from sayso.store.unit import Reading, Unit

__all__ = ("Head", "Tips", "channel", "count_disclosure", "lock", "mark_sealed", "move", "read_head")

Tips: TypeAlias = MutableMapping[str, Tip]
"""The last tip this process has seen, by log."""

_h = ledger_head.c

_FIND = statement(
    select(_h.size, _h.head, _h.frontier, _h.leaves, _h.sealed, _h.waiting_since).where(_h.log == bindparam("log"))
)
_CREATE = statement(insert(ledger_head).on_conflict_do_nothing())
_MOVE = statement(
    update(ledger_head)
    .where(_h.log == bindparam("of"), _h.size == bindparam("from_size"), _h.head == bindparam("from_head"))
    .values(size=bindparam("size"), head=bindparam("head"), frontier=bindparam("frontier"))
)
_COUNT = statement(
    update(ledger_head)
    .where(_h.log == bindparam("of"))
    .values(leaves=_h.leaves + 1, waiting_since=func.coalesce(_h.waiting_since, bindparam("now")))
    .returning(_h.leaves, _h.sealed)
)
_SEALED = statement(
    update(ledger_head)
    .where(_h.log == bindparam("of"), _h.sealed == bindparam("from_sealed"))
    .values(
        sealed=bindparam("to_sealed"),
        waiting_since=case((_h.leaves > bindparam("to_sealed"), bindparam("now")), else_=None),
    )
)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A log's row. `leaves` counts disclosures, `sealed` those in a batch; `since` dates the oldest of the others."""

    tip: Tip
    leaves: int = 0
    sealed: int = 0
    since: datetime | None = None

    @property
    def waiting(self) -> int:
        """Disclosures that are durable but not yet in a batch."""
        return self.leaves - self.sealed


def channel(log: str) -> str:
    """The wake channel on which it is announced that a first disclosure waits, and that batches were sealed."""
    return f"ledger:{log}"


def lock(unit: Unit, log: str) -> None:
    """Serialises everything that moves this log's head; the last lock a unit takes."""
    unit.lock(f"ledger:{log}")


def read_head(view: Reading, log: str) -> Head:
    """The head as it is stored; a log without a row is empty. Raises `Corrupt` where it contradicts itself."""
    row = view.one(_FIND, {"log": log})
    if row is None:
        return Head(tip=START)
    size, head, frontier, leaves, sealed, since = row
    return Head(
        tip=read_tip(size, bytes(head), bytes(frontier), log=log),
        leaves=leaves,
        sealed=sealed,
        since=None if since is None else from_micros(since),
    )


def move(unit: Unit, log: str, old: Tip, new: Tip) -> bool:
    """Compare-and-swap: whether the head stood at `old`, and now stands at `new`."""
    if old is START:
        _create(unit, log)
    moved = unit.execute(
        _MOVE,
        {
            "of": log,
            "from_size": old.size,
            "from_head": old.head,
            "size": new.size,
            "head": new.head,
            "frontier": new.frontier.to_bytes(),
        },
    )
    return moved == 1


def count_disclosure(unit: Unit, log: str) -> tuple[int, int]:
    """Takes the next disclosure's number; with it, how many wait to be sealed."""
    values = {"of": log, "now": micros(unit.now)}
    row = unit.one(_COUNT, values)
    if row is None:
        _create(unit, log)
        row = unit.one(_COUNT, values)
    if row is None:
        raise Corrupt("the receipt log has no head", log)
    leaves, sealed = row
    return leaves - 1, leaves - sealed


def mark_sealed(unit: Unit, log: str, old: int, new: int) -> None:
    """Notes that disclosures up to `new` are in a batch. Raises `Corrupt` where others were sealed under our lock."""
    values = {"of": log, "from_sealed": old, "to_sealed": new, "now": micros(unit.now)}
    if unit.execute(_SEALED, values) != 1:
        raise Corrupt("disclosures were sealed twice", log)


def _create(unit: Unit, log: str) -> None:
    unit.execute(
        _CREATE,
        {
            "log": log,
            "size": START.size,
            "head": START.head,
            "frontier": START.frontier.to_bytes(),
            "leaves": 0,
            "sealed": 0,
            "waiting_since": None,
        },
    )
