"""At the desk: calling off, ending, marking; and what the clock completes by itself."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from sayso.scheduling.terms.receipt_checks import verify_receipt
from tests.scheduling.host.frontdesk import claims, front_desk, with_staff
from tests.scheduling.host.town import ONE, one_bay, open_town, read, reason

pytestmark = pytest.mark.anyio

TICK = timedelta(microseconds=1)
UNTIL_ONE = timedelta(days=2, hours=4)
DROP_OFF = "2026-10-14T08:00:00-04:00"


def shop():
    return with_staff(one_bay())


async def shown(guest, booking):
    return read(await guest.send("GET", f"/bookings/{booking['booking_id']}"), 200)


@pytest.mark.req("SCH-195", "SCH-202", "SCH-217")
async def test_the_host_cancels_with_a_reason_and_the_guest_can_prove_it(store, clock):
    """The time is free at once; the receipt names who called it off, when and why; from the start on it is refused."""
    async with open_town(store, clock, shop()) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        mandate = sam.mandate(constraints={"max_bookings": 2})
        booking, later = await sam.book(mandate), await sam.book(mandate, start="2026-10-15T14:00:00-04:00")
        reason_given = "Our lift broke down."
        gone = read(await desk.act("cancel", booking["booking_id"], reason=reason_given), 200)
        said = gone["booking"]["cancelled"]
        assert said == {"by": "host", "at": "2026-10-13T13:00:00Z", "reason": reason_given}
        verify_receipt(gone["receipt"], await town.document())
        assert await shown(sam, booking) == gone
        read(await kim.hold(kim.mandate()), 201)
        assert reason(await desk.act("cancel", booking["booking_id"], reason="Again."), 409) == "already_cancelled"
        assert reason(await desk.act("cancel", later["booking_id"]), 400) == "schema_invalid"
        clock.advance(UNTIL_ONE + timedelta(hours=1))
        assert reason(await desk.act("cancel", later["booking_id"], reason="Late."), 409) == "already_started"


@pytest.mark.req("SCH-202", "SCH-209")
async def test_a_booking_completes_when_its_end_has_passed(store, clock):
    """At 13:45 and not a moment before, by the clock alone; the receipt says completed."""
    async with open_town(store, clock, shop()) as town:
        sam, kim = town.guest(), town.guest()
        booking = await sam.book(sam.mandate())
        clock.advance(UNTIL_ONE + timedelta(minutes=45) - TICK)
        await kim.hold(kim.mandate())
        assert (await shown(sam, booking))["booking"]["status"] == "confirmed"
        clock.advance(TICK)
        await kim.hold(kim.mandate())
        done = await shown(sam, booking)
        assert (done["booking"]["status"], done["booking"]["event"]["status"]) == ("completed", "confirmed")
        assert claims(done["receipt"])["act"] == "completed"
        verify_receipt(done["receipt"], await town.document())


@pytest.mark.req("SCH-195", "SCH-205", "SCH-206")
async def test_only_a_past_booking_is_marked_and_a_no_show_states_no_amount(store, clock):
    """Before the end it is refused; afterwards it is a bare status under a receipt, and there is no member for more."""
    async with open_town(store, clock, shop()) as town:
        sam, desk = town.guest(), front_desk(town)
        booking = await sam.book(sam.mandate())
        for ahead in (timedelta(0), UNTIL_ONE):
            clock.advance(ahead)
            for act in ("no-show", "attended"):
                assert reason(await desk.act(act, booking["booking_id"]), 409) == "not_over"
        clock.advance(timedelta(minutes=45))
        assert reason(await desk.act("no-show", booking["booking_id"], fee="20.00"), 400) == "schema_invalid"
        marked = read(await desk.act("no-show", booking["booking_id"]), 200)
        assert (marked["booking"]["status"], claims(marked["receipt"])["act"]) == ("no_show", "no_show")
        assert marked["booking"]["total"] == booking["total"]
        verify_receipt(marked["receipt"], await town.document())
        assert await shown(sam, booking) == marked


@pytest.mark.req("SCH-209", "SCH-212")
async def test_a_mark_is_corrected_for_seven_days_and_no_longer(store, clock):
    """No-show, then attended after all, then no-show again; a week after the end it stands."""
    async with open_town(store, clock, shop()) as town:
        sam, desk = town.guest(), front_desk(town)
        booking = await sam.book(sam.mandate())
        name = booking["booking_id"]
        clock.advance(UNTIL_ONE + timedelta(minutes=45))
        read(await desk.act("no-show", name), 200)
        came = read(await desk.act("attended", name), 200)
        assert (came["booking"]["status"], came["booking"]["attended"]) == ("completed", True)
        verify_receipt(came["receipt"], await town.document())
        again = read(await desk.act("no-show", name), 200)["booking"]
        assert (again["status"], "attended" in again) == ("no_show", False)
        clock.advance(timedelta(days=7))
        read(await desk.act("attended", name), 200)
        clock.advance(TICK)
        for act in ("no-show", "attended"):
            assert reason(await desk.act(act, name), 409) == "mark_too_late"


@pytest.mark.req("SCH-138", "SCH-206", "SCH-212")
async def test_standing_follows_the_mark(store, clock):
    """A no-show earns none; taken back, the appointment counts as kept."""
    config = shop()
    holds = replace(config.policies.holds, max_active_unproven=1)
    async with open_town(store, clock, replace(config, policies=replace(config.policies, holds=holds))) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        booking = await sam.book(sam.mandate())
        clock.advance(UNTIL_ONE + timedelta(minutes=45))
        read(await desk.act("no-show", booking["booking_id"]), 200)
        window = {"not_before": "2026-10-16T08:00:00-04:00", "not_after": "2026-10-16T18:00:00-04:00"}
        friday = {"constraints": {"window": window}}
        read(await kim.hold(kim.mandate(**friday), start="2026-10-16T09:00:00-04:00"), 201)
        ask = {"start": "2026-10-16T11:00:00-04:00"}
        assert reason(await sam.hold(sam.mandate(**friday), **ask), 409) == "newcomers_full"
        read(await desk.act("attended", booking["booking_id"]), 200)
        read(await sam.hold(sam.mandate(**friday), **ask), 201)


async def dropped_off(town, sam):
    window = {"not_before": "2026-10-14T08:00:00-04:00", "not_after": "2026-10-14T09:00:00-04:00"}
    mandate = sam.mandate(constraints={"services": ["brake-diagnosis"], "window": window, "max_price": None})
    return await sam.book(mandate, service_id="brake-diagnosis", start=DROP_OFF)


@pytest.mark.req("SCH-254", "SCH-255", "SCH-256", "SCH-258", "SCH-268")
async def test_a_drop_off_takes_the_bay_until_closing_and_ending_it_frees_the_rest(store, clock):
    """From 8:00 to 18:00 nothing fits; ended at 10:40 an oil change at 13:00 does, the receipt tells the real end."""
    async with open_town(store, clock, shop()) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        booking = await dropped_off(town, sam)
        assert (booking["open_end"], "end" in booking, "total" in booking) == (True, False, False)
        assert ("duration" in booking["event"], booking["event"]["showWithoutTime"]) == (False, False)
        at_one = "2026-10-14T13:00:00-04:00"
        wednesday = {"not_before": "2026-10-14T08:00:00-04:00", "not_after": "2026-10-14T18:00:00-04:00"}
        kims = kim.mandate(constraints={"window": wednesday}, exp=int(clock.now().timestamp()) + 2 * 86_400)
        assert reason(await kim.hold(kims, start=at_one), 409) == "slot_taken"
        assert reason(await desk.act("end", booking["booking_id"]), 409) == "not_open_ended"
        clock.advance(timedelta(hours=25, minutes=40))
        ended = read(await desk.act("end", booking["booking_id"]), 200)
        assert (ended["booking"]["status"], ended["booking"]["ended"]) == ("completed", "2026-10-14T10:40:00-04:00")
        assert (claims(ended["receipt"])["act"], ended["booking"]["sequence"]) == ("ended", 0)
        verify_receipt(ended["receipt"], await town.document())
        read(await kim.hold(kims, start=at_one), 201)
        assert reason(await desk.act("end", booking["booking_id"]), 409) == "not_open_ended"
        assert "booking.ended" in await town.kinds()


@pytest.mark.req("SCH-209", "SCH-254")
async def test_a_drop_off_that_nobody_ends_completes_when_the_bay_closes(store, clock):
    """At 18:00, without an end of its own."""
    async with open_town(store, clock, shop()) as town:
        sam, kim = town.guest(), town.guest()
        booking = await dropped_off(town, sam)
        clock.advance(timedelta(hours=33))
        await kim.hold(kim.mandate())
        done = (await shown(sam, booking))["booking"]
        assert (done["status"], "ended" in done) == ("completed", False)


@pytest.mark.req("SCH-254")
async def test_a_service_can_set_less_aside_than_until_closing(store, clock):
    """With three hours set aside the bay is free from 11:00 on."""
    config = shop()
    services = tuple(
        replace(each, set_aside="PT3H") if each.id == "brake-diagnosis" else each for each in config.services
    )
    async with open_town(store, clock, replace(config, services=services)) as town:
        sam, kim = town.guest(), town.guest()
        await dropped_off(town, sam)
        wednesday = {"not_before": "2026-10-14T08:00:00-04:00", "not_after": "2026-10-14T18:00:00-04:00"}
        kims = kim.mandate(constraints={"window": wednesday})
        assert reason(await kim.hold(kims, start="2026-10-14T10:45:00-04:00"), 409) == "slot_taken"
        read(await kim.hold(kims, start="2026-10-14T11:00:00-04:00"), 201)


@pytest.mark.req("SCH-256", "SCH-257")
async def test_nothing_is_extended_and_nothing_with_an_agreed_end_is_ended(store, clock):
    """A running booking cannot be changed, no change can name another end, and an oil change ends by itself."""
    async with open_town(store, clock, shop()) as town:
        sam, desk = town.guest(), front_desk(town)
        mandate = sam.mandate()
        fixed = await sam.book(mandate)
        longer = await sam.ask_change(fixed["booking_id"], ONE, mandate, end="2026-10-15T15:00:00-04:00")
        assert reason(longer, 400) == "schema_invalid"
        open_ended = await dropped_off(town, town.guest(key=sam.key, agent=sam.agent))
        clock.advance(timedelta(hours=24))
        manage = sam.managing(open_ended["booking_id"], window={
            "not_before": "2026-10-14T08:00:00-04:00", "not_after": "2026-10-14T18:00:00-04:00"})  # fmt: skip
        extend = await sam.ask_change(open_ended["booking_id"], "2026-10-14T10:00:00-04:00", manage)
        assert reason(extend, 409) == "already_started"
        clock.advance(timedelta(hours=28))
        assert reason(await desk.act("end", fixed["booking_id"]), 409) == "not_open_ended"
