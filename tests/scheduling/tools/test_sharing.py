"""One permission over two hosts: asked for once, held at either, booked at one, and counted by the person's key app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.governance.consent import Answer
from sayso.governance.kernel import Asks
from sayso.net.listen import serving
from sayso.scheduling.host import guests
from sayso.scheduling.host.returning import return_due
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.keyapp.issued import Issued, StatusPlace
from sayso.scheduling.keyapp.service import status_app
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.testing.store import fresh_store
from tests.scheduling.host.plaza import DENTIST, DENTIST_SITE, OPERATOR, SHOP, Plaza, Wire, open_plaza
from tests.scheduling.keyapp.test_shared_limit import ORIGIN, SERVICE
from tests.scheduling.tools.household import AGENT, SAM, Household, household

pytestmark = pytest.mark.anyio

ASKED = {
    "hosts": [
        {"host": SHOP, "service_id": "oil-change"},
        {"host": DENTIST, "service_id": "dental-exam"},
    ],
    "earliest_start": "2026-10-15T11:00:00-04:00",
    "latest_start": "2026-10-15T17:00:00-04:00",
    "max_price": {"amount": "200"},
}
AT_SHOP = {"host": SHOP, "service_id": "oil-change", "start": "2026-10-15T13:00:00-04:00"}
AT_DENTIST = {"host": DENTIST, "service_id": "dental-exam", "start": "2026-10-15T13:00:00-07:00"}


@dataclass
class Scene:
    plaza: Plaza
    home: Household
    wire: Wire

    async def signed(self, **changed) -> str:
        """The permission itself, once it is signed."""
        done = await self.home.call("request_limits", {**ASKED, **changed})
        assert not done.is_error, done.result
        [kept] = await self.home.guest.book.mandates("buying", SHOP)
        return kept.token


@pytest.fixture
async def scene(tmp_path, clock) -> AsyncIterator[Scene]:
    """Two hosts of one operator, Sam's household, and Sam's key app at an address of its own."""
    async with open_plaza(tmp_path / "operator", clock) as plaza:
        with fresh_store(tmp_path, clock, name="keyapp.db") as keys, fresh_store(tmp_path, clock, name="sam.db") as own:
            place = StatusPlace(origin=ORIGIN, key=SERVICE.public)
            issued = Issued(keys, SystemIds(), SAM.public.thumbprint, place)
            async with (
                serving(status_app(ORIGIN, SERVICE, keys, clock, plaza.wire)) as address,
                Wire({"sam-keys.example": f"127.0.0.1:{address.port}"}) as wire,
            ):
                for desk in (plaza.shop, plaza.dentist):
                    desk.statuses.ask_through(wire, clock)
                home = household(own, clock, plaza.wire, details=GuestDetails(name="Sam Rivera"))
                home.keyapp = KeyApp(
                    home.keys,
                    plaza.wire,
                    clock,
                    SystemIds(),
                    name="principal",
                    agent=AGENT.public.thumbprint,
                    issued=issued,
                )
                for host in (SHOP, DENTIST_SITE):
                    await home.guest.add_host(host)
                yield Scene(plaza, home, wire)


@pytest.mark.req("SCH-092", "SCH-074", "SCH-104")
async def test_limits_over_two_hosts_are_asked_for_in_words_and_signed_once(scene):
    """Each host by its verified name, with what could be booked there; the key app counts, and says so."""
    mandate = verify_mandate(await scene.signed()).claims
    [(question, shown)] = scene.home.questions
    assert shown.text == (
        "I allow my assistant to hold and book one appointment, at Corner Garage, listed by chairly.example (Synthetic "
        "oil change) or Harbourview Dental (harbourviewdental.example) (Dental exam), on Thursday 15 October 2026 "
        "between 11:00 a.m. and 5:45 p.m. Eastern time, for at most CAD 200.00 in total. Within these "
        "limits it may also cancel or move it. It is one limit over all of these: my key app counts it, and each of "
        "them asks before it confirms. My permission lasts 1 hour from when I sign. I can take it back sooner. What is "
        "booked by then stays booked until somebody cancels it."
    )
    assert (question.kind, question.text) == ("shared_limits", shown.text)
    assert (mandate.aud, mandate.consent.statement) == ((SHOP, DENTIST), shown.text)
    assert strictjson.parse(strictjson.encode(mandate.constraints)) == {
        "services": ["oil-change", "dental-exam"],
        "window": {"not_before": "2026-10-15T11:00:00-04:00", "not_after": "2026-10-15T17:45:00-04:00"},
        "max_price": {"amount": "200.00", "currency": "CAD"},
        "max_bookings": 1,
        "shared_limit": True,
    }
    assert mandate.status.startswith(f"{ORIGIN}/status/")
    again = await scene.home.call("request_limits", ASKED)
    assert (again.result["outcome"], len(scene.home.questions)) == ("allowed", 1)


@pytest.mark.req("SCH-092", "SCH-208")
async def test_limits_over_two_hosts_let_neither_of_them_be_told_a_name(scene):
    """Their text does not speak of it, so nothing is told, whatever the settings say; limits of its own say so."""
    home, plaza = scene.home, scene.plaza
    await scene.signed()
    held = await home.call("hold_slot", AT_SHOP)
    booked = await home.call("approve_and_book", {"hold_id": held.result["hold_id"]})
    told = await plaza.store.reading(lambda view: guests.find(view, SHOP, booked.result["booking_id"]))
    assert (booked.result["outcome"], told) == ("confirmed", guests.Expected())
    other = await home.call("hold_slot", AT_DENTIST)
    done = await home.call("approve_and_book", {"hold_id": other.result["hold_id"]})
    told = await plaza.store.reading(lambda view: guests.find(view, DENTIST, done.result["booking_id"]))
    assert told.details == GuestDetails(name="Sam Rivera")


@pytest.mark.req("SCH-092", "SCH-215")
async def test_one_of_them_is_booked_and_the_other_only_after_it_is_called_off(scene):
    """Held at the garage without another question; used up by that booking; and given back with it."""
    home = scene.home
    await scene.signed()
    held = await home.call("hold_slot", AT_SHOP)
    assert [question.kind for question, _ in home.questions] == ["shared_limits"]
    booked = await home.call("approve_and_book", {"hold_id": held.result["hold_id"]})
    assert (booked.is_error, booked.result["outcome"]) == (False, "confirmed"), booked.result
    step = await home.start("hold_slot", AT_DENTIST)
    assert isinstance(step, Asks)
    assert step.question.kind == "limits"
    gone = await home.call("cancel_booking", {"booking_id": booked.result["booking_id"]})
    assert (gone.is_error, gone.result["outcome"]) == (False, "cancelled")
    assert await return_due(scene.plaza.store, scene.plaza.clock, scene.plaza.shop, scene.wire) == 1
    asked = len(home.questions)
    there = await home.call("hold_slot", AT_DENTIST)
    assert (there.is_error, len(home.questions)) == (False, asked), there.result
    done = await home.call("approve_and_book", {"hold_id": there.result["hold_id"]})
    assert (done.is_error, done.result["outcome"]) == (False, "confirmed"), done.result


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"hosts": [ASKED["hosts"][0]] * 2}, "outside_request"),
        ({"hosts": [ASKED["hosts"][0], {"host": DENTIST, "service_id": "oil-change"}]}, "unknown_service"),
        ({"hosts": [ASKED["hosts"][0], {"host": "nobody@nowhere.example", "service_id": "x"}]}, "host_unknown"),
        ({"earliest_start": "2026-10-15T11:00", "latest_start": "2026-10-15T17:00"}, "outside_request"),
        ({"latest_start": "2026-10-13T08:00:00-04:00", "earliest_start": "2026-10-13T07:00:00-04:00"}, "in_the_past"),
        ({"latest_start": "2026-10-15T10:00:00-04:00"}, "outside_request"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anybody_is_asked(scene, changed, reason):
    """A host twice, a service it does not offer, nobody one knows, two clocks, a range that is over or backwards."""
    done = await scene.home.call("request_limits", {**ASKED, **changed})
    assert (done.is_error, done.result["refused"]["reason"], scene.home.questions) == (True, reason, [])


async def presented(scene, **changed) -> str:
    """Why the key app does not show such a draft."""
    step = await scene.home.start("request_limits", ASKED)
    draft = {**strictjson.parse(step.question.document), **changed}
    with pytest.raises(Refused) as caught:
        await scene.home.keyapp.present("shared_limits", strictjson.encode(draft))
    return caught.value.refusal.reason


@pytest.mark.req("SCH-104", "SCH-105", "SCH-106")
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"hosts": [SHOP, f"stranger@{OPERATOR}"]}, "unverified"),
        ({"hosts": [SHOP, SHOP]}, "document_invalid"),
        ({"hosts": [SHOP]}, "document_invalid"),
        ({"services": ["oil-change"]}, "document_invalid"),
        ({"services": ["oil-change", "dental-exam", "surgery"]}, "document_invalid"),
        ({"scope": ["hold"]}, "document_invalid"),
        ({"lifetime": "P32D"}, "document_invalid"),
        ({"statement": "Yes to everything."}, "document_invalid"),
        ({"agent": "A" * 43}, "not_ours"),
    ],
)
async def test_the_key_app_shows_only_what_it_has_verified(scene, changed, reason):
    """Each host by its own document, each service at one of them at least, and no words of the agent's."""
    assert await presented(scene, **changed) == reason


@pytest.mark.req("SCH-092", "SCH-094")
async def test_without_an_address_where_units_are_claimed_nothing_is_shown(scene, clock):
    """Hosts would refuse every confirmation under it."""
    plain = household(scene.home.store, clock, scene.plaza.wire).keyapp
    scene.home.keyapp = plain
    assert await presented(scene) == "claim_unavailable"


async def test_limits_signed_for_other_hosts_than_asked_are_no_answer(scene):
    """The person signed something else, be it only in another order: that covers nothing here."""
    asked = (await scene.home.start("request_limits", ASKED)).question
    draft = {**strictjson.parse(asked.document), "hosts": [DENTIST, SHOP]}
    shown = await scene.home.keyapp.present("shared_limits", strictjson.encode(draft))
    token = await scene.home.keyapp.issue(shown, "human_present")
    done = await scene.home.start("request_limits", ASKED, [Answer(granted=True, document=token)])
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_mismatch")
