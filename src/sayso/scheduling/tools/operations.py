"""The seven operations of scheduling, plain async functions over one assistant (spec section 16).

Each takes its closed arguments and the consent that governance decided on, and answers plain JSON or, where a signature
is missing midway, the question to ask. Each can be called again after a crash with the same arguments: what was done
is found in the guest's memory and not done twice. MCP is one transport of them; none of them knows any.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant, write_local
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.core.zones import find_zone
from sayso.governance.consent import Consent, Question
from sayso.scheduling.guest.holding import HoldAsk, place_hold
from sayso.scheduling.guest.kept import KeptBooking, KeptChange, KeptHold, KeptMandate
from sayso.scheduling.guest.moving import accept_change, read_proposal, request_change
from sayso.scheduling.guest.reading import refresh
from sayso.scheduling.guest.settling import cancel, confirm
from sayso.scheduling.guest.shown import shown
from sayso.scheduling.terms.availability import Window
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import Identity, verified_identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.identity import vouching_domain
from sayso.scheduling.terms.mandate_checks import Action
from sayso.scheduling.tools.arguments import (
    ApproveAndBook,
    BookingStatus,
    CancelBooking,
    ChangeBooking,
    DiscoverHost,
    FindSlots,
    HoldSlot,
    ReconfirmBooking,
)
from sayso.scheduling.tools.asking import ask_management, ask_offer, is_managed
from sayso.scheduling.tools.assistant import Assistant, kept_terms
from sayso.scheduling.tools.company import wanted_company
from sayso.scheduling.tools.free import read_slots
from sayso.scheduling.tools.invitations import InvitationOperations
from sayso.scheduling.tools.moments import read_moment
from sayso.scheduling.tools.reconfirming import answer_again, is_settled
from sayso.scheduling.tools.releasing import give_back
from sayso.scheduling.tools.results import booking_result, hold_result, host_result, hosts_result, slots_result
from sayso.scheduling.tools.sharing import SharingOperations
from sayso.scheduling.tools.waiting import WaitingOperations
from sayso.scheduling.tools.wanted import (
    asked_bytes,
    differences,
    may_tell,
    named_resource,
    named_service,
    read_wanted,
    span_of,
)

__all__ = ("Operations", "Result", "hold_length")

HELD_FOR = timedelta(minutes=5)
"""What is asked for a hold and for a change offer; hosts grant at most their own ceiling."""

Result = Mapping[str, Any]

_LIVE = ("confirmed", "pending_host", "tentative")
_MARKED_WITHIN = timedelta(days=9)
"""Seven days after the end; an appointment lasts a day at most, and a day more costs nothing."""


class Operations:
    """The operations of one assistant. Holds placed by this instance are its to give back at the end."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant
        self._guest = assistant.guest
        self._book = assistant.guest.book
        self._placed: set[str] = set()
        self.waiting = WaitingOperations(assistant)
        self.invitations = InvitationOperations(assistant)
        self.sharing = SharingOperations(assistant)

    async def discover_host(self, ask: DiscoverHost, consent: Consent | None) -> Result:
        """One known host, or all of them. Refused: no_hosts, host_unknown, host_not_authorised."""
        now = self._guest.clock.now()
        if ask.host is not None:
            return hosts_result([host_result(await self._guest.document(ask.host), now)], [])
        found, unreachable = [], []
        for host in await self._book.hosts():
            try:
                found.append(host_result(await self._guest.document(host.host), now))
            except (Refused, PeerRefused, PeerUnreachable) as error:
                unreachable.append(f"{host.host}: {error}")
        return hosts_result(found, unreachable)

    async def find_slots(self, ask: FindSlots, consent: Consent | None) -> Result:
        """Free starts in a range. Refused: unknown_service, unknown_resource, outside_request, in_the_past."""
        document = await self._guest.document(ask.host)
        service, zone = named_service(document, ask.service_id), find_zone(document.timezone)
        now = self._guest.clock.now()
        earliest = max(read_moment(ask.earliest_start, zone, "earliest_start"), now)
        latest = read_moment(ask.latest_start, zone, "latest_start")
        if latest <= now:
            raise refused("in_the_past")
        if latest < earliest:
            raise refused("outside_request", "latest_start is before earliest_start.", place="$.latest_start")
        closes = latest + (span_of(service) or timedelta(minutes=1))
        window = Window(start=write_local(earliest, zone), end=write_local(closes, zone))
        chosen = named_resource(document, service, ask.named)
        found = await read_slots(self._guest, document, service.id, window, None if chosen is None else chosen.id)
        return slots_result(document, service, (earliest, closes), found, chosen)

    async def hold_slot(self, ask: HoldSlot, consent: Consent | None) -> Result:
        """Keeps a slot for a few minutes, under the limits that the person signed."""
        document, now = await self._guest.document(ask.host), self._guest.clock.now()
        wanted = read_wanted(ask, document, self._guest.agent, now, self._assistant.details)
        hold = await self._placed_before(document, ask)
        if hold is None:
            mandate = await self._mandate_of(consent)
            request = HoldAsk(
                service_id=wanted.service.id,
                start=write_local(wanted.start, find_zone(document.timezone)),
                ttl=hold_length(document),
                asked=asked_bytes(ask),
                resource=wanted.resource,
                company=wanted_company(ask, document),
                details=self._assistant.details if may_tell(wanted, document, mandate.token) else None,
            )
            hold = await place_hold(self._guest, document, request, mandate)
        self._placed.add(hold.hold_id)
        terms = kept_terms(hold.offer)
        differs = differences(wanted, document, terms.total)
        return hold_result(hold, terms, verified_identity(document), differs, now)

    async def _placed_before(self, document: Discovery, ask: HoldSlot) -> KeptHold | None:
        asked = asked_bytes(ask)
        holds = await self._book.open_holds()
        return next((hold for hold in holds if hold.host == document.host and hold.asked == asked), None)

    async def _mandate_of(self, consent: Consent | None) -> KeptMandate:
        return await self._assistant.signed(consent)

    async def approve_and_book(self, ask: ApproveAndBook, consent: Consent | None) -> Result | Question:
        """Confirms a hold, then asks once whether the assistant may manage the booking. Never confirms twice."""
        hold = await self._book.hold(ask.hold_id)
        if hold is None:
            raise refused("no_hold")
        document = await self._guest.document(hold.host)
        if hold.booking_id is None:
            mandate = await self._mandate_of(consent)
            told = hold if self._assistant.said is None else replace(hold, details=self._assistant.said)
            booking = await confirm(self._guest, document, told, mandate, ask.note)
        else:
            booking = await self._assistant.booking(hold.booking_id)
        self._placed.discard(hold.hold_id)
        return await self._finish(document, booking, "confirmed")

    async def _finish(self, document: Discovery, booking: KeptBooking, outcome: str) -> Result | Question:
        if not is_managed(booking):
            return await ask_management(self._assistant, document, booking)
        managed = await self._assistant.managing(booking, Action.CANCEL) is not None
        said = "requested" if booking.state in ("pending_host", "tentative") else outcome
        return booking_result(booking, kept_terms(booking.offer), verified_identity(document), said, managed=managed)

    async def cancel_booking(self, ask: CancelBooking, consent: Consent | None) -> Result:
        """Cancels for free. A booking that is cancelled already is answered as it stands."""
        booking = await self._assistant.booking(ask.booking_id)
        document = await self._guest.document(booking.host)
        if booking.state != "cancelled":
            mandate = await self._mandate_of(consent)
            booking = await cancel(self._guest, document, booking, mandate, ask.message)
        return booking_result(
            booking, kept_terms(booking.offer), verified_identity(document), "cancelled", managed=True
        )

    async def reconfirm_booking(self, ask: ReconfirmBooking, consent: Consent | None) -> Result:
        """Says again that the person is coming, or that they are not. Answered already: as it stands."""
        booking = await self._assistant.booking(ask.booking_id)
        document = await self._guest.document(booking.host)
        if not is_settled(shown(booking), declined=ask.decline):
            mandate = await self._mandate_of(consent)
            booking = await answer_again(self._assistant, document, booking, mandate, declined=ask.decline)
        outcome = "reconfirmed" if shown(booking).reconfirmed is not None and not ask.decline else booking.state
        return booking_result(booking, kept_terms(booking.offer), verified_identity(document), outcome, managed=True)

    async def change_booking(self, ask: ChangeBooking, consent: Consent | None) -> Result | Question:
        """Moves a booking: asks the host for an offer, the person for its approval, and accepts it by its hash."""
        booking = await self._assistant.booking(ask.booking_id)
        document = await self._guest.document(booking.host)
        start = read_moment(ask.start, find_zone(kept_terms(booking.offer).timezone), "start")
        if booking.start == start:
            return await self._finish(document, booking, "moved" if booking.sequence else "confirmed")
        inside = shown(booking)
        if inside.awaiting_host is not None:
            if parse_instant(inside.awaiting_host.start) != start:
                raise refused("move_awaits_host")
            return await self._finish(document, booking, "requested")
        change = await self._open_change(booking, start)
        mandate = await self._mandate_of(consent)
        if change is None:
            if start <= self._guest.clock.now():
                raise refused("in_the_past")
            local = write_local(start, find_zone(document.timezone))
            offered = inside.proposed
            if offered is not None and parse_instant(offered.start) == start:
                change = await read_proposal(self._guest, document, booking, offered, mandate)
            else:
                change = await request_change(self._guest, document, booking, local, hold_length(document), mandate)
            return await ask_offer(self._assistant, document, change.offer)
        if mandate.kind != "closed" or mandate.subject != change.offer_sha256:
            return await ask_offer(self._assistant, document, change.offer)
        moved = await accept_change(self._guest, document, booking, change, mandate)
        return await self._finish(document, moved, "moved" if moved.sequence > booking.sequence else "requested")

    async def _open_change(self, booking: KeptBooking, start: datetime) -> KeptChange | None:
        """The live change offer for that start; any other is forgotten, as the host drops it too."""
        found = None
        for change in await self._book.open_changes(booking.booking_id):
            if parse_instant(change.view.start) == start and change.expires > self._guest.clock.now():
                found = change
            else:
                await self._book.mark_dropped(change.offer_id)
        return found

    async def booking_status(self, ask: BookingStatus, consent: Consent | None) -> Result:
        """One booking or all of them, read again from their hosts where those answer."""
        if ask.booking_id is not None:
            kept = [await self._assistant.booking(ask.booking_id)]
        else:
            kept = list(await self._book.bookings())
        found = [await self._standing(booking) for booking in kept]
        now = self._guest.clock.now()
        upcoming = [each for each, booking in zip(found, kept, strict=True) if _is_upcoming(each, booking, now)]
        return {"upcoming": len(upcoming), "bookings": found}

    async def _standing(self, booking: KeptBooking) -> Result:
        note = None
        if booking.state in _LIVE or self._may_be_marked(booking):
            try:
                booking = await refresh(self._guest, await self._guest.document(booking.host), booking)
            except (Refused, PeerRefused, PeerUnreachable) as error:
                note = f"Not read again just now, so this is as it was kept here: {error}"
        terms = kept_terms(booking.offer)
        listed = any(host.is_listed for host in await self._book.hosts() if host.host == terms.iss)
        domain = vouching_domain(terms.iss)
        identity = Identity(title=terms.title, domain=domain, is_verified=True, is_listed=listed)
        managed = await self._assistant.managing(booking, Action.CANCEL) is not None
        answer = booking_result(booking, terms, identity, booking.state, managed=managed)
        return {**answer, "warning": note} if note else answer

    def _may_be_marked(self, booking: KeptBooking) -> bool:
        """Whether the host may still mark, or correct, who came (SCH-212)."""
        since = self._guest.clock.now() - booking.start
        return booking.state in ("completed", "no_show") and since < _MARKED_WITHIN

    async def release_open_holds(self) -> Sequence[str]:
        """Gives back whatever this instance holds and has not booked; the ids of those it gave back."""
        released = []
        for hold in await self._book.open_holds():
            if hold.hold_id in self._placed:
                with contextlib.suppress(Refused, PeerRefused, PeerUnreachable):
                    await give_back(self._guest, await self._guest.document(hold.host), hold)
                    released.append(hold.hold_id)
        self._placed.clear()
        return released


def hold_length(document: Discovery) -> timedelta:
    """How long a hold is asked for at a host."""
    return max(HELD_FOR, parse_duration(document.policies.holds.ttl_min))


def _is_upcoming(answer: Result, booking: KeptBooking, now: datetime) -> bool:
    return answer["status"] in _LIVE and booking.start > now
