"""Moves where the host approves, and times that the host itself proposes."""

from datetime import timedelta

import pytest

from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.terms.receipt_checks import verify_receipt
from tests.scheduling.host.frontdesk import approving, claims, front_desk, with_staff
from tests.scheduling.host.town import ONE, one_bay, open_town, read, reason

pytestmark = pytest.mark.anyio

TWO = "2026-10-15T14:00:00-04:00"
THREE = "2026-10-15T15:00:00-04:00"


async def booked(sam, desk, mandate):
    booking = await sam.book(mandate)
    return read(await desk.act("approve", booking["booking_id"]), 200)["booking"]


async def asked_to_move(sam, booking, mandate, start=TWO):
    change = read(await sam.ask_change(booking["booking_id"], start, mandate), 201)
    return change, read(await sam.accept(change, mandate), 200)


@pytest.mark.req("SCH-204", "SCH-224", "SCH-225", "SCH-226", "SCH-233")
async def test_an_accepted_move_waits_for_the_host_and_its_yes_makes_it(store, clock):
    """Neither time nor contract nor sequence change until then; both times are kept; then the booking moves at once."""
    async with open_town(store, clock, approving()) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        mandate = sam.mandate()
        before = await booked(sam, desk, mandate)
        change, waits = await asked_to_move(sam, before, mandate)
        booking = waits["booking"]
        assert booking["awaiting_host"] == {
            "offer_sha256": sha256_b64u(change["offer"]),
            "start": TWO,
            "answer_by": "2026-10-13T15:05:00Z",
        }
        same = ("status", "sequence", "start", "end", "offer_sha256", "total")
        assert {name: booking[name] for name in same} == {name: before[name] for name in same}
        assert (booking["version"], claims(waits["receipt"])["act"]) == (3, "move_requested")
        verify_receipt(waits["receipt"], await town.document())
        clock.advance(timedelta(hours=2))
        kims = kim.mandate()
        for taken in (ONE, TWO):
            assert reason(await kim.hold(kims, start=taken), 409) == "slot_taken"
        moved = read(await desk.act("approve", booking["booking_id"]), 200)
        assert (moved["booking"]["start"], moved["booking"]["sequence"]) == (TWO, 1)
        assert "awaiting_host" not in moved["booking"]
        said = claims(moved["receipt"])
        assert (said["act"], said["consent"]["approved"]) == ("changed", "limits")
        verify_receipt(moved["receipt"], await town.document())
        clock.advance(timedelta(days=1))
        read(await kim.hold(kim.mandate()), 201)
        assert reason(await kim.hold(kim.mandate(constraints={"max_bookings": 2}), start=TWO), 409) == "slot_taken"


@pytest.mark.req("SCH-195", "SCH-226", "SCH-227", "SCH-233")
@pytest.mark.parametrize("answer", ["no", "silence"])
async def test_a_no_or_silence_leaves_the_booking_and_says_why(store, clock, answer):
    """The other time is free again, the first is still the guest's, and the booking names the move that was refused."""
    async with open_town(store, clock, approving()) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        mandate = sam.mandate()
        before = await booked(sam, desk, mandate)
        change, _ = await asked_to_move(sam, before, mandate)
        if answer == "no":
            read(await desk.act("decline", before["booking_id"], message="We close early."), 200)
        else:
            clock.advance(timedelta(hours=2, minutes=5))
        read(await kim.hold(kim.mandate(), start=TWO), 201)
        shown = read(await sam.send("GET", f"/bookings/{before['booking_id']}"), 200)
        booking = shown["booking"]
        said = booking["declined_change"]
        assert (said["offer_sha256"], said["start"], said["reason"], said.get("message")) == (
            sha256_b64u(change["offer"]),
            TWO,
            "declined_by_host" if answer == "no" else "not_answered",
            "We close early." if answer == "no" else None,
        )
        same = ("status", "sequence", "start", "end", "offer_sha256")
        assert {name: booking[name] for name in same} == {name: before[name] for name in same}
        assert ("awaiting_host" in booking, claims(shown["receipt"])["act"]) == (False, "move_declined")
        verify_receipt(shown["receipt"], await town.document())
        assert reason(await desk.act("approve", before["booking_id"]), 409) == "nothing_to_answer"
        assert reason(await kim.hold(kim.mandate(), start=ONE), 409) == "slot_taken"


