"""Waitlist entries as rows, and the time that was freed while somebody waited.

`host_freed` is filled by `allocations.free` and emptied by `waiting.serve`, mostly in the same unit of work; should a
unit free time and not serve it, the next one does.
"""

from __future__ import annotations

from sqlalchemy import bindparam, delete, func, literal_column, select, update

from sayso.core import strictjson
from sayso.scheduling.rules.spans import DAY, Span, instant, micros
from sayso.scheduling.rules.waitlist import Entry, EntryState, StoredEntry
from sayso.scheduling.terms.waitlist import JoinRequest
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_freed, host_waitlist
from sayso.store.unit import Reading, Row, Unit

__all__ = (
    "add",
    "count_waiting",
    "due",
    "find",
    "find_offered",
    "forget_freed",
    "has_waiting",
    "save",
    "take_freed",
    "waiting_in",
)

_w = host_waitlist.c
_columns = (
    _w.entry_id,
    _w.state,
    _w.version,
    _w.agent,
    _w.principal,
    _w.mandate,
    _w.token,
    _w.request,
    _w.expires_us,
    _w.joined_us,
    _w.hold_id,
)
_of_host = _w.host == bindparam("of_host")
# Written into the SQL and not bound, so that both engines see that the partial indexes serve.
_is_waiting = _w.state == literal_column("'waiting'")
_is_offered = _w.state == literal_column("'offered'")

_FIND = statement(select(*_columns).where(_of_host, _w.entry_id == bindparam("of_entry")))
_OFFERED = statement(select(*_columns).where(_of_host, _is_offered, _w.hold_id == bindparam("of_hold")))
_ANY = statement(select(literal_column("1")).where(_of_host, _is_waiting, _w.expires_us > bindparam("now")).limit(1))
_DUE = statement(
    select(*_columns).where(_of_host, _is_waiting, _w.expires_us <= bindparam("now")).order_by(_w.expires_us).limit(100)
)
_IN = statement(
    select(*_columns)
    .where(
        _of_host,
        _is_waiting,
        _w.expires_us > bindparam("now"),
        _w.start_us < bindparam("to"),
        _w.end_us > bindparam("since"),
    )
    .order_by(_w.joined_us, _w.entry_id)
    .limit(500)
)
_COUNT = statement(select(func.count()).where(_of_host, _is_waiting, _w.agent == bindparam("of_agent")))
_ADD = statement(insert(host_waitlist))
_SAVE = statement(
    update(host_waitlist).where(_of_host, _w.entry_id == bindparam("of_entry")), "state", "version", "hold_id"
)

_f = host_freed.c
_FREED = statement(
    select(_f.start_us, _f.end_us, _f.seat)
    .where(_f.host == bindparam("of_host"), _f.start_us > bindparam("a_day_ago"))
    .order_by(_f.start_us, _f.end_us, _f.seat)
    .limit(100)
)
_FORGET = statement(delete(host_freed).where(_f.host == bindparam("of_host"), _f.start_us <= bindparam("a_day_ago")))
_DROP_FREED = statement(
    delete(host_freed).where(
        _f.host == bindparam("of_host"),
        _f.start_us == bindparam("start"),
        _f.end_us == bindparam("end"),
        _f.seat == bindparam("of_seat"),
    )
)


def find(view: Reading, host: str, entry_id: str) -> StoredEntry | None:
    """The entry by that id at this host."""
    row = view.one(_FIND, {"of_host": host, "of_entry": entry_id})
    return None if row is None else _read(row)


def find_offered(view: Reading, host: str, hold_id: str) -> StoredEntry | None:
    """The entry a hold was placed for, while it is on offer."""
    row = view.one(_OFFERED, {"of_host": host, "of_hold": hold_id})
    return None if row is None else _read(row)


def has_waiting(view: Reading, host: str) -> bool:
    """Whether anybody waits at all: nearly always nobody does, and one look says so."""
    return view.one(_ANY, {"of_host": host, "now": micros(view.now)}) is not None


def due(view: Reading, host: str) -> list[StoredEntry]:
    """Entries whose time to wait is over, a hundred at a time."""
    return [_read(row) for row in view.all(_DUE, {"of_host": host, "now": micros(view.now)})]


def waiting_in(view: Reading, host: str, span: Span) -> list[StoredEntry]:
    """Who waits for time that touches a span, in order of joining; the first five hundred."""
    asked = {"of_host": host, "now": micros(view.now), "since": span.start, "to": span.end}
    return [_read(row) for row in view.all(_IN, asked)]


def count_waiting(view: Reading, host: str, agent: str) -> int:
    """How many entries of an agent are waiting."""
    row = view.one(_COUNT, {"of_host": host, "of_agent": agent})
    return row[0] if row else 0


def add(unit: Unit, host: str, entry: StoredEntry, window: Span) -> None:
    """Keeps a new entry. `window` is the request's, for finding who waits for a stretch of time."""
    unit.execute(
        _ADD,
        {
            "host": host,
            "entry_id": entry.entry_id,
            "state": entry.machine.state.value,
            "version": entry.machine.version,
            "agent": entry.agent,
            "principal": entry.principal,
            "mandate": entry.mandate,
            "token": entry.token,
            "request": strictjson.encode(entry.request),
            "start_us": window.start,
            "end_us": window.end,
            "expires_us": micros(entry.machine.expires_at),
            "joined_us": micros(entry.joined_at),
            "hold_id": entry.hold_id,
        },
    )


def save(unit: Unit, host: str, entry: StoredEntry) -> None:
    """Writes what can change: state, version and the hold."""
    unit.execute(
        _SAVE,
        {
            "of_host": host,
            "of_entry": entry.entry_id,
            "state": entry.machine.state.value,
            "version": entry.machine.version,
            "hold_id": entry.hold_id,
        },
    )


def forget_freed(unit: Unit, host: str) -> None:
    """Forgets freed time that is over: no row is longer than a day."""
    unit.execute(_FORGET, {"of_host": host, "a_day_ago": micros(unit.now) - DAY})


def take_freed(unit: Unit, host: str) -> list[tuple[Span, tuple[str, ...]]]:
    """What was freed and not yet served, with the units it was on; it is forgotten with this."""
    rows = unit.all(_FREED, {"of_host": host, "a_day_ago": micros(unit.now) - DAY})
    found: dict[Span, list[str]] = {}
    for start, end, seat in rows:
        found.setdefault(Span(start, end), []).append(seat)
    unit.many(
        _DROP_FREED, [{"of_host": host, "start": start, "end": end, "of_seat": seat} for start, end, seat in rows]
    )
    return [(span, tuple(dict.fromkeys(seat.partition("/")[0] for seat in seats))) for span, seats in found.items()]


def _read(row: Row) -> StoredEntry:
    entry_id, state, version, agent, principal, mandate, token, request, expires_us, joined_us, hold_id = row
    return StoredEntry(
        entry_id=entry_id,
        machine=Entry(EntryState(state), version, instant(expires_us)),
        request=strictjson.decode(request, JoinRequest),
        agent=agent,
        principal=principal,
        mandate=mandate,
        token=token,
        joined_at=instant(joined_us),
        hold_id=hold_id,
    )
