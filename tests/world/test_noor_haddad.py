"""Noor's calendar on Daybook: for contacts only, a rule for weekend playdates, her own answer to everything else."""

from __future__ import annotations

import anyio
import anyio.to_thread
import pytest

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.ids import SystemIds
from sayso.net.fetch import Fetcher
from sayso.net.signing import SignedClient
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.discovery import HostDocuments
from sayso.scheduling.host import signed_rules
from sayso.scheduling.host.contacts import add_contact
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.receipt_checks import ExpectedReceipt, check_receipt_matches, verify_receipt
from sayso.store.vault import Vault
from sayso.world.hosts import host_names, open_one
from sayso.world.places import host_folder
from sayso.world.serve import serving_world
from sayso.world.timekeeping import open_clock
from tests.scheduling.host.town import Guest, read

pytestmark = pytest.mark.anyio

NOOR = "noor-haddad@daybook.example"
BASE = "https://daybook.example/hosts/noor-haddad/schcp/v0"
SATURDAY, MONDAY = "2026-10-17T12:00:00-04:00", "2026-10-19T15:00:00-04:00"
EVER = {"not_before": "2026-10-13T00:00:00-04:00", "not_after": "2026-11-13T00:00:00-05:00"}


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


def somebody(fetcher: Fetcher, clock: Clock) -> Guest:
    agent = PrivateKey.generate()
    client = SignedClient(fetcher, agent, clock, SystemIds())
    return Guest(client, PrivateKey.generate(), agent, clock, host=NOOR, base=BASE)


def befriend(home, clock, guest):
    with open_one(home, "noor-haddad", clock) as opened:
        opened.store.run(lambda unit: add_contact(unit, NOOR, guest.principal, "Kim"))


async def asks(guest, start):
    mandate = guest.mandate(constraints={"services": ["playdate"], "window": EVER, "max_price": None})
    hold = read(await guest.hold(mandate, service_id="playdate", start=start), 201)
    return hold, read(await guest.confirm(hold, mandate), 201)


@pytest.mark.req("SCH-370", "SCH-262", "SCH-263", "SCH-266")
async def test_noors_rule_answers_weekend_playdates_and_noor_the_rest(home):
    """Listed by Daybook; nobody is a contact at first; each yes is proved by her own key, through rule or by hand."""
    async with serving_world(home) as ports, Fetcher(ports) as fetcher:
        clock = open_clock(home)
        documents = HostDocuments(fetcher, clock)
        document = await documents.document(NOOR)
        assert verified_identity(document).said == "Noor Haddad, listed by daybook.example"
        assert (document.kind, NOOR in host_names()) == ("person", False)
        kim = somebody(fetcher, clock)
        mandate = kim.mandate(constraints={"services": ["playdate"], "window": EVER, "max_price": None})
        refused = read(await kim.hold(mandate, service_id="playdate", start=SATURDAY), 403)["refusal"]
        assert refused["reason"] == "not_a_contact"
        await anyio.to_thread.run_sync(befriend, home, clock, kim)

        hold, settled = await asks(kim, SATURDAY)
        receipt = verify_receipt(settled["receipt"], document)
        contract = verify_offer(hold["offer"], document)
        expected = ExpectedReceipt(act="confirmed", principal=kim.principal, sequence=0)
        check_receipt_matches(receipt, contract, expected)
        assert (receipt.booking.open_end, receipt.booking.answered.by) == (True, "rule")

        hold, settled = await asks(kim, MONDAY)
        booking_id = settled["booking"]["booking_id"]
        assert settled["booking"]["status"] == "pending_host"
        vault = Vault(host_folder(home, "noor-haddad"), clock)
        agent = vault.public("agent").thumbprint
        app = KeyApp(vault, fetcher, clock, SystemIds(), name="principal", agent=agent)
        shown = await app.present("answer", strictjson.encode({"offer": hold["offer"], "answer": "yes"}))
        assert shown.text.startswith("I accept: Playdate at my calendar Noor Haddad, listed by daybook.example, Monday")
        assert app.principal == contract.claims.owner == principal_urn(vault.public("principal"))
        desk = SignedClient(fetcher, vault.signer("host"), clock, SystemIds())
        body = {"idempotency_key": SystemIds().new("i"), "acceptance": app.sign(shown, "human_present")}
        sent = await desk.send("POST", f"{BASE}/host/bookings/{booking_id}/approve", strictjson.encode(body))
        assert read(sent, 200)["booking"]["answered"]["by"] == "person"


def kept(home, clock):
    with open_one(home, "noor-haddad", clock) as opened:
        rules = opened.store.run(lambda unit: signed_rules.in_force(unit, NOOR))
        return opened.config.owner, [(rule.token, rule.claims.iss) for rule in rules]


@pytest.mark.req("SCH-370", "SCH-372")
async def test_a_world_begun_twice_has_one_rule_of_noors(home):
    """Signed when it is first served, by a key that is this world's alone."""
    found = []
    for _ in range(2):
        async with serving_world(home):
            found.append(await anyio.to_thread.run_sync(kept, home, open_clock(home)))
    assert found[0] == found[1]
    assert [owner for _, owner in found[0][1]] == [found[0][0]]