@pytest.mark.req("SCH-225")
async def test_the_requested_time_is_kept_no_longer_than_until_the_bookings_start(store, clock):
    """Asked for an hour before the appointment, the deadline is its start and not two hours from now."""
    async with open_town(store, clock, approving()) as town:
        sam, desk = town.guest(), front_desk(town)
        booking = await booked(sam, desk, sam.mandate())
        clock.advance(timedelta(days=2, hours=3))
        mandate = sam.managing(booking["booking_id"])
        _, waits = await asked_to_move(sam, booking, mandate, THREE)
        assert waits["booking"]["awaiting_host"]["answer_by"] == "2026-10-15T17:00:00Z"
        clock.advance(timedelta(hours=1))
        assert reason(await desk.act("approve", booking["booking_id"]), 409) == "nothing_to_answer"


@pytest.mark.req("SCH-216")
async def test_cancelling_drops_a_move_that_waits_and_the_time_it_keeps(store, clock):
    """Neither time is anybody's afterwards, and the host has nothing to answer."""
    async with open_town(store, clock, approving()) as town:
        sam, desk = town.guest(), front_desk(town)
        mandate = sam.mandate()
        booking = await booked(sam, desk, mandate)
        await asked_to_move(sam, booking, mandate)
        gone = read(await sam.cancel(booking["booking_id"], mandate), 200)["booking"]
        assert "awaiting_host" not in gone
        assert (await town.rows())["host_allocation"] == []
        assert reason(await desk.act("approve", booking["booking_id"]), 409) == "nothing_to_answer"


@pytest.mark.req("SCH-204")
async def test_one_move_waits_at_a_time(store, clock):
    """While it does, another is refused, and so is taking it back or accepting it again."""
    async with open_town(store, clock, approving()) as town:
        sam, desk = town.guest(), front_desk(town)
        mandate = sam.mandate()
        booking = await booked(sam, desk, mandate)
        change, _ = await asked_to_move(sam, booking, mandate)
        before = await town.rows()
        path = f"/bookings/{booking['booking_id']}/changes"
        assert reason(await sam.ask_change(booking["booking_id"], THREE, mandate), 409) == "move_awaits_host"
        assert reason(await sam.accept(change, mandate), 409) == "move_awaits_host"
        body = {"idempotency_key": "abandon-1"}
        assert reason(await sam.send("POST", f"{path}/{change['offer_id']}/abandon", body), 409) == "move_awaits_host"
        assert await town.rows() == before


@pytest.mark.req("SCH-234", "SCH-236", "SCH-253")
async def test_the_host_proposes_another_time_and_the_guest_accepts_it_by_its_hash(store, clock):
    """Until then the booking is unchanged and the proposed time kept; the guest's yes is the last word."""
    async with open_town(store, clock, approving()) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        mandate = sam.mandate()
        before = await booked(sam, desk, mandate)
        proposed = read(await desk.act("propose", before["booking_id"], start=TWO, message="Bay 1 is in repair."), 200)
        booking = proposed["booking"]
        assert (booking["proposed"]["start"], booking["proposed"]["message"]) == (TWO, "Bay 1 is in repair.")
        assert (booking["start"], booking["sequence"], claims(proposed["receipt"])["act"]) == (ONE, 0, "proposed")
        assert reason(await kim.hold(kim.mandate(), start=TWO), 409) == "slot_taken"
        offer_id = booking["proposed"]["offer_id"]
        path = f"/bookings/{booking['booking_id']}/changes/{offer_id}"
        view = read(await sam.send("GET", path), 200)
        assert (view["start"], claims(view["offer"]).get("answer_by")) == (TWO, None)
        assert claims(view["offer"])["change"]["replaces"] == before["offer_sha256"]
        assert reason(await kim.send("GET", path), 404) == "no_such_booking"
        narrow = {"not_before": "2026-10-15T12:00:00-04:00", "not_after": "2026-10-15T14:00:00-04:00"}
        manage = sam.managing(booking["booking_id"], window=narrow)
        assert reason(await sam.accept(view, manage), 403) == "outside_window"
        moved = read(await sam.accept(view, sam.closed(view["offer"], bookings=[booking["booking_id"]])), 200)
        final = moved["booking"]
        assert (final["start"], final["sequence"], "proposed" in final) == (TWO, 1, False)
        verify_receipt(moved["receipt"], await town.document())
        read(await kim.hold(kim.mandate()), 201)


