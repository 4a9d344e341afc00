"""What the host does to a booking, and what the clock does: answering, calling off, ending, marking, completing.

SCH-177..179, SCH-200, SCH-202, SCH-205, SCH-209, SCH-212, SCH-217, SCH-226, SCH-227, SCH-256. None of these is the
guest's act, so none has a mandate; every one leaves a receipt that repeats how the contract in force was agreed: that
has not changed (SCH-195). Nothing here writes. That a host's silence lapses a request is held against nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from sayso.core.instants import parse_instant, write_instant, write_local
from sayso.core.zones import find_zone
from sayso.ledger.rules.kinds import declare
from sayso.scheduling.rules import booking, change
from sayso.scheduling.rules.availability import AvailabilityAsk, availability
from sayso.scheduling.rules.booking import BookingState, Standing
from sayso.scheduling.rules.decision import Decision
from sayso.scheduling.rules.drafting import draw_receipt, redraw_booking
from sayso.scheduling.rules.moving import StoredChange
from sayso.scheduling.rules.picture import Picture
from sayso.scheduling.rules.premises import BookableService
from sayso.scheduling.rules.profile import HostPen, HostProfile
from sayso.scheduling.rules.settling import StoredBooking, host_record
from sayso.scheduling.rules.slots import write_slots
from sayso.scheduling.rules.spans import micros
from sayso.scheduling.terms.availability import Slot
from sayso.scheduling.terms.booking import Answered, Cancelled, Declined, DeclinedChange, Proposed
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.receipt import ReceiptClaims, Settlement

__all__ = (
    "Whole",
    "approve",
    "cancel_by_host",
    "complete",
    "decline",
    "end",
    "is_waiting",
    "lapse",
    "mark_attended",
    "mark_no_show",
    "other_times",
    "propose",
    "refuse_move",
    "withdraw_proposal",
)

BOOKING_APPROVED = declare("booking.approved", "The host said yes to a request; it signed a receipt.")
BOOKING_DECLINED = declare("booking.declined", "The host said no to a request; it signed a receipt.")
BOOKING_LAPSED = declare("booking.expired", "The host did not answer a request in time; its time is free again.")
BOOKING_CALLED_OFF = declare("booking.cancelled_by_host", "The host called a booking off, in its own words.")
BOOKING_COMPLETED = declare("booking.completed", "The end of a booking has passed.")
BOOKING_ENDED = declare("booking.ended", "The host ended a booking that had no agreed end; the receipt says when.")
BOOKING_NO_SHOW = declare("booking.no_show", "The host marked that nobody came.")
BOOKING_ATTENDED = declare("booking.attended", "The host marked that the guest came.")
MOVE_REFUSED = declare("booking.move_declined", "The host said no to a move, or let its time run out.")
TIME_PROPOSED = declare("booking.time_proposed", "The host offered another time for a booking.")
PROPOSAL_OVER = declare("booking.proposal_over", "A time that the host proposed was declined, replaced or ran out.")

_OFFERED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A booking with the two documents it stands on, read: its contract and its newest receipt."""

    booking: StoredBooking
    terms: OfferClaims
    last: ReceiptClaims


def is_waiting(whole: Whole, now: datetime) -> bool:
    """Whether the request waits for the host, its deadline ahead."""
    standing = whole.booking.standing
    return standing.state is BookingState.PENDING_HOST and (standing.answer_by is None or now < standing.answer_by)


def approve(
    whole: Whole, pen: HostPen, receipt_id: str, now: datetime, answered: Answered | None = None
) -> Decision[StoredBooking, Settled]:
    """The host's yes; `answered` is whose, where it is the person's. Refused: nothing_to_answer, when it is late or was
    answered already (SCH-178).
    """
    _check_waiting(whole, now)
    standing = booking.step(whole.booking.standing, booking.Approve(), now)
    return _settle(
        whole, standing, pen, "confirmed", BOOKING_APPROVED, receipt_id, now,
        answered=answered or Answered(by="host"), proposed=None,
    )  # fmt: skip


