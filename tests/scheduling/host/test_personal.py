"""A person's calendar: nothing is confirmed there without the person's own signature, or a rule they signed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from sayso.core.instants import epoch, parse_instant
from sayso.core.refusal import Refused
from sayso.ledger.reading import read_records
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.contacts import remove_contact
from sayso.scheduling.terms.acceptance_checks import verify_acceptance
from sayso.scheduling.terms.discovery import Confirmation
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.receipt_checks import ExpectedReceipt, check_receipt_matches, verify_receipt
from tests.scheduling.guest.hostile import resigned
from tests.scheduling.host.daybook import (
    KEEPER,
    MONDAY,
    NOOR,
    OWNER,
    SATURDAY,
    SUNDAY,
    ask,
    at_desk,
    friend,
    keep,
    may_play,
    noors_calendar,
    open_calendar,
    signed_answer,
    signed_rule,
    withdraw,
    yes_by_rule,
)
from tests.scheduling.host.frontdesk import claims
from tests.scheduling.host.town import HOST, read, reason

pytestmark = pytest.mark.anyio


@pytest.fixture
async def noor(store, clock):
    async with open_calendar(store, clock) as town:
        yield town


async def proved(town, settled, offer, act, sequence=0):
    """The receipt of an answer, as a guest checks it."""
    document = await town.document()
    receipt = verify_receipt(settled["receipt"], document)
    terms = verify_offer(offer, document, is_new=False)
    principal = terms.claims.aud
    check_receipt_matches(receipt, terms, ExpectedReceipt(act=act, principal=principal, sequence=sequence))
    return receipt.booking


@pytest.mark.req("SCH-180", "SCH-187", "SCH-181", "SCH-262", "SCH-021")
async def test_a_request_waits_for_the_persons_own_signature(noor, clock):
    """The calendar's key alone says no yes; the owner's signature over exactly this offer does, and it travels."""
    kim = await friend(noor)
    settled, hold, _ = await ask(kim)
    booking = settled["booking"]
    assert (booking["status"], booking.get("answered")) == ("pending_host", None)
    assert claims(hold["offer"])["owner"] == OWNER
    desk = at_desk(noor)
    assert reason(await desk.act("approve", booking["booking_id"]), 403) == "person_must_answer"
    clock.advance(timedelta(minutes=5))
    signed = signed_answer(clock, hold["offer"])
    done = read(await desk.act("approve", booking["booking_id"], acceptance=signed), 200)
    assert done["booking"]["status"] == "confirmed"
    assert done["booking"]["answered"] == {"by": "person", "at": "2026-10-13T13:05:00Z", "acceptance": signed}
    assert (await proved(noor, done, hold["offer"], "confirmed")).answered.by == "person"


@pytest.mark.req("SCH-180", "SCH-184")
async def test_the_desk_reads_what_the_person_signs(noor, clock):
    """The offer of a request, then of a move; nothing once it is answered."""
    kim = await friend(noor)
    settled, hold, mandate = await ask(kim)
    path, desk = f"/{settled['booking']['booking_id']}", at_desk(noor)
    assert read(await desk.read(path), 200)["to_sign"] == hold["offer"]
    signed = signed_answer(clock, hold["offer"])
    read(await desk.act("approve", path[1:], acceptance=signed), 200)
    assert "to_sign" not in read(await desk.read(path), 200)
    other = read(await kim.ask_change(path[1:], MONDAY, mandate), 201)
    read(await kim.accept(other, mandate), 200)
    assert read(await desk.read(path), 200)["to_sign"] == other["offer"]


@pytest.mark.req("SCH-181", "SCH-183")
async def test_a_receipt_that_lets_the_host_answer_for_the_person_is_no_receipt(noor, clock):
    """Nor one that lets a person answer for a business, nor one of a booking that nobody said yes to."""
    kim = await friend(noor)
    settled, hold, _ = await ask(kim)
    signed = signed_answer(clock, hold["offer"])
    done = read(await at_desk(noor).act("approve", settled["booking"]["booking_id"], acceptance=signed), 200)
    document = await noor.document()
    for who, lie in (("person", {"by": "host"}), ("person", None), ("business", {"by": "person"})):
        host = replace(document, kind=who)
        token = resigned(done["receipt"], lambda claims, lie=lie: claims["booking"].update(answered=lie))
        with pytest.raises(Refused) as caught:
            verify_receipt(token, host)
        assert caught.value.refusal.reason == "receipt_invalid"


@pytest.mark.req("SCH-187", "SCH-264")
async def test_an_answer_that_is_not_the_persons_to_this_offer_is_none(noor, clock):
    """Another's key, another offer, a no for a yes, dated before the offer or ahead of the clock."""
    kim, jo = await friend(noor), await friend(noor)
    settled, hold, _ = await ask(kim)
    _, other, _ = await ask(jo, SUNDAY)
    now = epoch(clock.now())
    for token, outcome in (
        (signed_answer(clock, hold["offer"], key=PrivateKey.generate()), "acceptance_invalid"),
        (signed_answer(clock, hold["offer"], key=PrivateKey.generate(), iss=OWNER), "acceptance_invalid"),
        (signed_answer(clock, other["offer"]), "acceptance_invalid"),
        (signed_answer(clock, hold["offer"], "no"), "acceptance_invalid"),
        (signed_answer(clock, hold["offer"], iat=now - 31), "acceptance_invalid"),
        (signed_answer(clock, hold["offer"], iat=now + 31), "acceptance_invalid"),
        (signed_answer(clock, hold["offer"], fee="10.00"), "acceptance_invalid"),
        (signed_answer(clock, hold["offer"], consent=None), "acceptance_invalid"),
        ("a.b.c", "acceptance_invalid"),
    ):
        found = await at_desk(noor).act("approve", settled["booking"]["booking_id"], acceptance=token)
        assert reason(found, 403) == outcome
    assert await noor.kinds() == ["hold.placed", "booking.requested"] * 2


