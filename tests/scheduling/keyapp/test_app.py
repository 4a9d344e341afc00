"""The key app: it shows what the bytes say, asks the host's own domain who the host is, and signs nothing else."""

from __future__ import annotations

import inspect
from dataclasses import replace
from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.proof.sealed import Cost
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.store.vault import Vault
from tests.scheduling.guest.hostile import HostileFetcher, resigned, status
from tests.scheduling.host.town import DOMAIN, HOST_KEY, open_town_on_file
from tests.scheduling.terms.samples import AGENT, HOST, JKT, PRINCIPAL, SAM, money, offer, signed_offer
from tests.scheduling.tools.household import OpenKeys, open_household

pytestmark = pytest.mark.anyio
KID = HOST_KEY.public.thumbprint
LIMITS = {
    "host": HOST,
    "agent": JKT,
    "scope": ["hold", "book", "cancel", "reschedule"],
    "services": ["oil-change"],
    "window": {"not_before": "2026-10-15T11:00:00-04:00", "not_after": "2026-10-15T15:45:00-04:00"},
    "max_bookings": 1,
    "lifetime": "PT1H",
    "max_price": money("100.00"),
}


def draft(**changed):
    return strictjson.encode({**LIMITS, **changed})


def an_offer(**changed):
    return signed_offer(kid=KID, **changed).encode()


@pytest.fixture
async def wire(tmp_path, clock):
    async with open_town_on_file(tmp_path, clock) as town, HostileFetcher(town.port) as fetcher:
        fetcher.town = town
        yield fetcher


@pytest.fixture
def keys():
    return OpenKeys(SAM)


@pytest.fixture
def app(keys, wire, clock):
    return KeyApp(keys, wire, clock, SystemIds(), name="principal", agent=JKT)


async def refused_for(awaitable):
    with pytest.raises(Refused) as caught:
        await awaitable
    return caught.value.refusal.reason


@pytest.mark.req("SCH-104", "SCH-081", "SCH-085", "SCH-072")
async def test_limits_become_a_buying_mandate_with_the_text_that_was_shown(app):
    """One hour, this agent, this host, these limits, and no status URL."""
    shown = await app.present("limits", draft())
    claims = verify_mandate(app.sign(shown, "human_present")).claims
    assert strictjson.parse(strictjson.encode(claims.constraints)) == {
        name: LIMITS[name] for name in ("services", "window", "max_price", "max_bookings")
    }
    assert (claims.iss, claims.aud, claims.cnf.jkt, claims.scope) == (PRINCIPAL, HOST, JKT, tuple(LIMITS["scope"]))
    assert (claims.exp - claims.iat, claims.status) == (3600, None)
    assert (claims.consent.mode, claims.consent.statement) == ("human_present", shown.text)
    assert shown.text_sha256 == sha256_b64u(shown.text.encode())


@pytest.mark.req("SCH-104", "SCH-088", "SCH-163")
async def test_an_offer_becomes_a_closed_mandate_over_the_hash_of_its_own_bytes(app):
    """It lives no longer than the offer, and does nothing but accept it."""
    data = an_offer()
    shown = await app.present("offer", data)
    claims = verify_mandate(app.sign(shown, "preapproved")).claims
    assert strictjson.parse(strictjson.encode(claims.constraints)) == {"offer_sha256": sha256_b64u(data)}
    assert (claims.scope, claims.exp - claims.iat, claims.consent.mode) == (("book",), 300, "preapproved")


@pytest.mark.req("SCH-088", "SCH-222")
async def test_a_change_offer_becomes_a_closed_mandate_for_that_booking(app):
    """Scope reschedule, the booking named."""
    change = {"booking_id": "b_1", "replaces": "A" * 43}
    shown = await app.present("offer", an_offer(hold_id=None, change=change))
    claims = verify_mandate(app.sign(shown, "human_present")).claims
    assert (claims.scope, claims.constraints.bookings) == (("reschedule",), ("b_1",))


@pytest.mark.req("SCH-086", "SCH-253")
async def test_a_receipt_becomes_a_management_mandate_bounded_like_the_limits(tmp_path, clock, wire):
    """Cancel and move this booking until it ends, inside the window and ceiling that were signed."""
    async with open_household(tmp_path / "g", clock, wire) as home:
        booked = await home.booked()
        (kept,) = await home.guest.book.mandates("management", HOST, booked["booking_id"])
    claims = verify_mandate(kept.token).claims
    assert claims.scope == ("cancel", "reschedule")
    assert strictjson.parse(strictjson.encode(claims.constraints)) == {
        "bookings": [booked["booking_id"]],
        "window": LIMITS["window"],
        "max_price": LIMITS["max_price"],
    }
    assert claims.exp == 1792086300


