"""A calendar that is open to its contacts alone: who may look, hold, wait, move and confirm, and what nobody learns."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from sayso.core import strictjson
from sayso.proof.jws import read_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.contacts import add_contact, contacts, remove_contact
from sayso.scheduling.terms.discovery import Confirmation, WaitlistLimits
from sayso.scheduling.terms.identity import principal_urn
from tests.scheduling.host.town import DOMAIN, HOST, WINDOW, one_bay, open_town_on_file, read, reason

pytestmark = pytest.mark.anyio

OWNER = PrivateKey.from_seed(b"w" * 32)
ASKED = {"service_id": "oil-change", "window": {"start": WINDOW["not_before"], "end": WINDOW["not_after"]}}
LATER = "2026-10-15T14:00:00-04:00"


@pytest.fixture
async def shop(tmp_path, clock):
    settings = msgspec.structs.replace(one_bay(access="contacts"), waitlist=WaitlistLimits(max_entries_per_agent=5))
    async with open_town_on_file(tmp_path, clock, settings) as opened:
        yield opened


async def befriend(shop, guest, name="Kim"):
    await shop.store.unit(lambda unit: add_contact(unit, HOST, guest.principal, name))


async def unfriend(shop, guest):
    return await shop.store.unit(lambda unit: remove_contact(unit, HOST, guest.principal))


@pytest.mark.req("SCH-040")
async def test_looking_needs_a_mandate_that_shows_who_asks(shop):
    """None, another's, another host's or an expired one shows nobody."""
    kim, other = shop.guest(), shop.guest()
    await befriend(shop, kim)
    assert reason(await kim.send("POST", "/availability", ASKED), 403) == "mandate_missing"
    for token, outcome in (
        (other.mandate(), "agent_mismatch"),
        (kim.mandate(aud="other@other.example"), "wrong_audience"),
        (kim.mandate(iat=0, exp=60), "mandate_expired"),
        ("a.b.c", "mandate_malformed"),
    ):
        assert reason(await kim.send("POST", "/availability", ASKED, token), 403) == outcome
    assert read(await kim.send("POST", "/availability", ASKED, kim.mandate()), 200)["slots"]


@pytest.mark.req("SCH-039")
async def test_who_is_not_a_contact_can_neither_look_nor_hold_nor_wait(shop):
    """And nothing is written."""
    jo = shop.guest()
    before = await shop.rows()
    wait = {**ASKED, "idempotency_key": "i_00000001"}
    wide = jo.mandate()
    for path, body in (
        ("/availability", ASKED),
        ("/holds", {"idempotency_key": "i_00000002", "service_id": "oil-change", "start": LATER, "ttl": "PT5M"}),
        ("/waitlist", wait),
    ):
        assert reason(await jo.send("POST", path, body, wide), 403) == "not_a_contact"
    assert await shop.rows() == before


@pytest.mark.req("SCH-039", "SCH-262", "SCH-021")
async def test_the_owner_and_the_contacts_book_and_the_offer_names_the_owner(tmp_path, clock):
    """The owner needs to be on no list."""
    asking = Confirmation(mode="approval", answer_within="PT2H")
    settings = msgspec.structs.replace(
        one_bay(access="contacts", confirmation=asking), kind="person", owner=principal_urn(OWNER.public)
    )
    async with open_town_on_file(tmp_path, clock, settings) as shop:
        kim = shop.guest()
        await befriend(shop, kim)
        hold = read(await kim.hold(kim.mandate()), 201)
        assert strictjson.parse(read_jws(hold["offer"]).payload)["owner"] == principal_urn(OWNER.public)
        owner = shop.guest(key=OWNER)
        read(await owner.hold(owner.mandate(), start=LATER), 201)


@pytest.mark.req("SCH-039")
async def test_who_is_removed_between_hold_and_confirm_confirms_nothing(shop):
    """The list is read when it counts."""
    kim = shop.guest()
    await befriend(shop, kim)
    mandate = kim.mandate()
    hold = read(await kim.hold(mandate), 201)
    assert await unfriend(shop, kim)
    assert reason(await kim.confirm(hold, mandate), 403) == "not_a_contact"
    await befriend(shop, kim)
    read(await kim.confirm(hold, mandate), 201)


@pytest.mark.req("SCH-039", "SCH-213")
async def test_who_is_removed_after_booking_may_cancel_and_not_move(shop):
    """What is booked stays booked; it takes no new time."""
    kim = shop.guest()
    await befriend(shop, kim)
    mandate = kim.mandate()
    booking = await kim.book(mandate)
    offered = read(await kim.ask_change(booking["booking_id"], LATER, mandate), 201)
    await unfriend(shop, kim)
    assert reason(await kim.ask_change(booking["booking_id"], LATER, mandate), 403) == "not_a_contact"
    assert reason(await kim.accept(offered, mandate), 403) == "not_a_contact"
    assert read(await kim.cancel(booking["booking_id"], mandate), 200)["booking"]["status"] == "cancelled"


@pytest.mark.req("SCH-038")
async def test_the_list_is_in_no_document_and_no_refusal(shop):
    """A stranger hears the same whoever is on it; neither names nor keys travel."""
    kim, jo = shop.guest(), shop.guest()
    alone = await jo.send("POST", "/availability", ASKED, jo.mandate())
    await befriend(shop, kim, "Kim from the choir")
    beside = await jo.send("POST", "/availability", ASKED, jo.mandate())
    assert (alone.status, alone.body) == (beside.status, beside.body)
    document = (await shop.fetcher.get(f"https://{DOMAIN}/.well-known/scheduling.json")).body
    for text in (kim.principal.encode(), b"choir"):
        assert (text in document, text in beside.body) == (False, False)
    assert strictjson.parse(document)["policies"]["access"] == "contacts"


@pytest.mark.req("SCH-267", "SCH-039")
async def test_the_list_is_edited_by_whoever_runs_the_calendar(shop, clock):
    """A second entry renames; removing twice removes once."""
    kim = shop.guest()
    await befriend(shop, kim)
    clock.advance(timedelta(minutes=1))
    await befriend(shop, kim, "Kim L.")
    found = await shop.store.reading(lambda view: contacts(view, HOST))
    assert [(each.principal, each.name) for each in found] == [(kim.principal, "Kim L.")]
    assert [await unfriend(shop, kim), await unfriend(shop, kim)] == [True, False]
