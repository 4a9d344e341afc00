"""What a host declares is what it does, and what it says of an appointment is what was agreed. Over real requests."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from sayso.core import strictjson
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import read_jws
from sayso.scheduling.host.contacts import add_contact, remove_contact
from sayso.scheduling.host.documents import discovery_of
from sayso.scheduling.terms.codes import BY_REASON
from sayso.scheduling.terms.discovery import WELL_KNOWN, Release, ServiceArea, WaitlistLimits, WalkIns
from sayso.store.statements import statement
from sayso.store.tables import every_table
from sayso.store.tables.scheduling import host_allocation
from sayso.world.fades_on_queen import fades_on_queen
from sayso.world.maple_street import maple_street_auto
from sayso.world.phonecheck import PHONECHECK
from tests.scheduling.host.frontdesk import DESK, approving, front_desk, with_staff
from tests.scheduling.host.test_waitlist import join, waiting_room
from tests.scheduling.host.town import (
    DOMAIN,
    HOST_KEY,
    ONE,
    WINDOW,
    Guest,
    one_bay,
    open_town,
    open_town_on_file,
    read,
    reason,
)

pytestmark = pytest.mark.anyio

TWO = "2026-10-15T14:00:00-04:00"
ASKED = {"service_id": "oil-change", "window": {"start": WINDOW["not_before"], "end": WINDOW["not_after"]}}


def claims(token):
    return strictjson.parse(read_jws(token).payload)


@pytest.mark.req("SCH-029", "SCH-042", "SCH-043", "SCH-050")
async def test_the_document_states_window_zone_and_a_way_without_an_agent(tmp_path, clock):
    """As it is served, member by member: what no other part of the suite compares with itself."""
    async with open_town_on_file(tmp_path, clock) as town:
        document = strictjson.parse((await town.fetcher.get(f"https://{DOMAIN}{WELL_KNOWN}")).body)
    assert {name: document[name] for name in ("versions", "host", "kind", "endpoint", "timezone", "contact")} == {
        "versions": ["0.4"],
        "host": "maple-street-auto@maplestreetauto.example",
        "kind": "business",
        "endpoint": "https://maplestreetauto.example/schcp/v0",
        "timezone": "America/Toronto",
        "contact": {"phone": "+1 416 555 0134", "words": "Call us, or come by: 128 Maple Street, Toronto."},
    }
    assert document["policies"]["replay_window"] == "P1D"
    assert document["keys"] == [
        {"kid": HOST_KEY.public.thumbprint, "use": "sign", "jwk": HOST_KEY.public.jwk()},
    ]


@pytest.mark.req("SCH-030", "SCH-031", "SCH-050")
def test_services_and_policies_are_published_in_the_words_of_the_text():
    """An independent reader finds each member under the name the schema gives it."""
    document = strictjson.parse(strictjson.encode(discovery_of(maple_street_auto(), HOST_KEY.public)))
    services = {each["id"]: each for each in document["services"]}
    assert services["oil-change"] == {
        "id": "oil-change",
        "title": "Synthetic oil change",
        "duration": "PT45M",
        "buffer": "PT15M",
        "needs": ["bay", "technician"],
        "price": {"amount": "79.00", "currency": "CAD"},
    }
    assert (services["brake-diagnosis"]["duration"], "price" in services["brake-diagnosis"]) == ("open", False)
    assert {name: document["policies"][name] for name in ("holds", "confirmation", "access", "closed_mandate")} == {
        "holds": {"ttl_max": "PT10M", "ttl_min": "PT1M", "max_active_per_agent": 3, "max_active_unproven": 6},
        "confirmation": {"mode": "instant"},
        "access": "anyone",
        "closed_mandate": "never",
    }
    assert [document["policies"][name] for name in ("retention", "horizon", "slot_step")] == ["P365D", "P60D", "PT15M"]


@pytest.mark.req("SCH-032", "SCH-114")
def test_whom_one_may_ask_for_is_published_by_name():
    """Those of `choose_from` and nobody else: a bay without a title is nobody's business."""
    document = discovery_of(maple_street_auto(), HOST_KEY.public)
    assert [(each.id, each.type, each.title) for each in document.resources] == [
        ("alex", "technician", "Alex"),
        ("robin", "technician", "Robin"),
    ]


