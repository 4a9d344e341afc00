"""The booking machine: what was agreed, and how it stands.

Theory. A booking is born by the confirm of a hold, in one of three states (`BIRTH`): `confirmed` where the host's
published terms are a standing yes, `pending_host` where the host answers each request, `tentative` where people who
come along answer first. Two of those hold time without being final; each ends `confirmed`, `declined` or `expired`
unless the guest cancels first. `confirmed` is left by a cancellation, by the end of the appointment, or stays
`confirmed` with a higher sequence when a change is made. A mark that nobody came can be set on a past booking and
taken back for a week.

Two numbers order what the other side hears (SCH-007): `version` rises with every visible change, `sequence` only when
what was agreed changes, and then by exactly one (SCH-202).

What the tables cannot say, conditions do: that the appointment has not begun (`Cancel`, `Move`), that it is over
(`Complete`, `MarkNoShow`), that it began and has no agreed end (`End`), that a deadline has passed (`Lapse`), that the
week for taking a mark back is not over. A booking's changes are a machine of their own (`change`); which of them close
with the booking, and whether the booking still occupies time, stands in `COUPLED`.

Where both are asked, the participants answer first and the host after them (`AskHost`); a change asks those anew who
had accepted something else (`MoveAndAsk`). The clock completes a booking before any command of its host sees it, so a
mark is always set on a `completed` one. SCH-176..178, SCH-196..206, SCH-209, SCH-212, SCH-213, SCH-219.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from sayso.core.refusal import Misuse
from sayso.scheduling.terms.codes import refused

__all__ = (
    "BIRTH",
    "COUPLED",
    "TABLE",
    "Annotate",
    "Approve",
    "AskHost",
    "BookingState",
    "Cancel",
    "CancelByHost",
    "Command",
    "Complete",
    "Coupling",
    "Decline",
    "End",
    "Lapse",
    "LapseUnreconfirmed",
    "MarkAttended",
    "MarkNoShow",
    "Move",
    "MoveAndAsk",
    "Reconfirm",
    "Settle",
    "Standing",
    "TakeMarkBack",
    "step",
)

MARK_CAN_BE_TAKEN_BACK: Final = timedelta(days=7)


class BookingState(Enum):
    """Where a booking stands; the values are the wire's words (SCH-198)."""

    PENDING_HOST = "pending_host"
    """The host has until its deadline to answer."""
    TENTATIVE = "tentative"
    """People who come along have not all answered."""
    CONFIRMED = "confirmed"
    """Agreed by everyone who has to agree."""
    DECLINED = "declined"
    """The host or a required participant said no."""
    EXPIRED = "expired"
    """Nobody answered in time."""
    CANCELLED = "cancelled"
    """Called off by either side."""
    COMPLETED = "completed"
    """Its end has passed, or the host ended it."""
    NO_SHOW = "no_show"
    """The host marked that nobody came."""


@dataclass(frozen=True, slots=True)
class Approve:
    """The host says yes."""


@dataclass(frozen=True, slots=True)
class Settle:
    """The last participant's yes is in, by word or by silence."""


@dataclass(frozen=True, slots=True)
class Decline:
    """The host or a required participant says no."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """The deadline to answer has passed."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """The guest calls it off; free at any time before the start."""


@dataclass(frozen=True, slots=True)
class CancelByHost:
    """The host calls it off, in its own words."""


@dataclass(frozen=True, slots=True)
class Move:
    """An accepted change takes effect: another start, and with it another end."""

    start: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class MoveAndAsk:
    """An accepted change takes effect, and the required participants are asked anew: they had accepted something else
    (SCH-203).
    """

    start: datetime
    until: datetime
    answer_by: datetime


@dataclass(frozen=True, slots=True)
class AskHost:
    """The last participant's yes is in, and now the host is asked, until its own deadline (SCH-185)."""

    answer_by: datetime


@dataclass(frozen=True, slots=True)
class Complete:
    """The clock has reached the end, or the end of the time set aside."""


@dataclass(frozen=True, slots=True)
class End:
    """The host ends a booking that has no agreed end."""


@dataclass(frozen=True, slots=True)
class MarkNoShow:
    """The host records that nobody came."""


@dataclass(frozen=True, slots=True)
class MarkAttended:
    """The host records that the guest came; a mark on what is completed, not a state (SCH-209)."""


@dataclass(frozen=True, slots=True)
class TakeMarkBack:
    """The host corrects itself: the guest came after all."""


@dataclass(frozen=True, slots=True)
class Annotate:
    """Something visible waits or was refused inside the booking: a move that the host is asked for, its answer, a
    proposal of the host. Time, contract and sequence stay as they are (SCH-204).
    """


@dataclass(frozen=True, slots=True)
class Reconfirm:
    """The booker says again that they are coming, as the contract asks (SCH-248)."""


@dataclass(frozen=True, slots=True)
class LapseUnreconfirmed:
    """The booker said nothing by the moment the contract names, and there silence ends the booking (SCH-252)."""


Command = (
    Approve
    | Settle
    | Decline
    | Lapse
    | Cancel
    | CancelByHost
    | Move
    | MoveAndAsk
    | AskHost
    | Complete
    | End
    | MarkNoShow
    | MarkAttended
    | TakeMarkBack
    | Annotate
    | Reconfirm
    | LapseUnreconfirmed
)

BIRTH: Final = frozenset({BookingState.PENDING_HOST, BookingState.TENTATIVE, BookingState.CONFIRMED})

