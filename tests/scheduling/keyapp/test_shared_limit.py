"""One limit over several hosts, kept by the key app: a unit before each confirmation, given back when it is over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.instants import epoch
from sayso.net.listen import serving
from sayso.proof.jws import read_jws, sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.returning import return_due
from sayso.scheduling.keyapp.issued import Issued, StatusPlace
from sayso.scheduling.keyapp.service import status_app
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.testing.store import fresh_store
from tests.scheduling.guest.hostile import Rule, body, edited, status
from tests.scheduling.host.plaza import (
    DENTIST,
    DENTIST_BASE,
    DENTIST_SITE,
    OPERATOR,
    SHOP,
    SHOP_BASE,
    Plaza,
    Wire,
    open_plaza,
)
from tests.scheduling.host.town import Guest, read

pytestmark = pytest.mark.anyio

ORIGIN = "https://sam-keys.example"
SERVICE = PrivateKey.from_seed(b"v" * 32)
CLAIMS = "/claims"


@dataclass
class Scene:
    """Two hosts of one operator, Sam at each of them with one agent, and Sam's key app."""

    plaza: Plaza
    shop: Guest
    dentist: Guest
    issued: Issued
    wire: Wire

    async def mandate(self, max_bookings: int = 1, **changed) -> str:
        url, jwk = self.issued.new_status()
        token = self.shop.mandate(
            constraints={
                "services": ["oil-change", "dental-exam"],
                "max_bookings": max_bookings,
                "shared_limit": True,
                "window": {"not_before": "2026-10-15T09:00:00-04:00", "not_after": "2026-10-15T18:00:00-04:00"},
            },
            status=url,
            status_jwk=strictjson.parse(strictjson.encode(jwk)),
            **{"aud": [SHOP, DENTIST], **changed},
        )
        await self.issued.keep(token)
        return token

    async def held(self, mandate: str, guest: Guest | None = None) -> dict:
        if guest is self.dentist:
            return read(await guest.hold(mandate, service_id="dental-exam", start="2026-10-15T13:00:00-07:00"), 201)
        return read(await self.shop.hold(mandate), 201)

    async def returned(self) -> int:
        desk = self.plaza.shop
        return await return_due(self.plaza.store, self.plaza.clock, desk, self.wire)


@pytest.fixture
async def scene(tmp_path, clock) -> AsyncIterator[Scene]:
    async with open_plaza(tmp_path / "operator", clock) as plaza:
        shop = plaza.guest(SHOP, SHOP_BASE)
        dentist = plaza.guest(DENTIST, DENTIST_BASE, agent=shop.agent, key=shop.key)
        with fresh_store(tmp_path, clock, name="keyapp.db") as store:
            owner = shop.key.public.thumbprint
            issued = Issued(store, SystemIds(), owner, StatusPlace(origin=ORIGIN, key=SERVICE.public))
            app = status_app(ORIGIN, SERVICE, store, clock, plaza.wire)
            async with (
                serving(app) as address,
                Wire({"sam-keys.example": f"127.0.0.1:{address.port}"}) as wire,
            ):
                for desk in (plaza.shop, plaza.dentist):
                    desk.statuses.ask_through(wire, clock)
                yield Scene(plaza, shop, dentist, issued, wire)


def why(response, code=403):
    return read(response, code)["refusal"]["reason"]


@pytest.mark.req("SCH-092", "SCH-074", "SCH-215")
async def test_one_limit_over_two_hosts_makes_one_booking(scene):
    """Both hold; the second one to confirm is refused, and cancelling the first frees the unit."""
    mandate = await scene.mandate()
    here, there = await scene.held(mandate), await scene.held(mandate, scene.dentist)
    booking = read(await scene.shop.confirm(here, mandate), 201)["booking"]
    # The practice wants the exact offer approved; the unit counts under the mandate of the hold all the same.
    approval = scene.dentist.closed(there["offer"])
    assert why(await scene.dentist.confirm(there, approval)) == "limit_reached"
    read(await scene.shop.cancel(booking["booking_id"], mandate), 200)
    assert await scene.returned() == 1
    read(await scene.dentist.confirm(there, approval), 201)


@pytest.mark.req("SCH-092", "SCH-069")
async def test_a_retried_confirmation_takes_one_unit(scene):
    """The same key and bytes; the answer is the earlier one."""
    mandate = await scene.mandate(2)
    hold = await scene.held(mandate)
    first = await scene.shop.confirm(hold, mandate, idempotency_key="i_00000001")
    again = await scene.shop.confirm(hold, mandate, idempotency_key="i_00000001")
    assert (first.status, again.body) == (201, first.body)
    there = await scene.held(mandate, scene.dentist)
    read(await scene.dentist.confirm(there, scene.dentist.closed(there["offer"])), 201)


