"""The waitlist entry machine, and what joining and offering come to.

Theory. An entry waits for time that is taken now and may come free. It is born `waiting` and is offered time at most
once: a hold the host places for it, under the mandate the waiter already gave. The entry then goes where that hold
goes: confirmed, it is `taken`; released, it is `left`; run out, it is `lapsed`, and the time goes to the next in line
(SCH-240). A waiter who still wants to wait joins again, at the end. Waiting itself ends at `expires_at`, the last start
that could still be given, or the end of the mandate, which is earlier; an agent may leave at any time before.

Nothing waits for what is free: whoever asks while a start is left in the window is told to hold it. So freed time is
all that has to be looked at, and the first entry in order of joining that it suits gets it (SCH-239).

SCH-237 to SCH-242, SCH-250. Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from sayso.core.instants import parse_instant, write_instant, write_local
from sayso.core.refusal import Misuse
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft, Link
from sayso.scheduling.rules.availability import AvailabilityAsk, FreeSlot, availability
from sayso.scheduling.rules.decision import Decision
from sayso.scheduling.rules.picture import Picture
from sayso.scheduling.rules.placing import HoldWish, PlaceHold, read_wish
from sayso.scheduling.rules.profile import HostProfile
from sayso.scheduling.rules.slots import write_slots
from sayso.scheduling.rules.spans import Span, length, micros
from sayso.scheduling.terms.availability import MAX_WINDOW_DAYS, Window
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import HoldRequest, HoldView
from sayso.scheduling.terms.mandate_checks import Action, Ask, Mandate
from sayso.scheduling.terms.waitlist import JoinRequest, WaitlistEntry

__all__ = (
    "TABLE",
    "Command",
    "Entry",
    "EntryState",
    "JoinWish",
    "Lapse",
    "Leave",
    "Offer",
    "StoredEntry",
    "Take",
    "ask_to_wait",
    "check_entries",
    "entry_record",
    "entry_view",
    "join",
    "moved",
    "offer_for",
    "read_join",
    "starts_in",
    "step",
)

WAITLIST_JOINED = declare("waitlist.joined", "A guest's agent waits for time to come free, under a mandate.")
WAITLIST_OFFERED = declare("waitlist.offered", "Time that came free is held for the first guest in line it suits.")
WAITLIST_ENDED = declare("waitlist.ended", "A waitlist entry was taken up, left or ran out.")
_LONGEST_WINDOW = timedelta(days=MAX_WINDOW_DAYS)
_ALTERNATIVES = 5


class EntryState(Enum):
    """Where an entry stands; the values are the wire's words."""

    WAITING = "waiting"
    """Nothing came free yet that suits it."""
    OFFERED = "offered"
    """Time is held for it."""
    TAKEN = "taken"
    """The offered hold was confirmed."""
    LEFT = "left"
    """The agent left, or gave the offered time back."""
    LAPSED = "lapsed"
    """The offered hold, or the time to wait, ran out."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Time that came free is held for the entry."""


@dataclass(frozen=True, slots=True)
class Take:
    """The offered hold was confirmed."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The agent leaves, or releases what was offered."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """The offered hold ran out, or waiting has no time left."""


Command = Offer | Take | Leave | Lapse

TABLE: Final[Mapping[EntryState, Mapping[type[Command], EntryState]]] = {
    EntryState.WAITING: {
        Offer: EntryState.OFFERED,
        Leave: EntryState.LEFT,
        Lapse: EntryState.LAPSED,
    },
    EntryState.OFFERED: {
        Take: EntryState.TAKEN,
        Leave: EntryState.LEFT,
        Lapse: EntryState.LAPSED,
    },
    EntryState.TAKEN: {},
    EntryState.LEFT: {},
    EntryState.LAPSED: {},
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What the machine knows of an entry. `expires_at` ends waiting; what is offered ends with its hold."""

    state: EntryState
    version: int
    expires_at: datetime


