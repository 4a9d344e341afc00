"""Change offers as rows: at most one of a booking's is open."""

from __future__ import annotations

from sqlalchemy import bindparam, literal_column, select, update

from sayso.core import strictjson
from sayso.scheduling.rules.change import ChangeOffer, ChangeState
from sayso.scheduling.rules.moving import StoredChange
from sayso.scheduling.rules.profile import Signed
from sayso.scheduling.rules.spans import instant, micros
from sayso.scheduling.terms.receipt import Agreement
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_change
from sayso.store.unit import Reading, Row, Unit

__all__ = ("add", "due", "find", "find_open", "save")

_c = host_change.c
_columns = (
    _c.offer_id,
    _c.booking_id,
    _c.state,
    _c.version,
    _c.expires_us,
    _c.until_us,
    _c.offer,
    _c.offer_sha256,
    _c.agreed,
)
_of_host = _c.host == bindparam("of_host")
# Written into the SQL and not bound, so that both engines see that the partial indexes serve.
_is_open = _c.state.in_([literal_column("'offered'"), literal_column("'awaiting_host'")])
_of_booking = _c.booking_id == bindparam("of_booking")

_FIND = statement(select(*_columns).where(_of_host, _c.offer_id == bindparam("of_offer"), _of_booking))
_OPEN = statement(select(*_columns).where(_of_host, _of_booking, _is_open))
_DUE = statement(
    select(*_columns).where(_of_host, _is_open, _c.expires_us <= bindparam("now")).order_by(_c.expires_us).limit(100)
)
_ADD = statement(insert(host_change))
_SAVE = statement(
    update(host_change).where(_of_host, _c.offer_id == bindparam("of_offer")),
    "state",
    "version",
    "expires_us",
    "agreed",
)


def find(view: Reading, host: str, booking_id: str, offer_id: str) -> StoredChange | None:
    """The change offer by that id on that booking."""
    return _read(view.one(_FIND, {"of_host": host, "of_booking": booking_id, "of_offer": offer_id}))


def find_open(view: Reading, host: str, booking_id: str) -> StoredChange | None:
    """The one that is still open, if there is one."""
    return _read(view.one(_OPEN, {"of_host": host, "of_booking": booking_id}))


def due(view: Reading, host: str) -> list[StoredChange]:
    """Open ones whose time is over, oldest first, a hundred at a time."""
    rows = view.all(_DUE, {"of_host": host, "now": micros(view.now)})
    return [found for row in rows if (found := _read(row)) is not None]


def add(unit: Unit, host: str, change: StoredChange) -> None:
    """Keeps a new change offer."""
    unit.execute(
        _ADD,
        {
            "host": host,
            "offer_id": change.offer_id,
            "booking_id": change.booking_id,
            "state": change.machine.state.value,
            "version": change.machine.version,
            "expires_us": micros(change.machine.expires_at),
            "until_us": micros(change.until),
            "offer": change.offer.token,
            "offer_sha256": change.offer.sha256,
            "agreed": _agreed(change),
        },
    )


def save(unit: Unit, host: str, change: StoredChange) -> None:
    """Writes what can change: state, version, until when it is kept, and how the guest said yes."""
    unit.execute(
        _SAVE,
        {
            "of_host": host,
            "of_offer": change.offer_id,
            "state": change.machine.state.value,
            "version": change.machine.version,
            "expires_us": micros(change.machine.expires_at),
            "agreed": _agreed(change),
        },
    )


def _agreed(change: StoredChange) -> str | None:
    return None if change.agreed is None else strictjson.encode(change.agreed).decode()


def _read(row: Row | None) -> StoredChange | None:
    if row is None:
        return None
    offer_id, booking_id, state, version, expires_us, until_us, offer, sha256, agreed = row
    return StoredChange(
        offer_id=offer_id,
        booking_id=booking_id,
        machine=ChangeOffer(ChangeState(state), version, instant(expires_us)),
        until=instant(until_us),
        offer=Signed(offer, sha256),
        agreed=None if agreed is None else strictjson.decode(agreed.encode(), Agreement),
    )