@pytest.mark.req("SCH-265", "SCH-179")
async def test_a_no_is_signed_with_its_words(noor, clock):
    """The desk can neither say no for the person nor put words into their mouth."""
    kim = await friend(noor)
    settled, hold, _ = await ask(kim)
    booking_id, desk = settled["booking"]["booking_id"], at_desk(noor)
    assert reason(await desk.act("decline", booking_id), 403) == "person_must_answer"
    signed = signed_answer(clock, hold["offer"], "no", message="Maya is ill.")
    assert (
        reason(await desk.act("decline", booking_id, acceptance=signed, message="Go away."), 403)
        == "acceptance_invalid"
    )
    done = read(await desk.act("decline", booking_id, acceptance=signed), 200)["booking"]
    assert (done["status"], done["declined"]["by"], done["declined"]["message"]) == (
        "declined",
        "person",
        "Maya is ill.",
    )


@pytest.mark.req("SCH-263", "SCH-264", "SCH-266", "SCH-181")
async def test_a_rule_says_yes_at_once_and_anybody_can_check_it(noor, clock):
    """Signed by the agent it names, with the rule inside; the booking says that the person may not have seen it."""
    kept = read(await keep(noor, signed_rule(clock)), 201)
    kim = await friend(noor)
    settled, hold, _ = await ask(kim)
    booking = settled["booking"]
    assert booking["status"] == "confirmed"
    assert booking["answered"].pop("acceptance")
    assert booking["answered"] == {"by": "rule", "at": "2026-10-13T13:00:00Z", "may_be_unseen": True}
    shown = await proved(noor, settled, hold["offer"], "confirmed")
    terms = verify_offer(hold["offer"], await noor.document(), is_new=False)
    found = verify_acceptance(shown.answered.acceptance, terms.claims, terms.sha256, parse_instant(shown.answered.at))
    assert (found.by, found.signer.thumbprint, found.rule.token) == ("rule", KEEPER.public.thumbprint, kept["rule"])
    assert found.rule.claims.words == "Weekend playdates with my contacts"


