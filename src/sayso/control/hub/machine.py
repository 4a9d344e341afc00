"""One session of the hub, as decisions: what was asked, answered and told goes in, what to wake and send comes out.

Theory. Two machines. The *session* is open, then closed; while open its conversation is judged by
`control.protocol.machine`, so nothing that is illegal is ever journalled. A *subscription* is live and ends once, by
the run's terminal, by overflow, by a gap, or because the session closed. It owns no copy of anything: it is a position
in the journal. What stood there when it began is replay and may be long; what came since is its mailbox, at most
`MAILBOX` entries. The entry that would be one more ends the subscription: it still gets what was in its mailbox, and
then the overflow with the last sequence it really got. So a subscriber that does not read costs an integer, and a run
never waits for anybody.

A subscription follows the session, not a run: at a terminal it ends, unless another run was admitted by then. One that
was opened on the cursor of a run that had ended follows that run alone. A *follower* is the one reader of a transport
that has no other (an endpoint's pipe): it follows the session past every terminal, its mailbox is the journal itself,
and it may be set back to a cursor, after which it gets that run's events again and misses nothing of the others.

Guidance into a running run may be answered behind events it caused. So from the moment a steer goes to the adapter the
journal is *withheld* from readers at the index it had; the answer moves that index behind the event it names, which may
have been told already or be on its way, and `Publish`, once the answer itself is out, lets it go (OAP-096). What was
shown is never taken back. Several at once withhold at the lowest.

Interactions are claimed before the adapter is asked, so of two answers at once the second is refused, whatever the
adapter would have said.

Not here: the commands themselves (commands), who carries bytes (bindings), who runs the adapter (session), and what an
envelope looks like (protocol).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sayso.control.hub.commands import (
    MAILBOX,
    Answer,
    Ask,
    Claim,
    Close,
    Cursor,
    Drop,
    Follow,
    HangUp,
    Publish,
    Release,
    Subscribe,
    Take,
    TellEvent,
    TellSession,
    Withhold,
)
from sayso.control.hub.journal import Entry, Journal
from sayso.control.protocol.conversation import ENDED, Conversation, Illegal, Run, own_conversation
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine import observe, resolve_fault, run_of
from sayso.control.protocol.payloads.compaction import SessionCompactResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
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
    "Follow",
    "HangUp",
    "HubSessionMachine",
    "Publish",
    "Release",
    "SessionPhase",
    "Subscribe",
    "Take",
    "TellEvent",
    "TellSession",
    "Wake",
    "Withhold",
)

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


@dataclass(slots=True)
class SteerHold:
    """From which index of the journal on an unanswered steer keeps events back. Once it was answered, those of `run_id`
    up to `upto` go on.
    """

    index: int
    run_id: str | None = None
    upto: int = 0


@dataclass(slots=True)
class Subscription:
    """One reader's position. `ends_at` is the index it still reads up to once `ending` is decided.

    `got` is the cursor it could resume at: the last event of the run it reads. The one event of a reservation that ends
    before its turn comes in between and moves no cursor; `is_between` when the run's own end was read.

    With `is_following` it ends at no terminal; `only_run` then holds up to `only_until`.
    """

    position: int
    replayed_to: int
    only_run: str | None = None
    joined: tuple[str, int] | None = None
    got: tuple[str, int] | None = None
    is_between: bool = True
    ending: Ending | None = None
    ends_at: int = 0
    bounds: tuple[int, int] | None = None
    is_following: bool = False
    only_until: int = 0


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
    conversation: Conversation = field(default_factory=own_conversation)
    phase: SessionPhase = SessionPhase.OPEN
    current: str | None = None
    """The run that was admitted last."""
    claims: set[str] = field(default_factory=set)
    withheld: dict[str, SteerHold] = field(default_factory=dict)
    """By the request of each steer whose answer is not out."""
    subscriptions: dict[str, Subscription] = field(default_factory=dict)

    def apply(self, command: object) -> list[Effect]:
        """What one command leads to. Raises `Refused` (nothing has changed), and for an illegal envelope `Illegal`."""
        act = TABLE.get((self.phase, type(command)))
        if act is None:
            raise Refused.because("session_closed", "the session is closed")
        return act(self, command)

    # --- conditions ---

    def verify(self, command: Answer) -> None:
        """Raises `Illegal` for an answer that may not come now. Changes nothing."""
        observe(self.conversation, command.response)

    def run(self, run_id: str) -> Run:
        """Raises `Refused` `run_not_found`."""
        run = run_of(self.conversation, run_id)
        if run is None:
            raise Refused.because("run_not_found", "this session knows no such run")
        return run

    @property
    def shown(self) -> int:
        """How far readers may read."""
        return min(hold.index for hold in self.withheld.values()) if self.withheld else self.journal.end

    @property
    def live_runs(self) -> Mapping[str, Run]:
        """Admitted runs that have not ended."""
        return self.conversation.runs


# --- steps -----------------------------------------------------------------------------------------------------------


def _ask(machine: HubSessionMachine, command: Ask) -> list[Effect]:
    """The request is open, if it may come now."""
    try:
        machine.conversation = observe(machine.conversation, command.request)
    except Illegal as illegal:
        codes = illegal.refusal.details["codes"]
        raise Refused.because(
            "scope_mismatch" if "scope_mismatch" in codes else "invalid_request", illegal.refusal.message
        ) from None
    return []


def _answer(machine: HubSessionMachine, command: Answer) -> list[Effect]:
    """The request is settled; an admission names its run, a steer's the event up to which it holds nothing back."""
    machine.conversation = observe(machine.conversation, command.response)
    payload = command.response.payload
    if isinstance(payload, (MessageSubmitResponse, SessionCompactResponse)) and payload.run_id is not UNSET:
        return _admitted(machine, str(command.response.in_reply_to), payload)
    return _publish(machine, Publish(str(command.response.in_reply_to)))


