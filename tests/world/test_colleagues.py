"""A room for three colleagues: one books, two are asked along, and the room is another process's to give.

The paper's meeting between colleagues, as far as it is a booking: every host is a process of its own, reached over
sockets; each of the three has a key app, an assistant and a log. Who is busy when is their own calendars' knowledge.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from sayso.core.instants import parse_instant
from sayso.core.strictjson import decode
from sayso.net.fetch import Fetcher
from sayso.proof.jws import read_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.shown import shown
from sayso.scheduling.host.documents import discovery_bytes
from sayso.scheduling.terms.discovery_checks import verify_discovery
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.receipt import ReceiptClaims
from sayso.scheduling.terms.receipt_checks import verify_receipt
from sayso.world.juniper_rooms import juniper_rooms
from sayso.world.people import INES, MIRA, PEOPLE, TOM
from sayso.world.process import running_world
from sayso.world.timekeeping import move_clock, open_clock
from tests.scheduling.tools.household import open_household

pytestmark = pytest.mark.anyio

ROOMS, DOMAIN = "juniper-rooms@juniper.example", "juniper.example"
NOON = "2026-10-14T12:00"
BUSY = {
    "Mira": (("08:00", "09:30"), ("10:30", "11:30")),
    "Tom": (("09:00", "10:00"), ("11:30", "12:00")),
    "Ines": (("08:30", "09:00"), ("10:00", "10:30"), ("13:00", "15:00")),
}
"""What each one's own calendar says of Wednesday; no room's endpoint knows it."""


def keys(name):
    seed = name.lower().encode().ljust(32, b".")
    return {"person": PrivateKey.from_seed(seed), "agent": PrivateKey.from_seed(seed[::-1])}


def asked(name):
    return {"name": name, "principal": principal_urn(keys(name)["person"].public)}


@asynccontextmanager
async def colleagues(folder):
    """The world in a process of its own, and three people with what each of them has."""
    clock = open_clock(folder)
    async with (
        running_world(folder) as world,
        Fetcher(world.resolve) as fetcher,
        open_household(folder / "mira", clock, fetcher, domain=DOMAIN, **keys("Mira")) as mira,
        open_household(folder / "tom", clock, fetcher, domain=DOMAIN, **keys("Tom")) as tom,
        open_household(folder / "ines", clock, fetcher, domain=DOMAIN, **keys("Ines")) as ines,
    ):
        yield mira, tom, ines


async def first_common(mira):
    """The first half hour that a room and all three have free: found on the agent's side, and told to nobody."""
    day = {"earliest_start": "2026-10-14T08:00", "latest_start": "2026-10-14T17:30"}
    found = await mira.call("find_slots", {"host": ROOMS, "service_id": "room", **day})
    busy = [
        tuple(parse_instant(f"2026-10-14T{clock}:00-04:00") for clock in span)
        for each in BUSY.values()
        for span in each
    ]
    starts = [parse_instant(slot["start"]) for slot in found.result["slots"]]
    half_hour = timedelta(minutes=30)
    return next(start for start in starts if all(start + half_hour <= opens or start >= ends for opens, ends in busy))


async def booked(mira, **terms):
    wish = {"host": ROOMS, "service_id": "room", "start": NOON, "participants": [asked("Tom"), asked("Ines")], **terms}
    held = (await mira.call("hold_slot", wish)).result
    done = await mira.call("approve_and_book", {"hold_id": held["hold_id"]})
    assert not done.is_error, done.result
    return dict(done.result)


async def says(home, booking, answer=None):
    done = await home.call("answer_invitation", {"host": ROOMS, "booking_id": booking["booking_id"], "answer": answer})
    return done.result


async def free_rooms(home):
    """How many rooms are free at noon."""
    ask = {"host": ROOMS, "service_id": "room", "earliest_start": NOON, "latest_start": NOON}
    return sum([(await home.call("find_slots", {**ask, "with": room})).result["free"] for room in ("Oak", "Fir")])


