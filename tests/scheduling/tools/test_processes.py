"""The same main job with the shop in a process of its own, and one clock file for both."""

from __future__ import annotations

import pytest

from sayso.net.fetch import Fetcher
from sayso.world.process import running_world
from sayso.world.timekeeping import move_clock, open_clock
from tests.scheduling.tools.household import open_household

pytestmark = pytest.mark.anyio


@pytest.mark.req("SCH-377", "SCH-214")
async def test_a_booking_and_its_free_cancellation_across_processes(tmp_path):
    """Held, approved, booked; a day later cancelled under the management mandate."""
    world = tmp_path / "world"
    world.mkdir(mode=0o700)
    async with running_world(world) as served, Fetcher(served.resolve) as fetcher:
        clock = open_clock(world)
        async with open_household(tmp_path / "guest", clock, fetcher) as home:
            booked = await home.booked()
            assert (booked["outcome"], booked["user_signed"]) == ("confirmed", "this exact offer")
            move_clock(world, "+P1D")
            done = await home.call("cancel_booking", {"booking_id": booked["booking_id"]})
            assert (done.is_error, done.result["outcome"]) == (False, "cancelled")
