"""The guest's own memory in the database (spec section 16.3), so that every tool call can be made again.

Plain keeping and finding: nothing is judged here. Rows belong to one agent key (`owner`). An intent's idempotency key
is written before its request goes out and forgotten once the answer is kept, so that a call repeated after a crash
sends the same key again, and a later call for the same thing a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import bindparam, delete, literal_column, select, update

from sayso.core import strictjson
from sayso.core.ids import Ids
from sayso.scheduling.guest.kept import KeptBooking, KeptChange, KeptHold, KeptMandate, KnownHost, MandateKind
from sayso.scheduling.guest.noting import Note
from sayso.scheduling.terms.change import ChangeView
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.hold import HoldView
from sayso.store.tables import from_micros, micros
from sayso.store.tables.scheduling_guest import (
    guest_booking,
    guest_change,
    guest_hold,
    guest_host,
    guest_intent,
    guest_mandate,
)
from sayso.store.unit import Reading, Row, Store, Unit, insert, statement

__all__ = ("GuestBook",)

T = TypeVar("T")
_OVER = ("declined", "expired", "cancelled")
_REPLAYED_FOR = timedelta(hours=24)


def _upsert(table: Any, *keys: str) -> Any:
    row = insert(table)
    fresh = {column.name: row.excluded[column.name] for column in table.columns if column.name not in keys}
    return statement(row.on_conflict_do_update(index_elements=list(keys), set_=fresh))


def _found(table: Any, *wheres: Any) -> Any:
    return statement(select(table).where(table.c.owner == bindparam("p_owner"), *wheres))


_KEEP_HOST = _upsert(guest_host, "owner", "host")
_KEEP_MANDATE = _upsert(guest_mandate, "owner", "jti")
_KEEP_HOLD = _upsert(guest_hold, "owner", "hold_id")
_KEEP_BOOKING = _upsert(guest_booking, "owner", "booking_id")
_KEEP_CHANGE = _upsert(guest_change, "owner", "offer_id")
_HOSTS = statement(
    select(guest_host)
    .where(guest_host.c.owner == bindparam("p_owner"))
    .order_by(guest_host.c.domain, guest_host.c.host)
)
_MANDATE = _found(guest_mandate, guest_mandate.c.jti == bindparam("p_jti"))
_MANDATES = statement(
    select(guest_mandate)
    .where(
        guest_mandate.c.owner == bindparam("p_owner"),
        guest_mandate.c.kind == bindparam("p_kind"),
        # One mandate may be for several hosts, whose names stand there with a space between them.
        (literal_column("' '") + guest_mandate.c.host + literal_column("' '")).like(bindparam("p_host")),
        guest_mandate.c.expires_us > bindparam("p_now"),
    )
    .order_by(guest_mandate.c.taken_us.desc(), guest_mandate.c.jti)
)
_END_MANDATE = statement(
    update(guest_mandate).where(
        guest_mandate.c.owner == bindparam("p_owner"), guest_mandate.c.jti == bindparam("p_jti")
    ),
    "expires_us",
)
_HOLD = _found(guest_hold, guest_hold.c.hold_id == bindparam("p_hold"))
_OPEN_HOLDS = _found(guest_hold, guest_hold.c.state == "held", guest_hold.c.expires_us > bindparam("p_now"))
_HOLD_OF_OFFER = _found(guest_hold, guest_hold.c.offer_sha256 == bindparam("p_offer"))
_HOLDS_UNDER = statement(
    select(guest_hold)
    .where(guest_hold.c.owner == bindparam("p_owner"), guest_hold.c.mandate == bindparam("p_mandate"))
    .order_by(guest_hold.c.placed_us.desc(), guest_hold.c.hold_id)
)
_BOOKING = _found(guest_booking, guest_booking.c.booking_id == bindparam("p_booking"))
_BOOKINGS = statement(
    select(guest_booking)
    .where(guest_booking.c.owner == bindparam("p_owner"))
    .order_by(guest_booking.c.start_us, guest_booking.c.booking_id)
)
_OPEN_CHANGES = _found(
    guest_change, guest_change.c.booking_id == bindparam("p_booking"), guest_change.c.state == "offered"
)
_INTENT = _found(guest_intent, guest_intent.c.subject == bindparam("p_subject"))
_KEEP_INTENT = _upsert(guest_intent, "owner", "subject")
_DROP_INTENT = statement(
    delete(guest_intent).where(
        guest_intent.c.owner == bindparam("p_owner"), guest_intent.c.subject == bindparam("p_subject")
    )
)
_SET_HOLD_STATE = statement(
    update(guest_hold)
    .where(guest_hold.c.owner == bindparam("p_owner"), guest_hold.c.hold_id == bindparam("p_hold"))
    .values(state=bindparam("p_state"))
)
_SET_CHANGE_STATE = statement(
    update(guest_change)
    .where(guest_change.c.owner == bindparam("p_owner"), guest_change.c.offer_id == bindparam("p_offer"))
    .values(state=bindparam("p_state"))
)


class GuestBook:
    """One agent's memory. `owner` is the thumbprint of its key."""

    def __init__(self, store: Store, owner: str, ids: Ids) -> None:
        self._store = store
        self._owner = owner
        self._ids = ids

    async def keep_host(self, host: KnownHost) -> None:
        row = {"owner": self._owner, "domain": host.domain, "host": host.host, "listed": int(host.is_listed)}
        await self._write(lambda unit: unit.execute(_KEEP_HOST, {**row, "added_us": micros(unit.now)}))

    async def hosts(self) -> Sequence[KnownHost]:
        rows = await self._all(_HOSTS, {})
        return [KnownHost(domain=domain, host=host, is_listed=listed == 1) for _, domain, host, _, listed in rows]

    async def keep_mandate(self, mandate: KeptMandate, note: Note) -> None:
        def body(unit: Unit) -> None:
            unit.execute(
                _KEEP_MANDATE,
                {
                    "owner": self._owner,
                    "jti": mandate.jti,
                    "host": mandate.host,
                    "kind": mandate.kind,
                    "subject": mandate.subject,
                    "token": mandate.token,
                    "expires_us": micros(mandate.expires),
                    "taken_us": micros(unit.now),
                },
            )
            note(unit)

        await self._write(body)

    async def end_mandate(self, jti: str) -> None:
        """Uses a mandate no more: its person took it back, as a host has told us."""
        await self._write(
            lambda unit: unit.execute(
                _END_MANDATE, {"p_owner": self._owner, "p_jti": jti, "expires_us": micros(unit.now)}
            )
        )

    async def mandate(self, jti: str) -> KeptMandate | None:
        rows = await self._all(_MANDATE, {"p_jti": jti})
        return _mandate(rows[0]) if rows else None

    async def mandates(self, kind: MandateKind, host: str, subject: str | None = None) -> Sequence[KeptMandate]:
        """Those that have not expired, the newest first; `subject` narrows them to what one was asked for."""
        now = micros(self._store.clock.now())
        rows = await self._all(_MANDATES, {"p_kind": kind, "p_host": f"% {host} %", "p_now": now})
        return [kept for kept in map(_mandate, rows) if subject in (None, kept.subject)]

    async def used_under(self, jti: str) -> int:
        """How many live holds and bookings count under a mandate, as far as we know (SCH-080)."""
        holds = [hold for hold in await self.open_holds() if hold.mandate == jti]
        bookings = [each for each in await self.bookings() if each.limits == jti and each.state not in _OVER]
        return len(holds) + len(bookings)

    async def keep_hold(self, hold: KeptHold, note: Note, *, intent: str) -> None:
        """Keeps a hold; in the same unit the intent that led to it is forgotten, and the receipt written."""

        def body(unit: Unit) -> None:
            unit.execute(_KEEP_HOLD, {**self._hold_row(hold), "placed_us": micros(unit.now)})
            self._forget(unit, intent)
            note(unit)

        await self._write(body)

    def _hold_row(self, hold: KeptHold) -> dict[str, Any]:
        return {
            "owner": self._owner,
            "hold_id": hold.hold_id,
            "host": hold.host,
            "state": hold.state,
            "mandate": hold.mandate,
            "view": strictjson.encode(hold.view),
            "asked": hold.asked,
            "offer": hold.offer,
            "offer_sha256": hold.offer_sha256,
            "expires_us": micros(hold.expires),
            "booking_id": hold.booking_id,
            "details": None if hold.details is None else strictjson.encode(hold.details),
        }

    async def hold(self, hold_id: str) -> KeptHold | None:
        rows = await self._all(_HOLD, {"p_hold": hold_id})
        return _hold(rows[0]) if rows else None

    async def open_holds(self) -> Sequence[KeptHold]:
        """Held and, by our clock, not yet expired."""
        rows = await self._all(_OPEN_HOLDS, {"p_now": micros(self._store.clock.now())})
        return [_hold(row) for row in rows]

    async def holds_under(self, jti: str) -> Sequence[KeptHold]:
        """Every hold placed under a mandate, whatever became of it, the newest first."""
        return [_hold(row) for row in await self._all(_HOLDS_UNDER, {"p_mandate": jti})]

    async def hold_of_offer(self, offer_sha256: str) -> KeptHold | None:
        """The hold that brought an offer."""
        rows = await self._all(_HOLD_OF_OFFER, {"p_offer": offer_sha256})
        return _hold(rows[0]) if rows else None

    async def mark_released(self, hold_id: str, note: Note | None = None, *, intent: str | None = None) -> None:
        def body(unit: Unit) -> None:
            unit.execute(_SET_HOLD_STATE, {"p_owner": self._owner, "p_hold": hold_id, "p_state": "released"})
            self._forget(unit, intent)
            if note is not None:
                note(unit)

        await self._write(body)

    async def keep_booking(
        self,
        booking: KeptBooking,
        note: Note | None = None,
        *,
        hold: KeptHold | None = None,
        change: str | None = None,
        intent: str | None = None,
    ) -> None:
        """Keeps a booking with what led to it: the hold that it confirmed, or the change offer that it made."""

        def body(unit: Unit) -> None:
            unit.execute(_KEEP_BOOKING, self._booking_row(booking))
            if hold is not None:
                unit.execute(_KEEP_HOLD, {**self._hold_row(hold), "placed_us": micros(unit.now)})
            if change is not None:
                unit.execute(_SET_CHANGE_STATE, {"p_owner": self._owner, "p_offer": change, "p_state": "made"})
            self._forget(unit, intent)
            if note is not None:
                note(unit)

        await self._write(body)

    def _booking_row(self, booking: KeptBooking) -> dict[str, Any]:
        return {
            "owner": self._owner,
            "booking_id": booking.booking_id,
            "host": booking.host,
            "hold_id": booking.hold_id,
            "state": booking.state,
            "sequence": booking.sequence,
            "version": booking.version,
            "limits": booking.limits,
            "approved": booking.approved,
            "agreed": booking.agreed,
            "offer": booking.offer,
            "receipt": booking.receipt,
            "start_us": micros(booking.start),
            "managed": booking.managed,
        }

    async def booking(self, booking_id: str) -> KeptBooking | None:
        rows = await self._all(_BOOKING, {"p_booking": booking_id})
        return _booking(rows[0]) if rows else None

    async def bookings(self) -> Sequence[KeptBooking]:
        return [_booking(row) for row in await self._all(_BOOKINGS, {})]

    async def keep_change(self, change: KeptChange, note: Note, *, intent: str) -> None:
        def body(unit: Unit) -> None:
            unit.execute(
                _KEEP_CHANGE,
                {
                    "owner": self._owner,
                    "offer_id": change.offer_id,
                    "booking_id": change.booking_id,
                    "state": change.state,
                    "view": strictjson.encode(change.view),
                    "offer": change.offer,
                    "offer_sha256": change.offer_sha256,
                    "expires_us": micros(change.expires),
                },
            )
            self._forget(unit, intent)
            note(unit)

        await self._write(body)

    async def open_changes(self, booking_id: str) -> Sequence[KeptChange]:
        return [_change(row) for row in await self._all(_OPEN_CHANGES, {"p_booking": booking_id})]

    async def mark_dropped(self, offer_id: str, note: Note | None = None, *, intent: str | None = None) -> None:
        def body(unit: Unit) -> None:
            unit.execute(_SET_CHANGE_STATE, {"p_owner": self._owner, "p_offer": offer_id, "p_state": "dropped"})
            self._forget(unit, intent)
            if note is not None:
                note(unit)

        await self._write(body)

    async def intent(self, subject: str) -> str:
        """The idempotency key of an intent: the one already out for it, else a new one, durable before it is used."""

        def body(unit: Unit) -> str:
            row = unit.one(_INTENT, {"p_owner": self._owner, "p_subject": subject})
            if row is not None and from_micros(row[3]) + _REPLAYED_FOR > unit.now:
                return str(row[2])
            key = self._ids.new("i")
            unit.execute(
                _KEEP_INTENT,
                {
                    "owner": self._owner,
                    "subject": subject,
                    "idempotency_key": key,
                    "started_us": micros(unit.now),
                },
            )
            return key

        return await self._store.unit(body)

    async def forget_intent(self, subject: str, note: Note | None = None) -> None:
        """After an answer that settles it without leaving anything to keep, such as a host's no."""

        def body(unit: Unit) -> None:
            self._forget(unit, subject)
            if note is not None:
                note(unit)

        await self._write(body)

    def _forget(self, unit: Unit, subject: str | None) -> None:
        if subject is not None:
            unit.execute(_DROP_INTENT, {"p_owner": self._owner, "p_subject": subject})

    async def _write(self, body: Callable[[Unit], object]) -> None:
        await self._store.unit(lambda unit: (body(unit), None)[1])

    async def _all(self, stmt: Any, params: dict[str, Any]) -> list[Row]:
        def body(view: Reading) -> list[Row]:
            return view.all(stmt, {"p_owner": self._owner, **params})

        return await self._store.reading(body)


