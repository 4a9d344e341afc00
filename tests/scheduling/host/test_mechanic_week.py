"""A week at Maple Street Auto, as the paper tells it (section 6.1): one shop, its people, and a clock that is moved."""

import pytest

from sayso.core.instants import parse_instant
from sayso.core.strictjson import parse
from sayso.proof.jws import read_jws
from sayso.scheduling.host.telling import tell_due
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_hold
from sayso.world.maple_street import maple_street_auto
from tests.scheduling.host.frontdesk import front_desk, with_staff
from tests.scheduling.host.test_events import CALLBACK, Ear, listening
from tests.scheduling.host.test_waitlist import join, look
from tests.scheduling.host.town import ONE, open_town_on_file, read, reason

pytestmark = pytest.mark.anyio

SATURDAY_TEN = "2026-10-17T10:00:00-04:00"
SATURDAY_ELEVEN = "2026-10-17T11:00:00-04:00"


def may(service, opens, closes, price=None):
    """What a guest's mandate allows."""
    return {
        "services": [service],
        "window": {"not_before": opens, "not_after": closes},
        "max_price": None if price is None else {"amount": price, "currency": "CAD"},
    }


def within(guest, *limits, days=1, **more):
    """A mandate of such limits, good for some days."""
    now = int(guest.clock.now().timestamp())
    return guest.mandate(constraints=may(*limits), exp=now + days * 86400, **more)


async def proven(town, hold_id):
    """Whether the shop took a hold's guest for one who has kept an appointment."""
    rows = await town.store.reading(
        lambda view: view.all(statement(host_hold.select().with_only_columns(host_hold.c.hold_id, host_hold.c.proven)))
    )
    return dict(rows)[hold_id]


