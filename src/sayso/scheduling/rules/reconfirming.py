"""The booker's second word: yes, they are still coming; no, and the time is free; or silence, as the contract says.

SCH-248, SCH-249, SCH-252. The window and the effect of silence stand in the contract, never in the policy of the
moment. A no is a cancellation and costs nothing; silence that ends the booking leaves it `expired` and counts like a
hold that ran out, because it took the time just as long. Nothing here writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sayso.core.instants import parse_instant, write_local
from sayso.core.zones import find_zone
from sayso.ledger.rules.kinds import declare
from sayso.scheduling.rules import booking
from sayso.scheduling.rules.answering import Whole
from sayso.scheduling.rules.booking import BookingState
from sayso.scheduling.rules.decision import Decision
from sayso.scheduling.rules.drafting import draw_receipt, redraw_booking
from sayso.scheduling.rules.profile import HostPen, HostProfile
from sayso.scheduling.rules.settling import StoredBooking, booking_record, check_contract, host_record
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.mandate_checks import Action, Ask, Checked

__all__ = ("SayAgain", "ask_to_reconfirm", "check_asked", "lapse", "reconfirm")

BOOKING_RECONFIRMED = declare("booking.reconfirmed", "The booker said again that they are coming.")
BOOKING_UNRECONFIRMED = declare("booking.unreconfirmed", "The booker did not reconfirm in time; the time is free.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SayAgain:
    """The booker's answer under this mandate, to exactly these terms."""

    offer_sha256: str
    checked: Checked
    receipt_id: str


def ask_to_reconfirm(profile: HostProfile, whole: Whole, agent: str) -> Ask:
    """What answering demands of a mandate: the scope that accepts such a contract, and this booking (SCH-100)."""
    made = whole.booking
    return Ask(
        action=Action.RECONFIRM if whole.terms.change is None else Action.RECONFIRM_CHANGED,
        host=profile.host,
        agent=agent,
        principal=made.principal,
        booking_id=made.booking_id,
        booked_under=made.mandate,
    )


def check_asked(whole: Whole, offer_sha256: str, now: datetime) -> None:
    """Refused: contract_mismatch; nothing_to_reconfirm, where nothing is asked, it was answered, or it is too late;
    reconfirm_early. What is over says so by the reason of its state, when it is stepped.
    """
    check_contract(offer_sha256, whole.booking.offer)
    asked, shown = whole.terms.reconfirm, whole.last.booking
    if whole.booking.standing.state in (BookingState.CANCELLED, BookingState.COMPLETED, BookingState.NO_SHOW):
        return
    is_waiting = booking.Reconfirm in booking.TABLE[whole.booking.standing.state] and shown.reconfirmed is None
    if asked is None or not is_waiting or now >= parse_instant(asked.by):
        raise refused("nothing_to_reconfirm")
    if now < parse_instant(asked.opens):
        raise refused("reconfirm_early")


def reconfirm(whole: Whole, pen: HostPen, command: SayAgain, now: datetime) -> Decision[StoredBooking, Settled]:
    """The booker's yes. Refused: as `check_asked`; already_cancelled, already_started, not_changeable."""
    check_asked(whole, command.offer_sha256, now)
    made = whole.booking
    standing = replace(booking.step(made.standing, booking.Reconfirm(), now), reconfirm_by=None)
    view = redraw_booking(
        whole.last.booking, standing, whole.terms,
        now=now, reconfirmed=write_local(now.replace(microsecond=0), find_zone(whole.terms.timezone)),
    )  # fmt: skip
    receipt = pen.sign_receipt(
        draw_receipt(
            view, whole.terms, act="reconfirmed", consent=whole.last.consent, receipt_id=command.receipt_id, now=now
        )
    )
    after = replace(made, standing=standing, receipt=receipt.token)
    return Decision(
        state=after,
        records=(booking_record(BOOKING_RECONFIRMED, after, command.checked, receipt),),
        reply=Settled(booking=view, receipt=receipt.token),
    )


def lapse(whole: Whole, pen: HostPen, receipt_id: str, now: datetime) -> Decision[StoredBooking, Settled]:
    """The booker said nothing in time, and their contract says that this ends it."""
    standing = booking.step(whole.booking.standing, booking.LapseUnreconfirmed(), now)
    view = redraw_booking(
        whole.last.booking, standing, whole.terms, now=now, unreconfirmed=True, awaiting_host=None, proposed=None
    )
    receipt = pen.sign_receipt(
        draw_receipt(view, whole.terms, act="expired", consent=whole.last.consent, receipt_id=receipt_id, now=now)
    )
    after = replace(whole.booking, standing=standing, receipt=receipt.token)
    return Decision(
        state=after,
        records=(host_record(BOOKING_UNRECONFIRMED, after, whole.terms.iss, receipt),),
        reply=Settled(booking=view, receipt=receipt.token),
    )
