from datetime import timedelta

import pytest

from sayso.scheduling.rules.allocate import AllocationAsk, Granted, NotFree, allocate
from sayso.scheduling.rules.availability import AvailabilityAsk, availability
from sayso.scheduling.rules.picture import Busy
from sayso.scheduling.rules.premises import BookableService, BookableUnit, WalkInReserve
from tests.scheduling.rules.shop import NOW, at, day_picture, premises

ALL_DAY = ((10 * 60, 19 * 60),)
WEEK = (ALL_DAY,) * 7
CUT = BookableService(id="haircut", title="Haircut", duration=timedelta(minutes=30), needs=("chair",))
CHAIRS = (BookableUnit("chairs", "chair", WEEK, capacity=3),)
SATURDAY, FRIDAY = "2026-10-17", "2026-10-16"


def shop(keep=1, units=CHAIRS):
    return premises(
        units=units,
        services=(CUT,),
        slot_step=timedelta(minutes=30),
        reserves=(WalkInReserve("chair", keep, frozenset({5})),),
    )


def busy(seat, start, end, origin="agent", family=None, day=SATURDAY):
    return Busy(seat, at(f"{day}T{start}:00-04:00"), at(f"{day}T{end}:00-04:00"), family or f"{seat} {start}", origin)


def grant(*taken, day=SATURDAY, start="11:00", of=None, **ask):
    picture = day_picture(day, *taken, of=of or shop())
    return allocate(AllocationAsk(CUT, at(f"{day}T{start}:00-04:00"), **ask), picture, NOW)


@pytest.mark.req("SCH-146")
def test_agents_fill_all_chairs_but_the_one_that_is_kept():
    """Two of three on a Saturday, all three on a Friday."""
    two = [busy("chairs/1", "11:00", "11:30"), busy("chairs/2", "11:00", "11:30")]
    assert isinstance(grant(two[0]), Granted)
    assert isinstance(grant(*two), NotFree)
    friday = [busy(f"chairs/{n}", "11:00", "11:30", day=FRIDAY) for n in (1, 2)]
    assert isinstance(grant(*friday, day=FRIDAY), Granted)


@pytest.mark.req("SCH-146")
def test_who_walked_in_sits_in_the_reserve_and_takes_nothing_from_agents():
    """With one chair taken by people, agents still get their two; bookings of agents would have left one."""
    people = busy("chairs/3", "11:00", "11:30", origin="people")
    assert isinstance(grant(people), Granted)
    assert isinstance(grant(people, busy("chairs/1", "11:00", "11:30")), Granted)
    assert isinstance(grant(people, busy("chairs/1", "11:00", "11:30"), busy("chairs/2", "11:00", "11:30")), NotFree)


@pytest.mark.req("SCH-146")
def test_people_may_take_what_is_kept_and_start_when_they_come():
    """At seven minutes past, which is on no grid, on the chair that agents cannot have."""
    two = [busy("chairs/1", "11:00", "11:30"), busy("chairs/2", "11:00", "11:30")]
    granted = grant(*two, start="11:07", origin="people")
    assert isinstance(granted, Granted)
    assert [seat.id for seat in granted.seats] == ["chairs/3"]


@pytest.mark.req("SCH-112", "SCH-146")
def test_availability_shows_what_a_hold_would_get():
    """The half hour in which only the reserve is left is missing, and so is every start that would run into it."""
    picture = day_picture(SATURDAY, busy("chairs/1", "11:00", "11:30"), busy("chairs/2", "11:15", "11:45"), of=shop())
    found = availability(picture, AvailabilityAsk(CUT, picture.covers), NOW)
    assert len(found) == 17
    assert at(f"{SATURDAY}T11:00:00-04:00") not in [slot.start for slot in found]


@pytest.mark.req("SCH-126", "SCH-146")
def test_a_booking_being_moved_gives_its_own_chair_back_to_the_count():
    """The second of two may move within the hour; and a booking with its own change on one chair counts once."""
    mine = busy("chairs/2", "11:00", "11:30", family="mine")
    assert isinstance(grant(busy("chairs/1", "11:00", "11:30"), mine, family="mine"), Granted)
    change = busy("chairs/2", "11:00", "12:00", family="mine")
    assert isinstance(grant(mine, change), Granted)


def test_keeping_as_many_as_there_are_leaves_agents_nothing_that_day():
    """Not an error: a shop that wants its Saturdays for itself."""
    of = shop(keep=3)
    picture = day_picture(SATURDAY, of=of)
    assert availability(picture, AvailabilityAsk(CUT, picture.covers), NOW) == []
    assert isinstance(grant(of=of, origin="people"), Granted)


@pytest.mark.req("SCH-112", "SCH-128")
def test_a_unit_has_as_many_seats_as_its_weekday_says():
    """Three on weekdays and one on Saturday: a second appointment then has no seat."""
    units = (BookableUnit("chairs", "chair", WEEK, capacity=3, seats_on=(3, 3, 3, 3, 3, 1, 3)),)
    of = premises(units=units, services=(CUT,), slot_step=timedelta(minutes=30))
    assert isinstance(grant(of=of), Granted)
    assert isinstance(grant(busy("chairs/1", "11:00", "11:30"), of=of), NotFree)
    assert isinstance(grant(busy("chairs/1", "11:00", "11:30", day=FRIDAY), day=FRIDAY, of=of), Granted)