@pytest.mark.req("SCH-263", "SCH-267", "SCH-266")
async def test_a_rule_covers_what_it_says_and_nothing_else(noor, clock):
    """Its services, its weekdays on the calendar's own clock, its organisers; for all else the person is asked."""
    kim, jo = await friend(noor), await friend(noor)
    await keep(noor, signed_rule(clock, organisers=[kim.principal]))
    for guest, asked, status in (
        (kim, {"start": MONDAY}, "pending_host"),
        (kim, {"start": SATURDAY, "service_id": "coffee"}, "pending_host"),
        (jo, {"start": SUNDAY}, "pending_host"),
        (kim, {"start": "2026-10-18T15:00:00-04:00"}, "confirmed"),
    ):
        settled, _, _ = await ask(guest, **asked)
        assert settled["booking"]["status"] == status


@pytest.mark.req("SCH-264")
async def test_a_rule_that_has_ended_is_not_revived_by_backdating(noor, clock):
    """Neither the keeper at the calendar nor a yes handed in later, dated while the rule still held."""
    ends = epoch(clock.now()) + 60
    rule = signed_rule(clock, exp=ends)
    read(await keep(noor, rule), 201)
    kim = await friend(noor)
    mandate = may_play(kim)
    hold = read(await kim.hold(mandate, service_id="playdate", start=SATURDAY), 201)
    backdated = yes_by_rule(clock, hold["offer"], rule)
    clock.advance(timedelta(seconds=60))
    settled = read(await kim.confirm(hold, mandate), 201)
    assert settled["booking"]["status"] == "pending_host"
    found = await at_desk(noor).act("approve", settled["booking"]["booking_id"], acceptance=backdated)
    assert reason(found, 403) == "rule_not_in_force"


@pytest.mark.req("SCH-264", "SCH-265")
async def test_another_keeper_answers_by_a_rule_that_names_it(noor, clock):
    """An agent that runs elsewhere hands its yes in; not with another's key, not as a no, not under a foreign rule."""
    elsewhere, stranger = PrivateKey.generate(), PrivateKey.generate()
    rule = signed_rule(clock, cnf={"jkt": elsewhere.public.thumbprint})
    read(await keep(noor, rule), 201)
    kim = await friend(noor)
    settled, hold, _ = await ask(kim)
    booking_id, desk, offer = settled["booking"]["booking_id"], at_desk(noor), hold["offer"]
    assert settled["booking"]["status"] == "pending_host"
    unkept = signed_rule(clock, cnf={"jkt": elsewhere.public.thumbprint})
    foreign = signed_rule(clock, stranger, cnf={"jkt": elsewhere.public.thumbprint})
    for act, token, outcome in (
        ("approve", yes_by_rule(clock, offer, rule, stranger), "acceptance_invalid"),
        ("approve", yes_by_rule(clock, offer, foreign, elsewhere), "acceptance_invalid"),
        ("approve", yes_by_rule(clock, offer, unkept, elsewhere), "rule_not_in_force"),
        ("decline", yes_by_rule(clock, offer, rule, elsewhere, answer="no"), "acceptance_invalid"),
    ):
        assert reason(await desk.act(act, booking_id, acceptance=token), 403) == outcome
    token = yes_by_rule(clock, offer, rule, elsewhere)
    done = read(await desk.act("approve", booking_id, acceptance=token), 200)
    assert (await proved(noor, done, offer, "confirmed")).answered.may_be_unseen is True


@pytest.mark.req("SCH-267")
async def test_a_withdrawn_rule_answers_nothing_from_then_on(noor, clock):
    """What it said yes to stays; the same token is not kept again; withdrawing needs no signature of the person."""
    rule = signed_rule(clock)
    kept = read(await keep(noor, rule), 201)
    kim = await friend(noor)
    settled, _, _ = await ask(kim)
    read(await withdraw(noor, kept["rule_id"]), 200)
    assert (await read_booking(kim, settled))["status"] == "confirmed"
    later, other, _ = await ask(kim, SUNDAY)
    assert later["booking"]["status"] == "pending_host"
    found = await at_desk(noor).act(
        "approve", later["booking"]["booking_id"], acceptance=yes_by_rule(clock, other["offer"], rule)
    )
    assert reason(found, 403) == "rule_not_in_force"
    assert reason(await keep(noor, rule), 403) == "rule_not_in_force"
    assert reason(await withdraw(noor, "nothing"), 404) == "no_such_rule"


