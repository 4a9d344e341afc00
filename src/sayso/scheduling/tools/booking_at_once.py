"""Booking in one act, for a person who is asked through a queue (design, The main job; GTW-030, GTW-032).

A decision may take hours and a hold lasts minutes, so nothing is held while the person has not answered. They sign
limits; then the act holds, checks the offer and confirms inside those limits. Only where the host insists on a
signature over its exact offer is the person asked once more, until the hold ends.

What belongs to one request is found by the mandate that was signed for it, never by what was asked: two requests in
the same words are two bookings, and one that is run again after a crash goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from sayso.core import strictjson
from sayso.core.instants import write_local
from sayso.core.refusal import Corrupt, PeerRefused, PeerUnreachable, Refused
from sayso.core.zones import find_zone
from sayso.governance.acts import Act, ActClass, Repeats
from sayso.governance.consent import Answer, Consent, Question
from sayso.scheduling.guest.holding import HoldAsk, place_hold
from sayso.scheduling.guest.kept import KeptBooking, KeptHold, KeptMandate
from sayso.scheduling.guest.settling import confirm, find_confirmed
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.tools.arguments import BookSlot
from sayso.scheduling.tools.asking import ask_offer
from sayso.scheduling.tools.assistant import Assistant, kept_terms
from sayso.scheduling.tools.company import wanted_company
from sayso.scheduling.tools.evidence import consent_of, expected_limits, expected_offer
from sayso.scheduling.tools.free import check_free
from sayso.scheduling.tools.operations import Result, hold_length
from sayso.scheduling.tools.questions import limits_question
from sayso.scheduling.tools.releasing import give_back
from sayso.scheduling.tools.results import booking_result, no_notes
from sayso.scheduling.tools.wanted import Wanted, may_tell, read_wanted

__all__ = ("BOOK_SLOT", "BookingAtOnce")

BOOK_SLOT = Act(
    name="book_slot",
    act_class=ActClass.EXECUTION,
    title="Booking a time",
    description=(
        "Books a slot from find_slots for the person, in one step. They are asked to sign the limits first (service, "
        "range of starts, ceiling), which may take hours, and nothing is held meanwhile: give the whole range they "
        "would accept. Where the host insists, they are asked once more for its exact offer. Give `max_price` and a "
        "`note` only as the person said them."
    ),
    arguments=BookSlot,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)


class BookingAtOnce:
    """The operation of `book_slot` and its consent source. Each call opens an assistant of its own, so that no limits
    signed for one request ever serve another.
    """

    def __init__(self, open_assistant: Callable[[], Assistant]) -> None:
        self._open = open_assistant

    # -- consent

    async def consent(
        self, act_name: str, arguments: msgspec.Struct, answers: Sequence[Answer]
    ) -> Consent | Question | None:
        """The limits, or the offer once that was asked for. Refused: as `consent.SchedulingConsent`."""
        if act_name != BOOK_SLOT.name or not isinstance(arguments, BookSlot):
            return None
        try:
            return await self._found(self._open(), arguments, answers)
        except PeerRefused as error:
            raise Refused(error.refusal) from None
        except PeerUnreachable as error:
            raise refused("host_unreachable", f"{error}.") from None

    async def _found(self, assistant: Assistant, ask: BookSlot, answers: Sequence[Answer]) -> Consent | Question:
        begun = await _begun(assistant, ask, answers[0]) if answers else None
        if begun is not None:
            return await self._under(assistant, begun, answers[1:])
        document = await assistant.guest.document(ask.host)
        wanted = _wanted(assistant, ask, document)
        if answers:
            return consent_of(await assistant.keep(answers[0], expected_limits(wanted.draft, wanted.subject)))
        wanted_company(ask, document)
        if ask.note is not None and not document.policies.notes.accepted:
            raise refused("notes_not_accepted", no_notes(document), place="$.note")
        await check_free(assistant.guest, document, wanted)
        return limits_question(wanted, document)

    async def _under(self, assistant: Assistant, hold: KeptHold, later: Sequence[Answer]) -> Consent:
        """The limits a hold was placed under, or what was signed since over its offer."""
        if not later:
            limits = await assistant.guest.book.mandate(hold.mandate)
            if limits is None:
                raise Corrupt("a hold without the mandate it was placed under", hold.hold_id)
            return consent_of(limits)
        for kept in await assistant.guest.book.mandates("closed", hold.host, hold.offer_sha256):
            return consent_of(kept)
        try:
            return consent_of(await assistant.keep(later[-1], expected_offer(hold.host, hold.offer_sha256)))
        except Refused:
            await give_back(assistant.guest, await assistant.guest.document(hold.host), hold)
            raise

    # -- the operation

    async def book(self, ask: BookSlot, consent: Consent | None) -> Result | Question:
        """Holds and confirms under what was signed; the offer as a question where the host wants it signed.

        Refused: no_hold where the offer ran out meanwhile, and as `hold_slot` and `approve_and_book`.
        """
        assistant = self._open()
        document = await assistant.guest.document(ask.host)
        mandate = await assistant.signed(consent)
        hold = await _of(assistant, mandate)
        booking = None if hold is None else await _became(assistant, document, hold)
        if booking is None:
            hold = await self._held(assistant, document, ask, mandate, hold)
            if mandate.kind != "closed" and document.policies.closed_mandate != "never":
                question = await ask_offer(assistant, document, hold.offer)
                return msgspec.structs.replace(question, expires=hold.expires)
            told = hold if assistant.said is None else replace(hold, details=assistant.said)
            booking = await confirm(assistant.guest, document, told, mandate, ask.note)
        outcome = "requested" if booking.state in ("pending_host", "tentative") else booking.state
        return booking_result(
            booking,
            kept_terms(booking.offer),
            verified_identity(document),
            outcome,
            managed=booking.managed is not None,
        )

    async def _held(
        self, assistant: Assistant, document: Discovery, ask: BookSlot, mandate: KeptMandate, hold: KeptHold | None
    ) -> KeptHold:
        """The hold that is open under the mandate, else a new one; what was signed over an offer needs its own hold."""
        if hold is not None and hold.state == "held" and hold.expires > assistant.guest.clock.now():
            return hold
        if mandate.kind == "closed":
            raise refused("no_hold", "The hold whose offer was signed is over: it was given back, or it ran out.")
        wanted = _wanted(assistant, ask, document)
        request = HoldAsk(
            service_id=wanted.service.id,
            start=write_local(wanted.start, find_zone(document.timezone)),
            ttl=hold_length(document),
            asked=_asked(ask),
            resource=wanted.resource,
            company=wanted_company(ask, document),
            details=assistant.details if may_tell(wanted, document, mandate.token) else None,
        )
        return await place_hold(assistant.guest, document, request, mandate)


def _wanted(assistant: Assistant, ask: BookSlot, document: Discovery) -> Wanted:
    return read_wanted(ask, document, assistant.guest.agent, assistant.guest.clock.now(), assistant.details)


def _asked(ask: BookSlot) -> bytes:
    return strictjson.encode({BOOK_SLOT.name: ask})


async def _begun(assistant: Assistant, ask: BookSlot, answer: Answer) -> KeptHold | None:
    """The hold that was placed for this very request under the limits it carries: what it asks may lie behind by now,
    so it is not read again.
    """
    kept = None if answer.document is None else await assistant.kept(answer.document)
    hold = None if kept is None else await _newest(assistant, kept.jti)
    return hold if hold is not None and hold.asked == _asked(ask) else None


async def _newest(assistant: Assistant, jti: str) -> KeptHold | None:
    holds = await assistant.guest.book.holds_under(jti)
    return holds[0] if holds else None


async def _of(assistant: Assistant, mandate: KeptMandate) -> KeptHold | None:
    """The hold that a mandate belongs to: the newest under limits, the one whose offer was signed."""
    if mandate.kind != "closed":
        return await _newest(assistant, mandate.jti)
    return await assistant.guest.book.hold_of_offer(mandate.subject)


async def _became(assistant: Assistant, document: Discovery, hold: KeptHold) -> KeptBooking | None:
    """The booking of a hold; of one that ran out, also the booking whose confirmation may have been missed."""
    if hold.booking_id is not None:
        return await assistant.booking(hold.booking_id)
    if hold.state == "held" and hold.expires <= assistant.guest.clock.now():
        return await find_confirmed(assistant.guest, document, hold)
    return None
