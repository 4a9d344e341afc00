"""Waiting: who may, for what, and who gets freed time first. One bay, on a real socket and a real store."""

from datetime import timedelta

import msgspec
import pytest

from sayso.core import strictjson
from sayso.core.instants import epoch
from sayso.proof.jws import read_jws
from sayso.scheduling.host.contacts import add_contact, remove_contact
from sayso.scheduling.terms.discovery import WaitlistLimits
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_waitlist
from sayso.world.maple_street import maple_street_auto
from tests.scheduling.host.town import ONE, one_bay, open_town, read, reason

pytestmark = pytest.mark.anyio

HOUR = {"start": "2026-10-15T13:00:00-04:00", "end": "2026-10-15T13:45:00-04:00"}
TWO_HOURS = {"start": "2026-10-15T12:15:00-04:00", "end": "2026-10-15T14:45:00-04:00"}


def waiting_room(entries=2, **policies):
    """One bay with a waitlist."""
    return msgspec.structs.replace(one_bay(**policies), waitlist=WaitlistLimits(max_entries_per_agent=entries))


def kept_entries(view):
    return view.all(statement(host_waitlist.select()))


async def join(guest, mandate=None, window=HOUR, **changed):
    body = {"idempotency_key": guest.ids.new("i"), "service_id": "oil-change", "window": window, **changed}
    return await guest.send("POST", "/waitlist", body, mandate or guest.mandate())


async def look(guest, entry):
    return read(await guest.send("GET", f"/waitlist/{entry['entry_id']}"), 200)


async def leave(guest, entry):
    body = {"idempotency_key": guest.ids.new("i")}
    return await guest.send("POST", f"/waitlist/{entry['entry_id']}/leave", body)


async def booked(town, lasts=3600, **changed):
    """Kim has the hour: her booking, and how to call it off."""
    kim = town.guest()
    mandate = kim.mandate(exp=epoch(kim.clock.now()) + lasts)
    booking = await kim.book(mandate, **changed)

    async def cancel():
        return read(await kim.cancel(booking["booking_id"], mandate), 200)

    return booking, cancel


@pytest.mark.req("SCH-239", "SCH-241", "SCH-242")
async def test_freed_time_is_held_for_the_first_in_line_who_confirms_it_under_the_same_mandate(store, clock):
    """Kim cancels; in the same unit the hour is Priya's, nobody else can see or hold it, and she books it."""
    async with open_town(store, clock, waiting_room()) as town:
        _, cancel = await booked(town)
        priya, later, stranger = town.guest(), town.guest(), town.guest()
        mandate = priya.mandate()
        entry = read(await join(priya, mandate), 201)
        assert (entry["status"], entry["version"], entry.get("hold")) == ("waiting", 1, None)
        second = read(await join(later), 201)
        await cancel()
        assert (await town.kinds())[-3:] == ["booking.cancelled", "hold.placed", "waitlist.offered"]
        offered = await look(priya, entry)
        hold = offered["hold"]
        assert (offered["status"], offered["version"], hold["status"]) == ("offered", 2, "held")
        assert (hold["start"], hold["end"]) == (ONE, "2026-10-15T13:45:00-04:00")
        assert (await look(later, second))["status"] == "waiting"
        assert reason(await stranger.hold(stranger.mandate()), 409) == "slot_taken"
        done = read(await priya.confirm(hold, mandate), 201)
        assert done["booking"]["mandate"] == strictjson.parse(read_jws(mandate).payload)["jti"]
        taken = await look(priya, entry)
        assert (taken["status"], taken["hold"]["booking_id"]) == ("taken", done["booking"]["booking_id"])
        assert reason(await leave(priya, entry), 409) == "entry_taken"
        assert [kind for kind in await town.kinds() if kind.startswith("waitlist.")] == [
            "waitlist.joined",
            "waitlist.joined",
            "waitlist.offered",
            "waitlist.ended",
        ]