@pytest.mark.req("SCH-092", "SCH-098")
@pytest.mark.parametrize(
    "rule",
    [
        status(404),
        status(503),
        body(b"{}"),
        edited(lambda found: found.update(claim=resigned(found["claim"], key=PrivateKey.generate()))),
        edited(lambda found: found.update(claim=resigned(found["claim"], unit="h_other"))),
        edited(lambda found: found.update(claim=resigned(found["claim"], host=DENTIST))),
        edited(lambda found: found.update(claim=resigned(found["claim"], iat=0))),
        edited(lambda found: found.update(claim=resigned(found["claim"], state="returned"))),
    ],
)
async def test_without_a_believable_claim_nothing_is_confirmed(scene, rule: Rule):
    """A claim never falls back; the hold stays, and confirms once the key app answers."""
    mandate = await scene.mandate()
    hold = await scene.held(mandate)
    scene.wire.rules[CLAIMS] = rule
    assert why(await scene.shop.confirm(hold, mandate)) == "claim_unavailable"
    scene.wire.rules.clear()
    read(await scene.shop.confirm(hold, mandate), 201)


def resigned(token, *, key=SERVICE, **changed):
    return sign_jws({**strictjson.parse(read_jws(token).payload), **changed}, key, typ="schcp-claim+jwt")


@pytest.mark.req("SCH-092", "SCH-099")
async def test_a_give_back_that_gets_lost_is_tried_until_the_mandate_is_over(scene, clock):
    """Meanwhile the unit counts: a loss costs a booking and never gives one."""
    mandate = await scene.mandate()
    hold = await scene.held(mandate)
    booking = read(await scene.shop.confirm(hold, mandate), 201)["booking"]
    there = await scene.held(mandate, scene.dentist)
    read(await scene.shop.cancel(booking["booking_id"], mandate), 200)
    scene.wire.dead = CLAIMS
    assert (await scene.returned(), await scene.returned()) == (1, 0)
    scene.wire.dead = None
    approval = scene.dentist.closed(there["offer"])
    assert why(await scene.dentist.confirm(there, approval)) == "limit_reached"
    clock.advance(timedelta(seconds=30))
    assert await scene.returned() == 1
    read(await scene.dentist.confirm(there, approval), 201)
    clock.advance(timedelta(hours=2))
    assert await scene.returned() == 0


@pytest.mark.req("SCH-092")
async def test_a_hold_that_is_given_up_gives_its_unit_back(scene):
    """Whether one was taken for it or not."""
    mandate = await scene.mandate()
    hold = await scene.held(mandate)
    assert why(await scene.shop.confirm(hold, mandate, offer_sha256="A" * 43), 409) == "contract_mismatch"
    read(await scene.shop.release(hold), 200)
    assert await scene.returned() == 1
    read(await scene.shop.confirm(await scene.held(mandate), mandate), 201)


@pytest.mark.req("SCH-099", "SCH-020")
async def test_only_a_host_that_the_mandate_names_claims_and_only_for_itself(scene, clock):
    """Signed with a published key, just now, about this mandate."""
    mandate = await scene.mandate()
    found = verify_mandate(mandate)
    key, kid = PrivateKey.from_seed(b"g" * 32), PrivateKey.from_seed(b"g" * 32).public.thumbprint
    good = {"iss": SHOP, "mandate": found.sha256, "unit": "h_1", "act": "take", "iat": epoch(clock.now())}

    async def ask(changed, signer=key, name=kid):
        token = sign_jws({**good, **changed}, signer, typ="schcp-claim-request+jwt", kid=name)
        data = strictjson.encode({"request": token})
        return (await scene.wire.request("POST", f"{found.claims.status}/claims", body=data)).status

    for changed in (
        {"iss": f"stranger@{OPERATOR}"},
        {"iss": f"x@{DENTIST_SITE}"},
        {"iss": DENTIST},
        {"mandate": "A" * 43},
        {"iat": epoch(clock.now()) - 61},
        {"note": "hello"},
    ):
        assert await ask(changed) == 403, changed
    assert await ask({}, signer=PrivateKey.generate()) == 403
    assert await ask({}) == 200
    theirs = PrivateKey.from_seed(b"d" * 32)
    assert await ask({"iss": DENTIST}, signer=theirs, name=theirs.public.thumbprint) == 200
    mandate = await scene.mandate(aud=[SHOP, f"other@{OPERATOR}"])
    found = verify_mandate(mandate)
    neighbour = {"iss": DENTIST, "mandate": found.sha256}
    assert await ask(neighbour, signer=theirs, name=theirs.public.thumbprint) == 403
    plain = scene.shop.mandate(status=scene.issued.new_status()[0], status_jwk=SERVICE.public.jwk())
    await scene.issued.keep(plain)
    assert (await scene.wire.request("POST", f"{verify_mandate(plain).claims.status}/claims", body=b"{}")).status == 405


@pytest.mark.req("SCH-092")
async def test_a_shared_limit_without_an_address_that_counts_it_is_refused(scene):
    """There would be nobody to ask."""
    constraints = {"shared_limit": True}
    assert why(await scene.shop.hold(scene.shop.mandate(constraints=constraints, aud=[SHOP, DENTIST]))) == (
        "claim_unavailable"
    )


@pytest.mark.req("SCH-092", "SCH-094")
async def test_a_mandate_that_was_taken_back_gives_no_more_units(scene):
    """Even within the thirty seconds for which a host may go by the last answer."""
    mandate = await scene.mandate()
    hold = await scene.held(mandate)
    await scene.issued.revoke(verify_mandate(mandate).claims.jti)
    assert why(await scene.shop.confirm(hold, mandate)) == "limit_reached"
