"""Hearing events: a host's signed word that something changed, taken as a reason to look and never as the fact itself.

Spec section 22.4; SCH-006, SCH-007, SCH-320, SCH-322. An event heard twice or out of order has no effect: ids are
remembered, and one whose subject is no newer than what is kept is dropped by (sequence, version). What it is about is
then read and proved as when polling, so a guest that hears nothing learns the same.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from sqlalchemy import bindparam, literal_column, select
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.core import strictjson
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.edge import Edge, read_body
from sayso.proof.jws import MAX_TOKEN, read_jws
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.guest.reading import refresh
from sayso.scheduling.guest.waiting import look_at_entry
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.events import EVENT_MEDIA_TYPE, EventClaims, verify_event
from sayso.store.statements import insert, statement
from sayso.store.tables import micros
from sayso.store.tables.scheduling_guest import guest_event
from sayso.store.unit import Store

__all__ = ("EventBook", "Heard", "callback_app", "hear")

_CAP = MAX_TOKEN
_e = guest_event.c
_KNOWN = statement(
    select(literal_column("1")).where(
        _e.owner == bindparam("p_owner"), _e.host == bindparam("p_host"), _e.event_id == bindparam("p_event")
    )
)
_KEEP = statement(insert(guest_event).on_conflict_do_nothing(), "owner", "host", "event_id", "heard_us")


class Heard(Enum):
    """What an event came to."""

    NEWS = "news"
    """Its subject was read again, and is kept as it is now."""
    AGAIN = "again"
    """It had been heard before."""
    STALE = "stale"
    """Its subject is kept as new as that, or newer."""
    NOT_OURS = "not_ours"
    """Its subject is none that this agent keeps."""


class EventBook:
    """The ids of the events an agent has dealt with, by host: an id means nothing beside another host's name."""

    def __init__(self, store: Store, owner: str) -> None:
        self._store = store
        self._owner = owner

    async def knows(self, host: str, event_id: str) -> bool:
        asked = {"p_owner": self._owner, "p_host": host, "p_event": event_id}
        return await self._store.reading(lambda view: view.one(_KNOWN, asked)) is not None

    async def keep(self, host: str, event_id: str) -> None:
        await self._store.unit(
            lambda unit: unit.execute(
                _KEEP, {"owner": self._owner, "host": host, "event_id": event_id, "heard_us": micros(unit.now)}
            )
        )


async def hear(guest: Guest, events: EventBook, token: str) -> Heard:
    """Deals with one delivery. It counts as heard only once its subject was read, so that a failure is told again.

    Refused: event_invalid, unknown_key, and as the reading; PeerRefused, PeerUnreachable.
    """
    document = await _sender(guest, token)
    claims = await guest.documents.checked(document.host, lambda found: verify_event(token, found, guest.agent))
    if await events.knows(claims.iss, claims.jti):
        return Heard.AGAIN
    heard = await _look(guest, document, claims)
    await events.keep(claims.iss, claims.jti)
    return heard


async def _sender(guest: Guest, token: str) -> Discovery:
    """The document of the host an event says it is from, if a person added that host. Refused: event_invalid."""
    try:
        named = strictjson.decode(read_jws(token).payload, EventClaims).iss
        return await guest.document(named)
    except Refused as error:
        raise refused("event_invalid", f"What was delivered is no event: {error.refusal.message}") from None


async def _look(guest: Guest, document: Discovery, claims: EventClaims) -> Heard:
    subject = claims.subject
    if subject.booking_id is not None:
        return await _look_at_booking(guest, document, subject.booking_id, (claims.sequence or 0, claims.version))
    if subject.entry_id is not None:
        entry = await guest.entries.find(subject.entry_id)
        if entry is None or entry.host != claims.iss:
            return Heard.NOT_OURS
        if claims.version <= entry.view.version:
            return Heard.STALE
        await look_at_entry(guest, document, entry)
        return Heard.NEWS
    return await _look_at_hold(guest, document, subject.hold_id or "")


async def _look_at_booking(guest: Guest, document: Discovery, booking_id: str, order: tuple[int, int]) -> Heard:
    booking = await guest.book.booking(booking_id)
    if booking is None or booking.host != document.host:
        return Heard.NOT_OURS
    if order <= (booking.sequence, booking.version):
        return Heard.STALE
    await refresh(guest, document, booking)
    return Heard.NEWS


async def _look_at_hold(guest: Guest, document: Discovery, hold_id: str) -> Heard:
    hold = await guest.book.hold(hold_id)
    if hold is None or hold.host != document.host:
        return Heard.NOT_OURS
    if hold.state != "held":
        return Heard.STALE
    if (await guest.client(document).read_hold(hold_id)).status in ("expired", "released"):
        await guest.book.mark_released(hold_id, guest.notes.released(hold.host, hold_id, "expired"))
    return Heard.NEWS


def callback_app(
    guest: Guest, events: EventBook, domain: str, *, heard: Callable[[EventClaims, Heard], None] | None = None
) -> ASGIApp:
    """The receiving end: `POST` of an event on any path of `domain`. 204 once dealt with, 400 for what is no event of
    ours, 503 where the host cannot be read just now and should tell again. `heard` is told of each that was dealt with.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            status = await _receive(guest, events, scope, receive, heard)
        except PeerUnreachable:
            status = 503
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    return Edge(app, hosts={domain}, body_cap=_CAP)


async def _receive(
    guest: Guest,
    events: EventBook,
    scope: Scope,
    receive: Receive,
    heard: Callable[[EventClaims, Heard], None] | None,
) -> int:
    if scope["method"] != "POST":
        return 405
    if dict(scope["headers"]).get(b"content-type", b"").strip().lower() != EVENT_MEDIA_TYPE.encode():
        return 415
    try:
        token = (await read_body(receive, _CAP)).decode("ascii")
        came_to = await hear(guest, events, token)
    except (Refused, PeerRefused, UnicodeDecodeError):
        return 400
    if heard is not None:
        heard(strictjson.decode(read_jws(token).payload, EventClaims), came_to)
    return 204