async def read_booking(guest, settled):
    found = await guest.send("GET", f"/bookings/{settled['booking']['booking_id']}", b"")
    return read(found, 200)["booking"]


@pytest.mark.req("SCH-263", "SCH-267")
async def test_only_the_owners_rules_for_this_calendar_are_kept(noor, clock):
    """Another's, another calendar's, one that is over, one with a member more, one whose issuer is not its key."""
    for rule, outcome in (
        (signed_rule(clock, PrivateKey.generate()), "rule_invalid"),
        (signed_rule(clock, PrivateKey.generate(), iss=OWNER), "rule_invalid"),
        (signed_rule(clock, host="other@other.example"), "rule_invalid"),
        (signed_rule(clock, iat=0, exp=60), "rule_not_in_force"),
        (signed_rule(clock, exp=1), "rule_invalid"),
        (signed_rule(clock, places=["park"]), "rule_invalid"),
        ("a.b.c", "rule_invalid"),
    ):
        assert reason(await keep(noor, rule), 403) == outcome
    rule = signed_rule(clock)
    assert read(await keep(noor, rule), 201) == read(await keep(noor, rule), 200)
    desk = at_desk(noor)
    listed = read(await desk.client.send("GET", "https://maplestreetauto.example/schcp/v0/host/rules", b""), 200)
    assert [each["rule"] for each in listed["rules"]] == [rule]


@pytest.mark.req("SCH-184", "SCH-267")
async def test_only_the_desk_sees_and_changes_rules(noor, clock):
    """A guest's agent is not staff."""
    kim = await friend(noor)
    body = {"idempotency_key": "i_00000001", "rule": signed_rule(clock)}
    assert reason(await kim.send("POST", "/host/rules", body), 403) == "not_staff"
    assert reason(await kim.send("GET", "/host/rules", b""), 403) == "not_staff"


@pytest.mark.req("SCH-182")
async def test_no_rule_answers_where_the_guest_asked_for_the_person(noor, clock):
    """Neither at once nor later, by no keeper; the person's own signature does."""
    rule = signed_rule(clock)
    read(await keep(noor, rule), 201)
    kim = await friend(noor)
    settled, hold, _ = await ask(kim, answers="person")
    booking_id, desk = settled["booking"]["booking_id"], at_desk(noor)
    assert settled["booking"]["status"] == "pending_host"
    later = await desk.act("approve", booking_id, acceptance=yes_by_rule(clock, hold["offer"], rule))
    assert reason(later, 403) == "rule_not_covering"
    signed = signed_answer(clock, hold["offer"])
    assert read(await desk.act("approve", booking_id, acceptance=signed), 200)["booking"]["status"] == "confirmed"


@pytest.mark.req("SCH-228", "SCH-224", "SCH-226")
async def test_a_rule_answers_a_move_within_its_terms_and_the_person_any_other(noor, clock):
    """To Sunday by the rule at once; to Monday only when Noor signs."""
    read(await keep(noor, signed_rule(clock)), 201)
    kim = await friend(noor)
    settled, _, mandate = await ask(kim)
    booking_id = settled["booking"]["booking_id"]
    offered = read(await kim.ask_change(booking_id, SUNDAY, mandate), 201)
    moved = read(await kim.accept(offered, mandate), 200)
    assert (moved["booking"]["sequence"], moved["booking"]["start"]) == (1, SUNDAY)
    assert (await proved(noor, moved, offered["offer"], "changed", 1)).answered.by == "rule"
    other = read(await kim.ask_change(booking_id, MONDAY, mandate), 201)
    waits = read(await kim.accept(other, mandate), 200)["booking"]
    assert (waits["start"], waits["awaiting_host"]["start"]) == (SUNDAY, MONDAY)
    desk = at_desk(noor)
    assert reason(await desk.act("approve", booking_id), 403) == "person_must_answer"
    done = read(await desk.act("approve", booking_id, acceptance=signed_answer(clock, other["offer"])), 200)
    assert (done["booking"]["start"], done["booking"]["answered"]["by"]) == (MONDAY, "person")
    assert (await proved(noor, done, other["offer"], "changed", 2)).answered.acceptance is not None


