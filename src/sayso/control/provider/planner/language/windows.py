"""Pieces about the time of day, put together into windows of starting times.

Every piece can have two readings; those are kept that fit the other pieces ("after 10, before 2 pm" has one), and where
more than one fits, the likelier is given and marked as open. Pieces narrow one another, pieces joined by "or" are
alternatives, and what narrows down to nothing is a contradiction.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from datetime import time

from sayso.control.provider.planner.language.clock_atoms import NOON, Clock
from sayso.control.provider.planner.language.times import Piece, Shape
from sayso.control.provider.planner.language.understood import Problem, TimeWindow

__all__ = ("UNSUITED", "Times", "join_pieces")

_DAY = 24 * 60
_AROUND = 120
_MOST_READINGS = 64
# Said without morning or afternoon, hours before this one are likelier in the afternoon.
_LIKELY_MORNING = 8 * 60
UNSUITED = r"(?:\bnot|\bno|n't|\bexcept|\bavoid)(?: (?:do|make|in|the|a|any|really|on|available|work))* "
"""How a part of the day is said not to suit, in the words before it."""
_UNSUITED = re.compile(rf"{UNSUITED}$")
_DAWN = 5 * 60 - 1


@dataclass(frozen=True, slots=True)
class Times:
    """What all time phrases of one role come to."""

    windows: tuple[TimeWindow, ...] = ()
    done_by: time | None = None
    problems: frozenset[Problem] = frozenset()


@dataclass(frozen=True, slots=True)
class _Window:
    """A window in minutes, both ends included."""

    earliest: int = 0
    latest: int = _DAY - 1
    near: int | None = None

    def meet(self, other: _Window) -> _Window | None:
        earliest, latest = max(self.earliest, other.earliest), min(self.latest, other.latest)
        if earliest > latest:
            return None
        near = self.near if self.near is not None else other.near
        return _Window(earliest, latest, None if near is None else min(max(near, earliest), latest))


_Windows = tuple[_Window, ...]


def join_pieces(pieces: list[Piece], said: str) -> Times:
    """All pieces of one role as windows, a time to be done by, and what is wrong or open."""
    problems = {clock.problem for piece in pieces for clock in piece.clocks if clock.problem}
    pieces = [piece for piece in pieces if not any(clock.problem for clock in piece.clocks)]
    half = _half_told(pieces)
    starts = [piece for piece in pieces if piece.shape is not Shape.DONE]
    if any(piece.shape is Shape.SPAN for piece in starts):
        # "Saturday night from 7 to 11": the part of the day only says which half is meant.
        starts = [piece for piece in starts if not piece.part or _is_excluded(piece, said)]
    windows: _Windows = ()
    is_open = False
    if starts:
        combined = _combine(starts, said, half)
        if combined is None:
            problems.add(Problem.CONTRADICTION)
        else:
            windows, is_open = combined
    done_by, done_open = _done_by([piece for piece in pieces if piece.shape is Shape.DONE], half)
    if is_open or done_open:
        problems.add(Problem.AM_PM)
    return Times(tuple(_written(window, is_open=is_open) for window in windows), done_by, frozenset(problems))


def _half_told(pieces: list[Piece]) -> str | None:
    """The half of the day that parts of the day, or else clock times with am or pm, agree on."""
    parts = {piece.part.half for piece in pieces if piece.part}
    clocks = {"am" if c.minutes < NOON else "pm" for piece in pieces for c in piece.clocks if not c.open}
    told = parts or clocks
    return told.pop() if len(told) == 1 else None


def _combine(pieces: list[Piece], said: str, half: str | None) -> tuple[_Windows, bool] | None:
    """The windows of the best reading, and whether another one fits as well; None where no reading fits."""
    options = [_readings(piece, said) for piece in pieces]
    fitting: list[tuple[list[_Windows], _Windows]] = []
    for pick in itertools.islice(itertools.product(*options), _MOST_READINGS):
        windows = _meet_all(pieces, list(pick), said)
        if windows and (len(pieces) == 1 or not _is_nightly(pieces, list(pick))):
            fitting.append((list(pick), windows))
    if half:
        in_half = [(pick, windows) for pick, windows in fitting if _lies_in(pieces, pick, half)]
        fitting = in_half or fitting
    if not fitting:
        return None
    return fitting[0][1], len({windows for _, windows in fitting}) > 1


def _open_bounds(pieces: list[Piece], pick: list[_Windows]) -> list[int]:
    """The bounds that open clocks set in one reading."""
    windows = [w for piece, each in zip(pieces, pick, strict=True) if any(c.open for c in piece.clocks) for w in each]
    bounds = [bound for w in windows for bound in ((w.earliest, w.latest) if w.near is None else (w.near,))]
    return [bound for bound in bounds if 0 < bound < _DAY - 2]


def _lies_in(pieces: list[Piece], pick: list[_Windows], half: str) -> bool:
    return all((bound < NOON) == (half == "am") for bound in _open_bounds(pieces, pick))


def _is_nightly(pieces: list[Piece], pick: list[_Windows]) -> bool:
    """Beside other times, an hour without am or pm never means the small hours."""
    return any(bound < _DAWN for bound in _open_bounds(pieces, pick))


def _meet_all(pieces: list[Piece], readings: list[_Windows], said: str) -> _Windows:
    whole = readings[0]
    for before, piece, windows in zip(pieces, pieces[1:], readings[1:], strict=False):
        between = said[before.end : piece.start]
        is_other = re.search(r"\b(?:or|otherwise)\b|^ ?/ ?$", between) or (
            before.part and piece.part and re.search(r"^ ?(?:and|&) (?:in the )?$", between)
        )
        if is_other and not _is_excluded(piece, said):
            whole = tuple(dict.fromkeys((*whole, *windows)))
        else:
            met = [a.meet(b) for a in whole for b in windows]
            whole = tuple(dict.fromkeys(window for window in met if window))
    return whole


def _readings(piece: Piece, said: str) -> list[_Windows]:
    """Every reading of one piece, the likeliest first, each as alternatives."""
    if piece.part:
        return [_part_windows(piece, said)]
    if piece.shape is Shape.SPAN:
        return _spans(*piece.clocks[:2])
    if len(piece.clocks) > 1:
        return [tuple(_window(piece.shape, m) for m in minutes) for minutes in _list_readings(piece.clocks)]
    return [(_window(piece.shape, minutes),) for minutes in _likeliest_first(piece.clocks[0])]


def _part_windows(piece: Piece, said: str) -> _Windows:
    assert piece.part is not None
    earliest = piece.part.earliest or 0
    latest = _DAY - 1 if piece.part.latest is None else piece.part.latest
    if not _is_excluded(piece, said):
        return (_Window(earliest, latest),)
    around = (_Window(0, earliest - 1), _Window(latest + 1, _DAY - 1))
    # Nights are not what is left when a morning does not suit.
    return tuple(window for window in around if window.earliest <= window.latest and window.latest > 5 * 60)


def _is_excluded(piece: Piece, said: str) -> bool:
    """Whether words before a part of the day say that it does not suit."""
    if not piece.part:
        return False
    return bool(_UNSUITED.search(said[: piece.start]))


def _likeliest_first(clock: Clock) -> tuple[int, ...]:
    readings = clock.readings
    return readings if len(readings) == 1 or clock.minutes >= _LIKELY_MORNING else readings[::-1]


def _list_readings(clocks: tuple[Clock, ...]) -> list[tuple[int, ...]]:
    """Times joined by "or": open ones side with a told one, and with one another."""
    told = [clock.minutes for clock in clocks if not clock.open]
    if told:
        return [tuple(min(clock.readings, key=lambda m: abs(m - told[0])) for clock in clocks)]
    likely = tuple(_likeliest_first(clock)[0] for clock in clocks)
    return [likely, tuple((minutes + NOON) % _DAY for minutes in likely)]


def _spans(first: Clock, last: Clock) -> list[_Windows]:
    """A span of at most twelve hours that runs forward; beside a told end the shorter one is meant."""
    pairs = [(a, b) for a in first.readings for b in last.readings if 0 < b - a <= NOON]
    if not (first.open and last.open):
        pairs = sorted(pairs, key=lambda pair: pair[1] - pair[0])[:1]
    pairs.sort(key=lambda pair: (pair[0] >= NOON) != (pair[0] % NOON < _LIKELY_MORNING))
    return [(_Window(a, b),) for a, b in pairs]


def _window(shape: Shape, minutes: int) -> _Window:
    if shape is Shape.NEAR:
        return _Window(max(minutes - _AROUND, 0), min(minutes + _AROUND, _DAY - 1), minutes)
    return {
        Shape.EXACT: _Window(minutes, minutes),
        Shape.FROM: _Window(minutes, _DAY - 1),
        Shape.UNTIL: _Window(0, minutes),
        Shape.BEFORE: _Window(0, minutes - 1),
    }[shape]


def _done_by(pieces: list[Piece], half: str | None) -> tuple[time | None, bool]:
    """The earliest time by which all must be over, and whether its half of the day is open."""
    ends: list[tuple[int, bool]] = []
    for piece in pieces:
        readings = _likeliest_first(piece.clocks[0])
        told = [minutes for minutes in readings if half and (minutes < NOON) == (half == "am")]
        ends.append(((told or readings)[0], len(readings) > 1 and not told))
    if not ends:
        return None, False
    end, is_open = min(ends)
    return _clock(end), is_open


def _written(window: _Window, *, is_open: bool) -> TimeWindow:
    whole = TimeWindow(either_half=is_open)
    if window.earliest > 0 or window.latest == 0:
        whole = replace(whole, earliest=_clock(window.earliest))
    if window.latest < _DAY - 1:
        whole = replace(whole, latest=_clock(window.latest))
    return replace(whole, near=_clock(window.near)) if window.near is not None else whole


def _clock(minutes: int) -> time:
    return time(*divmod(minutes, 60))