@pytest.mark.req("SCH-240", "SCH-250")
@pytest.mark.parametrize("how", ["lapse", "release", "leave"])
async def test_what_is_not_taken_up_moves_down_the_line(store, clock, how):
    """Run out, released or left: the entry is over, and the next one has the time before anybody can see it free."""
    async with open_town(store, clock, waiting_room()) as town:
        _, cancel = await booked(town)
        first, second = town.guest(), town.guest()
        one = read(await join(first), 201)
        clock.advance(timedelta(seconds=1))
        two = read(await join(second), 201)
        await cancel()
        hold = (await look(first, one))["hold"]
        if how == "lapse":
            clock.advance(timedelta(minutes=10))
        elif how == "release":
            read(await first.release(hold), 200)
        else:
            assert read(await leave(first, one), 200)["hold"]["status"] == "released"
        request = {"service_id": "oil-change", "window": HOUR}
        seen = read(await town.guest().send("POST", "/availability", request), 200)
        assert seen["slots"] == []
        assert (await look(first, one))["status"] == ("lapsed" if how == "lapse" else "left")
        assert (await look(second, two))["status"] == "offered"


@pytest.mark.req("SCH-250")
async def test_an_offer_lives_as_long_as_the_longest_hold_and_never_past_the_start(store, clock):
    """The ceiling of any hold, and the appointment's own beginning."""
    async with open_town(store, clock, waiting_room()) as town:
        days = 3 * 86400
        _, cancel = await booked(town, days)
        guest = town.guest()
        entry = read(await join(guest, guest.mandate(exp=epoch(clock.now()) + days)), 201)
        assert entry["expires_at"] == "2026-10-15T17:00:00Z"
        clock.advance(timedelta(days=2, hours=3, minutes=56))
        await cancel()
        offered = await look(guest, entry)
        assert offered["hold"]["expires_at"] == "2026-10-15T17:00:00Z"


@pytest.mark.req("SCH-237", "SCH-100")
async def test_the_mandate_covers_the_whole_window_and_both_scopes(store, clock):
    """A waiter's agent may hold and book anywhere in the window without another word: all of it has to be covered."""
    async with open_town(store, clock, waiting_room()) as town:
        await booked(town)
        guest = town.guest()
        beyond = {"start": HOUR["start"], "end": "2026-10-15T15:46:00-04:00"}
        before = {"start": "2026-10-15T10:59:00-04:00", "end": HOUR["end"]}
        for window in (beyond, before):
            assert reason(await join(guest, window=window), 403) == "outside_window"
        assert reason(await join(guest, guest.mandate(scope=["hold"])), 403) == "scope_missing"
        assert reason(await join(guest, guest.mandate(scope=["book"])), 403) == "scope_missing"
        cheap = guest.mandate(constraints={"max_price": {"amount": "50.00", "currency": "CAD"}})
        assert reason(await join(guest, cheap), 403) == "above_price"
        assert await town.store.reading(kept_entries) == []


@pytest.mark.req("SCH-237", "SCH-080", "SCH-153")
async def test_waiting_takes_a_unit_of_the_mandate_and_is_capped_per_agent(store, clock):
    """Otherwise one mandate could wait and hold at once, and one agent fill every line."""
    async with open_town(store, clock, waiting_room(entries=2)) as town:
        await booked(town)
        guest = town.guest()
        mandate = guest.mandate()
        entry = read(await join(guest, mandate), 201)
        assert reason(await join(guest, mandate), 403) == "limit_reached"
        assert reason(await guest.hold(mandate, start="2026-10-15T11:00:00-04:00"), 403) == "limit_reached"
        read(await join(guest), 201)
        assert reason(await join(guest), 409) == "too_many_entries"
        left = read(await leave(guest, entry), 200)
        assert left["status"] == "left"
        assert read(await leave(guest, entry), 200) == left
        read(await guest.hold(mandate, start="2026-10-15T11:00:00-04:00"), 201)


@pytest.mark.req("SCH-237", "SCH-240", "SCH-101")
async def test_an_offered_hold_counts_once_and_frees_the_unit_when_it_lapses(store, clock):
    """Entry and hold are one unit of the mandate, never two, and none once both are over."""
    async with open_town(store, clock, waiting_room()) as town:
        _, cancel = await booked(town)
        guest = town.guest()
        mandate = guest.mandate(constraints={"max_bookings": 2})
        read(await join(guest, mandate), 201)
        await cancel()
        read(await guest.hold(mandate, start="2026-10-15T11:00:00-04:00"), 201)
        assert reason(await guest.hold(mandate, start="2026-10-15T15:00:00-04:00"), 403) == "limit_reached"
        clock.advance(timedelta(minutes=10))
        read(await guest.hold(mandate, start="2026-10-15T15:00:00-04:00"), 201)


