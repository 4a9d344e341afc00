"""Holds as rows: reading, writing, and the counts that caps and mandates are judged by."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import bindparam, func, literal_column, select, update

from sayso.scheduling.host import claims
from sayso.scheduling.rules.hold import Hold, HoldState
from sayso.scheduling.rules.limits import Counts
from sayso.scheduling.rules.placing import StoredHold
from sayso.scheduling.rules.profile import Signed
from sayso.scheduling.rules.spans import instant, micros
from sayso.scheduling.terms.mandate_checks import Mandate
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_booking, host_hold, host_waitlist
from sayso.store.unit import Reading, Row, Unit

__all__ = ("Use", "add", "count_pools", "due", "find", "read_use", "save")

_h = host_hold.c
_b = host_booking.c
_columns = (
    _h.hold_id,
    _h.state,
    _h.version,
    _h.service_id,
    _h.agent,
    _h.principal,
    _h.mandate,
    _h.proven,
    _h.expires_us,
    _h.until_us,
    _h.offer,
    _h.offer_sha256,
    _h.callback_url,
    _h.booking_id,
    _h.attester,
)
_of_host = _h.host == bindparam("of_host")
# Written into the SQL and not bound, so that both engines see that the partial indexes serve.
_is_held = _h.state == literal_column("'held'")
_is_live = (_of_host, _is_held, _h.expires_us > bindparam("now"))

_FIND = statement(select(*_columns).where(_of_host, _h.hold_id == bindparam("of_hold")))
_ADD = statement(insert(host_hold))
_SAVE = statement(
    update(host_hold).where(_of_host, _h.hold_id == bindparam("of_hold")), "state", "version", "booking_id"
)
_DUE = statement(
    select(*_columns).where(_of_host, _is_held, _h.expires_us <= bindparam("now")).order_by(_h.expires_us).limit(100)
)
_held_under_mandate = (*_is_live, _h.principal == bindparam("by"), _h.mandate == bindparam("under"))
_of_principal = (_b.host == bindparam("of_host"), _b.principal == bindparam("by"))
_is_settled_no = _b.state.in_(["cancelled", "declined", "expired"])
_is_kept = (_b.state.in_(["confirmed", "completed"]), _b.until_us <= bindparam("now"))
_waiting_under_mandate = (
    host_waitlist.c.host == bindparam("of_host"),
    host_waitlist.c.state == literal_column("'waiting'"),
    host_waitlist.c.principal == bindparam("by"),
    host_waitlist.c.mandate == bindparam("under"),
)
# A booking that waits for its participants counts as the hold it came of did (SCH-135).
_is_tentative = (
    _b.host == bindparam("of_host"),
    _b.state == literal_column("'tentative'"),
    _b.answer_us > bindparam("now"),
)
_b_of_hold = host_booking.join(host_hold, (_h.host == _b.host) & (_h.hold_id == _b.hold_id))
# One look at all that a hold is judged by besides its time. Scalar subqueries: a UNION costs ten times as much here.
_USE = statement(
    select(
        select(func.count()).where(*_held_under_mandate).scalar_subquery(),
        select(func.count()).where(*_of_principal, _b.mandate == bindparam("under"), ~_is_settled_no).scalar_subquery(),
        select(func.count()).where(*_is_live, _h.agent == bindparam("of_agent")).scalar_subquery()
        + select(func.count()).where(*_is_tentative, _b.agent == bindparam("of_agent")).scalar_subquery(),
        select(literal_column("1")).where(*_of_principal, *_is_kept).limit(1).scalar_subquery(),
        select(func.count()).where(*_waiting_under_mandate).scalar_subquery(),
    )
)
_is_newcomers = (_h.proven == literal_column("0"), _h.attester.is_(None))
_of_lane = _h.attester == bindparam("of_attester")
_OF_NEWCOMERS = statement(
    select(
        select(func.count()).where(*_is_live, *_is_newcomers).scalar_subquery()
        + select(func.count()).select_from(_b_of_hold).where(*_is_tentative, *_is_newcomers).scalar_subquery()
    )
)
_IN_LANE = statement(
    select(
        select(func.count()).where(*_is_live, _of_lane).scalar_subquery()
        + select(func.count()).select_from(_b_of_hold).where(*_is_tentative, _of_lane).scalar_subquery()
    )
)


@dataclass(frozen=True, slots=True)
class Use:
    """What is in use by one principal, one mandate and one agent.

    `under_mandate` counts the mandate's live holds, its bookings that were not called off (SCH-080), where one that
    took place stays counted, and its entries that wait (SCH-237). `of_agent` counts the agent's live holds and its
    tentative bookings (SCH-135). `is_proven` tells whether the principal has kept an appointment here: one whose end
    has passed, not called off, not a no-show (SCH-138).
    """

    under_mandate: int
    of_agent: int
    is_proven: bool


def find(view: Reading, host: str, hold_id: str) -> StoredHold | None:
    """The hold by that id at this host."""
    row = view.one(_FIND, {"of_host": host, "of_hold": hold_id})
    return None if row is None else _read(row)


def due(view: Reading, host: str) -> list[StoredHold]:
    """Holds whose time is over and that nothing has marked yet, oldest first, a hundred at a time."""
    return [_read(row) for row in view.all(_DUE, {"of_host": host, "now": micros(view.now)})]


def add(unit: Unit, host: str, hold: StoredHold) -> None:
    """Keeps a new hold."""
    unit.execute(
        _ADD,
        {
            "host": host,
            "hold_id": hold.hold_id,
            "state": hold.machine.state.value,
            "version": hold.machine.version,
            "service_id": hold.service_id,
            "agent": hold.agent,
            "principal": hold.principal,
            "mandate": hold.mandate,
            "proven": int(hold.proven),
            "expires_us": micros(hold.machine.expires_at),
            "until_us": micros(hold.until),
            "offer": hold.offer.token,
            "offer_sha256": hold.offer.sha256,
            "callback_url": hold.callback_url,
            "booking_id": hold.booking_id,
            "attester": hold.attester,
        },
    )


def save(unit: Unit, host: str, hold: StoredHold) -> None:
    """Writes what can change: state, version, and the booking it became."""
    unit.execute(
        _SAVE,
        {
            "of_host": host,
            "of_hold": hold.hold_id,
            "state": hold.machine.state.value,
            "version": hold.machine.version,
            "booking_id": hold.booking_id,
        },
    )
    if hold.machine.state in (HoldState.RELEASED, HoldState.EXPIRED):
        claims.give_back(unit, host, hold.hold_id)


def read_use(view: Reading, host: str, agent: str, mandate: Mandate) -> Use:
    """What is in use as of the unit's now."""
    row = view.one(
        _USE,
        {
            "of_host": host,
            "now": micros(view.now),
            "by": mandate.principal,
            "under": mandate.claims.jti,
            "of_agent": agent,
        },
    )
    held, booked, of_agent, kept, waiting = row or (0, 0, 0, None, 0)
    return Use(under_mandate=held + booked + waiting, of_agent=of_agent, is_proven=kept is not None)


