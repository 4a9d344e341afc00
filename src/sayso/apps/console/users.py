"""Who may use the console, and as what (GTW-032: decisions are a named person's; GTW-060: no default password).

An owner may do everything, an approver may decide what agents asked for, a viewer only looks. There is nobody until a
person adds the first user on a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import bindparam, delete, select

from sayso.core.refusal import Refused
from sayso.governance.proposal import Role
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.store.tables import from_micros, micros
from sayso.store.tables.console import console_login, console_user
from sayso.store.unit import Reading, Unit, insert, statement

__all__ = ("ROLES", "ConsoleUser", "Role", "add_user", "check_name", "find_secret", "list_users", "remove_user")

ROLES: Final[tuple[Role, ...]] = ("owner", "approver", "viewer")

ADDED = declare("console.user_added", "A person was given a sign-in to the console, in a role")
REMOVED = declare("console.user_removed", "A person's sign-in to the console was taken back")

_NAME = re.compile(r"[a-z][a-z0-9._-]{0,31}")
_u, _l = console_user.c, console_login.c
_OF = (_u.owner == bindparam("owner"), _u.name == bindparam("name"))
_LIST = statement(
    select(_u.name, _u.role, _u.added_us).where(_u.owner == bindparam("owner")).order_by(_u.added_us, _u.name)
)
_SECRET = statement(select(_u.role, _u.secret).where(*_OF))
_ADD = statement(insert(console_user).on_conflict_do_nothing())
_REMOVE = statement(delete(console_user).where(*_OF))
_SIGN_OUT = statement(delete(console_login).where(_l.owner == bindparam("owner"), _l.name == bindparam("name")))


class ConsoleUser(msgspec.Struct, frozen=True, kw_only=True):
    """One person with a sign-in."""

    name: str
    role: Role
    added: datetime


def check_name(name: str) -> str:
    """The name itself. Refused: `name_invalid`."""
    if not _NAME.fullmatch(name):
        raise Refused.because(
            "name_invalid",
            "A user's name is up to 32 of the characters a-z, 0-9, dot, dash and underscore, and begins with a letter",
            place="name",
        )
    return name


def list_users(view: Reading, owner: str) -> Sequence[ConsoleUser]:
    """Everybody, in the order they were added."""
    rows = view.all(_LIST, {"owner": owner})
    return [ConsoleUser(name=name, role=role, added=from_micros(added)) for name, role, added in rows]


def find_secret(view: Reading, owner: str, name: str) -> tuple[Role, str] | None:
    """Role and kept secret of a user."""
    row = view.one(_SECRET, {"owner": owner, "name": name})
    return None if row is None else (row[0], row[1])


def add_user(unit: Unit, ledger: Ledger, owner: str, name: str, role: Role, secret: str, *, by: str) -> None:
    """Adds a user, with a receipt. Refused: `name_invalid`, `user_exists`, and `owner_first` while nobody owns it."""
    check_name(name)
    if role != "owner" and not any(each.role == "owner" for each in list_users(unit, owner)):
        raise Refused.because("owner_first", "The first user is an owner", help="Leave --role out, or say owner.")
    row = {"owner": owner, "name": name, "role": role, "secret": secret, "added_us": micros(unit.now)}
    if unit.execute(_ADD, row) == 0:
        raise Refused.because("user_exists", f"There is a user {name}", help="See: sayso console user list")
    ledger.append_in(unit, Draft(kind=ADDED, actor=by, body={"user": name, "role": role}))


def remove_user(unit: Unit, ledger: Ledger, owner: str, name: str, *, by: str) -> None:
    """Removes a user and ends every sign-in of theirs, with a receipt. Refused: `unknown_user`, `last_owner`."""
    users = {each.name: each.role for each in list_users(unit, owner)}
    if name not in users:
        raise Refused.because("unknown_user", f"There is no user {name[:40]}", help="See: sayso console user list")
    others = [role for other, role in users.items() if other != name]
    if others and "owner" not in others:
        raise Refused.because("last_owner", f"{name} is the last owner", help="Add another owner first.")
    unit.execute(_REMOVE, {"owner": owner, "name": name})
    unit.execute(_SIGN_OUT, {"owner": owner, "name": name})
    ledger.append_in(unit, Draft(kind=REMOVED, actor=by, body={"user": name}))
    unit.wake(f"console {owner}")
