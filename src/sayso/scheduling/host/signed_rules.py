"""The rules that a person's calendar keeps, as rows: kept when their owner signed them, withdrawn when told to.

Spec section 25.7; SCH-267. A withdrawn rule stays as a row, so that the same token cannot be kept again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select, update

from sayso.core.refusal import Corrupt, Refused
from sayso.scheduling.rules.spans import instant, micros
from sayso.scheduling.terms.rule_checks import Rule, verify_rule
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_rule
from sayso.store.unit import Reading, Row, Unit

__all__ = ("StoredRule", "add", "find", "in_force", "is_kept", "newest", "withdraw")

_r = host_rule.c
_columns = (_r.token, _r.kept_us, _r.withdrawn_us)
_of_host = _r.host == bindparam("of_host")
_this = (_of_host, _r.rule == bindparam("of_rule"))
_FIND = statement(select(*_columns).where(*_this))
# Those that stand first: however many were withdrawn since, what can still say yes is seen, and can be withdrawn.
_NEWEST = statement(
    select(*_columns)
    .where(_of_host)
    .order_by(_r.withdrawn_us.is_not(None), _r.kept_us.desc(), _r.rule)
    .limit(bindparam("most"))
)
_STANDING = statement(
    select(*_columns)
    .where(_of_host, _r.withdrawn_us.is_(None))
    .order_by(_r.kept_us.desc(), _r.rule)
    .limit(bindparam("most"))
)
_ADD = statement(insert(host_rule))
_WITHDRAW = statement(update(host_rule).where(*_this), "withdrawn_us")
_MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRule:
    """A rule, since when it is kept, and since when it is withdrawn."""

    rule: Rule
    kept_at: datetime
    withdrawn_at: datetime | None = None


def find(view: Reading, host: str, rule_id: str) -> StoredRule | None:
    """The rule by that id at this calendar, withdrawn or not."""
    row = view.one(_FIND, {"of_host": host, "of_rule": rule_id})
    return None if row is None else _read(row)


def is_kept(view: Reading, host: str, rule: Rule) -> bool:
    """Whether this calendar answers by exactly that rule: it keeps it, and nobody has withdrawn it."""
    kept = find(view, host, rule.claims.jti)
    return kept is not None and kept.withdrawn_at is None and kept.rule.token == rule.token


def newest(view: Reading, host: str) -> Sequence[StoredRule]:
    """Those that stand, then those that were withdrawn, the newest first; at most 100."""
    return [_read(row) for row in view.all(_NEWEST, {"of_host": host, "most": _MOST})]


def in_force(view: Reading, host: str) -> Sequence[Rule]:
    """Those that were not withdrawn, the newest first; at most 100. Whether one has ended is the clock's to say."""
    return [_read(row).rule for row in view.all(_STANDING, {"of_host": host, "most": _MOST})]


def add(unit: Unit, host: str, rule: Rule) -> None:
    """Keeps a rule."""
    row = {"host": host, "rule": rule.claims.jti, "token": rule.token, "kept_us": micros(unit.now)}
    unit.execute(_ADD, {**row, "withdrawn_us": None})


def withdraw(unit: Unit, host: str, rule_id: str) -> None:
    """From now on it is not in force."""
    unit.execute(_WITHDRAW, {"of_host": host, "of_rule": rule_id, "withdrawn_us": micros(unit.now)})


def _read(row: Row) -> StoredRule:
    token, kept_us, withdrawn_us = row
    try:
        rule = verify_rule(token)
    except Refused as unreadable:
        raise Corrupt("a kept rule does not hold", unreadable.refusal.place or "$") from unreadable
    return StoredRule(
        rule=rule,
        kept_at=instant(kept_us),
        withdrawn_at=None if withdrawn_us is None else instant(withdrawn_us),
    )