def decline(
    whole: Whole,
    pen: HostPen,
    receipt_id: str,
    now: datetime,
    *,
    message: str | None,
    alternatives: tuple[Slot, ...],
    by: Literal["host", "person"] = "host",
) -> Decision[StoredBooking, Settled]:
    """The host's no, perhaps with words and other times (SCH-179). Refused: nothing_to_answer."""
    _check_waiting(whole, now)
    standing = booking.step(whole.booking.standing, booking.Decline(), now)
    said = Declined(by=by, at=write_instant(now), message=message, alternatives=alternatives)
    return _settle(whole, standing, pen, "declined", BOOKING_DECLINED, receipt_id, now, declined=said, proposed=None)


def _check_waiting(whole: Whole, now: datetime) -> None:
    if not is_waiting(whole, now):
        raise refused("nothing_to_answer")


def lapse(whole: Whole, pen: HostPen, receipt_id: str, now: datetime) -> Decision[StoredBooking, Settled]:
    """A request that nobody answered by its deadline."""
    standing = booking.step(whole.booking.standing, booking.Lapse(), now)
    return _settle(whole, standing, pen, "expired", BOOKING_LAPSED, receipt_id, now, proposed=None)


def complete(whole: Whole, pen: HostPen, receipt_id: str, now: datetime) -> Decision[StoredBooking, Settled]:
    """The end has passed: the agreed one, or that of the time set aside (SCH-209)."""
    standing = booking.step(whole.booking.standing, booking.Complete(), now)
    return _settle(whole, standing, pen, "completed", BOOKING_COMPLETED, receipt_id, now)


def cancel_by_host(
    whole: Whole, pen: HostPen, receipt_id: str, now: datetime, *, reason: str
) -> Decision[StoredBooking, Settled]:
    """The host calls it off before its start, and says why (SCH-217).

    Refused: already_cancelled, already_started, not_changeable.
    """
    standing = booking.step(whole.booking.standing, booking.CancelByHost(), now)
    said = Cancelled(by="host", at=write_instant(now), reason=reason)
    return _settle(
        whole, standing, pen, "cancelled", BOOKING_CALLED_OFF, receipt_id, now,
        cancelled=said, awaiting_host=None, proposed=None,
    )  # fmt: skip


def end(whole: Whole, pen: HostPen, receipt_id: str, now: datetime) -> Decision[StoredBooking, Settled]:
    """Ends a running booking that has no agreed end, now; the receipt states the real end (SCH-256, SCH-268).

    Refused: not_open_ended.
    """
    before = whole.booking.standing
    if before.state is not BookingState.CONFIRMED or not before.open_end or now < before.start:
        raise refused("not_open_ended")
    ended_at = now.replace(microsecond=0)
    standing = replace(booking.step(before, booking.End(), now), until=max(ended_at, before.start))
    return _settle(
        whole, standing, pen, "ended", BOOKING_ENDED, receipt_id, now,
        ended=write_local(standing.until, find_zone(whole.terms.timezone)),
    )  # fmt: skip


def mark_no_show(whole: Whole, pen: HostPen, receipt_id: str, now: datetime) -> Decision[StoredBooking, Settled]:
    """Nobody came: a bare status without an amount (SCH-205, SCH-206). Refused: not_over, mark_too_late."""
    _check_over(whole, now)
    standing = booking.step(whole.booking.standing, booking.MarkNoShow(), now)
    return _settle(whole, standing, pen, "no_show", BOOKING_NO_SHOW, receipt_id, now, attended=None)


def mark_attended(whole: Whole, pen: HostPen, receipt_id: str, now: datetime) -> Decision[StoredBooking, Settled]:
    """The guest came; on a no-show it takes that mark back (SCH-209, SCH-212). Refused: not_over, mark_too_late."""
    _check_over(whole, now)
    before = whole.booking.standing
    takes_back = before.state is BookingState.NO_SHOW
    standing = booking.step(before, booking.TakeMarkBack() if takes_back else booking.MarkAttended(), now)
    return _settle(whole, standing, pen, "attended", BOOKING_ATTENDED, receipt_id, now, attended=True)


