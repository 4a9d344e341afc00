"""What somebody can do who signs as many keys as they like, and what they cannot (spec sections 8.3 to 8.6)."""

from collections import Counter
from datetime import timedelta

import msgspec
import pytest

from sayso.core import strictjson
from sayso.core.instants import parse_instant
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.contacts import add_contact
from sayso.scheduling.host.tidying import tidy
from sayso.scheduling.terms.discovery import ServiceArea, WaitlistLimits
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_reputation
from tests.scheduling.host.barbershop import barbershop, chairs, cut, half_hours, have_cut, may_cut, why_not
from tests.scheduling.host.frontdesk import approving, front_desk, with_staff
from tests.scheduling.host.plaza import DENTIST, DENTIST_BASE, SHOP, SHOP_BASE, open_plaza
from tests.scheduling.host.town import BASE, Town, one_bay, open_town, open_town_on_file, read

pytestmark = pytest.mark.anyio

WEDNESDAY = "2026-10-14T12:00:00-04:00"
DAY = timedelta(days=1)


async def returning(town: Town, clock, **asked):
    """A guest who has kept an appointment on Wednesday noon; now it is half past twelve."""
    guest = town.guest()
    await have_cut(guest, start=WEDNESDAY, **asked)
    clock.advance(timedelta(hours=27, minutes=30))
    return guest


async def flood(town: Town) -> Counter:
    """Thirty-six throwaway people, each with a throwaway agent, and one half hour each."""
    found = Counter()
    for asked in chairs():
        stranger = town.guest()
        found[why_not(await cut(stranger, may_cut(stranger), **asked))] += 1
    return found


async def walk_in(desk, start, **more):
    body = {"idempotency_key": desk.ids.new("i"), "service_id": "haircut", "start": start, **more}
    return await desk.client.send("POST", f"{BASE}/host/walk-ins", strictjson.encode(body))


async def give_up(desk, walk_in_id):
    body = strictjson.encode({"idempotency_key": desk.ids.new("i")})
    return await desk.client.send("POST", f"{BASE}/host/walk-ins/{walk_in_id}/give-up", body)


async def let_run_out(town, clock, guest, mandate, count, **asked):
    """Holds the same half hour again and again and lets each hold run out."""
    for _ in range(count):
        read(await cut(guest, mandate, start=half_hours()[0], **asked), 201)
        clock.advance(timedelta(minutes=5))


@pytest.mark.req("SCH-136", "SCH-137", "SCH-366", "SCH-391")
async def test_36_throwaway_identities_hold_six_of_36_slots_and_a_returning_guest_still_books(store, clock):
    """Whatever names they go by, the newcomers share one pool; who has kept an appointment never notices."""
    async with open_town(store, clock, barbershop()) as town:
        regular = await returning(town, clock)
        assert await flood(town) == {None: 6, "newcomers_full": 30}
        newcomer = town.guest()
        assert why_not(await cut(newcomer, may_cut(newcomer), start=half_hours()[9])) == "newcomers_full"
        booking = await have_cut(regular, start=half_hours()[9])
        assert booking["status"] == "confirmed"


@pytest.mark.req("SCH-136")
async def test_without_the_pool_the_same_strangers_would_hold_all_of_thursday(tmp_path, clock):
    """What the cap is for: the shop has thirty-six half hours, and each could be somebody's."""
    async with open_town_on_file(tmp_path, clock, barbershop(max_active_unproven=1000)) as town:
        assert await flood(town) == {None: 36}
        late = town.guest()
        assert why_not(await cut(late, may_cut(late), start=half_hours()[9])) == "slot_taken"


@pytest.mark.req("SCH-132", "SCH-391")
async def test_a_mandate_for_one_booking_gets_no_second_hold_however_often_it_asks(tmp_path, clock):
    """Each hold uses up the number the person signed, so a thousand holds need a thousand signatures."""
    async with open_town_on_file(tmp_path, clock, barbershop()) as town:
        sam = town.guest()
        mandate = may_cut(sam)
        read(await cut(sam, mandate, **chairs()[0]), 201)
        for asked in chairs()[1:5]:
            refusal = read(await cut(sam, mandate, **asked), 403)["refusal"]
            assert (refusal["code"], refusal["reason"]) == ("MANDATE_LIMIT", "limit_reached")
        assert len((await town.rows())["host_hold"]) == 1
        assert why_not(await sam.hold("", service_id="haircut")) == "mandate_missing"