def count_pools(view: Reading, host: str, use: Use, attester: str | None = None) -> Counts:
    """What the caps are judged by. The pools are not counted for a principal they do not bind."""
    if use.is_proven:
        return Counts(of_agent=use.of_agent, of_newcomers=0, is_proven=True)
    at = {"of_host": host, "now": micros(view.now)}
    newcomers = view.one(_OF_NEWCOMERS, at)
    lane = None if attester is None else view.one(_IN_LANE, {**at, "of_attester": attester})
    return Counts(
        of_agent=use.of_agent,
        of_newcomers=newcomers[0] if newcomers else 0,
        is_proven=False,
        in_lane=None if attester is None else lane[0] if lane else 0,
    )


def _read(row: Row) -> StoredHold:
    (hold_id, state, version, service_id, agent, principal, mandate, proven, expires_us, until_us, offer, sha256,
     callback, booking_id, attester) = row  # fmt: skip
    return StoredHold(
        hold_id=hold_id,
        machine=Hold(HoldState(state), version, instant(expires_us)),
        service_id=service_id,
        agent=agent,
        principal=principal,
        mandate=mandate,
        proven=bool(proven),
        until=instant(until_us),
        offer=Signed(offer, sha256),
        callback_url=callback,
        booking_id=booking_id,
        attester=attester,
    )
