from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sayso.core.instants import write_local
from sayso.scheduling.rules.availability import AvailabilityAsk, FreeSlot, availability
from sayso.scheduling.rules.picture import Busy, Picture
from sayso.scheduling.rules.premises import BookableUnit
from sayso.scheduling.rules.spans import Span, instant
from tests.scheduling.rules.shop import (
    DIAGNOSIS,
    FIVE_DAYS,
    NOW,
    OIL,
    SIX_DAYS,
    UNITS,
    at,
    day_picture,
    premises,
    window,
)

THURSDAY = window("2026-10-15T11:00:00-04:00", "2026-10-15T15:45:00-04:00")


def starts(slots):
    return [write_local(instant(slot.start), premises().zone)[11:16] for slot in slots]


@pytest.mark.req("SCH-110", "SCH-116", "SCH-377")
def test_the_walkthrough_has_seventeen_slots():
    """From 11:00 to 15:00 in quarter hours: a 45-minute job that ends at 15:45 still fits."""
    slots = availability(day_picture("2026-10-15"), AvailabilityAsk(OIL, THURSDAY), NOW)
    assert slots[0] == FreeSlot(at("2026-10-15T11:00:00-04:00"), at("2026-10-15T11:45:00-04:00"))
    assert (len(slots), starts(slots)[-1]) == (17, "15:00")


@pytest.mark.req("SCH-129")
def test_the_service_ends_by_closing_and_its_buffer_may_run_past_it():
    """17:15 is the last start of a 45-minute job at a shop that closes at 18:00."""
    evening = window("2026-10-15T16:30:00-04:00", "2026-10-15T23:00:00-04:00")
    assert starts(availability(day_picture("2026-10-15"), AvailabilityAsk(OIL, evening), NOW))[-1] == "17:15"


@pytest.mark.req("SCH-112", "SCH-119")
def test_a_slot_needs_every_kind_of_unit():
    """With both technicians busy two free bays offer nothing; the buffer before them counts too."""
    busy = [
        Busy(seat, at("2026-10-15T12:00:00-04:00"), at("2026-10-15T14:00:00-04:00"), "f") for seat in ("alex", "robin")
    ]
    slots = availability(day_picture("2026-10-15", *busy), AvailabilityAsk(OIL, THURSDAY), NOW)
    assert starts(slots) == ["11:00", "14:00", "14:15", "14:30", "14:45", "15:00"]


@pytest.mark.req("SCH-114")
def test_a_named_unit_narrows_its_own_kind_only():
    """With Alex busy, asking for Alex finds nothing although Robin is free; asking for a stranger finds nothing."""
    busy = Busy("alex", at("2026-10-15T08:00:00-04:00"), at("2026-10-15T18:00:00-04:00"), "f")
    picture = day_picture("2026-10-15", busy)
    found = [
        len(availability(picture, AvailabilityAsk(OIL, THURSDAY, named), NOW))
        for named in (None, "robin", "alex", "nobody")
    ]
    assert found == [17, 17, 0, 0]


@pytest.mark.req("SCH-125")
def test_a_unit_with_two_seats_serves_two_at_once():
    """One of two seats taken leaves the unit free; both taken leave nothing."""
    shop = premises(units=(BookableUnit("hall", "bay", SIX_DAYS, capacity=2), *UNITS[2:]))
    span = (at("2026-10-15T08:00:00-04:00"), at("2026-10-15T18:00:00-04:00"))
    one = day_picture("2026-10-15", Busy("hall/1", *span, "f"), of=shop)
    both = day_picture("2026-10-15", Busy("hall/1", *span, "f"), Busy("hall/2", *span, "g"), of=shop)
    ask = AvailabilityAsk(OIL, THURSDAY)
    assert (len(availability(one, ask, NOW)), len(availability(both, ask, NOW))) == (17, 0)


@pytest.mark.req("SCH-128")
def test_saturday_has_its_own_hours_and_sunday_none():
    """The second bay and technician do not work on Saturday: one allocation fills the day's only pair."""
    saturday = window("2026-10-17T00:00:00-04:00", "2026-10-19T00:00:00-04:00")
    shop = premises()
    picture = Picture(
        shop, saturday, (Busy("bay-1", at("2026-10-17T09:00:00-04:00"), at("2026-10-17T15:00:00-04:00"), "f"),)
    )
    assert starts(availability(picture, AvailabilityAsk(OIL, saturday), NOW)) == ["15:00", "15:15"]


