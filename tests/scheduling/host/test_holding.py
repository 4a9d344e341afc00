"""Holds over real signed requests, on both engines: placed, read, confirmed, released, run out."""

from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import read_jws
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.receipt_checks import verify_receipt
from tests.scheduling.host.town import ONE, one_bay, open_town, open_town_on_file, read, reason

pytestmark = pytest.mark.anyio


def claims(token):
    return strictjson.parse(read_jws(token).payload)


@pytest.mark.req("SCH-131", "SCH-174", "SCH-176", "SCH-196", "SCH-197", "SCH-377")
async def test_the_walkthrough_end_to_end(store, clock):
    """Availability, a hold at 13:00 until 13:05Z, a confirm, a booking: the paper's figures."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        window = {"start": "2026-10-15T11:00:00-04:00", "end": "2026-10-15T15:45:00-04:00"}
        found = read(await sam.send("POST", "/availability", {"service_id": "oil-change", "window": window}), 200)
        assert (found["timezone"], found["as_of"], len(found["slots"])) == (
            "America/Toronto",
            "2026-10-13T13:00:00Z",
            17,
        )
        assert {slot["total"]["amount"] for slot in found["slots"]} == {"89.27"}
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        assert {name: hold[name] for name in hold if name not in ("hold_id", "offer")} == {
            "status": "held",
            "version": 1,
            "service_id": "oil-change",
            "start": ONE,
            "end": "2026-10-15T13:45:00-04:00",
            "expires_at": "2026-10-13T13:05:00Z",
            "price": {"amount": "79.00", "currency": "CAD"},
            "total": {"amount": "89.27", "currency": "CAD"},
        }
        settled = read(await sam.confirm(hold, mandate), 201)
        booking = settled["booking"]
        assert (booking["status"], booking["sequence"], booking["answered"]) == ("confirmed", 0, {"by": "host"})
        assert booking["event"] == {
            "@type": "Event",
            "uid": f"{booking['booking_id']}@maple-street-auto.schcp",
            "updated": "2026-10-13T13:00:00Z",
            "title": "Synthetic oil change — Maple Street Auto",
            "start": "2026-10-15T13:00:00",
            "timeZone": "America/Toronto",
            "duration": "PT45M",
            "sequence": 0,
            "status": "confirmed",
        }
        assert await town.kinds() == ["hold.placed", "booking.confirmed"]


@pytest.mark.req("SCH-150", "SCH-158", "SCH-159", "SCH-188", "SCH-189", "SCH-190", "SCH-191")
async def test_offer_and_receipt_stand_up_to_the_guests_own_checks(store, clock):
    """What the host signs is what the guest's side verifies with the discovery document alone."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        document = await town.document()
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        offer = verify_offer(hold["offer"], document)
        assert (offer.claims.aud, offer.claims.agent, offer.claims.hold_id) == (
            sam.principal,
            sam.agent.public.thumbprint,
            hold["hold_id"],
        )
        answer = await sam.confirm(hold, mandate)
        settled = strictjson.decode(answer.body, Settled)
        receipt = verify_receipt(settled.receipt, document, settled.booking)
        jti = claims(mandate)["jti"]
        assert (receipt.claims.consent.approved, receipt.claims.consent.mandate) == ("limits", jti)
        assert (receipt.booking.offer_sha256, receipt.claims.retention) == (offer.sha256, "P365D")
        closed = sam.closed(read(await sam.hold(sam.mandate(), start="2026-10-15T14:00:00-04:00"), 201)["offer"])
        assert reason(await sam.confirm(hold, closed), 403) == "closed_elsewhere"