@pytest.mark.req("SCH-378", "SCH-365", "SCH-239", "SCH-234", "SCH-256")
async def test_a_week_at_the_garage(tmp_path, clock):
    """Tuesday to Wednesday week: a plain booking, a full Saturday, a parts delay, a no-show and a drop-off."""
    ear = Ear()
    async with open_town_on_file(tmp_path, clock, with_staff(maple_street_auto())) as town, listening(ear) as fetcher:
        desk = front_desk(town)
        sam, kim, priya, jo = (town.guest() for _ in range(4))

        # Tuesday 13 October: Sam's oil change for Thursday.
        friday_too = ("oil-change", "2026-10-15T08:00:00-04:00", "2026-10-16T18:00:00-04:00", "100.00")
        oil = within(sam, *friday_too, days=4)
        held = read(await sam.hold(oil), 201)
        assert held["total"] == {"amount": "89.27", "currency": "CAD"}
        thursday = read(await sam.confirm(held, oil), 201)["booking"]

        # Saturday has one bay and one technician. Kim has ten o'clock; Priya waits for that hour.
        hour = ("winter-tires", SATURDAY_TEN, SATURDAY_ELEVEN, "150.00")
        tires = {"service_id": "winter-tires", "start": SATURDAY_TEN}
        kims = within(kim, *hour, days=5)
        booked = await kim.book(kims, **tires)
        wants = within(priya, *hour, days=5)
        window = {"start": SATURDAY_TEN, "end": SATURDAY_ELEVEN}
        entry = read(await join(priya, wants, window=window, service_id="winter-tires", callback_url=CALLBACK), 201)

        # Wednesday: Kim cancels, and the hour is Priya's before anyone else can see it.
        clock.set(parse_instant("2026-10-14T09:00:00-04:00"))
        read(await kim.cancel(booked["booking_id"], kims), 200)
        stranger = town.guest()
        seen = {"service_id": "winter-tires", "window": window}
        assert read(await stranger.send("POST", "/availability", seen), 200)["slots"] == []
        assert reason(await stranger.hold(within(stranger, *hour), **tires), 409) == "slot_taken"
        await tell_due(town.store, town.desk, fetcher)
        assert [(told["event"], told["subject"]) for told in ear.claims] == [
            ("waitlist.offered", {"entry_id": entry["entry_id"]})
        ]
        offered = (await look(priya, entry))["hold"]
        assert (offered["start"], offered["total"]) == (SATURDAY_TEN, {"amount": "135.60", "currency": "CAD"})
        taken = read(await priya.confirm(offered, wants), 201)["booking"]
        assert (taken["status"], taken["mandate"]) == ("confirmed", parse(read_jws(wants).payload)["jti"])

        # Thursday at 8: the filter has not come. The shop proposes Friday, chained to Thursday's contract.
        clock.set(parse_instant("2026-10-15T08:00:00-04:00"))
        friday = "2026-10-16T13:00:00-04:00"
        proposal = read(await desk.act("propose", thursday["booking_id"], start=friday), 200)["booking"]["proposed"]
        path = f"/bookings/{thursday['booking_id']}/changes/{proposal['offer_id']}"
        change = read(await sam.send("GET", path), 200)
        terms = parse(read_jws(change["offer"]).payload)
        assert (terms["start"], terms["change"]["replaces"]) == (friday, thursday["offer_sha256"])
        moved = read(await sam.accept(change, oil), 200)["booking"]
        assert (moved["start"], moved["sequence"]) == (friday, 1)

        # Tuesday 20 October: Jo does not come for three hours of detailing.
        tuesday = ("detailing", "2026-10-20T08:00:00-04:00", "2026-10-20T18:00:00-04:00", "300.00")
        nine = {"service_id": "detailing", "start": "2026-10-20T09:00:00-04:00", "callback_url": CALLBACK}
        missed = await jo.book(within(jo, *tuesday), **nine)
        assert missed["total"] == {"amount": "271.20", "currency": "CAD"}
        clock.set(parse_instant("2026-10-20T12:00:00-04:00"))
        marked = read(await desk.act("no-show", missed["booking_id"]), 200)["booking"]
        assert marked["status"] == "no_show"
        ear.heard.clear()
        await tell_due(town.store, town.desk, fetcher)
        told = ear.claims[-1]
        assert (told["event"], told["agent"]) == ("booking.no_show", jo.agent.public.thumbprint)
        assert parse(read_jws(told["receipt"]).payload)["booking"]["status"] == "no_show"

        # It earned Jo no standing, and Friday's oil change earned Sam his.
        later = ("oil-change", "2026-10-22T08:00:00-04:00", "2026-10-22T18:00:00-04:00", "100.00")
        again = {"start": "2026-10-22T13:00:00-04:00"}
        assert await proven(town, read(await jo.hold(within(jo, *later), **again), 201)["hold_id"]) == 0
        assert await proven(town, read(await sam.hold(within(sam, *later), **again), 201)["hold_id"]) == 1

        # Wednesday: two drop-offs keep both bays until six; one ended at 10:40 lets an oil change in at one.
        day = ("brake-diagnosis", "2026-10-21T08:00:00-04:00", "2026-10-21T18:00:00-04:00")
        eight = {"service_id": "brake-diagnosis", "start": "2026-10-21T08:00:00-04:00"}
        first, second = town.guest(), town.guest()
        drop_off = await first.book(within(first, *day, days=2), **eight)
        await second.book(within(second, *day, days=2), **eight)
        assert ("total" in drop_off, drop_off["open_end"], "end" in drop_off) == (False, True, False)
        late = town.guest()
        oil = within(late, "oil-change", "2026-10-21T11:00:00-04:00", "2026-10-21T15:00:00-04:00", "100.00", days=2)
        one = {"start": ONE.replace("-15T", "-21T")}
        assert reason(await late.hold(oil, **one), 409) == "slot_taken"
        clock.set(parse_instant("2026-10-21T10:40:00-04:00"))
        ended = read(await desk.act("end", drop_off["booking_id"]), 200)["booking"]
        assert ended["status"] == "completed"
        assert (await late.book(oil, **one))["status"] == "confirmed"
