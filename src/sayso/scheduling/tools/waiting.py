"""What an assistant may do with waitlists: join, look, leave (spec sections 16.2 and 20; SCH-241, SCH-343)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.core.durations import write_duration
from sayso.core.instants import parse_instant, write_local
from sayso.core.money import write_money
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.core.zones import find_zone
from sayso.governance.consent import Consent, Question
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptEntry, KeptHold
from sayso.scheduling.guest.waiting import JoinAsk, join_waitlist, leave_waitlist, look_at_entry
from sayso.scheduling.terms.availability import Window
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import limits_text, verified_identity
from sayso.scheduling.terms.discovery import Discovery, Service
from sayso.scheduling.terms.draft import DRAFT_MEDIA_TYPE, LimitsDraft
from sayso.scheduling.terms.mandate import TimeWindow
from sayso.scheduling.terms.mandate_checks import LONGEST_BUYING
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.spoken import spoken_span
from sayso.scheduling.tools.arguments import JoinWaitlist, LeaveWaitlist, WaitlistStatus
from sayso.scheduling.tools.assistant import Assistant, kept_terms
from sayso.scheduling.tools.free import read_slots
from sayso.scheduling.tools.moments import read_moment, said_until
from sayso.scheduling.tools.results import hold_result
from sayso.scheduling.tools.wanted import all_in, asked_bytes, named_service, read_ceiling, span_of

__all__ = ("Wait", "WaitingOperations", "check_taken", "read_wait", "wait_question")

Result = Mapping[str, Any]
_OFFERED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What is waited for, and the draft of limits around it."""

    service: Service
    window: Window
    draft: LimitsDraft

    @property
    def document(self) -> bytes:
        """The draft's bytes, which the key app reads."""
        return strictjson.encode(self.draft)

    @property
    def subject(self) -> str:
        """The draft's hash: what a mandate for it is kept under."""
        return sha256_b64u(self.document)


def read_wait(ask: JoinWaitlist, document: Discovery, agent: str, now: datetime) -> Wait:
    """Refused: unknown_service, no_waitlist, outside_request, in_the_past."""
    service, zone = named_service(document, ask.service_id), find_zone(document.timezone)
    if document.waitlist is None:
        raise refused("no_waitlist", f"{named(document.title)} keeps no waitlist.")
    earliest = read_moment(ask.earliest_start, zone, "earliest_start")
    latest = read_moment(ask.latest_start, zone, "latest_start")
    if latest <= now:
        raise refused("in_the_past")
    if latest < earliest:
        raise refused("outside_request", "latest_start is before earliest_start.", place="$.latest_start")
    closes = latest + (span_of(service) or timedelta(minutes=1))
    total = all_in(service, document.taxes)
    ceiling = total if ask.max_price is None else read_ceiling(ask.max_price, total.currency if total else None)
    opens_text, closes_text = write_local(earliest, zone), write_local(closes, zone)
    draft = LimitsDraft(
        host=document.host,
        agent=agent,
        scope=("hold", "book", "cancel", "reschedule"),
        services=(service.id,),
        window=TimeWindow(not_before=opens_text, not_after=closes_text),
        max_bookings=1,
        lifetime=_lifetime(closes, now),
        max_price=None if ceiling is None else write_money(ceiling),
    )
    return Wait(service=service, window=Window(start=opens_text, end=closes_text), draft=draft)


