"""Free starts that fit a wish: which range to ask for, which reading of open hours the host's own times leave, which
start to choose.

Days and clock times are the host's: whoever says "at one" means one o'clock where the appointment is. The nearest start
to the time asked for is chosen, the earlier of two equally near. An hour that may be of the morning or the afternoon is
settled only when a week of the host's free starts leaves one reading; else it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from sayso.control.provider.planner.conversation import Turn
from sayso.control.provider.planner.found import Slot, read_slots
from sayso.control.provider.planner.language.understood import Problem, TimeWindow
from sayso.control.provider.planner.limits import Ceiling
from sayso.control.provider.planner.picking import ServiceAt
from sayso.control.provider.planner.request import Request, other_half
from sayso.control.provider.planner.spoken import (
    sentence,
    spoken_day,
    spoken_list,
    spoken_moment,
    spoken_time,
    spoken_window,
)
from sayso.control.provider.planner.steps import Call, Choice, Say, Topic, asks, refused
from sayso.control.provider.planner.telling_no import no_of

__all__ = ("Openings", "Wanted", "admits", "find_openings", "offer_others", "span_of_day", "wanted_of")

_WEEK = timedelta(days=6)
_LONGEST = timedelta(days=29)
_SOON_DAYS = 14
_MOST_ASKED = 4
_NAMED = 5
_LAST_MINUTE = time(23, 59)
_ANY = (TimeWindow(),)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Days and windows of starting times, any of which will do."""

    days: tuple[date, ...]
    windows: tuple[TimeWindow, ...]

    @property
    def is_open(self) -> bool:
        """Whether some hour may be of the morning or of the afternoon."""
        return any(window.either_half for window in self.windows)


@dataclass(frozen=True, slots=True)
class Openings:
    """Every free start that fits, the one to take first."""

    wanted: Wanted
    starts: tuple[Slot, ...]

    def window_of(self, slot: Slot) -> TimeWindow:
        """The window by which a start fits."""
        return next(window for window in self.wanted.windows if admits(window, slot.clock))


def wanted_of(request: Request, offer: ServiceAt, today: date) -> Wanted | None:
    """When the wish is for; None where it names no day."""
    seen = request.seen
    days = seen.days or (tuple(today + timedelta(days=n) for n in range(_SOON_DAYS)) if seen.soonest else ())
    days = tuple(day for day in days if day not in seen.not_days)
    if not days:
        return None
    windows = seen.times or _ANY
    if seen.done_by and offer.service.minutes is not None:
        # Where no other time is told, the open hour can only be the one to be done by.
        is_open = Problem.AM_PM in seen.problems and not seen.times
        latest = _before(seen.done_by, offer.service.minutes)
        windows = tuple(_until(window, latest, is_open=is_open) for window in windows)
    days = tuple(day for day in days if day - days[0] <= _LONGEST)
    return Wanted(days, windows)


def _before(clock: time, minutes: int) -> time:
    earlier = datetime.combine(date(2000, 1, 2), clock) - timedelta(minutes=minutes)
    return earlier.time() if earlier.day == 2 else time(0)


def _until(window: TimeWindow, latest: time, *, is_open: bool) -> TimeWindow:
    sooner = min(window.latest or latest, latest)
    return replace(window, latest=sooner, either_half=is_open or window.either_half)


def admits(window: TimeWindow, clock: time) -> bool:
    """Whether something may start then."""
    return (window.earliest or time(0)) <= clock <= (window.latest or _LAST_MINUTE)


def find_openings(turn: Turn, offer: ServiceAt, wanted: Wanted, ceiling: Ceiling) -> Openings | Call | Say:
    """The free starts that fit, or the call that is missing, or why there is none."""
    if wanted.is_open:
        settled = _settle_half(turn, offer, wanted)
        if not isinstance(settled, Wanted):
            return settled
        wanted = settled
    first = min(window.earliest or time(0) for window in wanted.windows)
    last = max(window.latest or _LAST_MINUTE for window in wanted.windows)
    starts = _slots_between(turn, offer, _moment(wanted.days[0], first), _moment(wanted.days[-1], last))
    if not isinstance(starts, tuple):
        return starts
    fitting = [
        slot for slot in starts if slot.day in wanted.days and any(admits(w, slot.clock) for w in wanted.windows)
    ]
    affordable = [slot for slot in fitting if ceiling.admits(slot.total)]
    return Openings(wanted, tuple(sorted(affordable, key=lambda slot: _distance(slot, wanted.windows))))


def _distance(slot: Slot, windows: Sequence[TimeWindow]) -> tuple[int, datetime]:
    """Minutes to the time asked for, where one was; then the earlier start."""
    nears = [window.near for window in windows if window.near and admits(window, slot.clock)]
    return min((abs(_minutes(slot.clock) - _minutes(near)) for near in nears), default=0), slot.start


def _minutes(clock: time) -> int:
    return clock.hour * 60 + clock.minute


def _moment(day: date, clock: time) -> str:
    """A date and time as the tools take the host's own."""
    return f"{day.isoformat()}T{clock:%H:%M}"


def span_of_day(day: date) -> tuple[str, str]:
    """The whole of a day, for find_slots."""
    return _moment(day, time(0)), _moment(day, _LAST_MINUTE)


