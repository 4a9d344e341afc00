"""A sales meeting (scenario 6.2): Dana books a demo with Ana, Lee has to come, Ana falls ill. Over real sockets."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.instants import epoch
from sayso.net.fetch import Fetcher
from sayso.net.signing import SignedClient
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.discovery import HostDocuments
from sayso.scheduling.terms.consent_text import offer_text, verified_identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.receipt_checks import verify_receipt
from sayso.store.vault import Vault
from sayso.world.places import host_folder
from sayso.world.serve import serving_world
from sayso.world.timekeeping import move_clock, open_clock
from tests.scheduling.host.company import answer, asked, coming, look
from tests.scheduling.host.frontdesk import claims
from tests.scheduling.host.town import Guest, read

pytestmark = pytest.mark.anyio

NORTHWIND = "northwind@northwind.example"
BASE = "https://northwind.example/schcp/v0"
TEN = "2026-10-20T10:00:00-04:00"
NEXT_WEEK = {"not_before": "2026-10-19T09:00:00-04:00", "not_after": "2026-10-23T17:00:00-04:00"}
A_DAY = {"answer_within": "P1D", "silence": "no"}
TERMS = (
    "I approve: Product demo with Ana at Northwind (northwind.example), Tuesday 20 October 2026 from 10:00 a.m. to "
    "10:30 a.m. Eastern time."
)
AGAIN = (
    "Northwind asks me to reconfirm between Sunday 18 October 2026 at 10:00 a.m. and Monday 19 October 2026 at "
    "10:00 a.m. Eastern time; if I do not, my booking ends and its time is free."
)


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@dataclass
class Vendor:
    """Northwind, running: its document, its own program, and people with keys and agents of their own."""

    fetcher: Fetcher
    clock: Any
    document: Discovery
    desk: SignedClient

    def person(self) -> Guest:
        agent = PrivateKey.generate()
        client = SignedClient(self.fetcher, agent, self.clock, SystemIds())
        return Guest(client, PrivateKey.generate(), agent, self.clock, host=NORTHWIND, base=BASE)

    async def act(self, act: str, booking_id: str, **body: Any) -> dict[str, Any]:
        sent = strictjson.encode({"idempotency_key": SystemIds().new("i"), **body})
        return read(await self.desk.send("POST", f"{BASE}/host/bookings/{booking_id}/{act}", sent), 200)

    def proved(self, settled: dict[str, Any], act: str) -> dict[str, Any]:
        """The booking of an answer whose receipt proves it, and says that this was done."""
        found = verify_receipt(settled["receipt"], self.document)
        assert strictjson.parse(strictjson.encode(found.booking)) == settled["booking"]
        assert found.claims.act == act
        return settled["booking"]


@asynccontextmanager
async def northwind(home):
    async with serving_world(home) as ports, Fetcher(ports) as fetcher:
        clock = open_clock(home)
        key = Vault(host_folder(home, "northwind"), clock).signer("host")
        document = await HostDocuments(fetcher, clock).document("northwind.example")
        yield Vendor(fetcher, clock, document, SignedClient(fetcher, key, clock, SystemIds()))


def limits(person: Guest, **more: Any) -> str:
    constraints = {"services": ["demo"], "window": NEXT_WEEK, "max_price": None, **more}
    return person.mandate(constraints=constraints, exp=epoch(person.clock.now()) + 3600)


async def held_with(person: Guest, who: str, **more: Any):
    return await person.hold(limits(person), service_id="demo", start=TEN, resource_id=who, **more)


async def shown(person: Guest, booking_id: str) -> dict[str, Any]:
    return read(await person.send("GET", f"/bookings/{booking_id}"), 200)


async def demo_with_ben(vendor: Vendor, dana: Guest, lee: Guest) -> tuple[str, dict[str, Any]]:
    """The story up to the point where everybody has agreed to Ben: the booking's id and the change they agreed to."""
    # Dana tells her assistant: next week with Ana, and Lee must attend. Nothing about money is in the offer.
    hold = read(await held_with(dana, "ana", participants=[asked("Lee", lee)], invitation=A_DAY), 201)
    offer = verify_offer(hold["offer"], vendor.document)
    assert (offer.claims.total, offer.claims.lines, "price" in hold, "total" in hold) == (None, None, False, False)
    assert (offer.claims.resource_name, [each.name for each in offer.claims.participants]) == ("Ana", ["Lee"])
    text = offer_text(offer.claims, verified_identity(vendor.document))
    assert (text.startswith(TERMS), AGAIN in text, "Lee has to say yes by" in text, "pay" in text) == (
        True,
        True,
        True,
        False,
    )
    # The person approves exactly this offer; it is tentative until Lee has accepted it, too.
    settled = read(await dana.confirm(hold, dana.closed(hold["offer"])), 201)
    booking = vendor.proved(settled, "requested")
    booking_id = booking["booking_id"]
    assert (booking["status"], booking["event"]["status"], "total" in booking) == ("tentative", "tentative", False)
    # Dana's agent cannot accept for him, with any mandate it has.
    for mandate in (limits(dana), dana.closed(hold["offer"]), dana.managing(booking_id)):
        assert (await answer(dana, booking_id, "yes", hold["offer"], mandate)).status == 404
    assert (await shown(dana, booking_id))["booking"]["status"] == "tentative"
    # Lee's own agent reads the contract under Lee's own mandate, and Lee accepts it.
    invitation = read(await look(lee, booking_id), 200)
    assert (invitation["offer"], "Ana" in repr(claims(invitation["offer"]))) == (hold["offer"], True)
    assert read(await answer(lee, booking_id, "yes", hold["offer"]), 200)["status"] == "confirmed"
    assert vendor.proved(await shown(dana, booking_id), "confirmed")["participants"][0]["answer"]["said"] == "yes"
    # Ana falls ill, and Northwind proposes Ben at the same time: Lee had accepted Ana.
    proposed = (await vendor.act("propose", booking_id, start=TEN, resource_id="ben", message="Ana is ill."))["booking"]
    path = f"/bookings/{booking_id}/changes/{proposed['proposed']['offer_id']}"
    change = read(await dana.send("GET", path), 200)
    moved = vendor.proved(read(await dana.accept(change, coming(dana, change["offer"], booking_id)), 200), "changed")
    assert (moved["status"], moved["sequence"], moved["resource_name"], moved["start"]) == ("tentative", 1, "Ben", TEN)
    assert "answer" not in moved["participants"][0]
    assert (await answer(lee, booking_id, "yes", hold["offer"])).status in (403, 409)
    yes = coming(lee, change["offer"], booking_id)
    assert read(await answer(lee, booking_id, "yes", change["offer"], yes), 200)["status"] == "confirmed"
    # Ana's half hour is nobody's, and Ben's is theirs.
    kim = vendor.person()
    assert [(await held_with(kim, who)).status for who in ("ana", "ben")] == [201, 409]
    return booking_id, change


