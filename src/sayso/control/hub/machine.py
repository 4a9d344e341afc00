"""One session of the hub, as decisions: what was asked, answered and told goes in, what to wake and send comes out.

Theory. Two machines. The *session* is open, then closed; while open its conversation is judged by
`control.protocol.machine`, so nothing that is illegal is ever journalled. A *subscription* is live and ends once, by
the run's terminal, by overflow, by a gap, or because the session closed. It owns no copy of anything: it is a position
in the journal. What stood there when it began is replay and may be long; what came since is its mailbox, at most
`MAILBOX` entries. The entry that would be one more ends the subscription: it still gets what was in its mailbox, and
then the overflow with the last sequence it really got. So a subscriber that does not read costs an integer, and a run
never waits for anybody.

A subscription follows the session, not a run: at a terminal it ends, unless another run was admitted by then. One that
was opened on the cursor of a run that had ended follows that run alone.

Interactions are claimed before the adapter is asked, so of two answers at once the second is refused, whatever the
adapter would have said.

Not here: who carries bytes (bindings), who runs the adapter (session), and what an envelope looks like (protocol).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sayso.control.hub.journal import Entry, Journal
from sayso.control.protocol.conversation import ENDED, Conversation, Illegal, Run
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine import observe, resolve_fault, run_of
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse
from sayso.core.refusal import Refused

__all__ = (
    "MAILBOX",
    "PARTICIPANT",
    "TABLE",
    "Answer",
    "Ask",
    "Claim",
    "Close",
    "Cursor",
    "Deliver",
    "Drop",
    "Effect",
    "End",
    "Ending",
    "HangUp",
    "HubSessionMachine",
    "Release",
    "SessionPhase",
    "Subscribe",
    "Take",
    "TellEvent",
    "Wake",
)

MAILBOX = 64
PARTICIPANT = "user"
"""Who the hub is to an adapter (OAP-085)."""

# --- states ----------------------------------------------------------------------------------------------------------


class SessionPhase(Enum):
    """Whether a session takes requests."""

    OPEN = "open"
    CLOSED = "closed"


class Ending(Enum):
    """Why a subscription ends."""

    TERMINAL = "terminal"
    """The run is over."""
    OVERFLOW = "overflow"
    """It fell behind."""
    GAP = "gap"
    """What it asked for is no longer kept."""
    CLOSED = "closed"
    """The session or the hub closed."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position: after which sequence, of which run; without a run the current one is meant."""

    after: int
    run_id: str | None = None


@dataclass(slots=True)
class Subscription:
    """One reader's position. `ends_at` is the index it still reads up to once `ending` is decided."""

    position: int
    replayed_to: int
    only_run: str | None = None
    joined: tuple[str, int] | None = None
    got: tuple[str, int] | None = None
    ending: Ending | None = None
    ends_at: int = 0
    bounds: tuple[int, int] | None = None


# --- commands --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ask:
    """A request came in."""

    request: Envelope[Wire]


@dataclass(frozen=True, slots=True)
class Answer:
    """A request was answered."""

    response: Envelope[Wire]


@dataclass(frozen=True, slots=True)
class TellEvent:
    """The adapter told an event; `data` are its bytes."""

    envelope: Envelope[Wire]
    data: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """An answer to an interaction is about to go to the adapter."""

    request: Envelope[Wire]


