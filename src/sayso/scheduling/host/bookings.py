"""Bookings as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sqlalchemy import bindparam, literal_column, select, update

from sayso.core.refusal import Corrupt, Refused
from sayso.core.strictjson import decode
from sayso.proof.jws import read_jws
from sayso.scheduling.host import claims
from sayso.scheduling.rules.booking import COUPLED, BookingState, Standing
from sayso.scheduling.rules.profile import Signed
from sayso.scheduling.rules.settling import StoredBooking
from sayso.scheduling.rules.spans import instant, micros
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.receipt import ReceiptClaims
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_booking
from sayso.store.unit import Reading, Row, Unit

__all__ = ("add", "coming", "find", "newest", "over", "own_offer", "own_receipt", "save", "unanswered", "unreconfirmed")

C = TypeVar("C")
_NEVER = 2**62

_b = host_booking.c
_this = (_b.host == bindparam("of_host"), _b.booking_id == bindparam("of_booking"))
_FIND = statement(
    select(
        _b.booking_id,
        _b.hold_id,
        _b.state,
        _b.sequence,
        _b.version,
        _b.agent,
        _b.principal,
        _b.mandate,
        _b.start_us,
        _b.until_us,
        _b.open_end,
        _b.answer_us,
        _b.owner,
        _b.offer,
        _b.offer_sha256,
        _b.receipt,
        _b.message,
        _b.reconfirm_us,
    ).where(*_this)
)
_waits = (_b.host == bindparam("of_host"), _b.answer_us.is_not(None), _b.answer_us <= bindparam("now"))
_is_over = (_b.host == bindparam("of_host"), _b.state == literal_column("'confirmed'"), _b.until_us <= bindparam("now"))
_UNANSWERED = statement(select(_b.booking_id).where(*_waits).order_by(_b.answer_us).limit(100))
_OVER = statement(select(_b.booking_id).where(*_is_over).order_by(_b.until_us).limit(100))
_UNRECONFIRMED = statement(
    select(_b.booking_id)
    .where(_b.host == bindparam("of_host"), _b.reconfirm_us.is_not(None), _b.reconfirm_us <= bindparam("now"))
    .order_by(_b.reconfirm_us)
    .limit(100)
)
_TO_ANSWER = statement(
    select(_b.booking_id)
    .where(_b.host == bindparam("of_host"), _b.answer_us.is_not(None), _b.answer_us > bindparam("now"))
    .order_by(_b.answer_us, _b.booking_id)
    .limit(bindparam("most"))
)
_COMING = statement(
    select(_b.booking_id)
    .where(_b.host == bindparam("of_host"), _b.state == literal_column("'confirmed'"), _b.until_us > bindparam("now"))
    .order_by(_b.until_us, _b.booking_id)
    .limit(bindparam("most"))
)
_NEWEST = statement(
    select(_b.booking_id)
    .where(_b.host == bindparam("of_host"), _b.start_us < bindparam("before"))
    .order_by(_b.start_us.desc(), _b.booking_id)
    .limit(bindparam("most"))
)
_ADD = statement(insert(host_booking))
_SAVE = statement(
    update(host_booking).where(*_this),
    "state",
    "sequence",
    "version",
    "start_us",
    "until_us",
    "open_end",
    "answer_us",
    "owner",
    "offer",
    "offer_sha256",
    "receipt",
    "message",
    "reconfirm_us",
)


def find(view: Reading, host: str, booking_id: str) -> StoredBooking | None:
    """The booking by that id at this host."""
    row = view.one(_FIND, {"of_host": host, "of_booking": booking_id})
    if row is None:
        return None
    (found, hold_id, state, sequence, version, agent, principal, mandate, start_us, until_us, open_end, answer_us,
     owner, offer, sha256, receipt, message, reconfirm_us) = row  # fmt: skip
    return StoredBooking(
        booking_id=found,
        hold_id=hold_id,
        standing=Standing(
            state=BookingState(state),
            sequence=sequence,
            version=version,
            start=instant(start_us),
            until=instant(until_us),
            open_end=bool(open_end),
            answer_by=None if answer_us is None else instant(answer_us),
            reconfirm_by=None if reconfirm_us is None else instant(reconfirm_us),
        ),
        agent=agent,
        principal=principal,
        mandate=mandate,
        owner=owner,
        offer=Signed(offer, sha256),
        receipt=receipt,
        message=message,
    )


def unanswered(view: Reading, host: str) -> list[StoredBooking]:
    """Requests whose deadline has passed, oldest first, a hundred at a time."""
    return _those(view, host, view.all(_UNANSWERED, {"of_host": host, "now": micros(view.now)}))


def unreconfirmed(view: Reading, host: str) -> list[StoredBooking]:
    """Those whose booker said nothing by the moment their contract names, oldest first, a hundred at a time."""
    return _those(view, host, view.all(_UNRECONFIRMED, {"of_host": host, "now": micros(view.now)}))


def over(view: Reading, host: str) -> list[StoredBooking]:
    """Confirmed ones whose end has passed, oldest first, a hundred at a time."""
    return _those(view, host, view.all(_OVER, {"of_host": host, "now": micros(view.now)}))


def coming(view: Reading, host: str, most: int) -> list[StoredBooking]:
    """Those that wait for an answer, the most urgent first, then those to come in order of their ends."""
    asked = {"of_host": host, "now": micros(view.now), "most": most}
    return _those(view, host, [*view.all(_TO_ANSWER, asked), *view.all(_COMING, asked)][:most])


def newest(view: Reading, host: str, most: int) -> list[StoredBooking]:
    """All of them, the latest start first."""
    return _those(view, host, view.all(_NEWEST, {"of_host": host, "before": _NEVER, "most": most}))


def _those(view: Reading, host: str, rows: Sequence[Row]) -> list[StoredBooking]:
    return [found for (booking_id,) in rows if (found := find(view, host, booking_id)) is not None]


def add(unit: Unit, host: str, booking: StoredBooking) -> None:
    """Keeps a new booking."""
    unit.execute(
        _ADD,
        {
            "host": host,
            "booking_id": booking.booking_id,
            "hold_id": booking.hold_id,
            "agent": booking.agent,
            "principal": booking.principal,
            "mandate": booking.mandate,
            **_changing(booking),
        },
    )


def save(unit: Unit, host: str, booking: StoredBooking) -> None:
    """Writes what can change: how it stands, its time, and the contract and receipt in force."""
    unit.execute(_SAVE, {"of_host": host, "of_booking": booking.booking_id, **_changing(booking)})
    if booking.standing.state in (BookingState.CANCELLED, BookingState.DECLINED, BookingState.EXPIRED):
        claims.give_back(unit, host, booking.hold_id)


def _changing(booking: StoredBooking) -> dict[str, str | int | None]:
    standing = booking.standing
    return {
        "state": standing.state.value,
        "sequence": standing.sequence,
        "version": standing.version,
        "start_us": micros(standing.start),
        "until_us": micros(standing.until),
        "open_end": int(standing.open_end),
        "answer_us": _answer_us(standing),
        "owner": booking.owner,
        "offer": booking.offer.token,
        "offer_sha256": booking.offer.sha256,
        "receipt": booking.receipt,
        "message": booking.message,
        "reconfirm_us": _reconfirm_us(standing),
    }


def _answer_us(standing: Standing) -> int | None:
    waits = standing.state in (BookingState.PENDING_HOST, BookingState.TENTATIVE)
    return micros(standing.answer_by) if waits and standing.answer_by is not None else None


def _reconfirm_us(standing: Standing) -> int | None:
    is_live = COUPLED[standing.state].occupies_time
    return micros(standing.reconfirm_by) if is_live and standing.reconfirm_by is not None else None


def own_offer(token: str) -> OfferClaims:
    """The claims of an offer this host signed and stored itself; its signature is not looked at again."""
    return _own(token, OfferClaims)


def own_receipt(token: str) -> ReceiptClaims:
    """The claims of a receipt this host signed and stored itself."""
    return _own(token, ReceiptClaims)


def _own(token: str, claims: type[C]) -> C:
    try:
        return decode(read_jws(token).payload, claims)
    except Refused as unreadable:
        raise Corrupt("a stored document of this host cannot be read", unreadable.refusal.place or "$") from unreadable
