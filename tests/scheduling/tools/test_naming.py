"""Asking for somebody in particular: a haircut with Marcus, from the slots to the sentence the person signs."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from sayso.core.ids import SystemIds
from sayso.scheduling.host.documents import discovery_of
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.terms.discovery import ServiceArea
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.tools.results import host_result
from sayso.world.phonecheck import attest
from tests.scheduling.host.barbershop import barbershop, half_hours, have_cut
from tests.scheduling.host.town import open_town_on_file
from tests.scheduling.tools.household import AGENT, DOMAIN, SAM

pytestmark = pytest.mark.anyio

NOON = "2026-10-15T12:00"
CUT = {"host": DOMAIN, "service_id": "haircut"}
RANGE = {"earliest_start": "2026-10-15T10:00", "latest_start": "2026-10-15T18:30"}


@pytest.fixture
async def town(tmp_path, clock):
    async with open_town_on_file(tmp_path, clock, barbershop()) as opened:
        yield opened


@pytest.mark.req("SCH-114", "SCH-160", "SCH-168", "SCH-366")
async def test_a_haircut_with_marcus_is_found_held_and_signed_by_his_name(home, town):
    """His slots, his time, and his name in both sentences the person signs and in what they are told."""
    found = await home.call("find_slots", {**CUT, **RANGE, "with": "marcus"})
    assert (found.result["free"], found.result["with"]) == (18, "Marcus")
    held = await home.call("hold_slot", {**CUT, "start": NOON, "max_price": {"amount": "50"}, "with": "Marcus"})
    assert held.result["what"] == "Haircut with Marcus at Fades on Queen (maplestreetauto.example)"
    done = await home.call("approve_and_book", {"hold_id": held.result["hold_id"]})
    assert done.result["outcome"] == "confirmed"
    texts = {shown.kind: shown.text for _, shown in home.questions}
    assert texts["offer"].startswith(
        "I approve: Haircut with Marcus at Fades on Queen (maplestreetauto.example), Thursday 15 October 2026 from "
        "12:00 p.m. to 12:30 p.m. Eastern time. I pay Fades on Queen CAD 39.55 directly: Haircut CAD 35.00, HST 13% "
        "CAD 4.55."
    )
    assert "until the appointment is over: Haircut with Marcus at Fades on Queen" in texts["management"]
    again = await home.call("find_slots", {**CUT, **RANGE, "with": "Marcus"})
    assert again.result["free"] == 17


@pytest.mark.req("SCH-114", "SCH-130")
async def test_when_marcus_is_taken_somebody_else_is_not_offered_in_his_place(home, town):
    """Dev is free at noon; the person asked for Marcus, and hears when he is."""
    await have_cut(town.guest(), start=half_hours()[4], resource_id="marcus")
    refused = await home.call(
        "hold_slot", {**CUT, **RANGE, "start": NOON, "max_price": {"amount": "50"}, "with": "Marcus"}
    )
    assert refused.is_error
    assert "is not free for Haircut with Marcus" in str(refused.result)
    assert home.questions == []
    dev = await home.call("hold_slot", {**CUT, "start": NOON, "max_price": {"amount": "50"}, "with": "Dev"})
    assert dev.result["what"].startswith("Haircut with Dev")


@pytest.mark.req("SCH-114")
async def test_a_name_nobody_there_has_is_told_with_those_there_are(home, town):
    """Before anything is asked of the host or of the person."""
    for tool, more in (("find_slots", RANGE), ("hold_slot", {"start": NOON})):
        done = await home.call(tool, {**CUT, **more, "with": "Ellis"})
        assert done.is_error
        assert "There: Marcus, Dev." in str(done.result)


@pytest.mark.req("SCH-157")
async def test_what_a_host_says_of_days_guests_and_places_is_told(home, town):
    """Before anybody is refused for it."""
    shop = barbershop()
    service = msgspec.structs.replace(
        shop.services[0],
        location="guest",
        guests="returning",
        areas=(ServiceArea(country="CA", postal_codes=("M6", "M5V")), ServiceArea(country="NL")),
    )
    told = host_result(discovery_of(msgspec.structs.replace(shop, services=(service,)), SAM.public), home.clock.now())
    assert told["days_open"] == "Each day opens for booking 30 days before it, at 10:00 there."
    assert told["services"][0]["for"] == "guests who have kept an appointment there before"
    assert told["services"][0]["comes_to"] == ["CA, postal codes that begin with M6 and M5V", "NL"]
    (plain,) = (await home.call("discover_host", {"host": DOMAIN})).result["hosts"]
    assert plain["services"][0].keys().isdisjoint(("for", "comes_to"))


@pytest.mark.req("SCH-282", "SCH-283")
async def test_the_key_app_shows_a_host_the_statements_that_it_counts_and_says_so(home, town, clock):
    """Sam's own statement goes into the limits Sam signs; somebody else's, and what this host does not know, do not."""
    mine = attest(principal_urn(SAM.public), clock.now())
    copied = attest(principal_urn(AGENT.public), clock.now())
    app = KeyApp(
        home.keys,
        home.fetcher,
        clock,
        SystemIds(),
        name="principal",
        agent=AGENT.public.thumbprint,
        attestations=("nonsense", copied, mine),
    )
    home = replace(home, keyapp=app)
    held = await home.call("hold_slot", {**CUT, "start": NOON, "max_price": {"amount": "50"}})
    assert not held.is_error
    (_, shown) = home.questions[0]
    assert shown.text.endswith(" I show Fades on Queen what phonecheck.example (unique phone) says of me.")
    (kept,) = await home.guest.book.mandates("buying", "maple-street-auto@maplestreetauto.example")
    assert verify_mandate(kept.token).claims.attestations == (mine,)
