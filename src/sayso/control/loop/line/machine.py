"""The order of a session's runs, as decisions: one at work, up to eight reserved behind it (OAP-160, D0002).

Theory. An admission takes the last place of the line. On an idle session `auto` starts at once; everything else is
*reserved* and starts when every run before it has left, however it ended: in the order of admission, so a cancel of the
run at work keeps the line (B15). A started run is *starting* until its first event was read, *running* until its
terminal was told, and *ended* until that was read; then it leaves, and the next one starts. Reading is what counts,
because only then the order of two runs is the same for everybody.

A reservation that is cancelled ends within that request, with one event, and its place is free at once. Whoever reads
the events learns of it a moment later: `seen_reserved` counts what they can know, and the driver lets an admission wait
for them where the two differ, so that no trace ever shows nine reservations.

The table says what happens to one place; whose turn it is follows from the whole line (`_promoted`). What a run does
between its start and its end is `loop.machine`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from sayso.control.loop.line.places import (
    Admitted,
    Begun,
    CloseLine,
    Ended,
    LineCommand,
    LineDecision,
    LineEffect,
    Place,
    Promote,
    Read,
    RunLine,
    Standing,
    Withdrawn,
    WithdrawRun,
)
from sayso.core.refusal import Refused

__all__ = ("BOUND", "TABLE", "admit", "close", "decide")

BOUND = 8
"""Reservations behind the run at work."""


def admit(line: RunLine, run_id: str, delivery: Literal["auto", "queue"]) -> tuple[LineDecision, Admitted]:
    """Gives a run the last place. Raises `Refused`: `session_closed`, `run_active` when the line is full."""
    if line.is_closed:
        raise Refused.because("session_closed", "the session is closed")
    was_busy = line.is_busy
    starts = delivery == "auto" and not was_busy
    if not starts and line.reserved >= line.bound:
        raise Refused.because("run_active", f"a run is under way, and {line.bound} wait behind it")
    standing = Standing.STARTING if starts else Standing.RESERVED
    place = Place(run_id, standing, was_reserved=not starts, has_started=starts)
    line = replace(line, places=(*line.places, place))
    decision = LineDecision(line, (Promote(run_id),)) if starts else _promoted(line)
    return decision, Admitted(run_id, starts, was_busy)


def decide(line: RunLine, command: LineCommand) -> LineDecision:
    """What one command changes; of a run that has left the line, or out of turn, nothing."""
    place = line.place_of(command.run_id)
    act = None if place is None else TABLE.get((place.standing, type(command)))
    if place is None or act is None:
        return LineDecision(line)
    after, effects = act(place, command)
    places = tuple(after if each is place else each for each in line.places)
    line = replace(line, places=tuple(each for each in places if each is not None))
    promoted = _promoted(line)
    return LineDecision(promoted.line, (*effects, *promoted.effects))


def close(line: RunLine) -> LineDecision:
    """The session ends: what is reserved fails, what is at work is stopped by its driver, nothing starts any more."""
    effects: tuple[LineEffect, ...] = ()
    line = replace(line, is_closed=True)
    for place in reversed(line.places):
        decision = decide(line, CloseLine(place.run_id))
        line, effects = decision.line, (*effects, *decision.effects)
    return LineDecision(line, effects)


def _promoted(line: RunLine) -> LineDecision:
    """The first of the line starts, if it is reserved and the session is open."""
    first = line.places[0] if line.places else None
    if first is None or first.standing is not Standing.RESERVED or line.is_closed:
        return LineDecision(line)
    started = replace(first, standing=Standing.STARTING, has_started=True)
    return LineDecision(replace(line, places=(started, *line.places[1:])), (Promote(first.run_id),))


# --- table -----------------------------------------------------------------------------------------------------------

_After = tuple[Place | None, tuple[LineEffect, ...]]


def _begun(place: Place, _command: Begun) -> _After:
    """It is running, and holds no place of the queue any more for anybody."""
    return replace(place, standing=Standing.RUNNING, has_begun=True), ()


def _begun_late(place: Place, _command: Begun) -> _After:
    """Its first event was read when its terminal had been told already."""
    return replace(place, has_begun=True), ()


def _ended(place: Place, _command: Ended) -> _After:
    """It has ended, and the line waits until that was read."""
    return replace(place, standing=Standing.ENDED), ()


def _withdrawn(place: Place, command: WithdrawRun) -> _After:
    """It ends with `run.cancelled` as its one event, and its place is free."""
    told = Withdrawn(place.run_id, is_cancelled=True, reason=command.reason)
    return replace(place, standing=Standing.ENDED), (told,)


def _closed(place: Place, _command: CloseLine) -> _After:
    """It ends with `run.failed` as its one event."""
    return replace(place, standing=Standing.ENDED), (Withdrawn(place.run_id, is_cancelled=False),)


def _left(_place: Place, _command: Read) -> _After:
    """It leaves the line, and the next one starts."""
    return None, ()


TABLE: Mapping[tuple[Standing, type], Callable[[Place, Any], _After]] = {
    (Standing.RESERVED, WithdrawRun): _withdrawn,
    (Standing.RESERVED, CloseLine): _closed,
    (Standing.STARTING, Begun): _begun,
    (Standing.STARTING, Ended): _ended,
    (Standing.RUNNING, Ended): _ended,
    (Standing.ENDED, Begun): _begun_late,
    (Standing.ENDED, Read): _left,
}
