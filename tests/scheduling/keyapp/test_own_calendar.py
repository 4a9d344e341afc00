"""The key app for one's own calendar: rules and answers, shown in words of their own bytes, each signed once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.instants import epoch
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.terms.acceptance_checks import verify_acceptance
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.rule_checks import verify_rule
from tests.scheduling.host.daybook import (
    KEEPER,
    NOOR,
    OWNER,
    SUNDAY,
    ask,
    at_desk,
    friend,
    may_play,
    open_calendar_on_file,
)
from tests.scheduling.host.town import HOST, read
from tests.scheduling.tools.household import OpenKeys

pytestmark = pytest.mark.anyio

SPEC = Path(__file__).resolve().parents[3] / "docs" / "spec" / "scheduling.md"
JKT = KEEPER.public.thumbprint
KIM = PrivateKey.from_seed(b"i" * 32)
RULE = {
    "host": HOST,
    "agent": JKT,
    "words": "Weekend playdates with my contacts",
    "services": ["playdate"],
    "weekdays": ["sun", "sat"],
}


@pytest.fixture
async def noor(tmp_path, clock):
    async with open_calendar_on_file(tmp_path, clock) as town:
        yield town


@pytest.fixture
def app(noor, clock):
    return KeyApp(OpenKeys(NOOR), noor.fetcher, clock, SystemIds(), name="principal", agent=JKT)


def draft(**changed):
    return strictjson.encode({name: value for name, value in {**RULE, **changed}.items() if value is not None})


def answering(offer, answer="yes", **more):
    return strictjson.encode({"offer": offer, "answer": answer, **more})


async def refused_for(awaitable):
    with pytest.raises(Refused) as caught:
        await awaitable
    return caught.value.refusal.reason


@pytest.mark.req("SCH-263", "SCH-025", "SCH-267")
async def test_a_rule_is_signed_with_the_text_that_was_shown(app, clock):
    """Who may say yes, to what, on which days of which clock, for whom, until when; and what it cannot do."""
    shown = await app.present("rule", draft(expires="2026-12-31T18:00:00-05:00"))
    assert shown.text == (
        'My rule "Weekend playdates with my contacts": at my calendar Noor Haddad (maplestreetauto.example), my '
        "assistant may say yes for me without asking me, to Playdate, on Saturdays and Sundays (Eastern time), if "
        "anybody on my contact list asks for it. That goes for new appointments and for moving them. I may not have "
        "seen what it said yes to. It can never say no for me. It lasts until Thursday 31 December 2026 at 6:00 p.m. "
        "Eastern time. I can withdraw it at my calendar at any time; what it said yes to by then stays booked until "
        f"somebody cancels it. The assistant is the one with the key {JKT}."
    )
    claims = verify_rule(app.sign(shown, "human_present")).claims
    assert (claims.iss, claims.host, claims.cnf.jkt, claims.words) == (OWNER, HOST, JKT, RULE["words"])
    assert (claims.services, claims.weekdays, claims.organisers) == (("playdate",), ("sun", "sat"), None)
    assert (claims.iat, claims.exp, claims.consent.statement) == (epoch(clock.now()), 1798758000, shown.text)
    with pytest.raises(Refused):
        app.sign(shown, "human_present")


@pytest.mark.req("SCH-263", "SCH-180")
async def test_the_specification_states_the_very_texts(noor, app):
    """Section 25.4, word for word."""
    _, hold, _ = await ask(await friend(noor, KIM))
    spec = SPEC.read_text()
    for kind, data in (("rule", draft()), ("answer", answering(hold["offer"]))):
        assert f"> {(await app.present(kind, data)).text}\n" in spec


@pytest.mark.req("SCH-263")
async def test_a_rule_without_limits_says_so(app):
    """Anything, any day, whoever is a contact, for good; or one person, by their key."""
    shown = await app.present("rule", draft(services=None, weekdays=None))
    assert (
        "without asking me, to anything that can be asked for there, if anybody on my contact list asks for it."
        in shown.text
    )
    assert "It lasts until I withdraw it. I can withdraw it at my calendar at any time;" in shown.text
    assert verify_rule(app.sign(shown, "human_present")).claims.exp is None
    named = await app.present("rule", draft(organisers=[OWNER]))
    assert f"if the person with the key {OWNER.rpartition(':')[2]} asks for it." in named.text


@pytest.mark.req("SCH-180", "SCH-025", "SCH-104")
async def test_a_yes_is_signed_over_the_hash_of_the_offers_own_bytes(noor, app, clock):
    """No hash was handed in; the answer confirms at the calendar."""
    kim = await friend(noor, KIM)
    settled, hold, _ = await ask(kim)
    shown = await app.present("answer", answering(hold["offer"]))
    assert shown.text == (
        "I accept: Playdate at my calendar Noor Haddad (maplestreetauto.example), Saturday 17 October 2026 from "
        "12:00 p.m. to 2:00 p.m. Eastern time, asked for by the person with the key "
        f"{KIM.public.thumbprint}."
    )
    token = app.sign(shown, "human_present")
    terms = verify_offer(hold["offer"], await noor.document())
    found = verify_acceptance(token, terms.claims, sha256_b64u(hold["offer"]), clock.now())
    assert (found.by, found.claims.answer, found.claims.consent.statement) == ("person", "yes", shown.text)
    desk = at_desk(noor)
    done = read(await desk.act("approve", settled["booking"]["booking_id"], acceptance=token), 200)
    assert done["booking"]["status"] == "confirmed"


@pytest.mark.req("SCH-265")
async def test_a_no_shows_the_words_it_sends(noor, app):
    """The person's own; with a yes there are none."""
    kim = await friend(noor, KIM)
    _, hold, _ = await ask(kim)
    shown = await app.present("answer", answering(hold["offer"], "no", message="Maya is ill."))
    assert shown.text == (
        "I decline: Playdate at my calendar Noor Haddad (maplestreetauto.example), Saturday 17 October 2026 from "
        "12:00 p.m. to 2:00 p.m. Eastern time, asked for by the person with the key "
        f'{KIM.public.thumbprint}. I tell them: "Maya is ill."'
    )
    assert await refused_for(app.present("answer", answering(hold["offer"], message="See you."))) == "document_invalid"