TABLE: Final[Mapping[BookingState, Mapping[type[Command], BookingState]]] = {
    BookingState.PENDING_HOST: {
        Approve: BookingState.CONFIRMED,
        Decline: BookingState.DECLINED,
        Lapse: BookingState.EXPIRED,
        Cancel: BookingState.CANCELLED,
        Move: BookingState.CONFIRMED,  # the guest accepted a counter: countering was the host's yes (SCH-235)
        MoveAndAsk: BookingState.TENTATIVE,
        Annotate: BookingState.PENDING_HOST,
    },
    BookingState.TENTATIVE: {
        Settle: BookingState.CONFIRMED,
        AskHost: BookingState.PENDING_HOST,
        Decline: BookingState.DECLINED,
        Lapse: BookingState.EXPIRED,
        Cancel: BookingState.CANCELLED,
        CancelByHost: BookingState.CANCELLED,
        Annotate: BookingState.TENTATIVE,
        Reconfirm: BookingState.TENTATIVE,
        LapseUnreconfirmed: BookingState.EXPIRED,
    },
    BookingState.CONFIRMED: {
        Cancel: BookingState.CANCELLED,
        CancelByHost: BookingState.CANCELLED,
        Move: BookingState.CONFIRMED,
        MoveAndAsk: BookingState.TENTATIVE,
        Complete: BookingState.COMPLETED,
        End: BookingState.COMPLETED,
        Annotate: BookingState.CONFIRMED,
        Reconfirm: BookingState.CONFIRMED,
        LapseUnreconfirmed: BookingState.EXPIRED,
    },
    BookingState.DECLINED: {},
    BookingState.EXPIRED: {},
    BookingState.CANCELLED: {},
    BookingState.COMPLETED: {MarkNoShow: BookingState.NO_SHOW, MarkAttended: BookingState.COMPLETED},
    BookingState.NO_SHOW: {TakeMarkBack: BookingState.COMPLETED},
}


@dataclass(frozen=True, slots=True)
class Coupling:
    """What a booking's state means for the time it stands on and for its open change offers."""

    occupies_time: bool
    changes_stay_open: bool


_OVER: Final = Coupling(occupies_time=False, changes_stay_open=False)

COUPLED: Final[Mapping[BookingState, Coupling]] = {
    BookingState.PENDING_HOST: Coupling(occupies_time=True, changes_stay_open=True),
    BookingState.TENTATIVE: Coupling(occupies_time=True, changes_stay_open=False),
    BookingState.CONFIRMED: Coupling(occupies_time=True, changes_stay_open=True),
    BookingState.DECLINED: _OVER,
    BookingState.EXPIRED: _OVER,
    BookingState.CANCELLED: _OVER,
    BookingState.COMPLETED: _OVER,
    BookingState.NO_SHOW: _OVER,
}


@dataclass(frozen=True, slots=True)
class Standing:
    """What the machine knows of a booking. `until` is the agreed end, or the end of the time set aside; `answer_by`
    the deadline of a waiting state; `open_end` whether no end was agreed; `reconfirm_by` when the booker's silence ends
    it, until they have spoken.
    """

    state: BookingState
    sequence: int
    version: int
    start: datetime
    until: datetime
    open_end: bool = False
    answer_by: datetime | None = None
    reconfirm_by: datetime | None = None


def _has_not_begun(booking: Standing, now: datetime) -> None:
    if now >= booking.start:
        raise refused("already_started")


def _is_over(booking: Standing, now: datetime) -> None:
    if now < booking.until:
        raise Misuse("a booking is over at its end, not before")


def _runs_open(booking: Standing, now: datetime) -> None:
    if not booking.open_end or now < booking.start:
        raise refused("not_changeable")


def _deadline_passed(booking: Standing, now: datetime) -> None:
    if booking.answer_by is None or now < booking.answer_by:
        raise Misuse("a booking lapses at its deadline, not before")


def _silence_is_over(booking: Standing, now: datetime) -> None:
    if booking.reconfirm_by is None or now < booking.reconfirm_by:
        raise Misuse("a booking waits for its booker's word until the moment its contract names")


def _mark_is_fresh(booking: Standing, now: datetime) -> None:
    if now > booking.until + MARK_CAN_BE_TAKEN_BACK:
        raise refused("mark_too_late")


_CONDITIONS: Final[Mapping[type[Command], Callable[[Standing, datetime], None]]] = {
    Cancel: _has_not_begun,
    CancelByHost: _has_not_begun,
    Move: _has_not_begun,
    MoveAndAsk: _has_not_begun,
    Complete: _is_over,
    MarkNoShow: _mark_is_fresh,
    MarkAttended: _mark_is_fresh,
    End: _runs_open,
    Lapse: _deadline_passed,
    Reconfirm: _has_not_begun,
    LapseUnreconfirmed: _silence_is_over,
    TakeMarkBack: _mark_is_fresh,
}


def step(booking: Standing, command: Command, now: datetime) -> Standing:
    """The booking after a command, one version later; only a move raises the sequence.

    Refused `already_cancelled`, `already_started` or `not_changeable` when the state or the clock forbids it; then
    nothing has changed.
    """
    target = TABLE[booking.state].get(type(command))
    if target is None:
        raise refused(_OUTSIDE.get(booking.state, "not_changeable"))
    condition = _CONDITIONS.get(type(command))
    if condition is not None:
        condition(booking, now)
    after = replace(booking, state=target, version=booking.version + 1)
    if isinstance(command, MoveAndAsk):
        sequence, by = booking.sequence + 1, command.answer_by
        return replace(after, start=command.start, until=command.until, sequence=sequence, answer_by=by)
    if isinstance(command, AskHost):
        return replace(after, answer_by=command.answer_by)
    if isinstance(command, Move):
        return replace(after, start=command.start, until=command.until, sequence=booking.sequence + 1)
    return after


_OUTSIDE: Final = {
    BookingState.CANCELLED: "already_cancelled",
    BookingState.COMPLETED: "already_started",
    BookingState.NO_SHOW: "already_started",
}
