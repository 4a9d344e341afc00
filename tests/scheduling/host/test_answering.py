"""A host that answers each request: yes, no or silence, each once, each proved."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.discovery import Confirmation
from sayso.scheduling.terms.receipt_checks import verify_receipt
from sayso.world.maple_street import maple_street_auto
from tests.scheduling.host.frontdesk import TWO_HOURS, approving, claims, front_desk, with_staff
from tests.scheduling.host.town import ONE, open_town, read, reason

pytestmark = pytest.mark.anyio

TWO = "2026-10-15T14:00:00-04:00"


@pytest.mark.req("SCH-176", "SCH-177", "SCH-181", "SCH-199", "SCH-200")
async def test_a_confirm_at_an_approving_host_waits_and_its_yes_makes_it_final(store, clock):
    """The offer states the deadline, the time is kept, nobody has answered; then the host has, under a receipt."""
    async with open_town(store, clock, approving()) as town:
        sam, desk = town.guest(), front_desk(town)
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        assert claims(hold["offer"])["answer_by"] == "2026-10-13T11:05:00-04:00"
        asked = read(await sam.confirm(hold, mandate), 201)
        booking = asked["booking"]
        assert (booking["status"], booking["event"]["status"]) == ("pending_host", "tentative")
        assert "answered" not in booking
        assert claims(asked["receipt"])["act"] == "requested"
        kim = town.guest()
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"
        clock.advance(timedelta(hours=1, minutes=59))
        yes = read(await desk.act("approve", booking["booking_id"]), 200)
        verify_receipt(yes["receipt"], await town.document())
        assert (yes["booking"]["status"], yes["booking"]["sequence"], yes["booking"]["version"]) == ("confirmed", 0, 2)
        assert (yes["booking"]["answered"], claims(yes["receipt"])["act"]) == ({"by": "host"}, "confirmed")
        clock.advance(timedelta(days=1))
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"
        shown = read(await sam.send("GET", f"/bookings/{booking['booking_id']}"), 200)
        assert shown == yes
        assert await town.kinds() == ["hold.placed", "booking.requested", "booking.approved"]


@pytest.mark.req("SCH-177", "SCH-195", "SCH-200")
async def test_a_request_nobody_answers_lapses_at_its_deadline_and_frees_its_time(store, clock):
    """At the very instant, whether or not anything has marked it; the unit of the mandate comes back, too."""
    async with open_town(store, clock, approving()) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        clock.advance(timedelta(hours=2, minutes=5) - timedelta(microseconds=1))
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"
        clock.advance(timedelta(microseconds=1))
        again = sam.mandate()
        read(await kim.hold(kim.mandate()), 201)
        shown = read(await sam.send("GET", f"/bookings/{booking['booking_id']}"), 200)
        assert (shown["booking"]["status"], claims(shown["receipt"])["act"]) == ("expired", "expired")
        verify_receipt(shown["receipt"], await town.document())
        assert reason(await desk.act("approve", booking["booking_id"]), 409) == "nothing_to_answer"
        read(await sam.hold(again, start=TWO), 201)


@pytest.mark.req("SCH-178")
async def test_a_second_or_late_answer_has_no_effect(store, clock):
    """Approved twice, declined after a yes, approved after a no: refused, and not a row changes."""
    async with open_town(store, clock, approving()) as town:
        sam, desk = town.guest(), front_desk(town)
        mandate = sam.mandate(constraints={"max_bookings": 2})
        one, two = await sam.book(mandate), await sam.book(mandate, start=TWO)
        read(await desk.act("approve", one["booking_id"]), 200)
        read(await desk.act("decline", two["booking_id"]), 200)
        before = await town.rows()
        for act, booking in (("approve", one), ("decline", one), ("approve", two), ("decline", two)):
            assert reason(await desk.act(act, booking["booking_id"]), 409) == "nothing_to_answer"
        assert await town.rows() == before


@pytest.mark.req("SCH-179", "SCH-195", "SCH-200")
async def test_a_no_carries_words_and_other_times_never_the_declined_one(store, clock):
    """Both bays are free at other times, one of them at the declined start too: that start is named by none."""
    async with open_town(store, clock, with_staff(_two_bays())) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        booking = await sam.book(sam.mandate())
        no = read(
            await desk.act("decline", booking["booking_id"], message="The lift is broken.", alternatives=True), 200
        )
        said = no["booking"]["declined"]
        assert (no["booking"]["status"], said["by"], said["message"]) == ("declined", "host", "The lift is broken.")
        starts = [slot["start"] for slot in said["alternatives"]]
        assert len(starts) == 5
        assert ONE not in starts
        assert "answered" not in no["booking"]
        verify_receipt(no["receipt"], await town.document())
        for guest in (kim, town.guest()):
            read(await guest.hold(guest.mandate()), 201)


@pytest.mark.req("SCH-213", "SCH-200")
async def test_a_guest_can_withdraw_a_request(store, clock):
    """Cancelling costs nothing while the host thinks; the time is free at once."""
    async with open_town(store, clock, approving()) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        gone = read(await sam.cancel(booking["booking_id"], mandate), 200)["booking"]
        assert (gone["status"], "answered" in gone) == ("cancelled", False)
        assert reason(await desk.act("approve", booking["booking_id"]), 409) == "nothing_to_answer"
        read(await kim.hold(kim.mandate()), 201)


@pytest.mark.req("SCH-184")
async def test_only_keys_of_the_settings_answer_for_the_host(store, clock):
    """A guest's own agent cannot approve its booking, nor read the desk's list."""
    async with open_town(store, clock, approving()) as town:
        sam = town.guest()
        booking = await sam.book(sam.mandate())
        before = await town.rows()
        for key in (sam.agent, PrivateKey.generate()):
            stranger = front_desk(town, key)
            assert reason(await stranger.act("approve", booking["booking_id"]), 403) == "not_staff"
            assert reason(await stranger.read(), 403) == "not_staff"
            assert reason(await stranger.read(f"/{booking['booking_id']}"), 403) == "not_staff"
        assert await town.rows() == before
        assert reason(await front_desk(town).act("approve", "b_none"), 404) == "no_such_booking"


@pytest.mark.req("SCH-184", "SCH-210")
async def test_the_desk_sees_what_waits_first_and_the_guests_words(store, clock):
    """The one to answer, until when; then what is to come; a cancelled one leaves the list and keeps its message."""
    async with open_town(store, clock, approving()) as town:
        sam, desk = town.guest(), front_desk(town)
        mandate = sam.mandate(constraints={"max_bookings": 3})
        early, late = await sam.book(mandate, start="2026-10-15T11:00:00-04:00"), await sam.book(mandate, start=TWO)
        read(await desk.act("approve", early["booking_id"]), 200)
        listed = read(await desk.read(), 200)["bookings"]
        assert [(each["booking"]["booking_id"], each.get("answer_by")) for each in listed] == [
            (late["booking_id"], "2026-10-13T11:05:00-04:00"),
            (early["booking_id"], None),
        ]
        assert {each["guest"] for each in listed} == {sam.principal}
        read(await sam.cancel(late["booking_id"], mandate, message="Another time."), 200)
        assert len(read(await desk.read(), 200)["bookings"]) == 1
        assert read(await desk.read(f"/{late['booking_id']}"), 200)["message"] == "Another time."


@pytest.mark.req("SCH-064", "SCH-178")
async def test_an_answer_sent_again_is_answered_again_and_done_once(store, clock):
    """The same key and bytes bring the same answer back; another body under the key does not."""
    async with open_town(store, clock, approving()) as town:
        sam, desk = town.guest(), front_desk(town)
        booking = await sam.book(sam.mandate())
        once = await desk.act("decline", booking["booking_id"], idempotency_key="desk-no-1", message="Closed.")
        again = await desk.act("decline", booking["booking_id"], idempotency_key="desk-no-1", message="Closed.")
        assert (once.status, again.body) == (200, once.body)
        other = await desk.act("decline", booking["booking_id"], idempotency_key="desk-no-1")
        assert reason(other, 409) == "key_reused"


@pytest.mark.req("SCH-177")
async def test_the_deadline_never_passes_the_start(store, clock):
    """An appointment in an hour is answered within it, or not at all."""
    async with open_town(store, clock, approving()) as town:
        sam, desk = town.guest(), front_desk(town)
        soon = {"not_before": "2026-10-13T09:00:00-04:00", "not_after": "2026-10-13T12:00:00-04:00"}
        mandate = sam.mandate(constraints={"window": soon})
        hold = read(await sam.hold(mandate, start="2026-10-13T10:00:00-04:00"), 201)
        assert claims(hold["offer"])["answer_by"] == "2026-10-13T10:00:00-04:00"
        booking = read(await sam.confirm(hold, mandate), 201)["booking"]
        clock.advance(timedelta(hours=1))
        assert reason(await desk.act("approve", booking["booking_id"]), 409) == "nothing_to_answer"


@pytest.mark.req("SCH-159")
async def test_a_host_that_stops_approving_still_owes_the_answers_it_promised(store, clock):
    """The contract states the deadline; a policy edited later does not confirm it."""
    async with open_town(store, clock, approving()) as town:
        sam = town.guest()
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
    async with open_town(store, clock, approving(confirmation=Confirmation(mode="instant"))) as later:
        again = later.guest(key=sam.key, agent=sam.agent)
        assert read(await again.confirm(hold, mandate), 201)["booking"]["status"] == "pending_host"


def _two_bays():
    config = maple_street_auto()
    return replace(config, policies=replace(config.policies, confirmation=TWO_HOURS))
