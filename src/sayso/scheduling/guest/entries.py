"""The waitlist entries an agent remembers, as rows beside its holds and bookings (spec section 16.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, func, select

from sayso.core import strictjson
from sayso.scheduling.guest.kept import KeptEntry
from sayso.scheduling.guest.noting import Note
from sayso.scheduling.terms.waitlist import WaitlistEntry
from sayso.store.tables import from_micros, micros
from sayso.store.tables.scheduling_guest import guest_entry
from sayso.store.unit import Reading, Row, Store, Unit, insert, statement

__all__ = ("EntryBook",)

_e = guest_entry.c
_mine = _e.owner == bindparam("p_owner")
_is_open = _e.state.in_(["waiting", "offered"])
_row = insert(guest_entry)
_KEEP = statement(
    _row.on_conflict_do_update(
        index_elements=["owner", "entry_id"], set_={name: _row.excluded[name] for name in ("state", "view")}
    )
)
_ALL = statement(select(guest_entry).where(_mine).order_by(_e.joined_us, _e.entry_id))
_FIND = statement(select(guest_entry).where(_mine, _e.entry_id == bindparam("p_entry")))
_ASKED = statement(
    select(guest_entry).where(_mine, _is_open, _e.host == bindparam("p_host"), _e.asked == bindparam("p_asked"))
)
_WAITING = statement(select(func.count()).where(_mine, _e.state == "waiting", _e.mandate == bindparam("p_jti")))


class EntryBook:
    """One agent's entries. `owner` is the thumbprint of its key."""

    def __init__(self, store: Store, owner: str) -> None:
        self._store = store
        self._owner = owner

    async def keep(self, entry: KeptEntry, note: Note | None = None) -> None:
        """Keeps an entry as it stands now, with the receipt of it."""

        def body(unit: Unit) -> None:
            unit.execute(
                _KEEP,
                {
                    "owner": self._owner,
                    "entry_id": entry.entry_id,
                    "host": entry.host,
                    "state": entry.view.status,
                    "mandate": entry.mandate,
                    "view": strictjson.encode(entry.view),
                    "asked": entry.asked,
                    "joined_us": micros(entry.joined),
                },
            )
            if note is not None:
                note(unit)

        await self._store.unit(body)

    async def all(self) -> Sequence[KeptEntry]:
        """Every entry, in order of joining."""
        return await self._read(_ALL, {})

    async def find(self, entry_id: str) -> KeptEntry | None:
        found = await self._read(_FIND, {"p_entry": entry_id})
        return found[0] if found else None

    async def asked_before(self, host: str, asked: bytes) -> KeptEntry | None:
        """The open entry that these very arguments led to."""
        found = await self._read(_ASKED, {"p_host": host, "p_asked": asked})
        return found[0] if found else None

    async def waiting_under(self, jti: str) -> int:
        """How many entries wait under a mandate: each takes a unit of it (SCH-237)."""

        def body(view: Reading) -> int:
            row = view.one(_WAITING, {"p_owner": self._owner, "p_jti": jti})
            return row[0] if row else 0

        return await self._store.reading(body)

    async def _read(self, stmt: Any, params: dict[str, Any]) -> list[KeptEntry]:
        rows = await self._store.reading(lambda view: view.all(stmt, {"p_owner": self._owner, **params}))
        return [_entry(row) for row in rows]


def _entry(row: Row) -> KeptEntry:
    _, entry_id, host, _, mandate, view, asked, joined = row
    return KeptEntry(
        entry_id=entry_id,
        host=host,
        mandate=mandate,
        view=strictjson.decode(view, WaitlistEntry),
        asked=asked,
        joined=from_micros(joined),
    )
