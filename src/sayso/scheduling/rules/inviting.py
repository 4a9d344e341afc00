"""Participants: who is asked along on which terms, what they answer, and what their silence means (spec section 24).

SCH-182, SCH-185, SCH-201, SCH-203, SCH-243..247. The terms stand in the offer; the answers in the newest receipt, and
nowhere else. Who may answer was judged before, by the participant's own mandate. Nothing here writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from msgspec import structs

from sayso.core.instants import parse_instant, write_instant
from sayso.core.refusal import Corrupt
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft, Link
from sayso.scheduling.rules import booking
from sayso.scheduling.rules.answering import BOOKING_LAPSED, Whole
from sayso.scheduling.rules.booking import BookingState, Standing
from sayso.scheduling.rules.decision import Decision
from sayso.scheduling.rules.drafting import draw_receipt, redraw_booking
from sayso.scheduling.rules.profile import HostPen, Signed
from sayso.scheduling.rules.settling import StoredBooking, check_contract, host_record
from sayso.scheduling.terms.booking import Booking, Declined
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.mandate_checks import Action, Ask, Checked, Mandate
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant import BookedParticipant, InvitationView, ParticipantAnswer
from sayso.scheduling.terms.participant_checks import all_agreed
from sayso.scheduling.terms.receipt import Settlement

__all__ = (
    "AnswerInvitation",
    "answer",
    "ask_to_answer",
    "counts_as_abandoned",
    "find_participant",
    "invitation_view",
    "kept_until",
    "may_read_invitation",
    "settle_silence",
)

PARTICIPANT_ANSWERED = declare("booking.participant_answered", "A participant answered under their own mandate.")
PARTICIPANTS_AGREED = declare("booking.participants_agreed", "Every required participant has said yes.")
PARTICIPANT_DECLINED = declare("booking.participant_declined", "A required participant said no; the time is free.")

_OPEN_TO_ALL = (BookingState.TENTATIVE, BookingState.PENDING_HOST, BookingState.CONFIRMED)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerInvitation:
    """A participant's yes or no to exactly these bytes."""

    said: Literal["yes", "no"]
    offer_sha256: str
    checked: Checked
    receipt_id: str


def find_participant(whole: Whole, principal: str) -> BookedParticipant | None:
    """The participant's entry, if the contract in force names them."""
    return next((each for each in whole.last.booking.participants if each.principal == principal), None)


def may_read_invitation(whole: Whole, mandate: Mandate) -> bool:
    """Whether the mandate names this booking or its contract: what shows that its person asked to read it."""
    found = mandate.claims.constraints
    named = whole.booking.booking_id in (found.bookings or ())
    return named or found.offer_sha256 == whole.booking.offer.sha256


def invitation_view(whole: Whole) -> InvitationView:
    """What participants read: the contract, the status, the answers, and nothing of the booker's own (SCH-194)."""
    return _view(whole.last.booking, whole.booking.offer.token)


def _view(shown: Booking, offer: str) -> InvitationView:
    return InvitationView(
        booking_id=shown.booking_id,
        status=shown.status,
        sequence=shown.sequence,
        version=shown.version,
        host=shown.host,
        offer=offer,
        participants=shown.participants,
    )


def ask_to_answer(
    whole: Whole,
    mandate: Mandate,
    agent: str,
    said: Literal["yes", "no"],
    closed_mandate: Literal["never", "always"],
) -> Ask:
    """What answering demands of the participant's own mandate: `book` on a hold's offer, `reschedule` on a change
    offer (SCH-100). A no may also come under a mandate that can do nothing but decline this offer.

    What it costs is the booker's to pay, so no ceiling of the participant binds.
    """
    terms = whole.terms
    declines_only = said == "no" and mandate.claims.scope == ("cancel",)
    accepts = Action.ACCEPT_INVITATION if terms.change is None else Action.ACCEPT_CHANGED_INVITATION
    return Ask(
        action=Action.DECLINE_INVITATION if declines_only else accepts,
        host=terms.iss,
        agent=agent,
        service_id=terms.service.id,
        start=parse_instant(terms.start),
        end=None if terms.end is None else parse_instant(terms.end),
        booking_id=whole.booking.booking_id,
        offer_sha256=whole.booking.offer.sha256,
        closed_mandate="never" if declines_only else closed_mandate,
    )


def answer(
    whole: Whole, entry: BookedParticipant, pen: HostPen, command: AnswerInvitation, now: datetime
) -> Decision[StoredBooking, InvitationView]:
    """One participant's answer. A required no ends the booking; the last required yes settles it, or asks the host.

    Refused: contract_mismatch; nothing_to_accept, when it is late or a second one, or nothing waits.
    """
    check_contract(command.offer_sha256, whole.booking.offer)
    if not _is_open(whole, entry, now):
        raise refused("nothing_to_accept")
    said = ParticipantAnswer(said=command.said, at=write_instant(now))
    shown = _with_answers(whole, said, entry.principal)
    before = whole.booking.standing
    changed: dict[str, Any] = {}
    if entry.required and command.said == "no":
        kind, standing = PARTICIPANT_DECLINED, booking.step(before, booking.Decline(), now)
        changed = {"declined": Declined(by="participant", at=said.at)}
    elif entry.required and all_agreed(shown):
        kind, standing = PARTICIPANTS_AGREED, _agreed(whole, now)
    else:
        kind, standing = PARTICIPANT_ANSWERED, booking.step(before, booking.Annotate(), now)
    after, view, receipt = _redrawn(whole, standing, shown, pen, command.receipt_id, now, **changed)
    return Decision(
        state=after,
        records=(_record(kind, after, entry, command, receipt),),
        reply=_view(view, after.offer.token),
    )


