"""Cancelling and moving over real signed requests, on both engines."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from sayso.core import strictjson
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import read_jws
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.receipt_checks import verify_receipt
from tests.scheduling.host.town import ONE, one_bay, open_town, open_town_on_file, read, reason

pytestmark = pytest.mark.anyio

HALF_PAST = "2026-10-15T13:30:00-04:00"
TWO = "2026-10-15T14:00:00-04:00"


def claims(token):
    return strictjson.parse(read_jws(token).payload)


@pytest.mark.req("SCH-188", "SCH-213", "SCH-214", "SCH-218", "SCH-220")
async def test_cancelling_is_free_at_once_and_receipted(store, clock):
    """The time is free for the next guest, the receipt states no amount for it, and a second try says so."""
    async with open_town(store, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        answer = await sam.cancel(booking["booking_id"], mandate, message="Sorry, the car broke down.")
        settled = strictjson.decode(answer.body, Settled)
        document = await town.document()
        receipt = verify_receipt(settled.receipt, document, settled.booking)
        assert (receipt.claims.act, receipt.booking.status, receipt.booking.cancelled.by) == (
            "cancelled",
            "cancelled",
            "guest",
        )
        assert (receipt.booking.sequence, receipt.booking.version, receipt.booking.event.status) == (0, 2, "cancelled")
        assert receipt.booking.total == strictjson.decode(answer.body, Settled).booking.total
        assert b"broke down" not in answer.body
        assert "Sorry, the car broke down." in (await town.rows())["host_booking"][0]
        read(await kim.hold(kim.mandate()), 201)
        assert reason(await sam.cancel(booking["booking_id"], mandate), 409) == "already_cancelled"
        assert await town.kinds() == ["hold.placed", "booking.confirmed", "booking.cancelled", "hold.placed"]


@pytest.mark.req("SCH-219")
async def test_a_booking_can_be_cancelled_until_its_start_and_not_from_then_on(tmp_path, clock):
    """The last microsecond is free of charge too; from 13:00 on the host speaks for itself."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        mandate = sam.mandate(constraints={"max_bookings": 2})
        early, late = await sam.book(mandate), await sam.book(mandate)
        clock.set(clock.now() + timedelta(days=2, hours=4) - timedelta(microseconds=1))
        manage = sam.managing(early["booking_id"], bookings=[early["booking_id"], late["booking_id"]])
        assert read(await sam.cancel(early["booking_id"], manage), 200)["booking"]["status"] == "cancelled"
        clock.advance(timedelta(microseconds=1))
        assert reason(await sam.cancel(late["booking_id"], manage), 409) == "already_started"