def _admitted(
    machine: HubSessionMachine, request_id: str, payload: MessageSubmitResponse | SessionCompactResponse
) -> list[Effect]:
    run_id = str(payload.run_id)
    if payload.admission == "steered" and request_id in machine.withheld:
        target = payload.target_sequence if isinstance(payload, MessageSubmitResponse) else UNSET
        hold = machine.withheld[request_id]
        hold.run_id, hold.upto = run_id, int(target or 0)
        hold.index = max(hold.index, machine.journal.index_after(run_id, hold.upto))
        return _wake(machine)
    # A reservation becomes the current run when it starts, unless there is no other.
    if len(machine.live_runs) == 1:
        machine.current = run_id
    return _publish(machine, Publish(request_id))


def _tell(machine: HubSessionMachine, command: TellEvent) -> list[Effect]:
    """Journalled if it may come now; readers are woken, and one whose mailbox is full is ended."""
    machine.conversation = observe(machine.conversation, command.envelope)
    run_id, sequence = str(command.envelope.run_id), int(command.envelope.sequence or 0)
    machine.journal.append(Entry(run_id, sequence, command.envelope, command.data))
    for hold in machine.withheld.values():
        if hold.run_id == run_id and sequence <= hold.upto:
            hold.index = machine.journal.end
    if run_id in machine.conversation.runs:
        machine.current = run_id
    effects: list[Effect] = []
    for name, subscription in machine.subscriptions.items():
        if subscription.ending is None:
            _bound_mailbox(machine, subscription)
            effects.append(Wake(name))
    return effects


def _tell_session(machine: HubSessionMachine, command: TellSession) -> list[Effect]:
    """Taken if it may come now; no reader of runs gets it."""
    machine.conversation = observe(machine.conversation, command.envelope)
    return []


def _withhold(machine: HubSessionMachine, command: Withhold) -> list[Effect]:
    """Readers get nothing that is told from now on."""
    machine.withheld[command.request_id] = SteerHold(machine.journal.end)
    return []


def _publish(machine: HubSessionMachine, command: Publish) -> list[Effect]:
    """What this steer held back goes out."""
    if machine.withheld.pop(command.request_id, None) is None:
        return []
    for subscription in machine.subscriptions.values():
        if subscription.ending is None:
            _bound_mailbox(machine, subscription)
    return _wake(machine)


def _wake(machine: HubSessionMachine) -> list[Effect]:
    return [Wake(name) for name in machine.subscriptions]


def _bound_mailbox(machine: HubSessionMachine, subscription: Subscription) -> None:
    # Invariant: no reader ever has more than MAILBOX entries waiting beyond what was there when it came.
    if subscription.is_following:
        return
    full = max(subscription.position, subscription.replayed_to) + MAILBOX
    if machine.shown > full:
        subscription.ending, subscription.ends_at = Ending.OVERFLOW, full


def _claim(machine: HubSessionMachine, command: Claim) -> list[Effect]:
    """The interaction is this answer's, or the answer is refused."""
    fault = resolve_fault(machine.conversation, command.request)
    if fault == "unknown_run":
        raise Refused.because("run_not_found", "this session knows no such run")
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
    """The interaction may be answered again, if it was not settled."""
    machine.claims.discard(_interaction(command.request))
    return []


def _interaction(request: Envelope[Wire]) -> str:
    return str(getattr(request.payload, "interaction_id", ""))


def _subscribe(machine: HubSessionMachine, command: Subscribe) -> list[Effect]:
    """A reader from here, or from a cursor."""
    subscription = _joining(machine) if command.cursor is None else _resuming(machine, command.cursor)
    machine.subscriptions[command.name] = subscription
    return [Wake(command.name)]