@pytest.mark.req("SCH-088", "SCH-189", "SCH-190")
async def test_a_closed_mandate_makes_the_receipt_say_offer(store, clock):
    """The person's signature over this offer is named, and the booking goes on counting under the first mandate."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        closed = sam.closed(hold["offer"])
        settled = read(await sam.confirm(hold, closed), 201)
        consent = claims(settled["receipt"])["consent"]
        assert consent == {"approved": "offer", "mandate": claims(closed)["jti"], "mode": "human_present"}
        assert settled["booking"]["mandate"] == claims(mandate)["jti"]
        assert reason(await sam.hold(mandate, start="2026-10-15T14:00:00-04:00"), 403) == "limit_reached"


@pytest.mark.req("SCH-080")
async def test_a_mandate_for_one_booking_holds_one_and_gets_its_unit_back(store, clock):
    """The second hold is one too many; releasing, expiring and cancelling each free the unit."""
    async with open_town(store, clock) as town:
        sam, mandate = (guest := town.guest()), guest.mandate()
        first = read(await sam.hold(mandate), 201)
        assert reason(await sam.hold(mandate, start="2026-10-15T14:00:00-04:00"), 403) == "limit_reached"
        read(await sam.release(first), 200)
        read(await sam.hold(mandate), 201)
        clock.advance(timedelta(minutes=5))
        booking = await sam.book(mandate)
        assert reason(await sam.hold(mandate, start="2026-10-15T14:00:00-04:00"), 403) == "limit_reached"
        read(await sam.cancel(booking["booking_id"], mandate), 200)
        read(await sam.hold(mandate), 201)


@pytest.mark.req("SCH-123")
async def test_at_its_very_expiry_a_hold_is_gone_and_its_time_free(store, clock):
    """A microsecond before it could be confirmed; at the instant it cannot, and another guest gets the time."""
    async with open_town(store, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        clock.advance(timedelta(minutes=5) - timedelta(microseconds=1))
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"
        clock.advance(timedelta(microseconds=1))
        assert reason(await sam.confirm(hold, mandate), 409) == "hold_expired"
        shown = read(await sam.send("GET", f"/holds/{hold['hold_id']}"), 200)
        assert (shown["status"], shown["version"]) == ("expired", 2)
        read(await kim.hold(kim.mandate()), 201)
        assert await town.kinds() == ["hold.placed", "hold.expired", "hold.placed"]


@pytest.mark.req("SCH-123", "SCH-154")
async def test_a_hold_that_is_over_reads_as_expired_though_nothing_marked_it(store, clock):
    """Reading changes nothing: the row still says held, the answer says expired."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        hold = read(await sam.hold(sam.mandate()), 201)
        clock.advance(timedelta(minutes=5))
        before = await town.rows()
        shown = read(await sam.send("GET", f"/holds/{hold['hold_id']}"), 200)
        assert (shown["status"], await town.rows()) == ("expired", before)
        window = {"start": "2026-10-15T11:00:00-04:00", "end": "2026-10-15T15:45:00-04:00"}
        found = read(await sam.send("POST", "/availability", {"service_id": "oil-change", "window": window}), 200)
        assert len(found["slots"]) == 17