async def said_again(dana: Guest, booking_id: str, change: dict[str, Any]):
    body = {
        "idempotency_key": dana.ids.new("i"),
        "offer_sha256": sha256_b64u(change["offer"]),
        "answer": "yes",
    }
    return await dana.send("POST", f"/bookings/{booking_id}/reconfirm", body, dana.managing(booking_id))


@pytest.mark.req("SCH-379", "SCH-166", "SCH-203", "SCH-243", "SCH-371")
async def test_a_demo_that_is_reconfirmed_takes_place_or_is_marked(home):
    """Dana says again that they come; nobody does, Northwind marks it, and it is a bare word without an amount."""
    async with northwind(home) as vendor:
        dana, lee = vendor.person(), vendor.person()
        booking_id, change = await demo_with_ben(vendor, dana, lee)
        assert (await said_again(dana, booking_id, change)).status == 409
        move_clock(home, "2026-10-18T20:00:00-04:00")
        yes = vendor.proved(read(await said_again(dana, booking_id, change), 200), "reconfirmed")
        assert (yes["status"], yes["sequence"], yes["reconfirmed"]) == ("confirmed", 1, "2026-10-18T20:00:00-04:00")
        move_clock(home, "2026-10-20T11:00:00-04:00")
        missed = vendor.proved(await vendor.act("no-show", booking_id), "no_show")
        assert (missed["status"], "total" in missed) == ("no_show", False)


@pytest.mark.req("SCH-379", "SCH-248", "SCH-252")
async def test_a_demo_that_nobody_reconfirms_lapses_the_day_before_and_ben_is_free(home):
    """Lee's yes is not Dana's: the booker was asked, said nothing, and at ten on Monday the time is anybody's."""
    async with northwind(home) as vendor:
        dana, lee, kim = vendor.person(), vendor.person(), vendor.person()
        booking_id, _ = await demo_with_ben(vendor, dana, lee)
        move_clock(home, "2026-10-19T09:59:59-04:00")
        assert (await held_with(kim, "ben")).status == 409
        move_clock(home, "+PT1S")
        read(await held_with(kim, "ben"), 201)
        ended = vendor.proved(await shown(dana, booking_id), "expired")
        assert (ended["status"], ended["unreconfirmed"], ended["resource_name"]) == ("expired", True, "Ben")