def _lifetime(closes: datetime, now: datetime) -> str:
    """Whole days until the window is over (SCH-102): whole, so that a question asked twice stays the same question."""
    days = -(-(closes - now) // timedelta(days=1))
    return write_duration(min(timedelta(days=days), LONGEST_BUYING))


def wait_question(wait: Wait, document: Discovery) -> Question:
    """May the assistant hold and book whatever comes free within these limits?"""
    return Question(
        kind="limits",
        title=f"Let your assistant wait for time at {named(document.title)}, within limits?",
        text=limits_text(wait.draft, document),
        document=wait.document,
        media_type=DRAFT_MEDIA_TYPE,
    )


async def check_taken(assistant: Assistant, document: Discovery, wait: Wait) -> None:
    """Refused: slot_free, naming what is free, so that nobody is asked to wait for what they can have."""
    now = assistant.guest.clock.now()
    window = wait.window
    if parse_instant(window.start) <= now:
        window = Window(start=write_local(now, find_zone(document.timezone)), end=window.end)
    free = (await read_slots(assistant.guest, document, wait.service.id, window)).slots
    if free:
        raise refused("slot_free", details={"alternatives": msgspec.to_builtins(free[:_OFFERED])})


class WaitingOperations:
    """The three operations of one assistant."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant
        self._guest = assistant.guest

    async def join(self, ask: JoinWaitlist, consent: Consent | None) -> Result:
        """Waits under the limits that the person signed; the same arguments again are the same entry."""
        document, now = await self._guest.document(ask.host), self._guest.clock.now()
        wait = read_wait(ask, document, self._guest.agent, now)
        asked = asked_bytes(ask)
        entry = await self._guest.entries.asked_before(document.host, asked)
        if entry is None:
            request = JoinAsk(service_id=wait.service.id, window=wait.window, asked=asked)
            entry = await join_waitlist(self._guest, document, request, await self._assistant.signed(consent))
        return _entry_result(entry, None, document, now)

    async def status(self, ask: WaitlistStatus, consent: Consent | None) -> Result:
        """One entry or all of them, read again from their hosts; an offered hold can be booked like any other."""
        entries = list(await self._guest.entries.all()) if ask.entry_id is None else [await self._entry(ask.entry_id)]
        found = [await self._standing(entry) for entry in entries]
        return {"waiting": sum(each["status"] in ("waiting", "offered") for each in found), "entries": found}

    async def _standing(self, entry: KeptEntry) -> Result:
        document, now = await self._guest.document(entry.host), self._guest.clock.now()
        if not entry.is_open:
            return _entry_result(entry, None, document, now)
        try:
            looked, hold = await look_at_entry(self._guest, document, entry)
        except (Refused, PeerRefused, PeerUnreachable) as error:
            kept = _entry_result(entry, None, document, now)
            return {**kept, "warning": f"Not read again just now, so this is as it was kept here: {error}"}
        return _entry_result(looked, hold, document, now)

    async def leave(self, ask: LeaveWaitlist, consent: Consent | None) -> Result:
        """Leaves; an entry that is over is answered as it stands."""
        entry = await self._entry(ask.entry_id)
        document = await self._guest.document(entry.host)
        if entry.is_open:
            entry = await leave_waitlist(self._guest, document, entry)
        return _entry_result(entry, None, document, self._guest.clock.now())

    async def _entry(self, entry_id: str) -> KeptEntry:
        entry = await self._guest.entries.find(entry_id)
        if entry is None:
            raise refused("no_such_entry")
        return entry


_OUTCOMES = {
    "taken": "What was waited for is booked.",
    "left": "Left: nothing is waited for any more.",
    "lapsed": "Nothing came of it in time, and the place in line is over.",
}


def _entry_result(entry: KeptEntry, hold: KeptHold | None, document: Discovery, now: datetime) -> dict[str, Any]:
    """An entry in words; with an offered hold, that hold as `hold_slot` tells it."""
    view, zone = entry.view, find_zone(document.timezone)
    service = named_service(document, view.service_id)
    window = spoken_span(
        parse_instant(view.window.start), parse_instant(view.window.end), zone, joint=("between", "and")
    )
    answer: dict[str, Any] = {
        "outcome": view.status,
        "entry_id": entry.entry_id,
        "status": view.status,
        "what": f"{named(service.title)} at {verified_identity(document).said}",
        "window": window,
    }
    if view.status == "offered" and hold is not None:
        answer["offered"] = hold_result(hold, kept_terms(hold.offer), verified_identity(document), [], now)
        answer["next"] = "Time came free and is held: call approve_and_book with its hold_id before it runs out."
    elif view.status == "waiting":
        answer["waits_until"] = said_until(parse_instant(view.expires_at), zone, now)
        answer["next"] = "waitlist_status tells when time has come free; leave_waitlist ends the wait."
    else:
        answer["note"] = _OUTCOMES.get(view.status, view.status)
    return answer