@pytest.mark.req("SCH-085", "SCH-086", "SCH-087")
async def test_a_management_mandate_outlives_the_buying_one_and_does_nothing_else(store, clock):
    """Two days later the buying mandate is expired; the management one cancels its booking and holds nothing."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        mandate = sam.mandate(constraints={"max_bookings": 2})
        mine, other = await sam.book(mandate), await sam.book(mandate, start=TWO)
        clock.advance(timedelta(days=1))
        assert reason(await sam.cancel(mine["booking_id"], mandate), 403) == "mandate_expired"
        manage = sam.managing(mine["booking_id"])
        assert reason(await sam.hold(manage), 403) == "scope_missing"
        everything = sam.mandate(constraints={"bookings": [mine["booking_id"]]})
        assert reason(await sam.hold(everything), 403) == "management_only"
        assert reason(await sam.cancel(other["booking_id"], manage), 403) == "booking_not_covered"
        read(await sam.cancel(mine["booking_id"], manage), 200)


@pytest.mark.req("SCH-126", "SCH-164", "SCH-221", "SCH-222", "SCH-223")
async def test_a_move_is_two_steps_and_may_overlap_its_own_time(store, clock):
    """With one bay, 13:00 becomes 13:30: a new contract chained to the old, sequence 1, and 13:00 is free again."""
    async with open_town(store, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        change = read(await sam.ask_change(booking["booking_id"], HALF_PAST, mandate), 201)
        shown = read(await sam.send("GET", f"/bookings/{booking['booking_id']}"), 200)["booking"]
        assert (shown, change["status"], change["start"]) == (booking, "offered", HALF_PAST)
        assert claims(change["offer"])["change"] == {
            "booking_id": booking["booking_id"],
            "replaces": booking["offer_sha256"],
        }
        moved = read(await sam.accept(change, mandate), 200)
        assert (moved["booking"]["sequence"], moved["booking"]["start"]) == (1, HALF_PAST)
        assert moved["booking"]["offer_sha256"] == sha256_b64u(change["offer"])
        assert claims(moved["receipt"])["act"] == "changed"
        early = {"not_before": "2026-10-15T09:00:00-04:00", "not_after": "2026-10-15T15:45:00-04:00"}
        kims = kim.mandate(constraints={"window": early, "max_bookings": 2})
        read(await kim.hold(kims, start="2026-10-15T12:30:00-04:00"), 201)
        assert reason(await kim.hold(kims, start=TWO), 409) == "slot_taken"
        assert (await town.kinds())[-3:] == ["change.offered", "booking.moved", "hold.placed"]


@pytest.mark.req("SCH-126", "SCH-223")
async def test_a_move_that_fails_leaves_the_booking_as_it_was(store, clock):
    """The other time is somebody else's: refused with alternatives, not a row changed."""
    async with open_town(store, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        await kim.book(kim.mandate(), start=TWO)
        before = await town.rows()
        refusal = read(await sam.ask_change(booking["booking_id"], HALF_PAST, mandate), 409)["refusal"]
        assert (refusal["reason"], refusal["alternatives"][0]["start"]) == ("slot_taken", ONE)
        for start in ("2026-10-15T13:05:00-04:00", "2026-10-15T20:00:00-04:00"):
            assert reason(await sam.ask_change(booking["booking_id"], start, mandate), 409) == "not_bookable"
        assert await town.rows() == before


@pytest.mark.req("SCH-216", "SCH-231")
async def test_one_change_offer_is_open_at_a_time_and_ends_with_the_booking(store, clock):
    """Asking again drops the first and frees its time; cancelling drops the second."""
    async with open_town(store, clock, one_bay()) as town:
        sam = town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        first = read(await sam.ask_change(booking["booking_id"], TWO, mandate), 201)
        second = read(await sam.ask_change(booking["booking_id"], "2026-10-15T14:30:00-04:00", mandate), 201)
        assert reason(await sam.accept(first, mandate), 409) == "offer_dropped"
        read(await sam.cancel(booking["booking_id"], mandate), 200)
        assert reason(await sam.accept(second, mandate), 409) == "offer_dropped"
        rows = await town.rows()
        assert rows["host_allocation"] == []


@pytest.mark.req("SCH-123", "SCH-231")
async def test_a_change_offer_runs_out_and_the_booking_stays(store, clock):
    """At its expiry it can no longer be accepted, its time is free, the booking is untouched."""
    async with open_town(store, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        change = read(await sam.ask_change(booking["booking_id"], TWO, mandate), 201)
        clock.advance(timedelta(minutes=5))
        assert reason(await sam.accept(change, mandate), 409) == "offer_expired"
        read(await kim.hold(kim.mandate(), start=TWO), 201)
        assert read(await sam.send("GET", f"/bookings/{booking['booking_id']}"), 200)["booking"] == booking
        assert "change.ended" in await town.kinds()


async def test_abandoning_gives_the_other_time_back(store, clock):
    """Only the agent that asked may; a second time it answers the same view."""
    async with open_town(store, clock, one_bay()) as town:
        sam = town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        taken = (await town.rows())["host_allocation"]
        change = read(await sam.ask_change(booking["booking_id"], TWO, mandate), 201)
        path = f"/bookings/{booking['booking_id']}/changes/{change['offer_id']}/abandon"
        stranger = town.guest()
        body = {"idempotency_key": "abandon-1"}
        assert reason(await stranger.send("POST", path, body), 404) == "no_such_booking"
        dropped = read(await sam.send("POST", path, body), 200)
        assert (dropped["status"], dropped["version"]) == ("dropped", 2)
        assert read(await sam.send("POST", path, {"idempotency_key": "abandon-2"}), 200) == dropped
        assert (await town.rows())["host_allocation"] == taken


@pytest.mark.req("SCH-088", "SCH-229", "SCH-253")
async def test_accepting_a_move_is_bounded_by_the_mandate_or_approved_by_a_closed_one(store, clock):
    """A management mandate whose window ends at 14:00 cannot accept 14:30; the person's signature over it can."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        booking = await sam.book(sam.mandate())
        narrow = {"not_before": "2026-10-15T11:00:00-04:00", "not_after": "2026-10-15T14:00:00-04:00"}
        manage = sam.managing(booking["booking_id"], window=narrow)
        change = read(await sam.ask_change(booking["booking_id"], "2026-10-15T14:30:00-04:00", manage), 201)
        before = await town.rows()
        assert reason(await sam.accept(change, manage), 403) == "outside_window"
        cheap = sam.managing(booking["booking_id"], max_price={"amount": "80.00", "currency": "CAD"})
        assert reason(await sam.accept(change, cheap), 403) == "above_price"
        elsewhere = sam.closed("some.other.offer", bookings=[booking["booking_id"]])
        assert reason(await sam.accept(change, elsewhere), 403) == "closed_elsewhere"
        assert await town.rows() == before
        moved = read(await sam.accept(change, sam.closed(change["offer"], bookings=[booking["booking_id"]])), 200)
        assert claims(moved["receipt"])["consent"]["approved"] == "offer"


@pytest.mark.req("SCH-210")
async def test_another_agent_reads_a_booking_under_a_mandate_that_covers_it(store, clock):
    """Sam's new agent shows a management mandate; a mandate of Sam's for another booking does not do."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        booking = await sam.book(sam.mandate())
        new = town.guest(key=sam.key)
        path = f"/bookings/{booking['booking_id']}"
        assert read(await new.send("GET", path, mandate=new.managing(booking["booking_id"])), 200)["booking"] == booking
        assert reason(await new.send("GET", path, mandate=new.managing("b_other")), 403) == "booking_not_covered"
        assert reason(await new.send("GET", path), 404) == "no_such_booking"


@pytest.mark.req("SCH-041", "SCH-089")
async def test_where_the_closed_mandate_is_always_asked_for_limits_do_not_confirm(store, clock):
    """Nor does a closed mandate that a script answered for the person."""
    async with open_town(store, clock, one_bay(closed_mandate="always")) as town:
        sam = town.guest()
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        assert reason(await sam.confirm(hold, mandate), 403) == "closed_mandate_required"
        scripted = sam.mandate(
            constraints={
                "services": None, "window": None, "max_price": None, "max_bookings": None,
                "offer_sha256": sha256_b64u(hold["offer"]),
            },
            consent={"mode": "preapproved", "statement": "Yes."},
        )  # fmt: skip
        assert reason(await sam.confirm(hold, scripted), 403) == "mode_not_accepted"
        read(await sam.confirm(hold, sam.closed(hold["offer"])), 201)


@pytest.mark.req("SCH-159")
async def test_a_policy_edited_later_does_not_reach_a_booking(store, clock):
    """The shop doubles its price and shortens its retention: the booking keeps its contract, its cancellation too."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
    config = one_bay(retention="P30D")
    dear = replace(config.services[0], price=replace(config.services[0].price, amount="158.00"))
    async with open_town(store, clock, replace(config, services=(dear,))) as later:
        again = later.guest(key=sam.key, agent=sam.agent)
        assert read(await again.send("GET", f"/bookings/{booking['booking_id']}"), 200)["booking"] == booking
        gone = read(await again.cancel(booking["booking_id"], mandate), 200)
        assert (gone["booking"]["total"]["amount"], claims(gone["receipt"])["retention"]) == ("89.27", "P365D")
