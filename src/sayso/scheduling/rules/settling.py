"""Settling a hold: it becomes a booking with a receipt, or its time is given back; and calling a booking off.

SCH-123, SCH-124, SCH-151, SCH-162, SCH-174..176, SCH-188..191, SCH-213..216. Who may do it was judged before, by the
mandate or by the agent's own key; here the machines and the contract decide. Nothing here writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sayso.core.instants import parse_instant, write_instant
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft, Link
from sayso.scheduling.rules import booking, hold
from sayso.scheduling.rules.booking import BookingState, Standing
from sayso.scheduling.rules.decision import Decision
from sayso.scheduling.rules.drafting import draw_booking, draw_receipt, redraw_booking
from sayso.scheduling.rules.hold import HoldState
from sayso.scheduling.rules.placing import StoredHold, hold_view
from sayso.scheduling.rules.profile import HostPen, Signed
from sayso.scheduling.terms.booking import Cancelled
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import HoldView, Settled
from sayso.scheduling.terms.mandate_checks import Checked
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant_checks import waits_for_participants
from sayso.scheduling.terms.receipt import Agreement, ReceiptClaims
from sayso.scheduling.terms.reconfirm import lapses_at

__all__ = (
    "CancelBooking",
    "ConfirmHold",
    "Confirmed",
    "StoredBooking",
    "cancel",
    "check_contract",
    "confirm",
    "host_record",
    "lapsed",
    "release",
)

HOLD_RELEASED = declare("hold.released", "A guest's agent gave held time back.")
HOLD_EXPIRED = declare("hold.expired", "Held time ran out unconfirmed.")
BOOKING_CONFIRMED = declare("booking.confirmed", "A hold became a booking; the host signed a receipt.")
BOOKING_REQUESTED = declare("booking.requested", "A hold became a request that the host answers by a stated time.")
BOOKING_CANCELLED = declare("booking.cancelled", "A booking was called off; the host signed a receipt.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBooking:
    """A booking as it is kept. `hold_id` is the family of its time, `owner` the hold or change whose rows it stands on,
    `mandate` the jti it counts under with `principal`; `offer` is the contract in force, `receipt` the newest one,
    `message` what the guest said to the host when calling it off.
    """

    booking_id: str
    hold_id: str
    standing: Standing
    agent: str
    principal: str
    mandate: str
    owner: str
    offer: Signed
    receipt: str
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmHold:
    """The guest's yes to exactly these bytes, and how the person agreed."""

    offer_sha256: str
    checked: Checked
    booking_id: str
    receipt_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelBooking:
    """The guest calls it off under this mandate, perhaps with words for the host."""

    checked: Checked
    receipt_id: str
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """What a confirm leaves: the hold, settled, and the booking that took its time over."""

    hold: StoredHold
    booking: StoredBooking


def check_contract(named: str, offer: Signed) -> None:
    """Refused: contract_mismatch, when the hash is not that of the offer on the table (SCH-162)."""
    if named != offer.sha256:
        raise refused("contract_mismatch", place="$.offer_sha256")


def confirm(
    held: StoredHold, terms: OfferClaims, pen: HostPen, command: ConfirmHold, now: datetime
) -> Decision[Confirmed, Settled]:
    """Books at an instant host; where the offer states a deadline for the host's answer, asks for it (SCH-176).

    Refused: hold_expired, hold_released, hold_confirmed, contract_mismatch, already_started.
    """
    machine = hold.step(held.machine, hold.Confirm(), now)
    check_contract(command.offer_sha256, held.offer)
    state, answer_by = _birth(terms)
    standing = Standing(
        state=state,
        sequence=0,
        version=1,
        start=parse_instant(terms.start),
        until=held.until,
        open_end=terms.open_end is True,
        answer_by=answer_by,
        reconfirm_by=lapses_at(terms.reconfirm),
    )
    if standing.answer_by is not None and now >= standing.answer_by:
        # The deadline never passes the start, and otherwise lies behind the hold's own expiry.
        raise refused("already_started")
    view = draw_booking(
        standing, terms, held.offer.sha256, booking_id=command.booking_id, mandate=held.mandate, now=now
    )
    receipt = pen.sign_receipt(
        draw_receipt(
            view,
            terms,
            act="confirmed" if standing.answer_by is None else "requested",
            consent=agreement(command.checked),
            receipt_id=command.receipt_id,
            now=now,
        )
    )
    made = StoredBooking(
        booking_id=command.booking_id,
        hold_id=held.hold_id,
        standing=standing,
        agent=held.agent,
        principal=held.principal,
        mandate=held.mandate,
        owner=held.hold_id,
        offer=held.offer,
        receipt=receipt.token,
    )
    return Decision(
        state=Confirmed(hold=replace(held, machine=machine, booking_id=made.booking_id), booking=made),
        records=(
            booking_record(
                BOOKING_CONFIRMED if standing.answer_by is None else BOOKING_REQUESTED, made, command.checked, receipt
            ),
        ),
        reply=Settled(booking=view, receipt=receipt.token),
    )