def _check_over(whole: Whole, now: datetime) -> None:
    standing = whole.booking.standing
    if standing.state is BookingState.CONFIRMED and now < standing.until:
        raise refused("not_over")


def refuse_move(
    whole: Whole,
    offered: StoredChange,
    start: str,
    pen: HostPen,
    receipt_id: str,
    now: datetime,
    *,
    reason: Literal["declined_by_host", "not_answered"],
    message: str | None = None,
) -> tuple[StoredChange, Decision[StoredBooking, Settled]]:
    """A move that waits is declined or left unanswered: the booking stays, and says why (SCH-226, SCH-227)."""
    command = change.Decline() if reason == "declined_by_host" else change.Lapse()
    after = replace(offered, machine=change.step(offered.machine, command, now))
    standing = booking.step(whole.booking.standing, booking.Annotate(), now)
    said = DeclinedChange(
        offer_sha256=offered.offer.sha256, start=start, at=write_instant(now), reason=reason, message=message
    )
    return after, _settle(
        whole, standing, pen, "move_declined", MOVE_REFUSED, receipt_id, now, declined_change=said, awaiting_host=None
    )


def propose(
    whole: Whole, offered: StoredChange, start: str, pen: HostPen, receipt_id: str, now: datetime, message: str | None
) -> Decision[StoredBooking, Settled]:
    """The booking says that the host offers another time; nothing of it changes until the guest accepts (SCH-234)."""
    standing = booking.step(whole.booking.standing, booking.Annotate(), now)
    said = Proposed(
        offer_id=offered.offer_id,
        offer_sha256=offered.offer.sha256,
        start=start,
        expires_at=write_instant(offered.machine.expires_at),
        message=message,
    )
    return _settle(whole, standing, pen, "proposed", TIME_PROPOSED, receipt_id, now, proposed=said)


def withdraw_proposal(whole: Whole, pen: HostPen, receipt_id: str, now: datetime) -> Decision[StoredBooking, Settled]:
    """The proposal was declined, replaced, or ran out; the booking stays as it is (SCH-236)."""
    standing = booking.step(whole.booking.standing, booking.Annotate(), now)
    return _settle(whole, standing, pen, "proposal_over", PROPOSAL_OVER, receipt_id, now, proposed=None)


def other_times(
    profile: HostProfile, service: BookableService, picture: Picture, declined: str, now: datetime
) -> tuple[Slot, ...]:
    """What is free around a declined start, nearest first; never that start itself (SCH-179)."""
    start = micros(parse_instant(declined))
    free = availability(picture, AvailabilityAsk(service, picture.covers), now)
    nearest: Sequence[Any] = sorted(
        (slot for slot in free if slot.start != start), key=lambda slot: abs(slot.start - start)
    )
    return write_slots(profile, service, nearest[:_OFFERED])


def _settle(
    whole: Whole,
    standing: Standing,
    pen: HostPen,
    act: Settlement,
    kind: str,
    receipt_id: str,
    now: datetime,
    **changed: Any,
) -> Decision[StoredBooking, Settled]:
    """The booking redrawn under its contract, with a receipt of the act."""
    view = redraw_booking(whole.last.booking, standing, whole.terms, now=now, **changed)
    receipt = pen.sign_receipt(
        draw_receipt(view, whole.terms, act=act, consent=whole.last.consent, receipt_id=receipt_id, now=now)
    )
    after = replace(whole.booking, standing=standing, receipt=receipt.token)
    return Decision(
        state=after,
        records=(host_record(kind, after, whole.terms.iss, receipt),),
        reply=Settled(booking=view, receipt=receipt.token),
    )