@pytest.mark.req("SCH-228", "SCH-265")
async def test_the_text_of_a_move_says_what_stays(noor, app, clock):
    """A yes to the move, or a no that leaves the appointment."""
    kim = await friend(noor, KIM)
    settled, hold, mandate = await ask(kim)
    signed = app.sign(await app.present("answer", answering(hold["offer"])), "human_present")
    booking_id = settled["booking"]["booking_id"]
    read(await at_desk(noor).act("approve", booking_id, acceptance=signed), 200)
    other = read(await kim.ask_change(booking_id, SUNDAY, mandate), 201)
    tail = (
        " this move: Playdate at my calendar Noor Haddad (maplestreetauto.example), Sunday 18 October 2026 from "
        "12:00 p.m. to 2:00 p.m. Eastern time, asked for by the person with the key "
        f"{KIM.public.thumbprint}."
    )
    assert (await app.present("answer", answering(other["offer"]))).text == f"I accept{tail}"
    no = await app.present("answer", answering(other["offer"], "no"))
    assert no.text == f"I decline{tail} The appointment stays as it was."


@pytest.mark.req("SCH-025", "SCH-104", "SCH-263")
async def test_what_is_no_document_of_ones_own_calendar_is_not_signed(noor, app, clock):
    """Another agent's rule, another calendar's, one that is over, an unknown service, another owner's offer, a hash."""
    kim = await friend(noor, KIM)
    hold = read(await kim.hold(may_play(kim), service_id="playdate", start=SUNDAY), 201)
    stranger = KeyApp(OpenKeys(KIM), noor.fetcher, clock, SystemIds(), name="principal", agent=JKT)
    for held_app, kind, data, outcome in (
        (app, "rule", draft(agent="A" * 43), "not_ours"),
        (app, "rule", draft(expires="2026-10-13T12:00:00Z"), "document_invalid"),
        (app, "rule", draft(services=["surgery"]), "document_invalid"),
        (app, "rule", draft(statement="I agree to everything."), "document_invalid"),
        (app, "answer", answering(hold["offer"][:-4] + "AAAA"), "document_invalid"),
        (app, "answer", strictjson.encode({"offer_sha256": "A" * 43, "answer": "yes"}), "document_invalid"),
        (stranger, "answer", answering(hold["offer"]), "not_ours"),
    ):
        assert await refused_for(held_app.present(kind, data)) == outcome
    async with Fetcher({}) as nowhere:
        alone = KeyApp(OpenKeys(NOOR), nowhere, clock, SystemIds(), name="principal", agent=JKT)
        assert await refused_for(alone.present("rule", draft())) == "unverified"


@pytest.mark.req("SCH-266", "SCH-180")
async def test_nobody_answers_beforehand_for_their_own_calendar(app, noor, clock):
    """A flag is no yes; a rule that ended while it was read is none either."""
    shown = await app.present("rule", draft(expires="2026-10-13T13:10:00Z"))
    with pytest.raises(Refused) as caught:
        app.sign(shown, "preapproved")
    assert caught.value.refusal.reason == "consent_unsigned"
    clock.advance(timedelta(minutes=10))
    with pytest.raises(Refused) as late:
        app.sign(shown, "human_present")
    assert late.value.refusal.reason == "document_invalid"
