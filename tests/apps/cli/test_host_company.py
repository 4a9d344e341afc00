"""What a host's own terminal says of a booking with company."""

from __future__ import annotations

import pytest

from sayso.apps.cli.host_text import booking_lines
from sayso.core import strictjson
from sayso.scheduling.terms.staff import DeskBookings
from sayso.testing.store import clock
from tests.scheduling.host.company import answer, asked, asked_along
from tests.scheduling.host.frontdesk import front_desk, with_staff
from tests.scheduling.host.town import one_bay, open_town_on_file, read

__all__ = ("clock",)

pytestmark = pytest.mark.anyio


@pytest.mark.req("SCH-192", "SCH-210")
async def test_the_host_sees_who_comes_along_and_whose_answer_is_missing(tmp_path, clock):
    """By the names the booker gave, beside how the booking stands."""
    async with open_town_on_file(tmp_path, clock, with_staff(one_bay())) as town:
        dana, lee, kim = town.guest(), town.guest(), town.guest()
        held, settled = await asked_along(dana, asked("Lee", lee), asked("Kim", kim))
        read(await answer(lee, settled["booking"]["booking_id"], "yes", held["offer"]), 200)
        found = strictjson.decode((await front_desk(town).read()).body, DeskBookings)
        said = "\n".join(booking_lines(found.bookings[0]))
        assert "waits for people who come along; Lee: yes, Kim: not yet" in said