@pytest.mark.req("SCH-265", "SCH-227")
async def test_a_no_to_a_move_is_signed_too(noor, clock):
    """The booking stays as it was, with the person's words beside it."""
    read(await keep(noor, signed_rule(clock)), 201)
    kim = await friend(noor)
    settled, _, mandate = await ask(kim)
    booking_id, desk = settled["booking"]["booking_id"], at_desk(noor)
    other = read(await kim.ask_change(booking_id, MONDAY, mandate), 201)
    read(await kim.accept(other, mandate), 200)
    assert reason(await desk.act("decline", booking_id), 403) == "person_must_answer"
    signed = signed_answer(clock, other["offer"], "no", message="Mondays are school.")
    done = read(await desk.act("decline", booking_id, acceptance=signed), 200)["booking"]
    assert (done["start"], done["declined_change"]["message"]) == (SATURDAY, "Mondays are school.")
    assert done["answered"]["by"] == "rule"


@pytest.mark.req("SCH-228", "SCH-262", "SCH-155")
async def test_owners_book_and_move_on_their_own_calendar_without_anybodys_yes(noor):
    """On no list, asked by nobody; the receipt needs no other proof than their own mandate."""
    noors = noor.guest(NOOR)
    settled, hold, mandate = await ask(noors, MONDAY)
    assert (settled["booking"]["status"], settled["booking"]["answered"]) == ("confirmed", {"by": "person"})
    await proved(noor, settled, hold["offer"], "confirmed")
    offered = read(await noors.ask_change(settled["booking"]["booking_id"], SUNDAY, mandate), 201)
    moved = read(await noors.accept(offered, mandate), 200)
    assert (moved["booking"]["start"], moved["booking"]["sequence"]) == (SUNDAY, 1)
    await proved(noor, moved, offered["offer"], "changed", 1)


@pytest.mark.req("SCH-155")
async def test_contacts_are_outside_the_newcomers_pool(noor):
    """Seven friends at once, where six newcomers would be too many elsewhere."""
    for n in range(7):
        kim = await friend(noor)
        read(await kim.hold(may_play(kim), service_id="coffee", start=f"2026-10-19T{10 + n}:00:00-04:00"), 201)


@pytest.mark.req("SCH-187", "SCH-235")
async def test_what_the_desk_proposes_still_waits_for_the_person(noor, clock):
    """The guest's yes to it asks the person; a counter, which would be a yes in itself, there is none."""
    read(await keep(noor, signed_rule(clock)), 201)
    kim = await friend(noor)
    settled, _, mandate = await ask(kim)
    booking_id, desk = settled["booking"]["booking_id"], at_desk(noor)
    proposed = read(await desk.act("propose", booking_id, start=MONDAY), 200)["booking"]["proposed"]
    offer = read(await kim.send("GET", f"/bookings/{booking_id}/changes/{proposed['offer_id']}", b""), 200)
    waits = read(await kim.accept(offer, mandate), 200)["booking"]
    assert (waits["start"], waits["awaiting_host"]["start"]) == (SATURDAY, MONDAY)
    assert reason(await desk.act("counter", booking_id, start=SUNDAY), 403) == "no_counter"


