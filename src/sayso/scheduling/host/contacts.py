"""Who may book where a host is open to its contacts alone (protocol 6.10; SCH-038 to SCH-040, SCH-262).

The list is read in the unit of work that acts on it: whoever was removed between a hold and its confirmation confirms
nothing. It stands in no document and no answer; a refusal says of nobody but the caller that they are not on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete, select

from sayso.scheduling.host.desk import Desk
from sayso.scheduling.rules.contacts import check_contact
from sayso.scheduling.rules.spans import instant, micros
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_contact
from sayso.store.unit import Reading, Unit

__all__ = ("Contact", "add_contact", "check_admitted", "contacts", "remove_contact")

_c = host_contact.c
_at = (_c.host == bindparam("of_host"), _c.principal == bindparam("of_principal"))
_FIND = statement(select(_c.principal).where(*_at))
_ALL = statement(
    select(_c.principal, _c.name, _c.added_us).where(_c.host == bindparam("of_host")).order_by(_c.name, _c.principal)
)
_ADD = statement(insert(host_contact))
_REMOVE = statement(delete(host_contact).where(*_at))


@dataclass(frozen=True, slots=True)
class Contact:
    """Somebody who may book. `name` is the host's own word for them, and for its eyes."""

    principal: str
    name: str
    added_at: datetime


def check_admitted(view: Reading, desk: Desk, principal: str) -> None:
    """That this person may look, hold, wait, move or confirm here. Refused: not_a_contact."""
    if desk.profile.access == "contacts":
        at = {"of_host": desk.host, "of_principal": principal}
        check_contact(principal, owner=desk.profile.owner, is_listed=view.one(_FIND, at) is not None)


def contacts(view: Reading, host: str) -> Sequence[Contact]:
    """The whole list, by name."""
    return [Contact(row[0], row[1], instant(row[2])) for row in view.all(_ALL, {"of_host": host})]


def add_contact(unit: Unit, host: str, principal: str, name: str) -> None:
    """Puts somebody on the list; somebody who is on it already gets the new name."""
    remove_contact(unit, host, principal)
    unit.execute(_ADD, {"host": host, "principal": principal, "name": name, "added_us": micros(unit.now)})


def remove_contact(unit: Unit, host: str, principal: str) -> bool:
    """Takes somebody off the list; whether they were on it. What they booked stays booked."""
    return unit.execute(_REMOVE, {"of_host": host, "of_principal": principal}) > 0