@pytest.mark.req("SCH-240")
async def test_an_offer_never_runs_past_the_waiters_window(store, clock):
    """The freed hour begins inside the window, but the appointment would end after it: the next in line gets it."""
    async with open_town(store, clock, waiting_room()) as town:
        _, cancel = await booked(town)
        _, cancel_before = await booked(town, start="2026-10-15T12:00:00-04:00")
        short, fits = town.guest(), town.guest()
        early = {"start": "2026-10-15T12:30:00-04:00", "end": "2026-10-15T13:30:00-04:00"}
        one = read(await join(short, window=early), 201)
        clock.advance(timedelta(seconds=1))
        two = read(await join(fits), 201)
        await cancel()
        assert (await look(short, one))["status"] == "waiting"
        assert (await look(fits, two))["status"] == "offered"
        await cancel_before()


@pytest.mark.req("SCH-240", "SCH-135")
async def test_a_waiter_at_their_cap_of_holds_is_passed_over(store, clock):
    """Waiting is no way round the caps: a free hold later, the same entry is served."""
    config = waiting_room()
    holds = msgspec.structs.replace(config.policies.holds, max_active_per_agent=1)
    config = msgspec.structs.replace(config, policies=msgspec.structs.replace(config.policies, holds=holds))
    async with open_town(store, clock, config) as town:
        _, cancel = await booked(town)
        busy, free = town.guest(), town.guest()
        one = read(await join(busy), 201)
        clock.advance(timedelta(seconds=1))
        two = read(await join(free), 201)
        read(await busy.hold(busy.mandate(), start="2026-10-15T15:00:00-04:00"), 201)
        await cancel()
        assert (await look(busy, one))["status"] == "waiting"
        assert (await look(free, two))["status"] == "offered"


@pytest.mark.req("SCH-239")
async def test_time_freed_by_a_move_and_by_a_lapse_is_offered_too(store, clock):
    """However time comes free: a booking moved away, a hold run out."""
    async with open_town(store, clock, waiting_room()) as town:
        kim = town.guest()
        mandate = kim.mandate()
        booking = await kim.book(mandate)
        priya = town.guest()
        entry = read(await join(priya), 201)
        change = read(await kim.ask_change(booking["booking_id"], "2026-10-15T15:00:00-04:00", mandate), 201)
        assert (await look(priya, entry))["status"] == "waiting"
        read(await kim.accept(change, mandate), 200)
        assert (await look(priya, entry))["status"] == "offered"


@pytest.mark.req("SCH-239")
async def test_the_same_resource_is_preferred(store, clock):
    """One bay and two people: Priya is offered the one Kim had asked for, although the other is free as well."""
    config = msgspec.structs.replace(maple_street_auto(), waitlist=WaitlistLimits(max_entries_per_agent=5))
    config = msgspec.structs.replace(config, units=tuple(unit for unit in config.units if unit.id != "bay-2"))
    limits = {
        "services": ["detailing"],
        "max_price": {"amount": "300.00", "currency": "CAD"},
        "window": {"not_before": "2026-10-15T08:00:00-04:00", "not_after": "2026-10-15T18:00:00-04:00"},
    }
    async with open_town(store, clock, config) as town:
        kim, priya = town.guest(), town.guest()
        mandate = kim.mandate(constraints=limits)
        booking = await kim.book(mandate, resource_id="robin", service_id="detailing")
        hours = {"start": ONE, "end": "2026-10-15T16:00:00-04:00"}
        wanted = priya.mandate(constraints=limits)
        entry = read(await join(priya, wanted, window=hours, service_id="detailing"), 201)
        read(await kim.cancel(booking["booking_id"], mandate), 200)
        offer = (await look(priya, entry))["hold"]["offer"]
        assert strictjson.parse(read_jws(offer).payload)["resource_name"] == "Robin"