def _joining(machine: HubSessionMachine) -> Subscription:
    end, current = machine.shown, machine.current
    joined = None
    if current is not None and current in machine.live_runs:
        last = machine.journal.latest_before(current, end)
        joined = (current, last) if last else None
    return Subscription(position=end, replayed_to=end, joined=joined, got=joined, is_between=joined is None)


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
    subscription = Subscription(position, end, only_run=only, got=(run_id, cursor.after), is_between=False)
    if cursor.after + 1 < kept.oldest:
        subscription.ending, subscription.ends_at, subscription.bounds = Ending.GAP, position, (kept.oldest, latest)
        subscription.position = position = subscription.ends_at
    elif only is not None and cursor.after == latest:
        subscription.ending, subscription.ends_at = Ending.TERMINAL, position
    return subscription


def _follow(machine: HubSessionMachine, command: Follow) -> list[Effect]:
    """The one reader of its transport, from the start or a cursor; a cursor no longer kept moves nothing: the gap."""
    before = machine.subscriptions.get(command.name)
    if command.cursor is None:
        start, end = machine.journal.start, machine.journal.end
        machine.subscriptions[command.name] = Subscription(start, end, is_following=True)
        return [Wake(command.name)]
    resumed = _resuming(machine, command.cursor)
    if resumed.ending is Ending.GAP:
        return [End(command.name, Ending.GAP, resumed.got, resumed.bounds)]
    run_id = resumed.got[0] if resumed.got else None
    # After a loss nobody knows what of the other runs got through: everything behind the cursor goes again.
    until = resumed.position if before is None else before.position
    machine.subscriptions[command.name] = Subscription(
        min(resumed.position, until), until, only_run=run_id, got=resumed.got, is_following=True, only_until=until
    )
    return [Wake(command.name)]


def _take(machine: HubSessionMachine, command: Take) -> list[Effect]:
    """The reader gets what it may, and hears of its end behind it."""
    subscription = machine.subscriptions.get(command.name)
    if subscription is None:
        return []
    effects: list[Effect] = []
    entries = _next_entries(machine, subscription, command.limit)
    if entries or subscription.joined:
        effects.append(Deliver(command.name, entries, subscription.joined))
        subscription.joined = None
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
        if subscription.got is None:
            subscription.got = (next(journal.read(journal.start, 1)).run_id, 0)
        return ()
    until = machine.shown if subscription.ending is None else min(subscription.ends_at, machine.shown)
    if until <= subscription.position:
        return ()
    entries: list[Entry] = []
    # A reader that resumed behind what is shown waits: nothing that is withheld goes out, and nothing is taken back.
    for entry in journal.read(subscription.position, min(limit, until - subscription.position)):
        subscription.position += 1
        is_again = not subscription.is_following or subscription.position <= subscription.only_until
        if is_again and subscription.only_run not in (None, entry.run_id):
            continue
        entries.append(entry)
        if subscription.is_between or entry.sequence > 1 or not entry.is_terminal:
            subscription.got, subscription.is_between = (entry.run_id, entry.sequence), entry.is_terminal
        if entry.is_terminal and not subscription.is_following and _is_last(machine, subscription):
            subscription.ending, subscription.ends_at = Ending.TERMINAL, subscription.position
            break
    return tuple(entries)


def _is_last(machine: HubSessionMachine, subscription: Subscription) -> bool:
    if subscription.only_run is not None:
        return True
    return not machine.live_runs and subscription.position == machine.journal.end


def _drop(machine: HubSessionMachine, command: Drop) -> list[Effect]:
    """The reader is gone."""
    machine.subscriptions.pop(command.name, None)
    return []


def _close(machine: HubSessionMachine, command: Close) -> list[Effect]:
    """`closed`; every reader ends behind what is journalled."""
    machine.phase = SessionPhase.CLOSED
    return _hang_up(machine, HangUp())


def _hang_up(machine: HubSessionMachine, command: HangUp) -> list[Effect]:
    """Every reader ends behind what is journalled."""
    effects: list[Effect] = []
    machine.withheld.clear()
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
    (SessionPhase.OPEN, TellSession): _tell_session,
    (SessionPhase.OPEN, Withhold): _withhold,
    (SessionPhase.OPEN, Publish): _publish,
    (SessionPhase.OPEN, Claim): _claim,
    (SessionPhase.OPEN, Release): _release,
    (SessionPhase.OPEN, Subscribe): _subscribe,
    (SessionPhase.OPEN, Follow): _follow,
    (SessionPhase.OPEN, Take): _take,
    (SessionPhase.OPEN, Drop): _drop,
    (SessionPhase.OPEN, HangUp): _hang_up,
    (SessionPhase.OPEN, Close): _close,
    (SessionPhase.CLOSED, Answer): _answer,
    (SessionPhase.CLOSED, Publish): _publish,
    (SessionPhase.CLOSED, Release): _release,
    (SessionPhase.CLOSED, Take): _take,
    (SessionPhase.CLOSED, Drop): _drop,
    (SessionPhase.CLOSED, HangUp): _hang_up,
    (SessionPhase.CLOSED, Close): _close,
}
