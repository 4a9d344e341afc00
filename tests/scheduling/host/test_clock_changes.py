"""The two nights on which Toronto's clocks change, over the wire: openings, offers and elapsed time (SCH-277..280)."""

from datetime import timedelta

import msgspec
import pytest

from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.core.strictjson import parse
from sayso.core.zones import find_zone
from sayso.proof.jws import read_jws
from sayso.scheduling.tools.moments import read_moment
from tests.scheduling.host.town import one_bay, open_town_on_file, read, reason

pytestmark = pytest.mark.anyio

AUTUMN = "2026-11-01"  # 2 a.m. is 1 a.m. again
SPRING = "2027-03-14"  # 2 a.m. is 3 a.m.


def open_all_night():
    """One bay, day and night; an oil change takes an hour and leaves the bay at once."""
    config = one_bay()
    hours = dict.fromkeys(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), ("00:00-24:00",))
    services = tuple(
        msgspec.structs.replace(service, duration="PT1H", buffer=None) if service.id == "oil-change" else service
        for service in config.services
    )
    units = tuple(msgspec.structs.replace(unit, hours=hours) for unit in config.units)
    return msgspec.structs.replace(config, services=services, units=units)


async def starts(guest, opens, closes):
    window = {"start": opens, "end": closes}
    found = await guest.send("POST", "/availability", {"service_id": "oil-change", "window": window})
    return [(slot["start"], slot["end"]) for slot in read(found, 200)["slots"]]


def all_night(guest, opens, closes, days=1):
    window = {"not_before": opens, "not_after": closes}
    now = int(guest.clock.now().timestamp())
    return guest.mandate(constraints={"window": window, "max_bookings": 9}, exp=now + days * 86400)


@pytest.mark.req("SCH-277", "SCH-275")
async def test_a_utc_window_over_the_autumn_change_gives_the_hosts_own_openings(tmp_path, clock):
    """09:00-04:00 on Saturday, nothing on Sunday, 08:00-05:00 on Monday, as a guest anywhere reads it."""
    async with open_town_on_file(tmp_path, clock, one_bay()) as town:
        found = await starts(town.guest(), "2026-10-31T00:00:00Z", "2026-11-03T00:00:00Z")
    firsts = {}
    for start, _ in found:
        firsts.setdefault(start[:10], start)
    # The window begins on Friday evening, Toronto time, after closing.
    assert firsts == {"2026-10-31": "2026-10-31T09:00:00-04:00", "2026-11-02": "2026-11-02T08:00:00-05:00"}


@pytest.mark.req("SCH-277")
async def test_a_utc_window_over_the_spring_change_gives_the_hosts_own_openings(tmp_path, clock):
    """The other way round: 09:00-05:00 on Saturday, 08:00-04:00 on Monday."""
    clock.set(parse_instant("2027-03-01T14:00:00Z"))
    async with open_town_on_file(tmp_path, clock, one_bay()) as town:
        found = await starts(town.guest(), "2027-03-13T05:00:00Z", "2027-03-16T00:00:00Z")
    firsts = {}
    for start, _ in found:
        firsts.setdefault(start[:10], start)
    assert firsts == {"2027-03-13": "2027-03-13T09:00:00-05:00", "2027-03-15": "2027-03-15T08:00:00-04:00"}


@pytest.mark.req("SCH-278", "SCH-280")
async def test_the_hour_that_happens_twice_is_two_hours_and_both_can_be_booked(tmp_path, clock):
    """01:30-04:00 and 01:30-05:00 are an hour apart: the first appointment ends as the second begins, in truth."""
    async with open_town_on_file(tmp_path, clock, open_all_night()) as town:
        guest = town.guest()
        night = (f"{AUTUMN}T01:30:00-04:00", f"{AUTUMN}T02:30:00-05:00")
        found = await starts(guest, *night)
        assert found[0] == (f"{AUTUMN}T01:30:00-04:00", f"{AUTUMN}T01:30:00-05:00")
        assert found[-1] == (f"{AUTUMN}T01:30:00-05:00", f"{AUTUMN}T02:30:00-05:00")
        assert len(found) == 5
        mandate = all_night(guest, *night, days=20)
        first = read(await guest.hold(mandate, start=f"{AUTUMN}T01:30:00-04:00"), 201)
        assert reason(await guest.hold(mandate, start=f"{AUTUMN}T01:45:00-04:00"), 409) == "slot_taken"
        second = read(await guest.hold(mandate, start=f"{AUTUMN}T01:30:00-05:00"), 201)
        terms = [parse(read_jws(each["offer"]).payload) for each in (first, second)]
        lengths = [parse_instant(each["end"]) - parse_instant(each["start"]) for each in terms]
        assert lengths == [timedelta(hours=1)] * 2
        assert terms[0]["end"] == terms[1]["start"]


@pytest.mark.req("SCH-278", "SCH-280")
async def test_the_hour_that_never_happens_is_offered_by_nobody(tmp_path, clock):
    """From 01:45 the next quarter is 03:00; an hour from 01:30 ends at 03:30; 02:30 is no time at all."""
    clock.set(parse_instant("2027-03-01T14:00:00Z"))
    async with open_town_on_file(tmp_path, clock, open_all_night()) as town:
        guest = town.guest()
        night = (f"{SPRING}T01:30:00-05:00", f"{SPRING}T04:15:00-04:00")
        found = await starts(guest, *night)
        assert [start for start, _ in found] == [
            f"{SPRING}T01:30:00-05:00",
            f"{SPRING}T01:45:00-05:00",
            f"{SPRING}T03:00:00-04:00",
            f"{SPRING}T03:15:00-04:00",
        ]
        assert found[0][1] == f"{SPRING}T03:30:00-04:00"
        held = read(await guest.hold(all_night(guest, *night, days=20), start=f"{SPRING}T01:30:00-05:00"), 201)
        assert parse_instant(held["end"]) - parse_instant(held["start"]) == timedelta(hours=1)


@pytest.mark.req("SCH-278")
async def test_a_change_of_offset_between_booking_and_appointment_moves_nothing(tmp_path, clock):
    """Booked in summer time for a winter day at nine: nine on the wall, and deadlines in exact hours."""
    async with open_town_on_file(tmp_path, clock, one_bay()) as town:
        guest = town.guest()
        monday = ("2026-11-02T08:00:00-05:00", "2026-11-02T18:00:00-05:00")
        mandate = all_night(guest, *monday, days=25)
        booking = await guest.book(mandate, start="2026-11-02T09:00:00-05:00")
        assert (booking["start"], booking["event"]["start"]) == ("2026-11-02T09:00:00-05:00", "2026-11-02T09:00:00")
        clock.set(parse_instant("2026-11-02T13:59:59Z"))
        assert read(await guest.cancel(booking["booking_id"], mandate), 200)["booking"]["status"] == "cancelled"


@pytest.mark.req("SCH-280")
def test_a_local_time_that_never_happens_is_refused_and_one_that_happens_twice_is_the_first():
    """What a person or their assistant types without an offset."""
    toronto = find_zone("America/Toronto")
    with pytest.raises(Refused) as caught:
        read_moment(f"{SPRING}T02:30", toronto, "start")
    assert (caught.value.refusal.reason, caught.value.refusal.place) == ("outside_request", "$.start")
    assert read_moment(f"{AUTUMN}T01:30", toronto, "start") == parse_instant(f"{AUTUMN}T01:30:00-04:00")
