"""What is kept back for people who walk in: time in which agents may take no further unit of a kind (7.4; SCH-146).

On a reserve's days agents together occupy at most as many units of the kind at once as open that day, less those kept.
Bookings that people made themselves do not count towards that, wherever they sit: they are whom the reserve is for. So
every allocation says where it came from (`Busy.origin`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from sayso.scheduling.rules.opening import day_span
from sayso.scheduling.rules.picture import Picture, Taken
from sayso.scheduling.rules.premises import BookableService, Seat, WalkInReserve
from sayso.scheduling.rules.spans import DAY, Span

__all__ = ("out_of_reach",)


def out_of_reach(picture: Picture, service: BookableService, taken: Taken, day: date, family: str | None) -> Taken:
    """What an agent cannot take on a local day: what is taken, and the time in which only the reserve is left.

    `family` is a booking being moved, whose own time counts as given back.
    """
    reserves = [
        each for each in picture.premises.reserves if each.kind in service.needs and day.weekday() in each.weekdays
    ]
    if not reserves:
        return taken
    found = dict(taken)
    for reserve in reserves:
        seats = picture.premises.seats.get(reserve.kind, ())
        closed = _closed(picture, reserve, seats, service.needs.count(reserve.kind), day, family)
        for seat in seats if closed else ():
            found[seat.id] = sorted([*found.get(seat.id, ()), *closed])
    return found


def _closed(
    picture: Picture, reserve: WalkInReserve, seats: tuple[Seat, ...], needed: int, day: date, family: str | None
) -> list[Span]:
    """When one more appointment of an agent would be one too many, within the day and the buffers that follow it."""
    span = day_span(day, picture.premises.zone)
    open_today = sum(1 for seat in seats if seat.hours(day.weekday()))
    room = open_today - reserve.keep - needed
    reach = Span(span.start, span.end + DAY)
    if room < 0:
        return [reach]
    of_agents: dict[str, list[Span]] = {seat.id: [] for seat in seats}
    for busy in picture.busy:
        if busy.origin == "agent" and busy.family != family and busy.seat in of_agents:
            of_agents[busy.seat].append(Span(busy.start, busy.end))
    return _fuller_than(room, (span for spans in of_agents.values() for span in _joined(spans)), reach)


def _joined(spans: list[Span]) -> list[Span]:
    """Overlapping spans of one seat as one: a booking and its own change may overlap, and are one seat all the same."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.start <= found[-1].end:
            found[-1] = Span(found[-1].start, max(found[-1].end, span.end))
        else:
            found.append(span)
    return found


def _fuller_than(most: int, spans: Iterable[Span], within: Span) -> list[Span]:
    """The parts of `within` in which more than `most` of the spans run at once."""
    steps = sorted(step for span in spans for step in ((span.start, 1), (span.end, -1)))
    found: list[Span] = []
    running, since = 0, within.start
    for moment, step in steps:
        if running > most and (piece := Span(max(since, within.start), min(moment, within.end))).start < piece.end:
            found.append(piece)
        running, since = running + step, moment
    return found
