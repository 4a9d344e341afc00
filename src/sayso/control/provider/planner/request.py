"""What the person wants by now: one wish, built up from their first words and from their answers to questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sayso.control.provider.planner.language.understood import Intent, Problem, TimeWindow, Understood

__all__ = ("Request", "Setting", "in_half", "other_half")

_ABOUT_DAYS = frozenset((Problem.WHICH_DAY, Problem.RECURRING))
_ABOUT_WHEN = frozenset((Problem.PAST, Problem.IMPOSSIBLE, Problem.CONTRADICTION))
_NOON = time(12)


@dataclass(frozen=True, slots=True)
class Setting:
    """When and where a turn is taken: the present instant and the person's zone."""

    now: datetime
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class Request:
    """One wish. `seen` is what was understood of it; the ids are what answers settled; `is_sure` that a cancellation
    or a new booking was said in so many words; `is_dropped` that the person called it all off; `is_puzzled` that the
    last answer said nothing to the question.
    """

    text: str
    seen: Understood
    offer: str | None = None
    booking_id: str | None = None
    is_sure: bool = False
    is_dropped: bool = False
    is_puzzled: bool = False

    def with_intent(self, intent: Intent) -> Request:
        """The same wish as another one."""
        return replace(self, seen=replace(self.seen, intent=intent), is_sure=True)

    def with_days(self, days: tuple[date, ...], problems: frozenset[Problem] = frozenset()) -> Request:
        """The same on other days; what was wrong with the days is settled by it."""
        left = self.seen.problems - _ABOUT_DAYS - _ABOUT_WHEN
        return replace(self, seen=replace(self.seen, days=days, soonest=False, problems=left | problems))

    def with_times(self, times: tuple[TimeWindow, ...], problems: frozenset[Problem] = frozenset()) -> Request:
        """The same at other times; what was wrong with the times is settled by it."""
        left = self.seen.problems - _ABOUT_WHEN - {Problem.AM_PM}
        return replace(self, seen=replace(self.seen, times=times, shift=None, problems=left | problems))

    def with_half(self, half: str) -> Request:
        """The same with its times in this half of the day."""
        times = tuple(in_half(window, half) for window in self.seen.times)
        halved = self.with_times(times)
        if times or self.seen.done_by is None:
            return halved
        done_by = in_half(TimeWindow(latest=self.seen.done_by, either_half=True), half).latest
        return replace(halved, seen=replace(halved.seen, done_by=done_by))

    def soon(self) -> Request:
        """The same as soon as may be, where no day was said."""
        return replace(self, seen=replace(self.seen, soonest=True))

    def as_new(self) -> Request:
        """The same with the day and time that seemed to tell the booking as the new ones."""
        seen = self.seen
        return replace(
            self, seen=replace(seen, days=seen.from_days, times=seen.from_times, from_days=(), from_times=())
        )

    def at(self, start: datetime) -> Request:
        """The same at exactly this start."""
        clock = start.time()
        return self.with_days((start.date(),)).with_times((TimeWindow(earliest=clock, latest=clock),))


def in_half(window: TimeWindow, half: str) -> TimeWindow:
    """The reading of an open window that lies in this half of the day, "am" or "pm"."""
    if not window.either_half:
        return window
    point = window.near or window.earliest or window.latest or _NOON
    is_there = (point < _NOON) == (half == "am")
    return replace(window, either_half=False) if is_there else other_half(window)


def other_half(window: TimeWindow) -> TimeWindow:
    """The window twelve hours away, its bounds kept inside the day."""
    if window.near is None:
        return TimeWindow(earliest=_turned(window.earliest), latest=_turned(window.latest))
    near = _turned(window.near)
    assert near is not None
    centre = datetime.combine(date(2000, 1, 1), near)
    first, last = centre - timedelta(hours=2), centre + timedelta(hours=2)
    return TimeWindow(
        earliest=first.time() if first.date() == centre.date() else time(0),
        latest=last.time() if last.date() == centre.date() else time(23, 59),
        near=near,
    )


def _turned(clock: time | None) -> time | None:
    return clock.replace(hour=(clock.hour + 12) % 24) if clock is not None else None