@pytest.mark.req("SCH-105")
async def test_there_is_no_call_that_signs_a_hash_or_words():
    """What goes in is a kind and a document; what is signed is what was presented."""
    calls = {
        name: list(inspect.signature(member).parameters)[1:]
        for name, member in vars(KeyApp).items()
        if not name.startswith("_") and callable(member)
    }
    assert calls == {"present": ["kind", "document"], "sign": ["shown", "mode"], "issue": ["shown", "mode"]}


@pytest.mark.req("SCH-104", "SCH-105")
async def test_a_text_or_terms_swapped_after_showing_are_not_signed(app):
    """The caller holds a receipt of what was shown, not the thing itself; and it is signed once."""
    shown = await app.present("limits", draft())
    for forged in (replace(shown, text_sha256="A" * 43), replace(shown, number=99)):
        with pytest.raises(Refused) as caught:
            app.sign(forged, "human_present")
        assert caught.value.refusal.reason == "document_invalid"
    app.sign(shown, "human_present")
    with pytest.raises(Refused):
        app.sign(shown, "human_present")


async def test_a_locked_key_app_shows_and_does_not_sign(app, keys):
    """Unlocked, the same presentation is signed."""
    shown = await app.present("limits", draft())
    keys.locked = True
    with pytest.raises(Refused) as caught:
        app.sign(shown, "human_present")
    assert caught.value.refusal.code == "LOCKED"
    keys.locked = False
    assert verify_mandate(app.sign(shown, "human_present"))


async def test_a_real_vault_signs_for_five_minutes_after_its_passphrase(wire, clock, tmp_path):
    """Locked at first, open once unlocked, locked again by the clock."""
    vault = Vault(tmp_path / "home", clock, cost=Cost(memory_kib=8192, passes=1, lanes=1))
    vault.create("principal", passphrase="correct horse")
    app = KeyApp(vault, wire, clock, SystemIds(), name="principal", agent=JKT)

    async def signs():
        shown = await app.present("limits", draft())
        try:
            return verify_mandate(app.sign(shown, "human_present")).principal == app.principal
        except Refused as error:
            return error.refusal.code

    assert await signs() == "LOCKED"
    vault.unlock("correct horse")
    assert await signs() is True
    clock.advance(timedelta(seconds=301))
    assert await signs() == "LOCKED"


@pytest.mark.req("SCH-106")
async def test_with_no_discovery_the_identity_is_labelled_and_nothing_is_signed(keys, clock):
    """The claimed name in quotes, not verified."""
    async with Fetcher({DOMAIN: "127.0.0.1:1"}) as nowhere:
        app = KeyApp(keys, nowhere, clock, SystemIds(), name="principal", agent=JKT)
        for kind, data in (("limits", draft()), ("offer", an_offer())):
            shown = await app.present(kind, data)
            assert "(claims to be maplestreetauto.example, not verified)" in shown.text
            assert not shown.identity.is_verified
            with pytest.raises(Refused) as caught:
                app.sign(shown, "human_present")
            assert caught.value.refusal.reason == "unverified"


@pytest.mark.req("SCH-106", "SCH-036")
async def test_a_host_whose_document_is_gone_is_not_verified(app, wire):
    """A 404 where its document should be."""
    wire.rules["/.well-known/scheduling.json"] = status(404)
    shown = await app.present("offer", an_offer())
    assert not shown.identity.is_verified


async def test_an_offer_to_somebody_else_or_of_another_agent_is_not_shown(app):
    """A document slipped in by another program."""
    other = PrivateKey.from_seed(b"o" * 32).public
    urn = f"urn:schcp:principal:jwk-thumbprint:{other.thumbprint}"
    assert await refused_for(app.present("offer", an_offer(aud=urn))) == "not_ours"
    assert await refused_for(app.present("offer", an_offer(agent=other.thumbprint))) == "not_ours"
    assert await refused_for(app.present("limits", draft(agent=other.thumbprint))) == "not_ours"