@pytest.mark.req("SCH-236")
@pytest.mark.parametrize("how", ["declined", "ran out", "replaced by the guest"])
async def test_a_proposal_that_is_not_taken_leaves_the_booking_as_it_is(store, clock, how):
    """Only the note of it goes, with the time it kept."""
    async with open_town(store, clock, with_staff(one_bay())) as town:
        sam, desk = town.guest(), front_desk(town)
        mandate = sam.mandate()
        before = await sam.book(mandate)
        answer = read(await desk.act("propose", before["booking_id"], start=TWO, open_for="PT30M"), 200)["booking"]
        path = f"/bookings/{before['booking_id']}/changes/{answer['proposed']['offer_id']}"
        if how == "declined":
            read(await sam.send("POST", f"{path}/abandon", {"idempotency_key": "no-thanks-1"}), 200)
        elif how == "ran out":
            clock.advance(timedelta(minutes=30))
        else:
            read(await sam.ask_change(before["booking_id"], THREE, mandate), 201)
        kim = town.guest()
        read(await kim.hold(kim.mandate(), start=TWO), 201)
        shown = read(await sam.send("GET", f"/bookings/{before['booking_id']}"), 200)
        assert claims(shown["receipt"])["act"] == "proposal_over"
        left = {**shown["booking"], "version": before["version"], "event": before["event"]}
        assert (left, shown["booking"]["version"]) == (before, 3)


@pytest.mark.req("SCH-200", "SCH-235")
async def test_a_counter_is_the_hosts_yes_to_another_time(store, clock):
    """The request goes on waiting until the guest answers; accepting it makes the booking final, with nobody asked."""
    async with open_town(store, clock, approving()) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        mandate = sam.mandate()
        asked = await sam.book(mandate)
        countered = read(await desk.act("counter", asked["booking_id"], start=TWO), 200)["booking"]
        assert (countered["status"], countered["proposed"]["expires_at"]) == ("pending_host", "2026-10-13T15:05:00Z")
        path = f"/bookings/{asked['booking_id']}/changes/{countered['proposed']['offer_id']}"
        view = read(await sam.send("GET", path), 200)
        final = read(await sam.accept(view, mandate), 200)["booking"]
        assert (final["status"], final["start"], final["sequence"], final["answered"]) == (
            "confirmed",
            TWO,
            1,
            {"by": "host"},
        )
        clock.advance(timedelta(days=1))
        assert reason(await kim.hold(kim.mandate(), start=TWO), 409) == "slot_taken"
        read(await kim.hold(kim.mandate()), 201)


@pytest.mark.req("SCH-235")
async def test_a_counter_to_a_move_declines_it_and_proposes_another(store, clock):
    """The guest hears both at once; what has nothing to answer is not countered."""
    async with open_town(store, clock, approving()) as town:
        sam, desk = town.guest(), front_desk(town)
        mandate = sam.mandate()
        booking = await booked(sam, desk, mandate)
        assert reason(await desk.act("counter", booking["booking_id"], start=THREE), 409) == "nothing_to_answer"
        await asked_to_move(sam, booking, mandate)
        assert reason(await desk.act("propose", booking["booking_id"], start=THREE), 409) == "move_awaits_host"
        both = read(await desk.act("counter", booking["booking_id"], start=THREE, message="Later?"), 200)["booking"]
        assert (both["declined_change"]["start"], both["proposed"]["start"]) == (TWO, THREE)
        assert "awaiting_host" not in both


@pytest.mark.req("SCH-126", "SCH-234")
async def test_a_proposal_for_taken_time_changes_nothing(store, clock):
    """Nor does one beside a change offer that the guest has open, nor with somebody guests cannot choose."""
    async with open_town(store, clock, with_staff(one_bay())) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        await kim.book(kim.mandate(), start=TWO)
        before = await town.rows()
        assert reason(await desk.act("propose", booking["booking_id"], start=TWO), 409) == "slot_taken"
        unknown = await desk.act("propose", booking["booking_id"], start=THREE, resource_id="alex")
        assert reason(unknown, 404) == "unknown_resource"
        assert await town.rows() == before
        read(await sam.ask_change(booking["booking_id"], "2026-10-15T12:00:00-04:00", mandate), 201)
        assert reason(await desk.act("propose", booking["booking_id"], start=THREE), 409) == "offer_outstanding"