@pytest.mark.req("SCH-140", "SCH-142", "SCH-391")
async def test_a_new_key_for_every_hold_ends_suspended_all_the_same(store, clock):
    """The person stays who they are; and the way back is 60 seconds, 120 seconds, full length."""
    async with open_town(store, clock, barbershop()) as town:
        person = PrivateKey.generate()
        for _ in range(5):
            rotated = town.guest(person)
            await let_run_out(town, clock, rotated, may_cut(rotated), 1)
        fresh = town.guest(person)
        refused = await cut(fresh, may_cut(fresh), start=half_hours()[0])
        refusal = read(refused, 429)["refusal"]
        assert (refusal["code"], refusal["reason"]) == ("SUSPENDED", "suspended")
        assert 22 * 3600 < refusal["retry_after"] < 23 * 3600
        other = town.guest()
        read(await cut(other, may_cut(other), start=half_hours()[0]), 201)
        for wait, granted in ((timedelta(seconds=refusal["retry_after"]), 60), (2 * DAY, 120), (4 * DAY, 300)):
            clock.advance(wait)
            again = town.guest(person)
            hold = read(await cut(again, may_cut(again), start="2026-10-23T12:00:00-04:00"), 201)
            placed = clock.now()
            assert (parse_instant(hold["expires_at"]) - placed.replace(microsecond=0)).total_seconds() == granted
            read(await again.release(hold), 200)


@pytest.mark.req("SCH-140")
async def test_an_agent_that_left_holds_to_run_out_is_suspended_for_its_next_person_too(tmp_path, clock):
    """The key is judged by itself as well."""
    async with open_town_on_file(tmp_path, clock, barbershop()) as town:
        agent = PrivateKey.generate()
        for _ in range(5):
            someone = town.guest(agent=agent)
            await let_run_out(town, clock, someone, may_cut(someone), 1)
        next_one = town.guest(agent=agent)
        assert why_not(await cut(next_one, may_cut(next_one), start=half_hours()[0])) == "suspended"


@pytest.mark.req("SCH-143")
@pytest.mark.parametrize(("seconds", "ends"), [(239, None), (240, "suspended")])
async def test_releasing_in_the_last_fifth_is_no_way_round(tmp_path, clock, seconds, ends):
    """Just before it lapses is as bad as lapsing; before that it is somebody changing their mind."""
    async with open_town_on_file(tmp_path, clock, barbershop()) as town:
        sam = town.guest()
        for _ in range(5):
            hold = read(await cut(sam, may_cut(sam), start=half_hours()[0]), 201)
            clock.advance(timedelta(seconds=seconds))
            read(await sam.release(hold), 200)
        assert why_not(await cut(sam, may_cut(sam), start=half_hours()[0])) == ends


async def test_no_outcome_is_counted_twice(tmp_path, clock):
    """Releasing again, in what would have been the last fifth, adds nothing."""
    async with open_town_on_file(tmp_path, clock, barbershop()) as town:
        sam = town.guest()
        await let_run_out(town, clock, sam, may_cut(sam), 2)
        hold = read(await cut(sam, may_cut(sam), start=half_hours()[0]), 201)
        read(await sam.release(hold), 200)
        clock.advance(timedelta(minutes=4, seconds=30))
        for _ in range(6):
            assert read(await sam.release(hold), 200)["status"] == "released"
        again = read(await cut(sam, may_cut(sam), start=half_hours()[0]), 201)
        assert parse_instant(again["expires_at"]) == clock.now() + timedelta(minutes=5)


async def test_records_that_decide_nothing_any_more_are_forgotten(tmp_path, clock):
    """Keys cost nothing to make; a record is kept as long as it could shorten a hold."""
    async with open_town_on_file(tmp_path, clock, barbershop()) as town:

        def kept(view):
            return len(view.all(statement(host_reputation.select())))

        sam = town.guest()
        await let_run_out(town, clock, sam, may_cut(sam), 5)
        for days, rows in ((1, 2), (68, 2), (2, 0)):
            clock.advance(days * DAY)
            await town.store.unit(lambda unit: tidy(unit, town.desk))
            assert await town.store.reading(kept) == rows