@pytest.mark.req("SCH-032", "SCH-157")
def test_every_restriction_is_published():
    """Release, reserve, waitlist, attesters, eligibility and areas: a refusal by one of them tells nothing new."""
    shop = fades_on_queen()
    haircut = replace(shop.services[0], guests="returning", location="guest", areas=(ServiceArea(country="CA"),))
    published = replace(shop, services=(haircut,), waitlist=WaitlistLimits(max_entries_per_agent=5))
    document = discovery_of(published, HOST_KEY.public)
    assert (document.policies.release, document.policies.walk_ins) == (
        Release(days_ahead=30, at="10:00"),
        (WalkIns(type="chair", keep=1, days=("sat",)),),
    )
    assert (document.waitlist, document.trust.attesters) == (WaitlistLimits(max_entries_per_agent=5), (PHONECHECK,))
    assert (document.services[0].guests, document.services[0].areas) == ("returning", (ServiceArea(country="CA"),))


@pytest.mark.req("SCH-043", "SCH-070")
async def test_the_replay_window_that_is_declared_is_kept(tmp_path, clock):
    """Two hours where the document says two: a second before they are over the answer is still there."""
    async with open_town_on_file(tmp_path, clock, one_bay(replay_window="PT2H")) as town:
        sam = town.guest()
        mandate = sam.mandate(exp=sam.claims()["iat"] + 86_400, constraints={"max_bookings": 2})
        first = read(await sam.hold(mandate, idempotency_key="hold-0001"), 201)
        clock.advance(timedelta(hours=2) - timedelta(seconds=1))
        again = await sam.hold(mandate, idempotency_key="hold-0001")
        assert (read(again, 201), again.header("idempotent-replayed")) == (first, "true")
        clock.advance(timedelta(seconds=1))
        assert read(await sam.hold(mandate, idempotency_key="hold-0001"), 201)["hold_id"] != first["hold_id"]