@pytest.mark.req("SCH-177", "SCH-187")
async def test_silence_of_the_person_is_no_yes(noor, clock):
    """The request lapses, and a signature that comes later changes nothing."""
    kim = await friend(noor)
    settled, hold, _ = await ask(kim)
    clock.advance(timedelta(hours=3))
    assert (await read_booking(kim, settled))["status"] == "expired"
    signed = signed_answer(clock, hold["offer"])
    late = await at_desk(noor).act("approve", settled["booking"]["booking_id"], acceptance=signed)
    assert reason(late, 409) == "nothing_to_answer"


@pytest.mark.req("SCH-039", "SCH-180")
async def test_a_rule_answers_no_one_who_is_no_contact_any_more(noor, clock):
    """The list is read before the rule is."""
    read(await keep(noor, signed_rule(clock)), 201)
    kim = await friend(noor)
    mandate = may_play(kim)
    hold = read(await kim.hold(mandate, service_id="playdate", start=SATURDAY), 201)
    await noor.store.unit(lambda unit: remove_contact(unit, HOST, kim.principal))
    assert reason(await kim.confirm(hold, mandate), 403) == "not_a_contact"


@pytest.mark.req("SCH-264", "SCH-266")
async def test_the_calendars_own_log_says_who_answered_and_keeps_the_proof(noor, clock):
    """By rule, and by the person; each record names the signed answer by its hash."""
    read(await keep(noor, signed_rule(clock)), 201)
    kim = await friend(noor)
    settled, _, _ = await ask(kim)
    later, other, _ = await ask(kim, MONDAY)
    signed = signed_answer(clock, other["offer"])
    read(await at_desk(noor).act("approve", later["booking"]["booking_id"], acceptance=signed), 200)
    records = await noor.store.reading(lambda view: read_records(view, noor.desk.log, 0, 1_000_000))
    found = {each.kind: each for each in records if each.kind.startswith(("answer.", "rule."))}
    assert list(found) == ["rule.kept", "answer.by_rule", "answer.by_person"]
    by_rule = {link.role: link.sha256 for link in found["answer.by_rule"].links}
    assert by_rule["acceptance"] == sha256_b64u(settled["booking"]["answered"]["acceptance"])
    assert found["answer.by_rule"].actor == KEEPER.public.thumbprint
    assert {link.sha256 for link in found["answer.by_person"].links} == {sha256_b64u(signed)}


@pytest.mark.req("SCH-069", "SCH-264")
async def test_a_confirm_that_is_sent_twice_is_answered_by_the_rule_once(noor, clock):
    """The same bytes again, one yes in the log."""
    read(await keep(noor, signed_rule(clock)), 201)
    kim = await friend(noor)
    mandate = may_play(kim)
    hold = read(await kim.hold(mandate, service_id="playdate", start=SATURDAY), 201)
    first = await kim.confirm(hold, mandate, idempotency_key="i_00000001")
    again = await kim.confirm(hold, mandate, idempotency_key="i_00000001")
    assert (first.status, again.body) == (201, first.body)
    assert (await noor.kinds()).count("answer.by_rule") == 1


@pytest.mark.req("SCH-187", "SCH-159")
async def test_what_was_offered_before_it_was_a_persons_calendar_asks_the_person_all_the_same(store, clock):
    """An offer of an instant business is no yes of the person whose calendar it has become."""
    business = noors_calendar(kind="business", owner=None, confirmation=Confirmation(mode="instant"))
    async with open_calendar(store, clock, business) as town:
        kim = await friend(town)
        mandate = may_play(kim)
        hold = read(await kim.hold(mandate, service_id="playdate", start=SATURDAY), 201)
    async with open_calendar(store, clock) as town:
        same = town.guest(kim.key, kim.agent)
        assert reason(await same.confirm(hold, mandate), 403) == "person_must_answer"


async def test_without_a_keeper_rules_wait_for_one(store, clock):
    """A calendar whose agent runs elsewhere answers nothing by itself."""
    async with open_calendar(store, clock, keeper=None) as town:
        read(await keep(town, signed_rule(clock)), 201)
        kim = await friend(town)
        settled, _, _ = await ask(kim)
    assert settled["booking"]["status"] == "pending_host"