@pytest.mark.req("SCH-138", "SCH-391")
async def test_booking_and_cancelling_in_a_loop_earns_no_standing(store, clock):
    """Only what is kept counts; then, with the pool as full as ever, there is room."""
    async with open_town(store, clock, barbershop(max_active_unproven=1)) as town:
        looper, blocker = town.guest(), town.guest()
        for _ in range(4):
            booking = await have_cut(looper, start=WEDNESDAY)
            read(await looper.cancel(booking["booking_id"], may_cut(looper, bookings=[booking["booking_id"]])), 200)
        clock.advance(timedelta(hours=27, minutes=30))
        read(await cut(blocker, may_cut(blocker), **chairs()[0]), 201)
        assert why_not(await cut(looper, may_cut(looper), **chairs()[1])) == "newcomers_full"


@pytest.mark.req("SCH-138", "SCH-139")
async def test_standing_comes_at_the_very_end_of_a_kept_appointment_and_stays(store, clock):
    """Not by confirming, not a microsecond before the end; and a year later it is still there. A no-show has none."""
    async with open_town(store, clock, with_staff(barbershop(max_active_unproven=1))) as town:
        sam, absent = town.guest(), town.guest()
        await have_cut(sam, start=WEDNESDAY, resource_id="marcus")
        missed = await have_cut(absent, start=WEDNESDAY, resource_id="dev")

        async def gets_in(guest, start):
            blocker = town.guest()
            held = await cut(blocker, may_cut(blocker), start=start, resource_id="dev", ttl="PT5M")
            read(held, 201)
            answer = await cut(guest, may_cut(guest), start=start, resource_id="marcus")
            if why_not(answer) is None:
                read(await guest.release(read(answer, 201)), 200)
            read(await blocker.release(read(held, 201)), 200)
            return why_not(answer) is None

        clock.advance(timedelta(hours=27, minutes=30) - timedelta(microseconds=1))
        assert not await gets_in(sam, half_hours()[0])
        clock.advance(timedelta(microseconds=1))
        assert await gets_in(sam, half_hours()[0])
        read(await front_desk(town).act("no-show", missed["booking_id"]), 200)
        assert not await gets_in(absent, half_hours()[0])
        clock.advance(365 * DAY)
        window = {"not_before": "2027-10-01T00:00:00-04:00", "not_after": "2027-11-01T00:00:00-04:00"}
        blocker = town.guest()
        start = "2027-10-19T12:00:00-04:00"
        read(await cut(blocker, may_cut(blocker, window=window), start=start), 201)
        assert why_not(await cut(sam, may_cut(sam, window=window), start=start)) is None


@pytest.mark.req("SCH-146", "SCH-366")
async def test_one_chair_is_kept_for_whoever_walks_in_on_saturday(store, clock):
    """Agents get one of two chairs; the shop seats somebody in the other, and agents lose nothing by it."""
    async with open_town(store, clock, with_staff(barbershop())) as town:
        one, two = town.guest(), town.guest()
        start = "2026-10-17T12:00:00-04:00"
        await have_cut(one, start=start)
        assert why_not(await cut(two, may_cut(two), start=start)) == "slot_taken"
        desk = front_desk(town)
        seated = read(await walk_in(desk, start), 201)
        assert (seated["start"], seated["until"]) == (start, "2026-10-17T12:30:00-04:00")
        assert why_not(await walk_in(desk, start)) == "slot_taken"
        assert why_not(await cut(two, may_cut(two), start=start)) == "slot_taken"
        read(await walk_in(desk, "2026-10-17T14:05:00-04:00", resource_id="dev"), 201)
        read(await cut(two, may_cut(two), start="2026-10-17T14:00:00-04:00"), 201)
        assert (await town.kinds()).count("walk_in.taken") == 2


@pytest.mark.req("SCH-146")
async def test_a_walk_in_who_did_not_wait_frees_the_chair_and_nobody_else_can_do_either(tmp_path, clock):
    """Only staff, only what is a walk-in, and once."""
    async with open_town_on_file(tmp_path, clock, with_staff(barbershop())) as town:
        desk, stranger, guest = front_desk(town), front_desk(town, PrivateKey.generate()), town.guest()
        start = "2026-10-16T12:00:00-04:00"
        read(await walk_in(desk, start), 201)
        seated = read(await walk_in(desk, start), 201)["walk_in_id"]
        assert why_not(await cut(guest, may_cut(guest), start=start)) == "slot_taken"
        assert why_not(await walk_in(stranger, start)) == "not_staff"
        assert why_not(await give_up(stranger, seated)) == "not_staff"
        assert why_not(await walk_in(desk, "2026-10-13T08:59:00-04:00")) == "not_bookable"
        assert why_not(await walk_in(desk, start, resource_id="chairs")) == "unknown_resource"
        read(await give_up(desk, seated), 200)
        hold = read(await cut(guest, may_cut(guest), start=start), 201)
        for gone in (seated, hold["hold_id"]):
            assert why_not(await give_up(desk, gone)) == "no_such_walk_in"


