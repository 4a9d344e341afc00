"""Writing events down: every logged outcome of a hold, booking or entry whose agent named a callback, to the outbox.

Spec section 22; SCH-320 to SCH-323. This happens in the unit of work that also changes the state and logs it, so an
event exists exactly when what it tells of does. Sending is `telling`, outside any unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sayso.core import strictjson
from sayso.core.instants import epoch, write_instant
from sayso.ledger.rules.record import Draft
from sayso.scheduling.host import bookings, entries, holds
from sayso.scheduling.terms.events import NAMES, EventClaims, EventSubject
from sayso.store import outbox
from sayso.store.unit import Reading, Unit

if TYPE_CHECKING:
    from sayso.scheduling.host.desk import Desk

__all__ = ("Parcel", "note_event", "topic")


class Parcel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the outbox keeps of a delivery: signed once, so that every attempt carries the same bytes."""

    url: str
    token: str


class _Standing(msgspec.Struct, frozen=True):
    """What an event says of its subject, and where it goes."""

    url: str
    principal: str
    agent: str
    subject: EventSubject
    status: str
    version: int
    sequence: int | None = None
    receipt: str | None = None


def topic(host: str) -> str:
    """The outbox topic of one host's events."""
    return f"event {host}"


def note_event(unit: Unit, desk: Desk, draft: Draft) -> None:
    """Puts the event of a record into the outbox; nothing where nobody asked to be told."""
    name = NAMES.get(draft.kind)
    standing = None if name is None else _standing(unit, desk.host, draft)
    if name is None or standing is None:
        return
    event_id = desk.ids.new("e")
    claims = EventClaims(
        iss=desk.host,
        aud=standing.principal,
        agent=standing.agent,
        iat=epoch(unit.now),
        jti=event_id,
        event=name,
        subject=standing.subject,
        status=standing.status,
        version=standing.version,
        at=write_instant(unit.now),
        sequence=standing.sequence,
        receipt=standing.receipt,
    )
    parcel = Parcel(standing.url, desk.pen.sign_event(claims))
    outbox.put(unit, topic(desk.host), event_id, strictjson.encode(parcel))


def _standing(view: Reading, host: str, draft: Draft) -> _Standing | None:
    match draft.body:
        case {"booking_id": str(booking_id)}:
            return _booking(view, host, booking_id)
        case {"entry_id": str(entry_id)}:
            return _entry(view, host, entry_id)
        case {"hold_id": str(hold_id)}:
            return _hold(view, host, hold_id)
    return None


def _booking(view: Reading, host: str, booking_id: str) -> _Standing | None:
    found = bookings.find(view, host, booking_id)
    held = None if found is None else holds.find(view, host, found.hold_id)
    if found is None or held is None or held.callback_url is None:
        return None
    return _Standing(
        url=held.callback_url,
        principal=found.principal,
        agent=found.agent,
        subject=EventSubject(booking_id=booking_id),
        status=found.standing.state.value,
        version=found.standing.version,
        sequence=found.standing.sequence,
        receipt=found.receipt,
    )


def _hold(view: Reading, host: str, hold_id: str) -> _Standing | None:
    held = holds.find(view, host, hold_id)
    if held is None or held.callback_url is None:
        return None
    return _Standing(
        url=held.callback_url,
        principal=held.principal,
        agent=held.agent,
        subject=EventSubject(hold_id=hold_id),
        status=held.machine.state.value,
        version=held.machine.version,
    )


def _entry(view: Reading, host: str, entry_id: str) -> _Standing | None:
    entry = entries.find(view, host, entry_id)
    if entry is None or entry.request.callback_url is None:
        return None
    return _Standing(
        url=entry.request.callback_url,
        principal=entry.principal,
        agent=entry.agent,
        subject=EventSubject(entry_id=entry_id),
        status=entry.machine.state.value,
        version=entry.machine.version,
    )
