"""Rosie's Nails: nothing is booked there, and nothing moved, before Rosie has said yes. Over real sockets."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.instants import epoch
from sayso.net.fetch import Fetcher
from sayso.net.signing import SignedClient
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.discovery import HostDocuments
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.store.vault import Vault
from sayso.world.places import host_folder
from sayso.world.serve import serving_world
from sayso.world.timekeeping import move_clock, open_clock
from tests.scheduling.host.frontdesk import claims
from tests.scheduling.host.town import Guest, read

pytestmark = pytest.mark.anyio

ROSIE = "rosies-nails@chairly.example"
BASE = "https://chairly.example/hosts/rosies-nails/schcp/v0"
FOUR, FIVE = "2026-10-15T16:00:00-04:00", "2026-10-15T17:30:00-04:00"
AFTERNOON = {"not_before": "2026-10-15T14:00:00-04:00", "not_after": "2026-10-15T19:00:00-04:00"}


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@asynccontextmanager
async def salon(home):
    """The running world; what makes guests of the salon, and Rosie's own program."""
    async with serving_world(home) as ports, Fetcher(ports) as fetcher:
        clock = open_clock(home)

        def guest():
            agent = PrivateKey.generate()
            client = SignedClient(fetcher, agent, clock, SystemIds())
            return Guest(client, PrivateKey.generate(), agent, clock, host=ROSIE, base=BASE)

        key = Vault(host_folder(home, "rosies-nails"), clock).signer("host")
        rosie = SignedClient(fetcher, key, clock, SystemIds())

        async def answer(act, booking, **more):
            body = strictjson.encode({"idempotency_key": SystemIds().new("i"), **more})
            sent = await rosie.send("POST", f"{BASE}/host/bookings/{booking['booking_id']}/{act}", body)
            return read(sent, 200)["booking"]

        yield guest, answer, HostDocuments(fetcher, clock)


def limits(guest, **more):
    return guest.mandate(
        constraints={
            "services": ["pedicure"],
            "window": AFTERNOON,
            "max_price": {"amount": "70.00", "currency": "CAD"},
            **more,
        },
        exp=epoch(guest.clock.now()) + 86_400,
    )


async def pedicure(guest, mandate, start=FOUR):
    return await guest.book(mandate, service_id="pedicure", start=start)


async def shown(guest, booking):
    return read(await guest.send("GET", f"/bookings/{booking['booking_id']}"), 200)["booking"]


@pytest.mark.req("SCH-368", "SCH-383", "SCH-384")
async def test_the_salon_is_listed_by_chairly_and_takes_two_hours(home):
    """No domain of its own, two stations at four o'clock, an answer within two hours."""
    async with salon(home) as (guest, _, documents):
        document = await documents.document(ROSIE)
        assert verified_identity(document).said == "Rosie's Nails, listed by chairly.example"
        confirmation = document.policies.confirmation
        assert (confirmation.mode, confirmation.answer_within) == ("approval", "PT2H")
        at_four = [guest() for _ in range(3)]
        held = [await each.hold(limits(each), service_id="pedicure", start=FOUR) for each in at_four]
        assert [each.status for each in held] == [201, 201, 409]


@pytest.mark.req("SCH-368", "SCH-224", "SCH-225", "SCH-226", "SCH-227")
async def test_a_move_waits_for_the_salons_yes(home):
    """Sam's pedicure stays at four while Rosie is asked; a silence and a no leave it there, a yes moves it."""
    async with salon(home) as (guest, answer, _):
        sam = guest()
        mandate = limits(sam)
        booking = await pedicure(sam, mandate)
        assert booking["status"] == "pending_host"
        assert (await answer("approve", booking))["status"] == "confirmed"

        async def ask_to_move():
            change = read(await sam.ask_change(booking["booking_id"], FIVE, mandate), 201)
            asked = read(await sam.accept(change, mandate), 200)
            assert (asked["booking"]["start"], asked["booking"]["sequence"]) == (FOUR, 0)
            assert asked["booking"]["awaiting_host"]["start"] == FIVE
            assert claims(asked["receipt"])["act"] == "move_requested"

        await ask_to_move()
        move_clock(home, "+PT2H5M")
        other = guest()
        read(await other.hold(limits(other), service_id="pedicure", start=FIVE), 201)
        silent = await shown(sam, booking)
        assert (silent["start"], silent["declined_change"]["reason"]) == (FOUR, "not_answered")

        await ask_to_move()
        no = await answer("decline", booking, message="I close early.")
        assert (no["start"], no["declined_change"]["message"]) == (FOUR, "I close early.")

        await ask_to_move()
        yes = await answer("approve", booking)
        assert (yes["start"], yes["sequence"], "awaiting_host" in yes) == (FIVE, 1, False)


@pytest.mark.req("SCH-368", "SCH-177")
async def test_a_request_rosie_does_not_answer_costs_nobody_anything(home):
    """Two hours after the hold's own end it is over, and four o'clock is free again."""
    async with salon(home) as (guest, _, _documents):
        sam = guest()
        booking = await pedicure(sam, limits(sam))
        move_clock(home, "+PT2H5M")
        kim = guest()
        read(await kim.hold(limits(kim), service_id="pedicure", start=FOUR), 201)
        assert (await shown(sam, booking))["status"] == "expired"