def step(entry: Entry, command: Command, now: datetime) -> Entry:
    """The entry after a command, one version later. Misuse for one that its state does not know: callers look first.

    Time is offered before `expires_at` and not at it, and waiting lapses at it and not before.
    """
    target = TABLE[entry.state].get(type(command))
    over = now >= entry.expires_at
    too_late = isinstance(command, Offer) and over
    too_early = isinstance(command, Lapse) and entry.state is EntryState.WAITING and not over
    if target is None or too_late or too_early:
        raise Misuse(f"an entry that is {entry.state.value} does not know {type(command).__name__} now")
    return replace(entry, state=target, version=entry.version + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry:
    """An entry as it is kept. `token` is the mandate as presented: what time is offered under. `request` is the wish,
    word for word; `hold_id` the hold placed for it.
    """

    entry_id: str
    machine: Entry
    request: JoinRequest
    agent: str
    principal: str
    mandate: str
    token: str
    joined_at: datetime
    hold_id: str | None = None


def moved(entry: StoredEntry, command: Command, hold_id: str | None, now: datetime) -> StoredEntry:
    """The entry after a command, with the hold placed for it. Misuse as `step`."""
    return replace(entry, machine=step(entry.machine, command, now), hold_id=hold_id)


@dataclass(frozen=True, slots=True)
class JoinWish:
    """A join request in values: the wish as for a hold (its start is the window's), and the window's end."""

    wish: HoldWish
    end: datetime

    @property
    def window(self) -> Span:
        return Span(micros(self.wish.start), micros(self.end))


def read_join(profile: HostProfile, request: JoinRequest) -> JoinWish:
    """Refused: as `placing.read_wish`, window_invalid, window_too_short (SCH-238)."""
    wish = read_wish(
        profile,
        HoldRequest(
            idempotency_key=request.idempotency_key,
            service_id=request.service_id,
            start=request.window.start,
            ttl="PT1M",  # how long time is held for a waiter is the host's to say
            resource_id=request.resource_id,
            place=request.place,
            callback_url=request.callback_url,
        ),
    )
    end = parse_instant(request.window.end)
    if not timedelta(0) < end - wish.start <= _LONGEST_WINDOW:
        raise refused("window_invalid", place="$.window")
    if wish.service.duration is not None and end - wish.start < wish.service.duration:
        raise refused("window_too_short", place="$.window")
    return JoinWish(wish, end)


def ask_to_wait(profile: HostProfile, wanted: JoinWish, agent: str, action: Action) -> Ask:
    """What the mandate is asked to allow: the whole window, not only some time within it (SCH-237)."""
    price = profile.quotes[wanted.wish.service.id]
    return Ask(
        action=action,
        host=profile.host,
        agent=agent,
        service_id=wanted.wish.service.id,
        start=wanted.wish.start,
        end=wanted.end,
        total=None if price is None else price.total,
    )


def check_entries(of_agent: int, most: int | None) -> None:
    """Refused: no_waitlist where the host keeps none, too_many_entries at its cap per agent (SCH-153, SCH-237)."""
    if most is None:
        raise refused("no_waitlist")
    if of_agent >= most:
        raise refused("too_many_entries")


def join(
    profile: HostProfile,
    picture: Picture,
    wanted: JoinWish,
    request: JoinRequest,
    mandate: Mandate,
    *,
    entry_id: str,
    agent: str,
    expires: datetime,
    now: datetime,
) -> Decision[StoredEntry, WaitlistEntry]:
    """A new entry, last in line. `expires` is the mandate's end, of a chain the earliest.

    Refused: not_bookable, for a window in which nothing is ever given; slot_free, naming what is free in it now.
    """
    service = wanted.wish.service
    ask = AvailabilityAsk(service, wanted.window, wanted.wish.named)
    if wanted.end > now + profile.premises.horizon or not availability(replace(picture, busy=()), ask, now):
        raise refused("not_bookable", place="$.window")
    free = availability(picture, ask, now)
    if free:
        offered = write_slots(profile, service, free[:_ALTERNATIVES])
        raise refused("slot_free", place="$.window", details={"alternatives": offered})
    last_start = wanted.end if service.duration is None else wanted.end - service.duration
    entry = StoredEntry(
        entry_id=entry_id,
        machine=Entry(EntryState.WAITING, 1, min(last_start, expires)),
        request=request,
        agent=agent,
        principal=mandate.principal,
        mandate=mandate.claims.jti,
        token=mandate.token,
        joined_at=now,
    )
    return Decision(
        state=entry, records=(entry_record(WAITLIST_JOINED, entry, mandate),), reply=entry_view(profile, entry, None)
    )


def starts_in(profile: HostProfile, picture: Picture, wanted: JoinWish, freed: Span, now: datetime) -> list[FreeSlot]:
    """The starts inside the waiter's window that use time just freed: at its very start first, then in order.

    An offer never runs past the waiter's window: availability ends every slot inside it (SCH-240).
    """
    service = wanted.wish.service
    reach = length(service.duration) if service.duration is not None else 0
    near = Span(max(wanted.window.start, freed.start - reach), min(wanted.window.end, freed.end + reach))
    if near.start >= near.end:
        return []
    slots = availability(picture, AvailabilityAsk(service, near, wanted.wish.named), now)
    using = [slot for slot in slots if slot.start < freed.end and (slot.end is None or slot.end > freed.start)]
    return sorted(using, key=lambda slot: (slot.start != freed.start, slot.start))


def offer_for(
    entry: StoredEntry,
    wanted: JoinWish,
    mandate: Mandate,
    *,
    start: datetime,
    ttl: timedelta,
    hold_id: str,
    offer_id: str,
    proven: bool,
    prefer: tuple[str, ...],
    attester: str | None = None,
) -> PlaceHold:
    """The hold to place for an entry: like the agent's own, on the freed units where it can be (SCH-239)."""
    return PlaceHold(
        wish=replace(wanted.wish, start=start, ttl=ttl),
        hold_id=hold_id,
        offer_id=offer_id,
        agent=entry.agent,
        mandate=mandate,
        proven=proven,
        ttl=ttl,
        prefer=prefer,
        attester=attester,
    )


def entry_view(profile: HostProfile, entry: StoredEntry, hold: HoldView | None) -> WaitlistEntry:
    """The entry as its agent sees it."""
    zone = profile.premises.zone
    window = entry.request.window
    return WaitlistEntry(
        entry_id=entry.entry_id,
        status=entry.machine.state.value,
        version=entry.machine.version,
        service_id=entry.request.service_id,
        window=Window(
            start=write_local(parse_instant(window.start), zone), end=write_local(parse_instant(window.end), zone)
        ),
        joined_at=write_instant(entry.joined_at),
        expires_at=write_instant(entry.machine.expires_at),
        resource_id=entry.request.resource_id,
        hold=hold,
    )


def entry_record(kind: str, entry: StoredEntry, mandate: Mandate | None = None) -> Draft:
    """What the host's own log keeps of an entry."""
    body = {"entry_id": entry.entry_id, "status": entry.machine.state.value, "mandate": entry.mandate}
    if entry.hold_id is not None:
        body["hold_id"] = entry.hold_id
    links = () if mandate is None else (Link("mandate", mandate.sha256),)
    return Draft(kind=kind, actor=entry.principal, links=links, body=body)