@pytest.mark.req("SCH-147", "SCH-366")
async def test_a_day_opens_thirty_days_ahead_at_ten_over_the_wire(tmp_path, clock):
    """At nine nothing of 12 November is seen or held; at ten all of it."""
    async with open_town_on_file(tmp_path, clock, barbershop()) as town:
        sam = town.guest()
        window = {"start": "2026-11-12T00:00:00-05:00", "end": "2026-11-13T00:00:00-05:00"}
        ask = {"service_id": "haircut", "window": window}
        assert read(await sam.send("POST", "/availability", ask), 200)["slots"] == []
        start = "2026-11-12T13:00:00-05:00"
        refusal = read(await cut(sam, may_cut(sam), start=start), 409)["refusal"]
        assert (refusal["code"], refusal["reason"]) == ("NOT_OFFERED", "not_released")
        clock.advance(timedelta(hours=1))
        assert len(read(await sam.send("POST", "/availability", ask), 200)["slots"]) == 18
        read(await cut(sam, may_cut(sam), start=start), 201)
        policies = (await town.document()).policies
        assert (policies.release.days_ahead, policies.release.at) == (30, "10:00")
        assert [(kept.type, kept.keep, kept.days) for kept in policies.walk_ins] == [("chair", 1, ("sat",))]


@pytest.mark.req("SCH-144")
async def test_waitlist_offers_that_lapse_count_against_the_waiter(tmp_path, clock):
    """Time kept for somebody who does not come back for it is time that nobody else could have."""
    shop = msgspec.structs.replace(one_bay(), waitlist=WaitlistLimits(max_entries_per_agent=5))
    async with open_town_on_file(tmp_path, clock, shop) as town:
        waiter, kim = town.guest(), town.guest()
        hour = {"start": "2026-10-15T13:00:00-04:00", "end": "2026-10-15T13:45:00-04:00"}
        for _ in range(5):
            mandate = kim.mandate()
            booking = await kim.book(mandate)
            body = {"idempotency_key": kim.ids.new("i"), "service_id": "oil-change", "window": hour}
            entry = read(await waiter.send("POST", "/waitlist", body, waiter.mandate()), 201)
            read(await kim.cancel(booking["booking_id"], mandate), 200)
            shown = read(await waiter.send("GET", f"/waitlist/{entry['entry_id']}"), 200)
            assert shown["status"] == "offered"
            clock.advance(timedelta(minutes=10))
        assert why_not(await waiter.hold(waiter.mandate())) == "suspended"
        assert why_not(await kim.hold(kim.mandate())) is None


@pytest.mark.req("SCH-145")
async def test_a_host_that_never_answers_is_never_held_against_the_guest(tmp_path, clock):
    """Six requests that nobody answered: the seventh hold is as long as the first."""
    async with open_town_on_file(tmp_path, clock, approving()) as town:
        sam = town.guest()
        for _ in range(6):
            assert (await sam.book(sam.mandate()))["status"] == "pending_host"
            clock.advance(timedelta(hours=2, minutes=5))
        hold = read(await sam.hold(sam.mandate()), 201)
        assert parse_instant(hold["expires_at"]) == clock.now() + timedelta(minutes=5)


@pytest.mark.req("SCH-156")
async def test_hosts_of_one_operator_do_not_share_what_an_agent_did(tmp_path, clock):
    """Suspended at the garage, a stranger at the dentist: in one database, and of one person and key."""
    async with open_plaza(tmp_path / "plaza", clock) as plaza:
        person, agent = PrivateKey.generate(), PrivateKey.generate()
        driver = plaza.guest(SHOP, SHOP_BASE, agent=agent, key=person)
        patient = plaza.guest(DENTIST, DENTIST_BASE, agent=agent, key=person)
        for _ in range(5):
            read(await driver.hold(driver.mandate()), 201)
            clock.advance(timedelta(minutes=5))
        assert why_not(await driver.hold(driver.mandate())) == "suspended"
        wide = {"not_before": "2026-10-13T00:00:00-07:00", "not_after": "2026-10-30T00:00:00-07:00"}
        limits = {"services": ["dental-exam"], "window": wide, "max_price": {"amount": "500.00", "currency": "CAD"}}
        asked = {"service_id": "dental-exam", "start": "2026-10-15T10:00:00-07:00"}
        assert why_not(await patient.hold(patient.mandate(constraints=limits), **asked)) is None


