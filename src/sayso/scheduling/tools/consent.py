"""The consent source of scheduling: which signed document covers an act, or what the person has to be asked next.

Spec section 15.3; SCH-104, SCH-346. Evidence is always a mandate: over this very offer (1), or limits that cover the
act (2). What comes back is checked in `evidence` and kept before anything else happens, so that a call made again goes
on from there. A no to an offer gives the time back before the refusal is raised.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from sayso.core.instants import parse_instant
from sayso.core.refusal import Corrupt, PeerRefused, PeerUnreachable, Refused
from sayso.core.zones import find_zone
from sayso.governance.consent import Answer, Consent, Question
from sayso.scheduling.guest.kept import KeptBooking, KeptChange, KeptEntry, KeptHold, KeptMandate
from sayso.scheduling.guest.moving import abandon_change
from sayso.scheduling.guest.reading import refresh
from sayso.scheduling.guest.settling import find_confirmed
from sayso.scheduling.guest.shown import shown
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.mandate_checks import Action, Ask, check_mandate, verify_mandate
from sayso.scheduling.tools.arguments import (
    AnswerInvitation,
    ApproveAndBook,
    BookSlot,
    CancelBooking,
    ChangeBooking,
    HoldSlot,
    JoinWaitlist,
    LeaveWaitlist,
    ReconfirmBooking,
    RequestLimits,
)
from sayso.scheduling.tools.asking import ask_management, ask_offer, settle_management
from sayso.scheduling.tools.assistant import Assistant, kept_terms
from sayso.scheduling.tools.company import wanted_company
from sayso.scheduling.tools.evidence import consent_of, expected_limits, expected_management, expected_offer
from sayso.scheduling.tools.free import check_free
from sayso.scheduling.tools.invitations import to_answer
from sayso.scheduling.tools.moments import read_moment
from sayso.scheduling.tools.questions import limits_question
from sayso.scheduling.tools.reconfirming import action_of, is_settled
from sayso.scheduling.tools.releasing import give_back
from sayso.scheduling.tools.results import no_notes
from sayso.scheduling.tools.sharing import to_share
from sayso.scheduling.tools.waiting import check_taken, read_wait, wait_question
from sayso.scheduling.tools.wanted import Wanted, all_in, asked_bytes, read_wanted

__all__ = ("SchedulingConsent",)


class SchedulingConsent:
    """Implements `governance.consent.ConsentSource` for the acts of `tools.acts`."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant
        self._book = assistant.guest.book

    async def consent(
        self, act_name: str, arguments: msgspec.Struct, answers: Sequence[Answer]
    ) -> Consent | Question | None:
        """Evidence, the next question, or None for an act of another system. Refused as the module says."""
        try:
            return await self._found(arguments, answers[-1] if answers else None)
        except PeerRefused as error:
            raise Refused(error.refusal) from None
        except PeerUnreachable as error:
            raise refused("host_unreachable", f"{error}.") from None

    async def _found(self, arguments: msgspec.Struct, last: Answer | None) -> Consent | Question | None:
        match arguments:
            case BookSlot():
                return None  # it has a source of its own
            case HoldSlot():
                return await self._to_hold(arguments, last)
            case ApproveAndBook():
                return await self._to_book(arguments, last)
            case CancelBooking() | ReconfirmBooking():
                return await self._to_keep_or_cancel(arguments, last)
            case ChangeBooking():
                return await self._to_change(arguments, last)
            case JoinWaitlist():
                return await self._to_wait(arguments, last)
            case AnswerInvitation():
                return await to_answer(self._assistant, arguments, last)
            case RequestLimits():
                return await to_share(self._assistant, arguments, last)
            case LeaveWaitlist():
                return await self._to_leave(arguments)
            case _:
                return None

    async def _to_hold(self, ask: HoldSlot, answer: Answer | None) -> Consent | Question:
        guest = self._assistant.guest
        document = await guest.document(ask.host)
        wanted = read_wanted(ask, document, guest.agent, guest.clock.now(), self._assistant.details)
        kept = await self._covering(document, wanted, asked_bytes(ask))
        if kept is not None:
            return consent_of(kept)
        if answer is not None:
            return consent_of(await self._assistant.keep(answer, expected_limits(wanted.draft, wanted.subject)))
        wanted_company(ask, document)  # nobody signs limits for what would be refused unseen
        await check_free(guest, document, wanted)
        return limits_question(wanted, document)

    async def _covering(self, document: Discovery, wanted: Wanted, asked: bytes) -> KeptMandate | None:
        """A live buying mandate that covers this hold: the one it was placed under already, else one not used up."""
        for hold in await self._book.open_holds():
            if hold.host == document.host and hold.asked == asked:
                return await self._book.mandate(hold.mandate)
        ask = Ask(
            action=Action.HOLD,
            host=document.host,
            agent=self._assistant.guest.agent,
            principal=self._assistant.principal,
            service_id=wanted.service.id,
            start=wanted.start,
            end=wanted.end,
            total=all_in(wanted.service, document.taxes),
        )
        for kept in await self._book.mandates("buying", document.host):
            if kept.jti not in self._assistant.signed_here:
                continue
            with contextlib.suppress(Refused):
                # Its status is the host's to ask.
                mandate = replace(verify_mandate(kept.token), standing="not_asked")
                check_mandate(mandate, ask, self._assistant.guest.clock.now())
                if await self._assistant.used_under(kept.jti) < (mandate.claims.constraints.max_bookings or 0):
                    return kept
        return None

    async def _to_wait(self, ask: JoinWaitlist, answer: Answer | None) -> Consent | Question:
        guest = self._assistant.guest
        document = await guest.document(ask.host)
        entry = await guest.entries.asked_before(document.host, asked_bytes(ask))
        if entry is not None:
            return await self._waits_under(entry)
        wait = read_wait(ask, document, guest.agent, guest.clock.now())
        for kept in await self._book.mandates("buying", document.host, wait.subject):
            if await self._assistant.used_under(kept.jti) < wait.draft.max_bookings:
                return consent_of(kept)
        if answer is not None:
            return consent_of(await self._assistant.keep(answer, expected_limits(wait.draft, wait.subject)))
        await check_taken(self._assistant, document, wait)
        return wait_question(wait, document)

    async def _to_leave(self, ask: LeaveWaitlist) -> Consent:
        """Leaving gives up a place and takes nothing: what was signed to wait is enough, expired or not."""
        entry = await self._assistant.guest.entries.find(ask.entry_id)
        if entry is None:
            raise refused("no_such_entry")
        return await self._waits_under(entry)

    async def _waits_under(self, entry: KeptEntry) -> Consent:
        kept = await self._book.mandate(entry.mandate)
        if kept is None:
            raise Corrupt("a waitlist entry without the mandate it waits under", entry.entry_id)
        return consent_of(kept)

    async def _to_book(self, ask: ApproveAndBook, answer: Answer | None) -> Consent | Question:
        hold = await self._book.hold(ask.hold_id)
        if hold is None:
            raise refused("no_hold")
        document = await self._assistant.guest.document(hold.host)
        booking = await self._became(document, hold)
        if booking is not None:
            await settle_management(self._assistant, booking, answer)
            return await self._agreed(booking)
        if hold.state != "held" or hold.expires <= self._assistant.guest.clock.now():
            raise refused("no_hold", "That hold is over: it was given back, or it ran out.")
        if ask.note is not None and not document.policies.notes.accepted:
            raise refused("notes_not_accepted", no_notes(document), place="$.note")
        may_skip = document.policies.closed_mandate == "never" and hold.mandate in self._assistant.signed_here
        if self._assistant.limits_only and may_skip:
            return await self._by_limits(hold)
        for kept in await self._book.mandates("closed", hold.host, hold.offer_sha256):
            return consent_of(kept)
        if answer is None:
            return await ask_offer(self._assistant, document, hold.offer)
        return await self._by_offer(document, hold, answer)

    async def _became(self, document: Discovery, hold: KeptHold) -> KeptBooking | None:
        """The booking of a hold; of one that ran out, also the booking whose confirmation we may have missed."""
        if hold.booking_id is not None:
            return await self._assistant.booking(hold.booking_id)
        if hold.state == "held" and hold.expires <= self._assistant.guest.clock.now():
            return await find_confirmed(self._assistant.guest, document, hold)
        return None

    async def _by_limits(self, hold: KeptHold) -> Consent:
        kept = await self._book.mandate(hold.mandate)
        if kept is None or kept.expires <= self._assistant.guest.clock.now():
            raise refused("mandate_expired")
        return consent_of(kept)

    async def _by_offer(self, document: Discovery, hold: KeptHold, answer: Answer) -> Consent:
        try:
            return consent_of(await self._assistant.keep(answer, expected_offer(hold.host, hold.offer_sha256)))
        except Refused:
            # A no to the offer is a no to the limits it was held under: what comes next is asked from the start.
            self._assistant.signed_here.discard(hold.mandate)
            await give_back(self._assistant.guest, document, hold)
            raise

    async def _agreed(self, booking: KeptBooking) -> Consent:
        """The evidence by which the contract in force was agreed, whether or not it has expired since."""
        kept = await self._book.mandate(booking.agreed)
        return consent_of(kept or await self._assistant.buying(booking))

    async def _to_keep_or_cancel(
        self, ask: CancelBooking | ReconfirmBooking, answer: Answer | None
    ) -> Consent | Question:
        booking = await self._assistant.booking(ask.booking_id)
        if isinstance(ask, ReconfirmBooking):
            return await self._to_reconfirm(booking, ask, answer)
        if booking.state == "cancelled":
            return await self._agreed(booking)
        return await self._to_manage(booking, Action.CANCEL, answer)

    async def _to_reconfirm(
        self, booking: KeptBooking, ask: ReconfirmBooking, answer: Answer | None
    ) -> Consent | Question:
        if is_settled(shown(booking), declined=ask.decline):
            return await self._agreed(booking)
        return await self._to_manage(booking, action_of(booking), answer)

    async def _to_manage(self, booking: KeptBooking, action: Action, answer: Answer | None) -> Consent | Question:
        kept = await self._assistant.managing(booking, action)
        if kept is not None:
            return consent_of(kept)
        if answer is None:
            document = await self._assistant.guest.document(booking.host)
            return await ask_management(self._assistant, document, booking)
        limits = await self._assistant.limits_of(booking)
        reconfirms = shown(booking).reconfirm is not None
        expected = expected_management(booking.host, booking.booking_id, limits, reconfirms=reconfirms)
        return consent_of(await self._assistant.keep(answer, expected))

    async def _to_change(self, ask: ChangeBooking, answer: Answer | None) -> Consent | Question:
        booking = await self._assistant.booking(ask.booking_id)
        start = read_moment(ask.start, find_zone(kept_terms(booking.offer).timezone), "start")
        now = self._assistant.guest.clock.now()
        changes = [each for each in await self._book.open_changes(booking.booking_id) if _starts(each, start)]
        if any(change.expires <= now for change in changes):
            # It ran out here; but it may have been accepted, and only the answer lost.
            document = await self._assistant.guest.document(booking.host)
            booking = await refresh(self._assistant.guest, document, booking)
        if booking.start == start:
            await settle_management(self._assistant, booking, answer)
            return await self._agreed(booking)
        waits = shown(booking).awaiting_host
        if waits is not None and parse_instant(waits.start) == start:
            await settle_management(self._assistant, booking, answer)
            return await self._agreed(booking)
        for change in changes:
            if change.expires > now:
                return await self._to_accept(booking, change, answer)
        return await self._to_manage(booking, Action.REQUEST_CHANGE, answer)

    async def _to_accept(self, booking: KeptBooking, change: KeptChange, answer: Answer | None) -> Consent | Question:
        for kept in await self._book.mandates("closed", booking.host, change.offer_sha256):
            return consent_of(kept)
        document = await self._assistant.guest.document(booking.host)
        if answer is None or await self._assistant.was_kept(answer):
            return await ask_offer(self._assistant, document, change.offer)
        expected = expected_offer(booking.host, change.offer_sha256, booking.booking_id)
        try:
            return consent_of(await self._assistant.keep(answer, expected))
        except Refused:
            with contextlib.suppress(PeerUnreachable, Refused):
                await abandon_change(self._assistant.guest, document, change)
            raise


def _starts(change: KeptChange, start: datetime) -> bool:
    return parse_instant(change.view.start) == start