@pytest.mark.req("SCH-134")
async def test_a_taken_slot_names_alternatives_with_their_price(store, clock):
    """Five other starts, nearest first, each as bookable as any slot."""
    async with open_town(store, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        read(await sam.hold(sam.mandate()), 201)
        refusal = read(await kim.hold(kim.mandate()), 409)["refusal"]
        assert (refusal["code"], refusal["reason"]) == ("SLOT_TAKEN", "slot_taken")
        assert [slot["start"][11:16] for slot in refusal["alternatives"]] == [
            "12:00",
            "14:00",
            "11:45",
            "14:15",
            "11:30",
        ]
        assert {slot["total"]["amount"] for slot in refusal["alternatives"]} == {"89.27"}


@pytest.mark.req("SCH-133", "SCH-153")
@pytest.mark.parametrize(("asked", "expires"), [("PT1M", "13:01:00Z"), ("PT5M", "13:05:00Z"), ("PT2H", "13:10:00Z")])
async def test_a_hold_lasts_the_least_of_asked_and_allowed(asked, expires, tmp_path, clock):
    """Two hours become the shop's ten minutes."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        assert read(await sam.hold(sam.mandate(), ttl=asked), 201)["expires_at"] == f"2026-10-13T{expires}"


@pytest.mark.req("SCH-151", "SCH-199")
async def test_releasing_gives_the_time_back_once(store, clock):
    """Released again, or after it ran out, it answers its view; a confirmed hold cannot be released."""
    async with open_town(store, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        mandate = sam.mandate(constraints={"max_bookings": 3})
        first = read(await sam.hold(mandate), 201)
        released = read(await sam.release(first), 200)
        assert (released["status"], read(await sam.release(first), 200)) == ("released", released)
        kims = read(await kim.hold(kim.mandate()), 201)
        clock.advance(timedelta(minutes=5))
        assert read(await kim.release(kims), 200)["status"] == "expired"
        second = read(await sam.hold(mandate), 201)
        read(await sam.confirm(second, mandate), 201)
        assert reason(await sam.release(second), 409) == "hold_confirmed"


@pytest.mark.req("SCH-162")
async def test_another_hash_is_a_contract_mismatch_and_books_nothing(store, clock):
    """The hold stays as it was and can still be confirmed by its own hash."""
    async with open_town(store, clock) as town:
        sam, mandate = (guest := town.guest()), guest.mandate()
        hold = read(await sam.hold(mandate), 201)
        before = await town.rows()
        other = sha256_b64u("something else")
        assert reason(await sam.confirm(hold, mandate, offer_sha256=other), 409) == "contract_mismatch"
        assert await town.rows() == before
        read(await sam.confirm(hold, mandate), 201)


@pytest.mark.req("SCH-020", "SCH-073", "SCH-210")
async def test_somebody_elses_hold_and_booking_do_not_exist(store, clock):
    """Another agent gets the same 404 for what is not its own as for what is nowhere."""
    async with open_town(store, clock) as town:
        sam, jo = town.guest(), town.guest()
        mandate = sam.mandate(constraints={"max_bookings": 2})
        hold = read(await sam.hold(mandate), 201)
        booking = await sam.book(mandate, start="2026-10-15T14:00:00-04:00")
        before = await town.rows()
        asked = [
            await jo.send("GET", f"/holds/{hold['hold_id']}"),
            await jo.send("GET", "/holds/h_nowhere"),
            await jo.release(hold),
            await jo.confirm(hold, jo.mandate()),
            await jo.confirm(hold, mandate),
        ]
        assert [reason(answer, 404) for answer in asked] == ["no_such_hold"] * 5
        assert reason(await jo.send("GET", f"/bookings/{booking['booking_id']}"), 404) == "no_such_booking"
        assert reason(await jo.cancel(booking["booking_id"], jo.mandate()), 404) == "no_such_booking"
        assert reason(await jo.cancel(booking["booking_id"], mandate), 403) == "agent_mismatch"
        assert await town.rows() == before


@pytest.mark.req("SCH-135", "SCH-136", "SCH-137", "SCH-138")
async def test_newcomers_share_a_pool_and_a_kept_appointment_leaves_it(tmp_path, clock):
    """Six throwaway identities fill the pool; somebody whose appointment took place still gets a hold."""
    async with open_town_on_file(tmp_path, clock) as town:
        regular = town.guest()
        late = {"not_before": "2026-10-15T08:00:00-04:00", "not_after": "2026-10-23T18:00:00-04:00"}
        await regular.book(regular.mandate(constraints={"window": late}))
        clock.advance(timedelta(days=3))
        for hour in range(8, 14):
            guest = town.guest()
            wide = guest.mandate(constraints={"window": late})
            read(await guest.hold(wide, start=f"2026-10-20T{hour:02}:00:00-04:00"), 201)
        seventh = town.guest()
        wide = seventh.mandate(constraints={"window": late})
        assert reason(await seventh.hold(wide, start="2026-10-20T15:00:00-04:00"), 409) == "newcomers_full"
        wide = regular.mandate(constraints={"window": late})
        read(await regular.hold(wide, start="2026-10-20T15:00:00-04:00"), 201)


@pytest.mark.req("SCH-135")
async def test_an_agent_holds_three_at_once(tmp_path, clock):
    """However many people it speaks for."""
    async with open_town_on_file(tmp_path, clock) as town:
        first = town.guest()
        for hour in (11, 12, 13):
            guest = town.guest(agent=first.agent)
            read(await guest.hold(guest.mandate(), start=f"2026-10-15T{hour}:00:00-04:00"), 201)
        guest = town.guest(agent=first.agent)
        assert reason(await guest.hold(guest.mandate(), start="2026-10-15T14:00:00-04:00"), 409) == "too_many_holds"


@pytest.mark.req("SCH-199")
async def test_a_released_hold_cannot_be_confirmed(tmp_path, clock):
    """Its time may be somebody else's by now."""
    async with open_town_on_file(tmp_path, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        read(await sam.release(hold), 200)
        await kim.book(kim.mandate())
        assert reason(await sam.confirm(hold, mandate), 409) == "hold_released"