@pytest.mark.req("SCH-112", "SCH-274")
def test_nothing_is_offered_now_or_before_and_nothing_past_the_horizon():
    """The horizon is exact: 60 days of 24 hours from now, its last instant included."""
    now = datetime(2026, 10, 15, 16, 0, tzinfo=UTC)
    today = availability(day_picture("2026-10-15"), AvailabilityAsk(OIL, THURSDAY), now)
    assert starts(today)[0] == "12:15"
    last_day = window("2026-12-14T00:00:00-05:00", "2026-12-15T00:00:00-05:00")
    assert starts(availability(Picture(premises(), last_day), AvailabilityAsk(OIL, last_day), now))[-1] == "11:00"


@pytest.mark.req("SCH-277")
def test_a_window_across_the_autumn_change_gives_local_openings():
    """Saturday from 09:00-04:00, nothing on Sunday, Monday from 08:00-05:00."""
    span = window("2026-10-31T00:00:00+00:00", "2026-11-03T00:00:00+00:00")
    slots = availability(Picture(premises(), span), AvailabilityAsk(OIL, span), NOW)
    spoken = [write_local(instant(slot.start), premises().zone) for slot in slots]
    days = {text[:10]: text for text in reversed(spoken)}
    assert days == {"2026-10-31": "2026-10-31T09:00:00-04:00", "2026-11-02": "2026-11-02T08:00:00-05:00"}


@pytest.mark.req("SCH-254", "SCH-255", "SCH-258")
def test_an_open_ended_service_needs_the_seat_until_closing():
    """With one bay taken at 15:00 a drop-off can no longer start before that, unless another bay is free."""
    morning = window("2026-10-15T08:00:00-04:00", "2026-10-15T16:00:00-04:00")
    taken = [Busy("bay-1", at("2026-10-15T15:00:00-04:00"), at("2026-10-15T15:30:00-04:00"), "f")]
    ask = AvailabilityAsk(DIAGNOSIS, morning)
    assert starts(availability(day_picture("2026-10-15", *taken), ask, NOW))[0] == "08:00"
    taken.append(taken[0]._replace(seat="bay-2"))
    late = availability(day_picture("2026-10-15", *taken), ask, NOW)
    assert [(slot.end, start) for slot, start in zip(late, starts(late), strict=True)] == [
        (None, "15:30"),
        (None, "15:45"),
        (None, "16:00"),
    ]


def test_a_service_that_takes_nothing_is_never_offered():
    """An empty list of needs is no yes to everything."""
    ask = AvailabilityAsk(replace(OIL, needs=()), THURSDAY)
    assert availability(day_picture("2026-10-15"), ask, NOW) == []


def test_two_technicians_at_once_are_counted():
    """A service that takes two of a kind is offered only while two are free."""
    pair = replace(OIL, needs=("technician", "technician"))
    busy = Busy("robin", at("2026-10-15T08:00:00-04:00"), at("2026-10-15T13:00:00-04:00"), "f")
    slots = availability(day_picture("2026-10-15", busy), AvailabilityAsk(pair, THURSDAY), NOW)
    assert starts(slots)[0] == "13:00"


def test_a_set_aside_length_bounds_an_open_end():
    """Three hours set aside end by closing; the guest commits to the start alone."""
    playdate = replace(DIAGNOSIS, set_aside=timedelta(hours=3))
    day = window("2026-10-15T14:00:00-04:00", "2026-10-15T18:00:00-04:00")
    shop = premises(units=(BookableUnit("bay-1", "bay", FIVE_DAYS),))
    assert starts(availability(Picture(shop, day), AvailabilityAsk(playdate, day), NOW))[-1] == "15:00"


def test_an_empty_window_has_no_slots():
    """A window that ends before it starts offers nothing rather than everything."""
    ask = AvailabilityAsk(OIL, Span(THURSDAY.end, THURSDAY.start))
    assert availability(day_picture("2026-10-15"), ask, NOW) == []
