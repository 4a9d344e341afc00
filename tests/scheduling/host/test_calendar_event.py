"""The calendar event of a booking as it lives: what moves `updated`, the status word, the length and the open end."""

from datetime import timedelta

import pytest

from tests.scheduling.host.frontdesk import front_desk, with_staff
from tests.scheduling.host.town import one_bay, open_town, read

pytestmark = pytest.mark.anyio

EIGHT = "2026-10-14T08:00:00-04:00"


@pytest.mark.req("SCH-211", "SCH-255", "SCH-197")
async def test_an_open_ended_bookings_event_has_no_length_and_follows_what_happens(store, clock):
    """`open_end` stands beside the event and never inside; ended, it is still an event that took place."""
    async with open_town(store, clock, with_staff(one_bay())) as town:
        sam, desk = town.guest(), front_desk(town)
        window = {"not_before": EIGHT, "not_after": "2026-10-14T09:00:00-04:00"}
        mandate = sam.mandate(
            constraints={"services": ["brake-diagnosis"], "window": window, "max_price": None},
        )
        booking = await sam.book(mandate, service_id="brake-diagnosis", start=EIGHT)
        event = booking["event"]
        assert (booking["open_end"], "end" in booking, "open_end" in event) == (True, False, False)
        assert ("duration" in event, event["showWithoutTime"], event["status"]) == (False, False, "confirmed")
        assert event["updated"] == "2026-10-13T13:00:00Z"
        clock.advance(timedelta(days=1, hours=1, seconds=5, microseconds=7))
        ended = read(await desk.act("end", booking["booking_id"]), 200)["booking"]
        assert ended["ended"] == "2026-10-14T10:00:05-04:00"
        after = {**event, "updated": "2026-10-14T14:00:05Z"}
        assert (ended["event"], ended["open_end"]) == (after, True)


@pytest.mark.req("SCH-211", "SCH-197")
async def test_a_moved_and_cancelled_bookings_event_says_so(store, clock):
    """Sequence and local start follow the move, the word follows the cancellation, and `updated` follows both."""
    async with open_town(store, clock, one_bay()) as town:
        sam = town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        clock.advance(timedelta(minutes=10))
        change = read(await sam.ask_change(booking["booking_id"], "2026-10-15T14:00:00-04:00", mandate), 201)
        moved = read(await sam.accept(change, mandate), 200)["booking"]["event"]
        assert moved == {
            **booking["event"],
            "sequence": 1,
            "start": "2026-10-15T14:00:00",
            "updated": "2026-10-13T13:10:00Z",
        }
        clock.advance(timedelta(minutes=1))
        gone = read(await sam.cancel(booking["booking_id"], mandate), 200)["booking"]["event"]
        assert gone == {**moved, "status": "cancelled", "updated": "2026-10-13T13:11:00Z"}