def _slots_between(turn: Turn, offer: ServiceAt, earliest: str, latest: str) -> tuple[Slot, ...] | Call | Say:
    """Every free start in a range, asked on as long as the answer says that there are more."""
    found: list[Slot] = []
    for _ in range(_MOST_ASKED):
        asked = {
            "host": offer.host.host,
            "service_id": offer.service.service_id,
            "earliest_start": earliest,
            "latest_start": latest,
        }
        call = Call("find_slots", asked if offer.named is None else {**asked, "with": offer.named})
        fact = turn.find(call)
        if fact is None:
            return call
        if fact.is_error:
            return no_of(fact, then="Nothing was booked.")
        slots, more_from = read_slots(fact.result)
        found += slots
        if not more_from or more_from == earliest:
            break
        earliest = more_from
    return tuple(found)


def _settle_half(turn: Turn, offer: ServiceAt, wanted: Wanted) -> Wanted | Call | Say:
    """Closes open windows by when the host has free starts at all in the week from the first day on."""
    starts = _slots_between(turn, offer, span_of_day(wanted.days[0])[0], span_of_day(wanted.days[0] + _WEEK)[1])
    if not isinstance(starts, tuple):
        return starts
    if not starts:
        return refused(f"{offer.host.name} has nothing free in the week from {spoken_day(wanted.days[0])}. "
                       "Nothing was booked.", Topic.DAY)  # fmt: skip
    opens, closes = min(slot.clock for slot in starts), max(slot.clock for slot in starts)
    as_said = tuple(replace(window, either_half=False) for window in wanted.windows)
    turned = tuple(other_half(window) if window.either_half else window for window in wanted.windows)
    # What lies in the hours decides; only where neither time does ("before seven" of a shop that closes at six), what
    # reaches into them.
    both = (as_said, turned)
    fitting = [windows for windows in both if all(_points_at(window, opens, closes) for window in windows)]
    fitting = fitting or [windows for windows in both if all(_overlaps(window, opens, closes) for window in windows)]
    return replace(wanted, windows=fitting[0]) if len(fitting) == 1 else _ask_half(as_said, turned)


def _points_at(window: TimeWindow, opens: time, closes: time) -> bool:
    """Whether the time that was named lies in the hours."""
    point = _point(window)
    return point is None or opens <= point <= closes


def _point(window: TimeWindow) -> time | None:
    """The time that was named, the lower of two."""
    return window.near or window.earliest or window.latest


def _overlaps(window: TimeWindow, opens: time, closes: time) -> bool:
    return (window.earliest or opens) <= closes and (window.latest or closes) >= opens


def _ask_half(as_said: tuple[TimeWindow, ...], turned: tuple[TimeWindow, ...]) -> Say:
    readings = sorted((as_said, turned), key=lambda windows: _point(windows[0]) or time(0))
    named = [spoken_list([spoken_window(window) for window in windows]) for windows in readings]
    choices = (Choice("am", named[0]), Choice("pm", named[1]))
    return asks(f"In the morning or in the afternoon: {named[0]}, or {named[1]}?", Topic.HALF, choices)


def offer_others(turn: Turn, offer: ServiceAt, wanted: Wanted, ceiling: Ceiling) -> Call | Say:
    """Nothing fits: the nearest other starts on those days, else in the week after, as a question."""
    spans = (
        (span_of_day(wanted.days[0])[0], span_of_day(wanted.days[-1])[1]),
        (span_of_day(wanted.days[-1] + timedelta(days=1))[0], span_of_day(wanted.days[-1] + timedelta(days=7))[1]),
    )
    for earliest, latest in spans:
        starts = _slots_between(turn, offer, earliest, latest)
        if not isinstance(starts, tuple):
            return starts
        affordable = [slot for slot in starts if ceiling.admits(slot.total)]
        if affordable:
            return _ask_slot(offer, wanted, sorted(affordable, key=lambda slot: _apart(slot, wanted))[:_NAMED])
    return refused(f"{offer.host.name} has nothing free {_spoken(wanted)}, nor in the week after. Nothing was booked.",
                   Topic.DAY)  # fmt: skip


def _apart(slot: Slot, wanted: Wanted) -> tuple[int, int, datetime]:
    """How far a start is from what was asked: days first, then minutes."""
    days = min(abs((slot.day - day).days) for day in wanted.days)
    points = [point for w in wanted.windows for point in (w.near, w.earliest, w.latest) if point]
    return days, min((abs(_minutes(slot.clock) - _minutes(point)) for point in points), default=0), slot.start


def _ask_slot(offer: ServiceAt, wanted: Wanted, slots: Sequence[Slot]) -> Say:
    slots = sorted(slots, key=lambda slot: slot.start)
    same_day = {slot.day for slot in slots} == set(wanted.days)
    named = [spoken_time(slot.clock) if same_day else spoken_moment(slot.start) for slot in slots]
    choices = tuple(Choice(slot.written, name) for slot, name in zip(slots, named, strict=True))
    return asks(
        f"{sentence(f'{offer.host.name} has no {offer.service.title} free {_spoken(wanted)}')} The nearest free: "
        f"{sentence(spoken_list(named))} Shall I take one of these?",
        Topic.SLOT,
        choices,
    )


def _spoken(wanted: Wanted) -> str:
    if len(wanted.days) == 1:
        day = f"on {spoken_day(wanted.days[0])}"
    else:
        day = f"between {spoken_day(wanted.days[0])} and {spoken_day(wanted.days[-1])}"
    windows = [text for text in map(spoken_window, wanted.windows) if text]
    return " ".join([day, spoken_list(windows)]).strip()