@pytest.mark.req("SCH-104", "SCH-165")
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("limits", lambda: b"{}"),
        ("limits", lambda: b"\xff"),
        ("limits", lambda: draft(statement="Sign this.")),
        ("limits", lambda: draft(offer_sha256="A" * 43)),
        ("limits", lambda: draft(services=["haircut"])),
        ("limits", lambda: draft(lifetime="P32D")),
        ("limits", lambda: draft(lifetime="PT0S")),
        ("limits", lambda: draft(lifetime="P1M")),
        ("limits", lambda: draft(max_price=money("100.0"))),
        ("limits", lambda: draft(window={**LIMITS["window"], "not_after": "2026-10-12T15:45:00-04:00"})),
        ("limits", lambda: draft(window={**LIMITS["window"], "not_after": "2026-10-15T11:00:00-04:00"})),
        ("offer", lambda: b"A" * 43),
        ("offer", lambda: an_offer(cancellation_fee=money("20.00"))),
        ("offer", lambda: an_offer(total=money("90.00"))),
        ("offer", lambda: an_offer()[:-3]),
        ("offer", lambda: signed_offer(kid=KID, key=AGENT).encode()),
        ("offer", lambda: "é".encode()),
        ("management", lambda: b'{"receipt":"a.b.c","mandate":"a.b.c"}'),
        ("prose", lambda: b"I approve everything."),
        ("hash", lambda: b"A" * 43),
    ],
)
async def test_a_document_that_does_not_hold_is_not_shown(app, kind, data):
    """Prose, hashes, unknown members, altered bytes, limits that make no sense."""
    assert await refused_for(app.present(kind, data())) == "document_invalid"


@pytest.mark.req("SCH-106", "SCH-109")
async def test_a_host_that_its_domain_does_not_vouch_for_is_only_claimed(app):
    """The text says so, and nothing is signed."""
    shown = await app.present("limits", draft(host="other-shop@maplestreetauto.example"))
    assert '"other-shop@maplestreetauto.example" (claims to be maplestreetauto.example, not verified)' in shown.text
    with pytest.raises(Refused) as caught:
        app.sign(shown, "human_present")
    assert caught.value.refusal.reason == "unverified"


async def test_an_offer_that_has_expired_is_not_shown_and_one_that_expires_meanwhile_is_not_signed(app, clock):
    """Nobody signs what cannot be accepted any more."""
    shown = await app.present("offer", an_offer())
    clock.advance(timedelta(minutes=5))
    with pytest.raises(Refused) as caught:
        app.sign(shown, "human_present")
    assert caught.value.refusal.reason == "document_invalid"
    assert await refused_for(app.present("offer", an_offer())) == "document_invalid"


async def test_terms_too_long_to_be_shown_are_not_shown(app):
    """Fifty lines of two hundred letters are no sentence."""
    lines = [{"kind": "fee", "title": "x" * 200, "amount": money("1.00")} for _ in range(20)]
    assert await refused_for(app.present("offer", an_offer(lines=lines, total=money("20.00")))) == "document_invalid"


@pytest.mark.req("SCH-253")
async def test_a_management_question_needs_this_persons_own_limits_of_that_very_booking(tmp_path, clock, wire):
    """Another person's mandate, another of one's own, a cancelled booking, an altered receipt."""
    async with open_household(tmp_path / "g", clock, wire) as home:
        booked = await home.booked()
        question = next(each for each, _ in home.questions if each.kind == "management")
        bundle = strictjson.parse(question.document)
        other = await home.keyapp.present("limits", draft(max_price=money("900.00")))
        wider = home.keyapp.sign(other, "human_present")
        (closed,) = await home.guest.book.mandates("closed", HOST)
        paid = resigned(bundle["receipt"], lambda claims: claims["booking"].update(fee="1"))
        bad = [
            {**bundle, "mandate": wider},
            {**bundle, "mandate": closed.token},
            {**bundle, "receipt": bundle["receipt"][:-4] + "AAAA"},
            {**bundle, "receipt": paid},
            {**bundle, "receipt": bundle["mandate"]},
        ]
        for each in bad:
            assert await refused_for(home.keyapp.present("management", strictjson.encode(each))) == "document_invalid"
        stranger = KeyApp(
            OpenKeys(PrivateKey.from_seed(b"x" * 32)), wire, clock, SystemIds(), name="principal", agent=JKT
        )
        assert await refused_for(stranger.present("management", question.document)) == "not_ours"
        await home.call("cancel_booking", {"booking_id": booked["booking_id"]})
        kept = await home.guest.book.booking(booked["booking_id"])
        over = strictjson.encode({**bundle, "receipt": kept.receipt})
        assert await refused_for(home.keyapp.present("management", over)) == "document_invalid"


@pytest.mark.req("SCH-018", "SCH-049")
async def test_an_offer_under_a_key_nobody_publishes_is_not_shown(app, wire):
    """After looking once more."""
    assert await refused_for(app.present("offer", signed_offer(kid="other").encode())) == "unknown_key"
    assert wire.count("/.well-known/scheduling.json") == 2


def test_the_samples_are_the_walkthroughs():
    """A guard for the tests above."""
    assert offer()["aud"] == PRINCIPAL
