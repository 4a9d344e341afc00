"""Taking a permission back: the key app answers hosts that ask, and hosts ask before anything changes."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from sayso.proof.jws import read_jws, sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.keyapp.issued import Issued, StatusPlace
from sayso.scheduling.keyapp.service import status_app
from sayso.scheduling.terms.identity import jwk_of
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.testing.store import fresh_store
from tests.scheduling.guest.hostile import body, edited, status
from tests.scheduling.host.plaza import Wire
from tests.scheduling.host.town import one_bay, open_town_on_file, read, reason
from tests.scheduling.tools.household import HOLD, open_household

pytestmark = pytest.mark.anyio

ORIGIN = "https://sam-keys.example"
SERVICE = PrivateKey.from_seed(b"v" * 32)
PUBLIC = strictjson.parse(strictjson.encode(jwk_of(SERVICE.public)))
LATER = "2026-10-15T14:00:00-04:00"


@asynccontextmanager
async def key_app(folder, clock, key):
    """Sam's key app with an address of its own, as a service and as the register behind it."""
    folder.mkdir(exist_ok=True)
    with fresh_store(folder, clock, name="keyapp.db") as store:
        issued = Issued(store, SystemIds(), key.public.thumbprint, StatusPlace(origin=ORIGIN, key=SERVICE.public))
        async with (
            Fetcher({}) as nobody,
            serving(status_app(ORIGIN, SERVICE, store, clock, nobody)) as address,
            Wire({"sam-keys.example": f"127.0.0.1:{address.port}"}) as wire,
        ):
            yield issued, wire


@pytest.fixture
async def scene(tmp_path, clock):
    """A one-bay shop that asks, Sam, and Sam's key app."""
    async with open_town_on_file(tmp_path, clock, one_bay()) as shop:
        sam = shop.guest()
        async with key_app(tmp_path / "keys", clock, sam.key) as (issued, wire):
            shop.desk.statuses.ask_through(wire, clock)
            yield shop, sam, issued, wire


async def revocable(sam, issued, **constraints):
    """A mandate that can be taken back, as Sam's key app signs and keeps it."""
    url, jwk = issued.new_status()
    token = sam.mandate(constraints=constraints, status=url, status_jwk=strictjson.parse(strictjson.encode(jwk)))
    await issued.keep(token)
    return token


def jti(token):
    return verify_mandate(token).claims.jti


@pytest.mark.req("SCH-094", "SCH-107", "SCH-099")
async def test_what_was_taken_back_allows_nothing_more_and_what_was_booked_stays(scene, clock):
    """The booking stands until somebody cancels it, which this mandate no longer can."""
    _shop, sam, issued, _wire = scene
    mandate = await revocable(sam, issued, max_bookings=2)
    booking = await sam.book(mandate)
    await issued.revoke(jti(mandate))
    clock.advance(timedelta(seconds=30))
    assert reason(await sam.hold(mandate, start=LATER), 403) == "revoked"
    assert reason(await sam.cancel(booking["booking_id"], mandate), 403) == "revoked"
    found = read(await sam.send("GET", f"/bookings/{booking['booking_id']}"), 200)["booking"]
    assert found["status"] == "confirmed"
    other = await revocable(sam, issued, max_bookings=2)
    read(await sam.hold(other, start=LATER), 201)


@pytest.mark.req("SCH-094", "SCH-385")
async def test_an_answer_serves_thirty_seconds(scene, clock):
    """One question for what happens within them, the next one after."""
    _shop, sam, issued, wire = scene
    mandate = await revocable(sam, issued)
    hold = read(await sam.hold(mandate), 201)
    await issued.revoke(jti(mandate))
    clock.advance(timedelta(seconds=29))
    read(await sam.confirm(hold, mandate), 201)
    assert len(wire.sent) == 1
    clock.advance(timedelta(seconds=1))
    assert reason(await sam.hold(mandate, start=LATER), 403) == "revoked"
    assert len(wire.sent) == 2