@dataclass(frozen=True, slots=True)
class Release:
    """The adapter has dealt with that answer."""

    request: Envelope[Wire]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A reader comes."""

    name: str
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class Take:
    """A reader is ready for at most `limit` entries."""

    name: str
    limit: int = MAILBOX


@dataclass(frozen=True, slots=True)
class Drop:
    """A reader has gone."""

    name: str


@dataclass(frozen=True, slots=True)
class HangUp:
    """All readers are to end, with what is in flight; the session goes on."""


@dataclass(frozen=True, slots=True)
class Close:
    """The session ends, and with it all readers."""


# --- effects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wake:
    """A reader has something to take."""

    name: str


@dataclass(frozen=True, slots=True)
class Deliver:
    """Send these entries to this reader; `joined` comes before the first of a run that was under way."""

    name: str
    entries: tuple[Entry, ...]
    joined: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class End:
    """Tell this reader why its stream ends: `at` is its last position, `bounds` the oldest and latest still kept."""

    name: str
    why: Ending
    at: tuple[str, int] | None = None
    bounds: tuple[int, int] | None = None


Effect = Wake | Deliver | End


@dataclass(slots=True)
class HubSessionMachine:
    """The state of one session. `apply` is the only thing that changes it."""

    journal: Journal = field(default_factory=Journal)
    conversation: Conversation = field(default_factory=Conversation)
    phase: SessionPhase = SessionPhase.OPEN
    current: str | None = None
    """The run that was admitted last."""
    claims: set[str] = field(default_factory=set)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)

    def apply(self, command: object) -> list[Effect]:
        """What one command leads to. Raises `Refused` (nothing has changed), and for an illegal envelope `Illegal`."""
        act = TABLE.get((self.phase, type(command)))
        if act is None:
            raise Refused.because("session_closed", "the session is closed")
        return act(self, command)

    # --- conditions ---

    def run(self, run_id: str) -> Run:
        """Raises `Refused` `run_not_found`."""
        run = run_of(self.conversation, run_id)
        if run is None:
            raise Refused.because("run_not_found", "this session never had that run")
        return run

    @property
    def live_runs(self) -> Mapping[str, Run]:
        """Admitted runs that have not ended."""
        return self.conversation.runs


# --- steps -----------------------------------------------------------------------------------------------------------


def _ask(machine: HubSessionMachine, command: Ask) -> list[Effect]:
    try:
        machine.conversation = observe(machine.conversation, command.request)
    except Illegal as illegal:
        codes = illegal.refusal.details["codes"]
        raise Refused.because(
            "scope_mismatch" if "scope_mismatch" in codes else "invalid_request", illegal.refusal.message
        ) from None
    return []


def _answer(machine: HubSessionMachine, command: Answer) -> list[Effect]:
    machine.conversation = observe(machine.conversation, command.response)
    payload = command.response.payload
    if isinstance(payload, MessageSubmitResponse) and payload.accepted:
        machine.current = payload.run_id or machine.current
    return []


def _tell(machine: HubSessionMachine, command: TellEvent) -> list[Effect]:
    machine.conversation = observe(machine.conversation, command.envelope)
    run_id, sequence = str(command.envelope.run_id), int(command.envelope.sequence or 0)
    machine.journal.append(Entry(run_id, sequence, command.envelope, command.data))
    if run_id in machine.conversation.runs:
        machine.current = run_id
    effects: list[Effect] = []
    for name, subscription in machine.subscriptions.items():
        if subscription.ending is None:
            _bound_mailbox(machine, subscription)
            effects.append(Wake(name))
    return effects


def _bound_mailbox(machine: HubSessionMachine, subscription: Subscription) -> None:
    # Invariant: no reader ever has more than MAILBOX entries waiting beyond what was there when it came.
    end = machine.journal.end
    if end - max(subscription.position, subscription.replayed_to) > MAILBOX:
        subscription.ending, subscription.ends_at = Ending.OVERFLOW, end - 1


def _claim(machine: HubSessionMachine, command: Claim) -> list[Effect]:
    fault = resolve_fault(machine.conversation, command.request)
    if fault == "unknown_run":
        raise Refused.because("run_not_found", "this session never had that run")
    name = _interaction(command.request)
    if fault is None and name in machine.claims:
        fault = "already_resolved"
    if fault is None and getattr(command.request.payload, "responded_by", None) != PARTICIPANT:
        fault = "wrong_responder"
    if fault is not None:
        raise Refused.because("resolution_rejected", f"this interaction cannot be answered: {fault}", reason=fault)
    machine.claims.add(name)
    return []


def _release(machine: HubSessionMachine, command: Release) -> list[Effect]:
    machine.claims.discard(_interaction(command.request))
    return []


def _interaction(request: Envelope[Wire]) -> str:
    return str(getattr(request.payload, "interaction_id", ""))


def _subscribe(machine: HubSessionMachine, command: Subscribe) -> list[Effect]:
    subscription = _joining(machine) if command.cursor is None else _resuming(machine, command.cursor)
    machine.subscriptions[command.name] = subscription
    return [Wake(command.name)]


def _joining(machine: HubSessionMachine) -> Subscription:
    end, current = machine.journal.end, machine.current
    joined = None
    if current is not None and current in machine.live_runs:
        last = machine.journal.kept(current).latest
        joined = (current, last) if last else None
    return Subscription(position=end, replayed_to=end, joined=joined)


def _resuming(machine: HubSessionMachine, cursor: Cursor) -> Subscription:
    if machine.current is None and cursor.run_id is None:
        raise Refused.because("no_run_to_resume", "this session has had no run")
    run_id = cursor.run_id or str(machine.current)
    run, kept = machine.run(run_id), machine.journal.kept(run_id)
    latest = max(kept.latest, run.last)
    if cursor.after > latest:
        raise Refused.because("replay_cursor_future", f"the run's last event so far is {latest}")
    end = machine.journal.end
    only = run_id if run.state in ENDED else None
    position = machine.journal.index_after(run_id, cursor.after)
    subscription = Subscription(position, end, only_run=only, got=(run_id, cursor.after))
    if cursor.after + 1 < kept.oldest:
        subscription.ending, subscription.ends_at, subscription.bounds = Ending.GAP, position, (kept.oldest, latest)
        subscription.position = position = subscription.ends_at
    elif only is not None and cursor.after == latest:
        subscription.ending, subscription.ends_at = Ending.TERMINAL, position
    return subscription


def _take(machine: HubSessionMachine, command: Take) -> list[Effect]:
    subscription = machine.subscriptions.get(command.name)
    if subscription is None:
        return []
    effects: list[Effect] = []
    entries = _next_entries(machine, subscription, command.limit)
    if entries or subscription.joined:
        effects.append(Deliver(command.name, entries, subscription.joined))
        subscription.joined = None
    if entries:
        subscription.got = (entries[-1].run_id, entries[-1].sequence)
    if subscription.ending is not None and subscription.position >= subscription.ends_at:
        del machine.subscriptions[command.name]
        effects.append(End(command.name, subscription.ending, subscription.got, subscription.bounds))
    return effects


def _next_entries(machine: HubSessionMachine, subscription: Subscription, limit: int) -> tuple[Entry, ...]:
    """The entries this reader gets now; decides whether the stream ends behind the last of them."""
    journal = machine.journal
    if subscription.position < journal.start:
        # It was still replaying when the journal let go of what it had not read: it resumes, and hears of the gap then.
        subscription.ending, subscription.ends_at = Ending.OVERFLOW, subscription.position
        return ()
    until = journal.end if subscription.ending is None else subscription.ends_at
    entries: list[Entry] = []
    for entry in journal.read(subscription.position, min(limit, until - subscription.position)):
        subscription.position += 1
        if subscription.only_run not in (None, entry.run_id):
            continue
        entries.append(entry)
        if entry.is_terminal and _is_last(machine, subscription):
            subscription.ending, subscription.ends_at = Ending.TERMINAL, subscription.position
            break
    return tuple(entries)


def _is_last(machine: HubSessionMachine, subscription: Subscription) -> bool:
    if subscription.only_run is not None:
        return True
    return not machine.live_runs and subscription.position == machine.journal.end


def _drop(machine: HubSessionMachine, command: Drop) -> list[Effect]:
    machine.subscriptions.pop(command.name, None)
    return []


def _close(machine: HubSessionMachine, command: Close) -> list[Effect]:
    machine.phase = SessionPhase.CLOSED
    return _hang_up(machine, HangUp())


def _hang_up(machine: HubSessionMachine, command: HangUp) -> list[Effect]:
    effects: list[Effect] = []
    for name, subscription in machine.subscriptions.items():
        if subscription.ending is None:
            subscription.ending, subscription.ends_at = Ending.CLOSED, machine.journal.end
        effects.append(Wake(name))
    return effects


# --- table: a pair outside it is refused with `session_closed` -------------------------------------------------------

TABLE: Mapping[tuple[SessionPhase, type], Callable[[HubSessionMachine, Any], list[Effect]]] = {
    (SessionPhase.OPEN, Ask): _ask,
    (SessionPhase.OPEN, Answer): _answer,
    (SessionPhase.OPEN, TellEvent): _tell,
    (SessionPhase.OPEN, Claim): _claim,
    (SessionPhase.OPEN, Release): _release,
    (SessionPhase.OPEN, Subscribe): _subscribe,
    (SessionPhase.OPEN, Take): _take,
    (SessionPhase.OPEN, Drop): _drop,
    (SessionPhase.OPEN, HangUp): _hang_up,
    (SessionPhase.OPEN, Close): _close,
    (SessionPhase.CLOSED, Answer): _answer,
    (SessionPhase.CLOSED, Release): _release,
    (SessionPhase.CLOSED, Take): _take,
    (SessionPhase.CLOSED, Drop): _drop,
    (SessionPhase.CLOSED, HangUp): _hang_up,
    (SessionPhase.CLOSED, Close): _close,
}