@pytest.mark.parametrize(
    ("window", "why", "status"),
    [
        ({"start": HOUR["start"], "end": "2026-10-15T13:44:59-04:00"}, "window_too_short", 409),
        ({"start": HOUR["end"], "end": HOUR["start"]}, "window_invalid", 400),
        ({"start": "2026-10-15T11:00:00-04:00", "end": "2026-10-15T11:45:00-04:00"}, "slot_free", 409),
    ],
)
@pytest.mark.req("SCH-238")
async def test_a_window_nothing_can_come_of_is_refused(store, clock, window, why, status):
    """Too short for the appointment, reversed, or with time free in it: waiting there makes no sense."""
    async with open_town(store, clock, waiting_room()) as town:
        await booked(town)
        assert reason(await join(town.guest(), window=window), status) == why


@pytest.mark.req("SCH-242", "SCH-097")
async def test_entries_are_closed_and_somebody_elses_do_not_exist(store, clock):
    """An unknown member is refused, and another agent's entry is answered as none."""
    async with open_town(store, clock, waiting_room()) as town:
        await booked(town)
        guest = town.guest()
        assert reason(await join(guest, deposit={"amount": "5.00", "currency": "CAD"}), 400) == "schema_invalid"
        entry = read(await join(guest), 201)
        other = town.guest()
        assert reason(await other.send("GET", f"/waitlist/{entry['entry_id']}"), 404) == "no_such_entry"
        assert reason(await leave(other, entry), 404) == "no_such_entry"


async def test_a_host_without_a_waitlist_says_so(store, clock):
    """The discovery document has no `waitlist`, and joining is refused."""
    async with open_town(store, clock, msgspec.structs.replace(one_bay(), waitlist=None)) as town:
        await booked(town)
        assert reason(await join(town.guest()), 409) == "no_waitlist"
        assert (await town.document()).waitlist is None


@pytest.mark.req("SCH-063", "SCH-069")
async def test_joining_twice_with_one_key_is_one_entry(store, clock):
    """A lost answer costs nothing."""
    async with open_town(store, clock, waiting_room()) as town:
        await booked(town)
        guest = town.guest()
        mandate = guest.mandate()
        key = guest.ids.new("i")
        first = await join(guest, mandate, idempotency_key=key)
        again = await join(guest, mandate, idempotency_key=key)
        assert (again.status, again.body) == (201, first.body)
        assert len(await town.store.reading(kept_entries)) == 1


async def test_waiting_ends_with_the_mandate(store, clock):
    """An hour later the mandate is over: the entry lapses by itself, and what comes free is nobody's."""
    async with open_town(store, clock, waiting_room()) as town:
        _, cancel = await booked(town)
        priya = town.guest()
        entry = read(await join(priya, priya.mandate(exp=epoch(clock.now()) + 60)), 201)
        assert entry["expires_at"] == "2026-10-13T13:01:00Z"
        clock.advance(timedelta(minutes=1))
        assert (await look(priya, entry))["status"] == "lapsed"
        await cancel()
        assert (await look(priya, entry)).get("hold") is None


@pytest.mark.req("SCH-242", "SCH-262")
async def test_only_contacts_wait_where_only_contacts_may_book(store, clock):
    """Somebody who is not on the list cannot wait; one who was taken off it while waiting is passed over."""
    async with open_town(store, clock, waiting_room(access="contacts")) as town:
        kim, priya, later = town.guest(), town.guest(), town.guest()
        for person in (kim, priya, later):
            await town.store.unit(
                lambda unit, who=person: add_contact(unit, town.desk.host, who.principal, "Somebody known")
            )
        mandate = kim.mandate()
        booking = await kim.book(mandate)
        assert reason(await join(town.guest()), 403) == "not_a_contact"
        one = read(await join(priya), 201)
        clock.advance(timedelta(seconds=1))
        two = read(await join(later), 201)
        await town.store.unit(lambda unit: remove_contact(unit, town.desk.host, priya.principal))
        read(await kim.cancel(booking["booking_id"], mandate), 200)
        assert (await look(priya, one))["status"] == "waiting"
        assert (await look(later, two))["status"] == "offered"