@pytest.mark.req("SCH-098")
async def test_the_last_good_answer_serves_ten_minutes_while_nobody_answers(scene, clock):
    """Then nothing changes any more under that mandate, until the key app answers again."""
    _shop, sam, issued, wire = scene
    mandate = await revocable(sam, issued, max_bookings=9)
    read(await sam.hold(mandate), 201)
    wire.rules[verify_mandate(mandate).claims.status] = status(503)
    clock.advance(timedelta(minutes=10) - timedelta(seconds=1))
    read(await sam.hold(mandate, start=LATER), 201)
    clock.advance(timedelta(seconds=1))
    assert reason(await sam.hold(mandate, start="2026-10-15T12:00:00-04:00"), 403) == "status_unavailable"
    wire.rules.clear()
    read(await sam.hold(mandate, start="2026-10-15T12:00:00-04:00"), 201)


@pytest.mark.req("SCH-098", "SCH-099")
@pytest.mark.parametrize(
    "rule",
    [
        status(404),
        status(503),
        body(b"{}"),
        edited(lambda found: found.update(status="a.b.c")),
        edited(lambda found: found.update(status=resigned(found["status"], key=PrivateKey.generate()))),
        edited(lambda found: found.update(status=resigned(found["status"], jti="m_other"))),
        edited(lambda found: found.update(status=resigned(found["status"], mandate="A" * 43))),
        edited(lambda found: found.update(status=resigned(found["status"], iat=0))),
        edited(lambda found: found.update(status=resigned(found["status"], typ="schcp-mandate+jwt"))),
    ],
)
async def test_a_status_that_was_never_readable_refuses(scene, rule):
    """Not there, not signed by the named key, about another mandate, old, or of another type."""
    shop, sam, issued, wire = scene
    mandate = await revocable(sam, issued)
    wire.rules[verify_mandate(mandate).claims.status.rpartition("/")[2]] = rule
    before = await shop.rows()
    assert reason(await sam.hold(mandate), 403) == "status_unavailable"
    assert await shop.rows() == before


def resigned(token, *, key=SERVICE, typ="schcp-status+jwt", **changed):
    claims = strictjson.parse(read_jws(token).payload)
    return sign_jws({**claims, **changed}, key, typ=typ)


@pytest.mark.req("SCH-095", "SCH-020")
async def test_a_stranger_who_reuses_a_jti_reaches_nobody_elses_status(scene, tmp_path, clock):
    """Theirs stands as revoked, Sam's goes on."""
    shop, sam, issued, wire = scene
    mandate = await revocable(sam, issued, max_bookings=2)
    read(await sam.hold(mandate), 201)
    jo = shop.guest()
    theirs = jo.mandate(jti=jti(mandate), status=f"{ORIGIN}/status/{'e' * 32}", status_jwk=PUBLIC)
    claims = verify_mandate(theirs)
    said = {"iss": jo.principal, "jti": jti(mandate), "mandate": claims.sha256, "state": "revoked"}

    def answer(response):
        token = sign_jws({**said, "iat": int(clock.now().timestamp())}, SERVICE, typ="schcp-status+jwt")
        return body(strictjson.encode({"status": token}))(status(200)(response))

    wire.rules["e" * 32] = answer
    assert reason(await jo.hold(theirs), 403) == "revoked"
    read(await sam.hold(mandate, start=LATER), 201)


@pytest.mark.req("SCH-094")
async def test_nobody_makes_a_host_ask_with_a_mandate_that_is_not_for_it(scene):
    """Another host's, another agent's, an expired one; a read asks nothing either."""
    _shop, sam, issued, wire = scene
    mandate = await revocable(sam, issued)
    booking = await sam.book(mandate)
    asked = len(wire.sent)
    for token in (
        sam.mandate(aud="other@other.example", status=f"{ORIGIN}/status/{'x' * 32}", status_jwk=PUBLIC),
        sam.mandate(cnf={"jkt": SERVICE.public.thumbprint}, status=f"{ORIGIN}/status/{'x' * 32}", status_jwk=PUBLIC),
    ):
        assert (await sam.hold(token)).status == 403
    read(await sam.send("GET", f"/bookings/{booking['booking_id']}", b"", mandate), 200)
    assert len(wire.sent) == asked


