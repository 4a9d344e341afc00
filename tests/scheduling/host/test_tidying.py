"""Time passes at a shop that nobody asks anything."""

from datetime import timedelta

import anyio
import pytest

from sayso.scheduling.host.tidying import EVERY, keeping_tidy, tidy
from sayso.store.statements import statement
from sayso.store.tables.store import nonces, replay_slots
from tests.scheduling.host.town import one_bay, open_town, open_town_on_file, read

pytestmark = pytest.mark.anyio


@pytest.mark.req("SCH-062", "SCH-070", "SCH-123")
async def test_what_is_over_is_marked_and_forgotten_without_a_request(store, clock):
    """The hold is expired and its time free; a day later its nonce and its idempotency key are gone too."""
    async with open_town(store, clock, one_bay()) as town:
        sam = town.guest()
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        read(await sam.ask_change(booking["booking_id"], "2026-10-15T14:00:00-04:00", mandate), 201)
        kim = town.guest()
        read(await kim.hold(kim.mandate(), start="2026-10-15T11:00:00-04:00"), 201)
        clock.advance(timedelta(minutes=5))
        await store.unit(lambda unit: tidy(unit, town.desk))
        rows = await town.rows()
        assert sorted(row[2] for row in rows["host_hold"]) == ["confirmed", "expired"]
        assert [row[3] for row in rows["host_change"]] == ["lapsed"]
        assert {row[3] for row in rows["host_allocation"]} == {rows["host_booking"][0][2]}
        clock.advance(timedelta(days=1))
        await store.unit(lambda unit: tidy(unit, town.desk))
        left = await store.reading(
            lambda view: [view.all(statement(table.select())) for table in (nonces, replay_slots)]
        )
        assert left == [[], []]


async def test_it_happens_once_a_minute_by_the_clock_of_the_shop(tmp_path, clock):
    """Nothing before the minute is over, and an end when the block ends."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        read(await sam.hold(sam.mandate(), ttl="PT1M"), 201)
        async with keeping_tidy(town.store, clock, town.desk):
            while clock.sleepers == 0:
                await anyio.sleep(0)
            assert await town.kinds() == ["hold.placed"]
            clock.advance(EVERY)
            while len(found := await town.kinds()) == 1:
                await anyio.sleep(0)
            assert found == ["hold.placed", "hold.expired"]
        assert clock.sleepers == 0