@pytest.mark.req("SCH-155")
async def test_contacts_are_no_newcomers_where_a_calendar_is_open_to_them_alone(tmp_path, clock):
    """With room for one newcomer, three contacts hold at once; each agent's own cap binds them all the same."""
    shop = barbershop(max_active_unproven=1, max_active_per_agent=1)
    policies = msgspec.structs.replace(shop.policies, access="contacts")
    async with open_town_on_file(tmp_path, clock, msgspec.structs.replace(shop, policies=policies)) as town:
        friends = [town.guest() for _ in range(3)]
        for friend in friends:
            await town.store.unit(lambda unit, of=friend: add_contact(unit, town.desk.host, of.principal, "A friend"))
        for friend, asked in zip(friends, chairs(), strict=False):
            read(await cut(friend, may_cut(friend), **asked), 201)
        assert why_not(await cut(friends[0], may_cut(friends[0]), **chairs()[5])) == "too_many_holds"


@pytest.mark.req("SCH-115", "SCH-118")
async def test_a_refused_read_is_charged_to_nobody(tmp_path, clock):
    """At one host of an operator the sixty are used up; asking on lengthens no wait, and uses up nothing elsewhere."""
    async with open_plaza(tmp_path / "plaza", clock) as plaza:
        agent = PrivateKey.generate()
        window = {"start": "2026-10-15T13:00:00-04:00", "end": "2026-10-15T17:00:00-04:00"}
        asked = {"service_id": "oil-change", "window": window}
        driver = plaza.guest(SHOP, SHOP_BASE, agent=agent)
        for _ in range(60):
            read(await driver.send("POST", "/availability", asked), 200)
        waits = [
            read(await driver.send("POST", "/availability", asked), 429)["refusal"]["retry_after"] for _ in range(9)
        ]
        assert waits == [1] * 9
        clock.advance(timedelta(seconds=1))
        patient = plaza.guest(DENTIST, DENTIST_BASE, agent=agent)
        exam = {"service_id": "dental-exam", "window": window}
        read(await patient.send("POST", "/availability", exam), 200)
        assert why_not(await patient.send("POST", "/availability", exam)) == "rate_limited"


@pytest.mark.skip(reason="Arrival windows are not part of the protocol: a booking states its start (SCH-394, SCH-403).")
@pytest.mark.req("SCH-394")
async def test_a_plumber_between_nine_and_twelve():
    """The decision not to build them stands here, so that nobody takes their absence for an oversight."""


@pytest.mark.req("SCH-148", "SCH-157")
async def test_a_service_for_regulars_and_one_at_home_say_their_own_reasons(tmp_path, clock):
    """On the path of every hold; the regular gets the one, the neighbour the other."""
    shop = barbershop()
    haircut = shop.services[0]
    services = (
        msgspec.structs.replace(haircut, id="haircut", guests="anyone"),
        msgspec.structs.replace(haircut, id="late-cut", guests="returning"),
        msgspec.structs.replace(
            haircut,
            id="home-cut",
            location="guest",
            areas=(ServiceArea(country="CA", postal_codes=("M6",)),),
        ),
    )
    async with open_town_on_file(tmp_path, clock, msgspec.structs.replace(shop, services=services)) as town:
        regular = await returning(town, clock)
        newcomer = town.guest()

        async def asks(guest, service_id, **more):
            mandate = may_cut(guest, services=[service_id])
            return why_not(await guest.hold(mandate, service_id=service_id, start=half_hours()[3], **more))

        assert await asks(newcomer, "late-cut") == "not_eligible"
        assert await asks(regular, "late-cut") is None
        there, away = ({"at": "guest", "postal_code": code, "country": "CA"} for code in ("M6J 1E6", "V6B 1A1"))
        assert await asks(newcomer, "home-cut", place=away) == "outside_area"
        assert await asks(newcomer, "home-cut", place=there) is None