async def test_a_status_without_the_key_that_signs_it_is_no_mandate(scene):
    """And a key without a URL neither."""
    _shop, sam, _issued, _wire = scene
    for members in ({"status": f"{ORIGIN}/status/{'x' * 32}"}, {"status_jwk": PUBLIC}):
        assert reason(await sam.hold(sam.mandate(**members)), 403) == "mandate_malformed"


@pytest.mark.req("SCH-094", "SCH-025")
async def test_a_key_app_with_an_address_says_that_it_can_be_taken_back(tmp_path, clock):
    """And signs its answers with another key than the person's; a closed approval ends by itself."""
    async with (
        open_town_on_file(tmp_path, clock) as shop,
        open_household(tmp_path / "guest", clock, shop.fetcher) as home,
        key_app(tmp_path / "keys", clock, home.keys.key) as (issued, _),
    ):
        held, wire = await home.held(), shop.fetcher
        app = KeyApp(home.keys, wire, clock, SystemIds(), name="principal", agent=home.guest.agent, issued=issued)
        shown = [await app.present(question.kind, question.document) for question, _ in home.questions]
        tokens = [await app.issue(each, "human_present") for each in shown]
        asked = await home.start("approve_and_book", {"hold_id": held["hold_id"]})
        offer = await app.present(asked.question.kind, asked.question.document)
        closed = verify_mandate(await app.issue(offer, "human_present")).claims
        kept = [each.claims.jti for each in await issued.mandates()]
    assert shown[0].text.endswith(
        "I can take it back sooner: Maple Street Auto asks my key app before it does anything. What is booked by then "
        "stays booked until somebody cancels it."
    )
    claims = verify_mandate(tokens[0]).claims
    assert (claims.status.startswith(f"{ORIGIN}/status/"), claims.status_jwk) == (True, jwk_of(SERVICE.public))
    assert (closed.status, sorted(kept)) == (None, sorted([claims.jti, closed.jti]))


@pytest.mark.req("SCH-094")
async def test_an_assistant_whose_permission_was_taken_back_asks_its_person_again(tmp_path, clock):
    """It hears it from the host once, and does not try the same permission a second time."""
    async with (
        open_town_on_file(tmp_path, clock) as shop,
        open_household(tmp_path / "guest", clock, shop.fetcher) as home,
        key_app(tmp_path / "keys", clock, home.keys.key) as (issued, wire),
    ):
        shop.desk.statuses.ask_through(wire, clock)
        agent = home.guest.agent
        home.keyapp = KeyApp(home.keys, shop.fetcher, clock, SystemIds(), name="principal", agent=agent, issued=issued)
        await home.held()
        await home.operations.release_open_holds()
        (mandate,) = await issued.mandates()
        await issued.revoke(mandate.claims.jti)
        clock.advance(timedelta(seconds=31))
        told = await home.call("hold_slot", HOLD)
        assert told.result["refused"]["reason"] == "revoked"
        await home.held()
        assert [question.kind for question, _ in home.questions] == ["limits", "limits"]


@pytest.mark.req("SCH-094")
async def test_without_an_address_nothing_can_be_taken_back_and_that_is_said(tmp_path, clock, scene):
    """Neither can what was never signed here."""
    __shop, sam, issued, _wire = scene
    with fresh_store(tmp_path, clock, name="other.db") as store:
        plain = Issued(store, SystemIds(), sam.key.public.thumbprint)
        mandate = sam.mandate()
        await plain.keep(mandate)
        for register, name, code in ((plain, jti(mandate), "not_revocable"), (issued, "m_none", "no_such_mandate")):
            with pytest.raises(Refused) as caught:
                await register.revoke(name)
            assert caught.value.refusal.code == code
        assert (plain.new_status(), plain.is_revocable) == (None, False)