@pytest.mark.req("SCH-008", "SCH-110")
async def test_looking_reserves_nothing(tmp_path, clock):
    """A snapshot with its instant: whoever looked has no more of the time than whoever did not."""
    async with open_town_on_file(tmp_path, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        before = await town.rows()
        clock.advance(timedelta(minutes=7))
        seen = read(await sam.send("POST", "/availability", ASKED), 200)
        assert (seen["as_of"], len(seen["slots"]), await town.rows()) == ("2026-10-13T13:07:00Z", 17, before)
        read(await kim.hold(kim.mandate()), 201)
        assert reason(await sam.hold(sam.mandate()), 409) == "slot_taken"


@pytest.mark.req("SCH-113")
async def test_a_time_that_is_missing_is_missing_without_a_word(tmp_path, clock):
    """Held, booked, or kept for somebody on the phone: the answers say the same nothing about each."""
    desk_of = with_staff(one_bay())
    async with open_town_on_file(tmp_path, clock, desk_of) as town:
        kim, looker = town.guest(), town.guest()
        mandate = kim.mandate(constraints={"max_bookings": 3})
        answers = []
        held = read(await kim.hold(mandate), 201)
        answers.append(read(await looker.send("POST", "/availability", ASKED), 200))
        read(await kim.confirm(held, mandate), 201)
        answers.append(read(await looker.send("POST", "/availability", ASKED), 200))
        booking = read(await kim.send("GET", f"/holds/{held['hold_id']}"), 200)["booking_id"]
        read(await kim.cancel(booking, mandate), 200)
        taken = {"idempotency_key": "walk-in-1", "service_id": "oil-change", "start": ONE}
        read(await staff(town).send("POST", "/host/walk-ins", taken), 201)
        answers.append(read(await looker.send("POST", "/availability", ASKED), 200))
        assert answers[0] == answers[1] == answers[2]
        assert set(answers[0]) == {"timezone", "slots", "as_of"}
        assert {name for slot in answers[0]["slots"] for name in slot} == {"start", "end", "price", "total"}
        starts = [slot["start"][11:16] for slot in answers[0]["slots"]]
        assert starts == ["11:00", "11:15", "11:30", "11:45", "12:00", "14:00", "14:15", "14:30", "14:45", "15:00"]


@pytest.mark.req("SCH-113")
async def test_a_taken_time_is_refused_in_the_same_words_whoever_has_it(tmp_path, clock):
    """What an agent reads of a booking, of a walk-in and of an hour that is kept is the registry's sentence."""
    async with open_town_on_file(tmp_path, clock, with_staff(one_bay())) as town:
        kim, looker = town.guest(), town.guest()
        await kim.book(kim.mandate())
        call = {"idempotency_key": "walk-in-1", "service_id": "oil-change", "start": TWO}
        read(await staff(town).send("POST", "/host/walk-ins", call), 201)
        mandate = looker.mandate(constraints={"max_bookings": 5})
        said = [read(await looker.hold(mandate, start=start), 409)["refusal"] for start in (ONE, TWO)]
    for refusal in said:
        assert {name: refusal[name] for name in refusal if name not in ("contact", "alternatives")} == {
            "code": "SLOT_TAKEN",
            "reason": "slot_taken",
            "message": BY_REASON["slot_taken"].message,
            "help": BY_REASON["slot_taken"].help,
            "place": "$.start",
        }


def staff(town):
    """The program at the shop's counter, as one more signer."""
    desk = front_desk(town)
    return Guest(desk.client, DESK, DESK, town.clock)


@pytest.mark.req("SCH-010", "SCH-120", "SCH-146")
async def test_somebody_on_the_phone_takes_the_same_time_as_an_agent_would(tmp_path, clock):
    """There is one book: what staff write down is taken for agents, and what agents hold for staff."""
    async with open_town_on_file(tmp_path, clock, with_staff(one_bay())) as town:
        sam, counter = town.guest(), staff(town)
        call = {"idempotency_key": "walk-in-1", "service_id": "oil-change", "start": ONE}
        read(await counter.send("POST", "/host/walk-ins", call), 201)
        assert reason(await sam.hold(sam.mandate()), 409) == "slot_taken"
        read(await sam.hold(sam.mandate(), start=TWO), 201)
        again = {**call, "idempotency_key": "walk-in-2", "start": TWO}
        assert reason(await counter.send("POST", "/host/walk-ins", again), 409) == "slot_taken"


@pytest.mark.req("SCH-120")
async def test_everything_that_takes_time_stands_in_one_table(store, clock):
    """A hold, a request, a move asked for, a proposal, a waiter's offer, a walk-in: and no other table has seats."""
    settings = replace(approving(), waitlist=waiting_room().waitlist)
    async with open_town(store, clock, settings) as town:
        sam, desk = town.guest(), front_desk(town)
        mandate = sam.mandate(constraints={"max_bookings": 4})

        async def owners():
            return {row[0] for row in await town.store.reading(lambda view: view.all(owned()))}

        hold = read(await sam.hold(mandate, start="2026-10-15T11:00:00-04:00"), 201)
        assert await owners() == {hold["hold_id"]}
        booking = read(await sam.confirm(hold, mandate), 201)["booking"]
        assert (booking["status"], len(await owners())) == ("pending_host", 1)
        read(await desk.act("approve", booking["booking_id"]), 200)
        change = read(await sam.ask_change(booking["booking_id"], "2026-10-15T12:00:00-04:00", mandate), 201)
        assert change["offer_id"] in await owners()
        read(await desk.act("propose", booking["booking_id"], start="2026-10-16T11:00:00-04:00"), 409)
        read(await sam.accept(change, mandate), 200)
        other = await sam.book(mandate, start=TWO)
        kim = town.guest()
        hour = {"start": TWO, "end": "2026-10-15T14:45:00-04:00"}
        entry = read(await join(kim, window=hour), 201)
        read(await sam.cancel(other["booking_id"], mandate), 200)
        offered = read(await kim.send("GET", f"/waitlist/{entry['entry_id']}"), 200)["hold"]
        assert offered["hold_id"] in await owners()
        call = {"idempotency_key": "walk-in-1", "service_id": "oil-change", "start": "2026-10-16T09:00:00-04:00"}
        walked = read(await staff(town).send("POST", "/host/walk-ins", call), 201)
        assert walked["walk_in_id"] in await owners()
    seated = {table.name for table in every_table().sorted_tables if "seat" in table.columns}
    # The other one lists time that came free in a transaction, until that transaction has offered it to who waits.
    assert seated == {"host_allocation", "host_freed"}


def owned():
    return statement(host_allocation.select().with_only_columns(host_allocation.c.owner))


@pytest.mark.req("SCH-159", "SCH-196")
async def test_a_booking_says_what_its_contract_says(tmp_path, clock):
    """Member by member; sequence 0, and who answered."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        booking = read(await sam.confirm(hold, mandate), 201)["booking"]
    terms = claims(hold["offer"])
    same = ("service", "start", "end", "place", "total", "lines")
    assert {name: booking[name] for name in same} == {name: terms[name] for name in same}
    assert (booking["host"], booking["offer_sha256"]) == (terms["iss"], sha256_b64u(hold["offer"]))
    assert (booking["sequence"], booking["answered"], booking["mandate"]) == (0, {"by": "host"}, claims(mandate)["jti"])
    assert {name: terms[name] for name in ("title", "timezone", "place", "retention", "hold_id", "agent")} == {
        "title": "Maple Street Auto",
        "timezone": "America/Toronto",
        "place": {"at": "host"},
        "retention": "P365D",
        "hold_id": hold["hold_id"],
        "agent": sam.agent.public.thumbprint,
    }
    assert booking["lines"] == [
        {"kind": "service", "title": "Synthetic oil change", "amount": {"amount": "79.00", "currency": "CAD"}},
        {"kind": "tax", "title": "HST 13%", "amount": {"amount": "10.27", "currency": "CAD"}},
    ]


@pytest.mark.req("SCH-150", "SCH-163", "SCH-170")
async def test_the_offer_is_signed_once_and_is_the_same_bytes_for_ever(tmp_path, clock):
    """Read again, released, read after it ran out: one token, and so one hash, whose claims are those of the text."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        hold = read(await sam.hold(sam.mandate()), 201)
        clock.advance(timedelta(minutes=1))
        again = read(await sam.send("GET", f"/holds/{hold['hold_id']}"), 200)
        released = read(await sam.release(hold), 200)
    assert (again["offer"], released["offer"]) == (hold["offer"], hold["offer"])
    assert sorted(claims(hold["offer"])) == [
        "agent", "aud", "end", "exp", "hold_id", "iat", "iss", "jti", "lines", "place", "retention", "service",
        "start", "timezone", "title", "total",
    ]  # fmt: skip


@pytest.mark.req("SCH-131", "SCH-151", "SCH-154", "SCH-174")
async def test_a_hold_is_read_released_and_confirmed_under_these_paths_and_words(tmp_path, clock):
    """201 to place and to confirm, 200 to read and to release; held, confirmed, released, expired."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        mandate = sam.mandate(constraints={"max_bookings": 3})
        seen = []
        for end in ("confirm", "release", "wait"):
            hold = read(await sam.hold(mandate), 201)
            path = f"/holds/{hold['hold_id']}"
            body = {"idempotency_key": sam.ids.new("i")}
            if end == "confirm":
                settled = read(
                    await sam.send(
                        "POST", f"{path}/confirm", {**body, "offer_sha256": sha256_b64u(hold["offer"])}, mandate
                    ),
                    201,
                )
                assert set(settled) == {"booking", "receipt"}
            elif end == "release":
                read(await sam.send("POST", f"{path}/release", body), 200)
            else:
                clock.advance(timedelta(minutes=5))
            seen.append((hold["status"], read(await sam.send("GET", path), 200)["status"]))
    assert seen == [("held", "confirmed"), ("held", "released"), ("held", "expired")]


@pytest.mark.req("SCH-175")
async def test_confirming_asks_everything_again(tmp_path, clock):
    """What held when the time was kept does not have to hold now: the mandate, the host's list, the hash, the hold."""
    settings = replace(one_bay(), policies=replace(one_bay().policies, access="contacts"))
    async with open_town_on_file(tmp_path, clock, settings) as town:
        sam = town.guest()

        async def listed(unit_of):
            await town.store.unit(unit_of)

        await listed(lambda unit: add_contact(unit, town.desk.host, sam.principal, "Sam"))
        short = sam.mandate(exp=sam.claims()["iat"] + 120)
        long = sam.mandate()
        hold = read(await sam.hold(long), 201)
        assert reason(await sam.confirm(hold, long, offer_sha256="A" * 43), 409) == "contract_mismatch"
        assert reason(await sam.confirm(hold, sam.mandate(scope=["hold"])), 403) == "scope_missing"
        await listed(lambda unit: remove_contact(unit, town.desk.host, sam.principal))
        assert reason(await sam.confirm(hold, long), 403) == "not_a_contact"
        await listed(lambda unit: add_contact(unit, town.desk.host, sam.principal, "Sam"))
        clock.advance(timedelta(minutes=4))
        assert reason(await sam.confirm(hold, short), 403) == "mandate_expired"
        clock.advance(timedelta(minutes=1))
        assert reason(await sam.confirm(hold, long), 409) == "hold_expired"
        assert (await town.rows())["host_booking"] == []


@pytest.mark.req("SCH-221", "SCH-232")
async def test_a_change_is_of_the_start_and_of_nothing_else(tmp_path, clock):
    """Service, place, length, whom it is with and what it costs come from the contract; no body can ask for another."""
    shop = maple_street_auto()
    elsewhere = replace(shop.services[2], location="elsewhere")
    settings = replace(shop, services=(shop.services[0], elsewhere))
    async with open_town_on_file(tmp_path, clock, settings) as town:
        sam = town.guest()
        day = {"not_before": "2026-10-15T08:00:00-04:00", "not_after": "2026-10-15T18:00:00-04:00"}
        dear = {"amount": "300.00", "currency": "CAD"}
        mandate = sam.mandate(constraints={"services": ["detailing"], "window": day, "max_price": dear})
        park = {"at": "elsewhere", "name": "The car park of the library"}
        asked = {"service_id": "detailing", "resource_id": "robin", "place": park}
        hold = read(await sam.hold(mandate, start="2026-10-15T09:00:00-04:00", **asked), 201)
        booking = read(await sam.confirm(hold, mandate), 201)["booking"]
        before = await town.rows()
        for more in (
            {"service_id": "oil-change"},
            {"place": {"at": "host"}},
            {"resource_id": "alex"},
            {"end": "2026-10-15T17:00:00-04:00"},
            {"duration": "PT4H"},
        ):
            assert reason(await sam.ask_change(booking["booking_id"], TWO, mandate, **more), 400) == "schema_invalid"
        assert await town.rows() == before
        change = read(await sam.ask_change(booking["booking_id"], TWO, mandate), 201)
        old, new = claims(hold["offer"]), claims(change["offer"])
        same = ("iss", "aud", "agent", "title", "service", "timezone", "place", "retention", "resource_name", "lines")
        assert {name: new[name] for name in same} == {name: old[name] for name in same}
        assert (new["start"], new["end"], new["change"]["replaces"]) == (
            TWO,
            "2026-10-15T17:00:00-04:00",
            booking["offer_sha256"],
        )


@pytest.mark.req("SCH-101", "SCH-080")
async def test_a_change_offer_beside_its_booking_counts_nothing_more(store, clock):
    """Two appointments are allowed: one is booked and may be moved, and the second is still to be had."""
    async with open_town(store, clock, one_bay()) as town:
        sam = town.guest()
        mandate = sam.mandate(constraints={"max_bookings": 2})
        booking = await sam.book(mandate)
        read(await sam.ask_change(booking["booking_id"], TWO, mandate), 201)
        read(await sam.hold(mandate, start="2026-10-15T11:00:00-04:00"), 201)
        assert reason(await sam.hold(mandate, start="2026-10-15T12:00:00-04:00"), 403) == "limit_reached"


@pytest.mark.req("SCH-223")
async def test_a_move_that_is_made_leaves_one_stretch_of_time_and_a_new_receipt(store, clock):
    """Sequence 1, the old hour free, the new one taken: in one step, at a host that confirms at once."""
    async with open_town(store, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        change = read(await sam.ask_change(booking["booking_id"], TWO, mandate), 201)
        moved = read(await sam.accept(change, mandate), 200)
        assert (moved["booking"]["sequence"], claims(moved["receipt"])["act"]) == (1, "changed")
        assert {row[0] for row in await town.store.reading(lambda view: view.all(owned()))} == {change["offer_id"]}
        read(await kim.hold(kim.mandate()), 201)


PARK = {"at": "elsewhere", "name": "Trinity Bellwoods Park"}
HOME = {"at": "guest", "postal_code": "M6J 1A1", "country": "CA"}


def travelling(location, **more):
    shop = one_bay()
    return replace(shop, services=(replace(shop.services[0], location=location, **more), *shop.services[1:]))


@pytest.mark.req("SCH-259", "SCH-260", "SCH-171", "SCH-261")
@pytest.mark.parametrize(("location", "place"), [("elsewhere", PARK), ("guest", HOME)])
async def test_where_it_happens_is_named_by_the_guest_and_signed_as_it_was_named(tmp_path, clock, location, place):
    """Without a place it is refused; the host chooses none, and adds nothing to the one it is told."""
    async with open_town_on_file(tmp_path, clock, travelling(location)) as town:
        sam = town.guest()
        mandate = sam.mandate()
        assert reason(await sam.hold(mandate), 409) == "place_required"
        other = HOME if location == "elsewhere" else PARK
        assert reason(await sam.hold(mandate, place=other), 400) == "schema_invalid"
        hold = read(await sam.hold(mandate, place=place), 201)
        booking = read(await sam.confirm(hold, mandate), 201)["booking"]
    assert (claims(hold["offer"])["place"], booking["place"]) == (place, place)
    said = "Trinity Bellwoods Park" if location == "elsewhere" else "M6J 1A1, CA"
    assert booking["event"]["locations"] == {"1": {"@type": "Location", "name": said}}


@pytest.mark.req("SCH-259", "SCH-148")
async def test_at_the_host_no_place_is_taken_and_at_the_guest_only_one_in_reach(tmp_path, clock):
    """The default needs no words; a declared area bounds the other."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        assert reason(await sam.hold(sam.mandate(), place=PARK), 400) == "schema_invalid"
        assert claims(read(await sam.hold(sam.mandate()), 201)["offer"])["place"] == {"at": "host"}
    near = travelling("guest", areas=(ServiceArea(country="CA", postal_codes=("M6J",)),))
    (tmp_path / "b").mkdir()
    async with open_town_on_file(tmp_path / "b", clock, near) as town:
        sam = town.guest()
        far = {**HOME, "postal_code": "K1A 0A1"}
        assert reason(await sam.hold(sam.mandate(), place=far), 409) == "outside_area"
        read(await sam.hold(sam.mandate(), place=HOME), 201)
