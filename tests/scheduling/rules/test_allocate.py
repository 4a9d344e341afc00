from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.scheduling.rules.allocate import AllocationAsk, Granted, NotFree, allocate
from sayso.scheduling.rules.availability import AvailabilityAsk, availability
from sayso.scheduling.rules.opening import grid
from sayso.scheduling.rules.picture import Busy
from sayso.scheduling.rules.spans import SECOND
from tests.scheduling.rules.shop import DIAGNOSIS, NOW, OIL, at, day_picture, premises

ONE = "2026-10-15T13:00:00-04:00"
SHOP = premises()
MINUTE = 60 * SECOND


def busy(seat, start, end, family="other"):
    return Busy(seat, at(f"2026-10-15T{start}:00-04:00"), at(f"2026-10-15T{end}:00-04:00"), family)


def seats(answer):
    assert isinstance(answer, Granted)
    return [seat.id for seat in answer.seats]


@pytest.mark.req("SCH-119", "SCH-130")
def test_an_empty_day_gives_the_lowest_ids_and_keeps_the_buffer():
    """One bay and one technician, for the 45 minutes and the 15 after them."""
    answer = allocate(AllocationAsk(OIL, at(ONE)), day_picture("2026-10-15"), NOW)
    assert seats(answer) == ["bay-1", "alex"]
    assert (answer.until, answer.occupied_until) == (at("2026-10-15T13:45:00-04:00"), at("2026-10-15T14:00:00-04:00"))


@pytest.mark.req("SCH-130")
def test_the_tightest_fit_wins_over_the_lowest_id():
    """Bay 2 has an hour free between two jobs: the hour goes there and bay 1 keeps its whole day."""
    picture = day_picture("2026-10-15", busy("bay-2", "12:00", "13:00"), busy("bay-2", "14:00", "15:00"))
    assert seats(allocate(AllocationAsk(OIL, at(ONE)), picture, NOW)) == ["bay-2", "alex"]


@pytest.mark.req("SCH-114", "SCH-130")
def test_a_named_unit_comes_before_the_tightest_fit():
    """Robin was asked for, so Robin it is."""
    picture = day_picture("2026-10-15", busy("alex", "12:00", "13:00"), busy("alex", "14:00", "15:00"))
    assert seats(allocate(AllocationAsk(OIL, at(ONE), named="robin"), picture, NOW)) == ["bay-1", "robin"]


@pytest.mark.req("SCH-130")
def test_a_move_stays_on_its_units_where_they_fit():
    """The booking stands on bay 2 and keeps it, although bay 1 would be the lower id."""
    ask = AllocationAsk(OIL, at(ONE), family="mine", prefer=("bay-2", "robin"))
    picture = day_picture("2026-10-15", busy("bay-2", "12:30", "13:30", "mine"))
    assert seats(allocate(ask, picture, NOW)) == ["bay-2", "robin"]


@pytest.mark.req("SCH-126")
def test_a_move_may_overlap_its_own_time_and_nobody_elses():
    """With everything taken 12:30 to 13:30, only the family that took it may have 13:00."""
    taken = [busy(seat, "12:30", "13:30", "mine") for seat in ("bay-1", "bay-2", "alex", "robin")]
    picture = day_picture("2026-10-15", *taken)
    assert isinstance(allocate(AllocationAsk(OIL, at(ONE), family="mine"), picture, NOW), Granted)
    assert isinstance(allocate(AllocationAsk(OIL, at(ONE), family="yours"), picture, NOW), NotFree)


@pytest.mark.req("SCH-134")
def test_a_taken_start_names_the_nearest_free_ones():
    """Five starts around 13:00, nearest first, none of them the one asked for."""
    picture = day_picture("2026-10-15", busy("bay-1", "12:00", "14:00"), busy("bay-2", "12:00", "14:00"))
    answer = allocate(AllocationAsk(OIL, at(ONE)), picture, NOW)
    assert isinstance(answer, NotFree)
    minutes = [(slot.start - at(ONE)) // MINUTE for slot in answer.alternatives]
    assert (minutes, answer.is_offered) == ([60, 75, 90, 105, -120], True)


@pytest.mark.parametrize(
    "start",
    [
        "2026-10-15T13:05:00-04:00",
        "2026-10-15T17:30:00-04:00",
        "2026-10-15T07:45:00-04:00",
        "2026-10-13T09:00:00-04:00",
        "2026-12-18T10:00:00-05:00",
    ],
)
def test_a_start_that_is_not_on_offer_is_not_given(start):
    """Off the grid, past the last start, before opening, not after now, beyond the horizon."""
    answer = allocate(AllocationAsk(OIL, at(start)), day_picture(start[:10]), NOW)
    assert isinstance(answer, NotFree)
    assert not answer.is_offered


@pytest.mark.req("SCH-258")
def test_an_open_end_keeps_its_units_until_the_first_of_them_closes():
    """A drop-off at 08:00 occupies the bay until 18:00 and agrees on no end."""
    answer = allocate(AllocationAsk(DIAGNOSIS, at("2026-10-15T08:00:00-04:00")), day_picture("2026-10-15"), NOW)
    assert isinstance(answer, Granted)
    assert (answer.open_end, answer.occupied_until) == (True, at("2026-10-15T18:00:00-04:00"))


def test_a_service_that_takes_nothing_is_not_granted():
    """An allocation of no seats would never clash with anything."""
    picture = day_picture("2026-10-15")
    assert isinstance(allocate(AllocationAsk(replace(OIL, needs=()), at(ONE)), picture, NOW), NotFree)


rows = st.builds(
    lambda seat, start, length: Busy(
        seat,
        at("2026-10-15T07:00:00-04:00") + start * MINUTE,
        at("2026-10-15T07:00:00-04:00") + (start + length) * MINUTE,
        "f",
    ),
    st.sampled_from(["bay-1", "bay-2", "alex", "robin"]),
    st.integers(0, 690),
    st.integers(1, 300),
)
services = st.sampled_from(
    [OIL, DIAGNOSIS, replace(OIL, needs=("bay", "bay", "technician")), replace(OIL, buffer=timedelta(hours=2))]
)


@settings(max_examples=80)
@given(services, st.lists(rows, max_size=8), st.sampled_from([None, "alex", "bay-2"]))
def test_what_is_offered_is_what_is_granted_and_nobody_is_in_the_way(service, taken, named):
    """Every start of the day is granted exactly when availability lists it, and then on seats nobody has taken."""
    picture = day_picture("2026-10-15", *taken)
    now = datetime(2026, 10, 15, 14, 7, tzinfo=UTC)
    offered = {slot.start for slot in availability(picture, AvailabilityAsk(service, picture.covers, named), now)}
    for start in grid(datetime(2026, 10, 15).date(), SHOP.zone, timedelta(minutes=15)):
        answer = allocate(AllocationAsk(service, start, named), picture, now)
        assert isinstance(answer, Granted) is (start in offered)
        if isinstance(answer, Granted):
            assert sorted(seat.unit.kind for seat in answer.seats) == sorted(service.needs)
            assert len({seat.id for seat in answer.seats}) == len(service.needs)
            for seat in answer.seats:
                assert not [
                    row
                    for row in taken
                    if row.seat == seat.id and row.start < answer.occupied_until and start < row.end
                ]
