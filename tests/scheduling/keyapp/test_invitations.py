"""A participant's key app: what it signs about somebody else's booking, and what nobody gets it to sign."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.mandate import Constraints
from sayso.scheduling.terms.mandate_checks import verify_mandate
from tests.scheduling.host.town import HOST_KEY, open_town_on_file
from tests.scheduling.terms.samples import HOST, JKT, signed_offer
from tests.scheduling.tools.household import OpenKeys

pytestmark = pytest.mark.anyio

LEE = PrivateKey.from_seed(b"l" * 32)
LEES_AGENT = PrivateKey.from_seed(b"m" * 32).public.thumbprint
KID = HOST_KEY.public.thumbprint
ASKED = [{"principal": principal_urn(LEE.public), "name": "Lee", "required": True}]
INVITATION = {"answer_within": "PT2H", "answer_by": "2026-10-13T11:05:00-04:00", "silence": "no"}
MOVED = {"hold_id": None, "change": {"booking_id": "b_1", "replaces": "A" * 43}}


def contract(**changed):
    return signed_offer(kid=KID, **{"participants": ASKED, "invitation": INVITATION, **changed}).encode()


def draft(**changed):
    return strictjson.encode({"host": HOST, "agent": LEES_AGENT, "booking_id": "b_1", **changed})


@pytest.fixture
async def wire(tmp_path, clock):
    async with open_town_on_file(tmp_path, clock), Fetcher({}) as nowhere:
        yield nowhere


@pytest.fixture
async def app(tmp_path, clock):
    async with open_town_on_file(tmp_path, clock) as town:
        yield KeyApp(OpenKeys(LEE), town.fetcher, clock, SystemIds(), name="principal", agent=LEES_AGENT)


async def signed(app, kind, data):
    token = app.sign(await app.present(kind, data), "human_present")
    return verify_mandate(token).claims


@pytest.mark.req("SCH-107", "SCH-243", "SCH-244", "SCH-100")
async def test_reading_yes_and_no_are_three_mandates_none_of_which_is_another(app):
    """Each for Lee's own agent, over the contract's bytes or the booking's id, and for nothing besides."""
    offer = contract()
    hash_ = sha256_b64u(offer)
    reads = await signed(app, "invitation", draft())
    assert (reads.scope, reads.constraints) == (("book",), Constraints(bookings=("b_1",)))
    yes = await signed(app, "coming", offer)
    assert (yes.scope, yes.constraints) == (("book",), Constraints(offer_sha256=hash_))
    no = await signed(app, "not_coming", offer)
    assert (no.scope, no.constraints) == (("cancel",), Constraints(offer_sha256=hash_))
    moved = contract(**MOVED)
    again = await signed(app, "coming", moved)
    change = Constraints(offer_sha256=sha256_b64u(moved), bookings=("b_1",))
    assert (again.scope, again.constraints) == (("reschedule",), change)
    assert {each.cnf.jkt for each in (reads, yes, no, again)} == {LEES_AGENT} != {JKT}
    assert yes.exp - yes.iat == timedelta(hours=2, minutes=5).total_seconds()
    assert no.consent.statement.startswith("I decline this invitation: ")


@pytest.mark.req("SCH-104", "SCH-243")
@pytest.mark.parametrize(
    ("kind", "data", "outcome"),
    [
        ("coming", contract(participants=None, invitation=None), "not_ours"),
        ("coming", contract(participants=[{**ASKED[0], "principal": principal_urn(HOST_KEY.public)}]), "not_ours"),
        ("coming", signed_offer(participants=ASKED, invitation=INVITATION).encode(), "unknown_key"),
        ("not_coming", b"not an offer", "document_invalid"),
        ("coming", contract(invitation={**INVITATION, "answer_by": "2026-10-13T09:00:00-04:00"}), "document_invalid"),
        ("invitation", draft(agent=JKT), "not_ours"),
        ("invitation", draft(offer_sha256="A" * 43), "document_invalid"),
    ],
)
async def test_nothing_is_shown_that_does_not_ask_this_person_through_this_agent(app, kind, data, outcome):
    """A contract that does not name them, another's key, a deadline that is over, another agent, a hash slipped in."""
    with pytest.raises(Refused) as found:
        await app.present(kind, data)
    assert found.value.refusal.reason == outcome


@pytest.mark.req("SCH-106", "SCH-243")
async def test_an_invitation_of_a_host_that_cannot_be_asked_is_not_shown(wire, clock):
    """Whoever it claims to be: an answer to an unproved contract would be one to nobody knows what."""
    app = KeyApp(OpenKeys(LEE), wire, clock, SystemIds(), name="principal", agent=LEES_AGENT)
    for kind, data in (("coming", contract()), ("invitation", draft())):
        with pytest.raises(Refused) as found:
            await app.present(kind, data)
        assert found.value.refusal.reason == "unverified"