def _mandate(row: Row) -> KeptMandate:
    _, jti, host, kind, subject, token, expires, _ = row
    return KeptMandate(jti=jti, host=host, kind=kind, subject=subject, token=token, expires=from_micros(expires))


def _hold(row: Row) -> KeptHold:
    _, hold_id, host, state, mandate, view, asked, offer, offer_sha256, expires, _, booking_id, details = row
    return KeptHold(
        hold_id=hold_id,
        host=host,
        state=state,
        mandate=mandate,
        view=strictjson.decode(view, HoldView),
        asked=asked,
        offer=offer,
        offer_sha256=offer_sha256,
        expires=from_micros(expires),
        booking_id=booking_id,
        details=None if details is None else strictjson.decode(details, GuestDetails),
    )


def _booking(row: Row) -> KeptBooking:
    _, booking_id, host, hold_id, state, sequence, version, limits, approved, agreed, offer, receipt, start, managed = (
        row
    )
    return KeptBooking(
        booking_id=booking_id,
        host=host,
        hold_id=hold_id,
        state=state,
        sequence=sequence,
        version=version,
        limits=limits,
        approved=approved,
        agreed=agreed,
        offer=offer,
        receipt=receipt,
        start=from_micros(start),
        managed=managed,
    )


def _change(row: Row) -> KeptChange:
    _, offer_id, booking_id, state, view, offer, offer_sha256, expires = row
    return KeptChange(
        offer_id=offer_id,
        booking_id=booking_id,
        state=state,
        view=strictjson.decode(view, ChangeView),
        offer=offer,
        offer_sha256=offer_sha256,
        expires=from_micros(expires),
    )