@pytest.mark.req("SCH-371", "SCH-372", "SCH-383")
def test_the_rooms_are_two_and_nothing_is_sold():
    """Half hours in Oak or Fir on weekdays; the three who meet there are people of the world."""
    document = verify_discovery(discovery_bytes(juniper_rooms(), PrivateKey.generate().public), DOMAIN)
    (room,) = document.services
    assert (room.duration, room.price, document.taxes, room.choose_from) == ("PT30M", None, (), ("oak", "fir"))
    assert document.policies.confirmation.mode == "instant"
    assert {MIRA, TOM, INES} <= set(PEOPLE)


@pytest.mark.req("SCH-380", "SCH-192", "SCH-243", "SCH-245")
async def test_a_room_at_noon_tom_accepts_ines_says_nothing_and_the_receipt_tells_which_yes_was_the_default(tmp_path):
    """Two hours to answer and silence is a yes: at the deadline the room is booked, without a word from Ines."""
    async with colleagues(tmp_path) as (mira, tom, ines):
        assert (await first_common(mira)).isoformat() == "2026-10-14T16:00:00+00:00"
        booking = await booked(mira, answer_within="PT2H", silence="yes")
        approved = next(shown_.text for question, shown_ in mira.questions if question.kind == "offer")
        assert (
            "Tom and Ines have to say yes by Tuesday 13 October 2026 at 11:05 a.m., each for themselves; "
            "no answer by then counts as a yes."
        ) in approved
        assert (booking["status"], booking["waits"].startswith("It waits for Tom and Ines until")) == (
            "tentative",
            True,
        )
        assert await free_rooms(ines) == 1
        read = await says(tom, booking)
        assert (read["outcome"], read["participants"]) == ("read", ["Tom: not yet", "Ines: not yet"])
        accepted = await says(tom, booking, "yes")
        assert (accepted["outcome"], accepted["status"]) == ("accepted", "tentative")
        assert tom.questions[-1][1].text == (
            "I accept this invitation: Room for half an hour with Fir at Juniper Rooms (juniper.example), "
            "Wednesday 14 October 2026 from 12:00 p.m. to 12:30 p.m. Eastern time. Ines is asked along, too. "
            "Juniper Rooms keeps the booking's details for 90 days after the booking."
        )
        move_clock(tmp_path, "+PT2H5M")
        final = (await mira.call("booking_status", {"booking_id": booking["booking_id"]})).result["bookings"][0]
        assert (final["status"], final["participants"]) == ("confirmed", ["Tom: yes", "Ines: yes, by saying nothing"])
        kept = await mira.guest.book.booking(booking["booking_id"])
        receipt = verify_receipt(kept.receipt, await mira.guest.document(ROOMS))
        assert decode(read_jws(kept.receipt).payload, ReceiptClaims) == receipt.claims
        assert [each.answer.by_default for each in shown(kept).participants] == [None, True]
        assert await free_rooms(ines) == 1
        assert "guest.invitation_answered" in await tom.kinds()


@pytest.mark.req("SCH-380", "SCH-244")
async def test_toms_no_declines_the_booking_and_the_room_is_free_at_once(tmp_path):
    """Nobody but Tom can say it: Mira's assistant cannot even read his invitation."""
    async with colleagues(tmp_path) as (mira, tom, ines):
        booking = await booked(mira, answer_within="PT2H", silence="yes")
        assert (await says(ines, booking, "yes"))["status"] == "tentative"
        tried = await says(mira, booking, "yes")
        assert tried["refused"]["reason"] == "no_such_booking"
        assert await free_rooms(ines) == 1
        declined = await says(tom, booking, "no")
        assert (declined["outcome"], declined["status"]) == ("declined", "declined")
        assert await free_rooms(ines) == 2
        final = (await mira.call("booking_status", {"booking_id": booking["booking_id"]})).result["bookings"][0]
        assert (final["status"], final["note"]) == ("declined", "Tom said no, so nothing is booked.")