def _birth(terms: OfferClaims) -> tuple[BookingState, datetime | None]:
    """Where a confirm leaves the booking, and until when it waits there: participants first, then the host; of their
    two deadlines the earlier governs (SCH-176, SCH-185).
    """
    host_by = None if terms.answer_by is None else parse_instant(terms.answer_by)
    if terms.invitation is not None and waits_for_participants(terms):
        invited_by = parse_instant(terms.invitation.answer_by)
        return BookingState.TENTATIVE, invited_by if host_by is None else min(invited_by, host_by)
    return BookingState.CONFIRMED if host_by is None else BookingState.PENDING_HOST, host_by


def agreement(checked: Checked) -> Agreement:
    """How the person agreed, under the mandate their own key signed (SCH-189, SCH-190)."""
    return Agreement(approved=checked.approved, mandate=checked.mandate.claims.jti, mode=checked.mode)


def booking_record(kind: str, made: StoredBooking, checked: Checked, receipt: Signed) -> Draft:
    """What the host's own log keeps of a booking: ids and hashes, never words."""
    return Draft(
        kind=kind,
        actor=made.principal,
        links=(
            Link("mandate", checked.mandate.sha256),
            *(Link("delegation", link.sha256) for link in checked.mandate.links),
            Link("offer", made.offer.sha256),
            Link("receipt", receipt.sha256),
        ),
        body={
            "booking_id": made.booking_id,
            "hold_id": made.hold_id,
            "status": made.standing.state.value,
            "sequence": made.standing.sequence,
            "start": write_instant(made.standing.start),
            "approved": checked.approved,
            "mandate": checked.mandate.claims.jti,
        },
    )


def host_record(kind: str, made: StoredBooking, host: str, receipt: Signed) -> Draft:
    """What the host's own log keeps of its own acts, and of the clock's: nobody's mandate stands behind those."""
    return Draft(
        kind=kind,
        actor=host,
        links=(Link("offer", made.offer.sha256), Link("receipt", receipt.sha256)),
        body={
            "booking_id": made.booking_id,
            "status": made.standing.state.value,
            "sequence": made.standing.sequence,
            "start": write_instant(made.standing.start),
        },
    )


def release(held: StoredHold, terms: OfferClaims, now: datetime) -> Decision[StoredHold, HoldView]:
    """Gives the time back. A hold that is over already stays as it is and answers its view; refused: hold_confirmed."""
    if held.machine.state is not HoldState.CONFIRMED and not hold.is_good(held.machine, now):
        return Decision(state=held, records=(), reply=hold_view(held, terms, now))
    after = replace(held, machine=hold.step(held.machine, hold.Release(), now))
    return Decision(state=after, records=(hold_record(HOLD_RELEASED, after),), reply=hold_view(after, terms, now))


def lapsed(held: StoredHold, now: datetime) -> tuple[StoredHold, Draft]:
    """A hold whose time is over, marked so, and the record of it."""
    after = replace(held, machine=hold.step(held.machine, hold.Lapse(), now))
    return after, hold_record(HOLD_EXPIRED, after)


def hold_record(kind: str, held: StoredHold) -> Draft:
    """What the host's own log keeps of the end of a hold."""
    return Draft(
        kind=kind,
        actor=held.principal,
        links=(Link("offer", held.offer.sha256),),
        body={"hold_id": held.hold_id, "expires_at": write_instant(held.machine.expires_at)},
    )


def cancel(
    made: StoredBooking,
    terms: OfferClaims,
    last: ReceiptClaims,
    pen: HostPen,
    command: CancelBooking,
    now: datetime,
) -> Decision[StoredBooking, Settled]:
    """Calls a booking off for its guest, free, before its start. Refused: already_cancelled, already_started.

    The receipt repeats how the contract was agreed (`last`), because that has not changed.
    """
    standing = booking.step(made.standing, booking.Cancel(), now)
    view = redraw_booking(
        last.booking,
        standing,
        terms,
        now=now,
        cancelled=Cancelled(by="guest", at=write_instant(now)),
        awaiting_host=None,
        proposed=None,
    )
    receipt = pen.sign_receipt(
        draw_receipt(view, terms, act="cancelled", consent=last.consent, receipt_id=command.receipt_id, now=now)
    )
    after = replace(made, standing=standing, receipt=receipt.token, message=command.message)
    return Decision(
        state=after,
        records=(booking_record(BOOKING_CANCELLED, after, command.checked, receipt),),
        reply=Settled(booking=view, receipt=receipt.token),
    )
