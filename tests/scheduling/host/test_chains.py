"""A mandate that was passed on, at the host: who may use it, and how often."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core.money import MoneyText
from sayso.ledger.ledger import Ledger
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.delegating import pass_on
from sayso.scheduling.terms.mandate_checks import verify_mandate
from tests.scheduling.host.town import one_bay, open_town_on_file, read, reason

pytestmark = pytest.mark.anyio


@pytest.fixture
async def shop(tmp_path, clock):
    async with open_town_on_file(tmp_path, clock, one_bay()) as opened:
        yield opened


def passed_on(sam, sub, mandate, **changed):
    """What Sam's agent gives to another agent."""
    root = verify_mandate(mandate)
    constraints = msgspec.structs.replace(root.claims.constraints, **changed)
    to, now = sub.agent.public.thumbprint, sam.clock.now()
    return pass_on(root, sam.agent, to=to, jti=sam.ids.new("l"), now=now, constraints=constraints).token


@pytest.mark.req("SCH-090", "SCH-073")
async def test_a_sub_agent_books_for_the_person_under_the_mandate_it_was_given(shop):
    """The booking is Sam's, counts under Sam's mandate, and Sam's own agent can cancel it."""
    sam, sub = shop.guest(), shop.guest()
    mandate = sam.mandate()
    chain = passed_on(sam, sub, mandate)
    booking = await sub.book(chain)
    assert booking["mandate"] == verify_mandate(mandate).claims.jti
    assert reason(await sam.hold(chain), 403) == "agent_mismatch"
    assert read(await sam.cancel(booking["booking_id"], mandate), 200)["booking"]["status"] == "cancelled"


@pytest.mark.req("SCH-091", "SCH-080")
async def test_a_mandate_passed_on_twice_still_makes_one_booking(shop):
    """Each of two agents holds a link for one; the root's limit of one covers both."""
    sam, one, other = shop.guest(), shop.guest(), shop.guest()
    mandate = sam.mandate()
    read(await one.hold(passed_on(sam, one, mandate)), 201)
    second = passed_on(sam, other, mandate)
    assert reason(await other.hold(second, start="2026-10-15T14:00:00-04:00"), 403) == "limit_reached"


@pytest.mark.req("SCH-091")
async def test_a_links_own_limit_binds_though_the_root_allows_more(shop):
    """One of three: the second hold through that link is refused, also by another agent under it; the root goes on."""
    sam, sub = shop.guest(), shop.guest()
    mandate = sam.mandate(constraints={"max_bookings": 3})
    chain = passed_on(sam, sub, mandate, max_bookings=1)
    booking = await sub.book(chain)
    later = {"start": "2026-10-15T14:00:00-04:00"}
    assert reason(await sub.hold(chain, **later), 403) == "limit_reached"
    read(await sam.hold(mandate, **later), 201)
    read(await sub.cancel(booking["booking_id"], chain), 200)
    read(await sub.hold(chain, start="2026-10-15T12:00:00-04:00"), 201)


@pytest.mark.req("SCH-090", "SCH-082")
async def test_a_narrower_ceiling_in_a_link_is_the_hosts_to_keep(shop):
    """Refused before anything is allocated."""
    sam, sub = shop.guest(), shop.guest()
    chain = passed_on(sam, sub, sam.mandate(), max_price=MoneyText(amount="80.00", currency="CAD"))
    before = await shop.rows()
    assert reason(await sub.hold(chain), 403) == "above_price"
    assert await shop.rows() == before


@pytest.mark.req("SCH-090")
async def test_every_link_can_be_proved_from_the_hosts_log(shop):
    """The root under the person's key, the link under the agent's that passed it on."""
    sam, sub = shop.guest(), shop.guest()
    await sub.book(passed_on(sam, sub, sam.mandate()))
    ledger, key = Ledger(shop.store, shop.desk.log, shop.clock), PrivateKey.generate()
    await ledger.checkpoint(key)
    verdict = await ledger.verify(key.public)
    assert (verdict.signed, verdict.absent) == (4, 0)