def _is_open(whole: Whole, entry: BookedParticipant, now: datetime) -> bool:
    """Whether this participant can still answer the contract in force: once, and before its deadline."""
    standing, invitation = whole.booking.standing, whole.terms.invitation
    if entry.answer is not None or invitation is None or now >= parse_instant(invitation.answer_by):
        return False
    if entry.required:
        return standing.state is BookingState.TENTATIVE and standing.answer_by is not None and now < standing.answer_by
    return standing.state in _OPEN_TO_ALL


def _with_answers(whole: Whole, said: ParticipantAnswer, *principals: str) -> tuple[BookedParticipant, ...]:
    return tuple(
        structs.replace(each, answer=said) if each.principal in principals else each
        for each in whole.last.booking.participants
    )


def _agreed(whole: Whole, now: datetime) -> Standing:
    """Everybody asked has said yes: settled, or now the host is asked, if it has not said yes to a move (SCH-185)."""
    host_answers_by = _host_answers_by(whole.terms)
    if host_answers_by is None:
        return booking.step(whole.booking.standing, booking.Settle(), now)
    if now >= host_answers_by:
        return booking.step(whole.booking.standing, booking.Lapse(), now)
    return booking.step(whole.booking.standing, booking.AskHost(host_answers_by), now)


def _host_answers_by(terms: OfferClaims) -> datetime | None:
    """Until when the host is still to be asked. A change took effect with its yes, so it is not asked again."""
    return parse_instant(terms.answer_by) if terms.answer_by is not None and terms.change is None else None


def settle_silence(
    whole: Whole, pen: HostPen, receipt_id: str, now: datetime
) -> Decision[StoredBooking, InvitationView]:
    """The participants' deadline has passed: whoever is silent has answered as the terms say (SCH-245).

    A default yes settles the booking or asks the host; a default no lapses it (SCH-201).
    """
    invitation = whole.terms.invitation
    if invitation is None:
        raise Corrupt("a booking waits for participants its contract does not name", whole.booking.booking_id)
    said = ParticipantAnswer(said=invitation.silence, at=invitation.answer_by, by_default=True)
    silent = [each.principal for each in whole.last.booking.participants if each.required and each.answer is None]
    shown = whole.last.booking.participants
    if now >= parse_instant(invitation.answer_by):
        shown = _with_answers(whole, said, *silent)
    standing = _agreed(whole, now) if all_agreed(shown) else booking.step(whole.booking.standing, booking.Lapse(), now)
    after, view, receipt = _redrawn(whole, standing, shown, pen, receipt_id, now)
    lapsed = standing.state is BookingState.EXPIRED
    kind = BOOKING_LAPSED if lapsed else PARTICIPANTS_AGREED
    return Decision(
        state=after,
        records=(host_record(kind, after, whole.terms.iss, receipt),),
        reply=_view(view, after.offer.token),
    )


def counts_as_abandoned(whole: Whole, after: StoredBooking) -> bool:
    """Whether a lapse counts against its booker: their guests' silence meant no, and no change of the host's made
    them be asked again (SCH-144).
    """
    invitation = whole.terms.invitation
    lapsed = after.standing.state is BookingState.EXPIRED
    return lapsed and invitation is not None and invitation.silence == "no" and whole.terms.change is None


def kept_until(terms: OfferClaims, standing: Standing) -> datetime | None:
    """Until when a tentative booking keeps its time whatever nobody does; None where silence makes it final.

    Time that a default yes will take is never free in between, whether or not anything has settled it yet.
    """
    ends = [standing.answer_by, standing.reconfirm_by]
    if terms.invitation is not None and terms.invitation.silence == "yes":
        ends[0] = _host_answers_by(terms)
    return min((each for each in ends if each is not None), default=None)


def _redrawn(
    whole: Whole,
    standing: Standing,
    shown: tuple[BookedParticipant, ...],
    pen: HostPen,
    receipt_id: str,
    now: datetime,
    **changed: Any,
) -> tuple[StoredBooking, Booking, Signed]:
    """The booking with its answers, and the receipt of the act."""
    view = redraw_booking(whole.last.booking, standing, whole.terms, now=now, participants=shown, **changed)
    act = _act(standing)
    receipt = pen.sign_receipt(
        draw_receipt(view, whole.terms, act=act, consent=whole.last.consent, receipt_id=receipt_id, now=now)
    )
    return replace(whole.booking, standing=standing, receipt=receipt.token), view, receipt


def _act(standing: Standing) -> Settlement:
    """What the receipt says: the first time everybody has agreed is a confirmation, later ones are answers."""
    if standing.state is BookingState.DECLINED:
        return "declined"
    if standing.state is BookingState.EXPIRED:
        return "expired"
    return "confirmed" if standing.state is BookingState.CONFIRMED and standing.sequence == 0 else "answered"


def _record(
    kind: str, made: StoredBooking, entry: BookedParticipant, command: AnswerInvitation, receipt: Signed
) -> Draft:
    """What the host's own log keeps of an answer: the participant acts, under their own mandate."""
    mandate = command.checked.mandate
    return Draft(
        kind=kind,
        actor=entry.principal,
        links=(
            Link("mandate", mandate.sha256),
            *(Link("delegation", link.sha256) for link in mandate.links),
            Link("offer", made.offer.sha256),
            Link("receipt", receipt.sha256),
        ),
        body={
            "booking_id": made.booking_id,
            "status": made.standing.state.value,
            "sequence": made.standing.sequence,
            "said": command.said,
            "approved": command.checked.approved,
            "mandate": mandate.claims.jti,
        },
    )
