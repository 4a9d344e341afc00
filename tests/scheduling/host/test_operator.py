"""Two hosts on one origin: the path says which is meant, and nothing of one is reached through the other."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.core.refusal import Misuse
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.operator import listing_of
from sayso.scheduling.terms.operator_checks import verify_operator
from sayso.world.maple_street import maple_street_auto
from tests.scheduling.host.plaza import (
    CHAIRLY,
    DENTIST,
    DENTIST_BASE,
    LIST,
    OPERATOR,
    SHOP,
    SHOP_BASE,
    open_plaza,
)
from tests.scheduling.host.town import read

pytestmark = pytest.mark.anyio


@pytest.fixture
async def plaza(tmp_path, clock):
    async with open_plaza(tmp_path, clock) as opened:
        yield opened


def refused(response, status):
    found = read(response, status)["refusal"]
    return found["reason"], next(iter(found["contact"].values()))


@pytest.mark.req("SCH-035", "SCH-047", "SCH-044")
async def test_the_list_names_each_host_with_its_document_and_endpoint(plaza):
    """The domain only where the host has one."""
    listing = verify_operator((await plaza.wire.get(LIST)).body, OPERATOR)
    assert [(entry.id, entry.endpoint, entry.domain) for entry in listing.hosts] == [
        ("corner-garage", SHOP_BASE, None),
        ("harbourview-dental", DENTIST_BASE, "harbourviewdental.example"),
    ]


@pytest.mark.req("SCH-047", "SCH-055")
async def test_each_host_is_booked_under_its_own_path(plaza):
    """Signed for the operator's public origin, whatever port it listens on."""
    guest = plaza.guest(SHOP, SHOP_BASE)
    assert (await guest.book(guest.mandate()))["host"] == SHOP


@pytest.mark.req("SCH-074", "SCH-046")
async def test_a_mandate_for_one_host_is_worth_nothing_at_its_neighbour(plaza):
    """Though both answer on one origin."""
    guest = plaza.guest(DENTIST, SHOP_BASE)
    assert refused(await guest.hold(guest.mandate()), 403) == ("wrong_audience", "+1 416 555 0100")


@pytest.mark.req("SCH-047", "SCH-210")
async def test_what_is_held_at_one_host_does_not_exist_at_its_neighbour(plaza):
    """Even for the agent that placed it."""
    guest = plaza.guest(SHOP, SHOP_BASE)
    hold = read(await guest.hold(guest.mandate()), 201)
    there = plaza.guest(DENTIST, DENTIST_BASE, agent=guest.agent, key=guest.key)
    path = f"/holds/{hold['hold_id']}"
    assert read(await guest.send("GET", path), 200)["hold_id"] == hold["hold_id"]
    assert refused(await there.send("GET", path), 404) == ("no_such_hold", "+1 604 555 0142")


@pytest.mark.req("SCH-042")
async def test_a_refusal_names_the_contact_of_the_host_whose_path_it_was(plaza):
    """And the operator's where the path is nobody's."""
    for url, contact in (
        (f"{SHOP_BASE}/nothing", "+1 416 555 0100"),
        (f"{DENTIST_BASE}/nothing", "+1 604 555 0142"),
        (f"https://{OPERATOR}/hosts/nobody/schcp/v0/holds", "help@chairly.example"),
        (f"https://{OPERATOR}/schcp/v0/holds", "help@chairly.example"),
    ):
        assert refused(await plaza.wire.get(url), 404) == ("no_such_path", contact)
    oversized = await plaza.wire.request("POST", f"{DENTIST_BASE}/holds", body=b" " * 20_000)
    assert refused(oversized, 413) == ("too_large", "+1 604 555 0142")


@pytest.mark.req("SCH-118")
async def test_one_agents_reads_are_counted_across_the_hosts_of_an_operator(plaza):
    """Sixty in a minute over both; another agent is not concerned."""
    agent = PrivateKey.generate()
    window = {"start": "2026-10-15T09:00:00-04:00", "end": "2026-10-15T17:00:00-04:00"}
    shop, dentist = plaza.guest(SHOP, SHOP_BASE, agent=agent), plaza.guest(DENTIST, DENTIST_BASE, agent=agent)
    for number in range(60):
        guest, service = (shop, "oil-change") if number % 2 else (dentist, "dental-exam")
        read(await guest.send("POST", "/availability", {"service_id": service, "window": window}), 200)
    asked = {"service_id": "oil-change", "window": window}
    assert refused(await shop.send("POST", "/availability", asked), 429)[0] == "rate_limited"
    read(await plaza.guest(SHOP, SHOP_BASE).send("POST", "/availability", asked), 200)


async def test_a_host_that_does_not_name_the_operator_is_not_listed():
    """Nobody is listed without having said so."""
    with pytest.raises(Misuse):
        listing_of(CHAIRLY, [maple_street_auto()])
    assert strictjson.parse(strictjson.encode(listing_of(CHAIRLY, [])))["hosts"] == []
