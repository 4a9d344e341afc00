"""Everything the host sends is checked: a lie ends in a plain refusal, never in a booking nobody can prove."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.governance.consent import Answer
from tests.scheduling.guest.hostile import body, edited, offering, receipting, status
from tests.scheduling.tools.household import HOLD, household

pytestmark = pytest.mark.anyio

MONEY = {"amount": "20.00", "currency": "CAD"}
BAD_OFFERS = {
    "a fee for cancelling": lambda claims: claims.update(cancellation_fee=MONEY),
    "another total": lambda claims: claims["total"].update(amount="99.27"),
    "another guest": lambda claims: claims.update(aud=f"urn:schcp:principal:jwk-thumbprint:{'A' * 43}"),
    "another agent": lambda claims: claims.update(agent="A" * 43),
    "another time": lambda claims: claims.update(start="2026-10-15T16:00:00Z"),
    "another service": lambda claims: claims["service"].update(id="detailing"),
    "another host": lambda claims: claims.update(iss="evil@evil.example"),
    "another hold": lambda claims: claims.update(hold_id="h_other"),
    "words turned round": lambda claims: claims["service"].update(title="oil\u202egnahc"),
}


@pytest.mark.req("SCH-149", "SCH-158", "SCH-165", "SCH-167")
@pytest.mark.parametrize("edit", BAD_OFFERS.values(), ids=BAD_OFFERS.keys())
async def test_an_offer_that_does_not_hold_is_never_shown_and_its_hold_goes_back(home, town, wire, edit):
    """Although the host signed it."""
    wire.rules["/holds"] = offering(edit)
    done = await home.call("hold_slot", HOLD)
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "offer_invalid")
    assert [question.kind for question, _ in home.questions] == ["limits"]
    assert await town.kinds() == ["hold.placed", "hold.released"]
    assert await home.guest.book.open_holds() == []


BAD_ANSWERS = {
    "no JSON": body(b"<html>"),
    "a repeated member": body(b'{"hold_id":"h_1","hold_id":"h_2"}'),
    "a member nobody knows": edited(lambda answer: answer.update(surcharge="later")),
    "a number for a text": edited(lambda answer: answer.update(hold_id=7)),
    "another status": status(202),
    "an id that is a path": edited(lambda answer: answer.update(hold_id="../x")),
}


@pytest.mark.req("SCH-149", "SCH-024")
@pytest.mark.parametrize("rule", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
async def test_an_answer_that_is_not_of_this_protocol_agrees_to_nothing(home, wire, rule):
    """It is refused with the host named, and nothing is kept."""
    wire.rules["/holds"] = rule
    done = await home.call("hold_slot", HOLD)
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "answer_invalid")
    assert "Maple Street Auto" in done.result["refused"]["message"]
    assert await home.guest.book.open_holds() == []


async def test_a_server_error_is_no_answer(home, wire):
    """Retriable, and said with the host's name."""
    wire.rules["/holds"] = status(500)
    done = await home.call("hold_slot", HOLD)
    assert done.result["refused"]["message"] == "Maple Street Auto could not be reached: it answered 500"
    assert wire.count("/holds") == 3


@pytest.mark.req("SCH-336")
async def test_a_hosts_no_is_said_with_its_name_reason_and_way_to_reach_it(home, town):
    """And it is receipted, without its words."""
    await home.start("hold_slot", HOLD)
    for _ in range(3):
        other = town.guest(agent=None)
        await other.hold(other.mandate(), start="2026-10-15T14:00:00-04:00")
    step = await home.start("hold_slot", HOLD)
    answer = await home.answer(step.question)
    for _ in range(2):
        other = town.guest()
        await other.hold(other.mandate())
    done = await home.start("hold_slot", HOLD, [answer])
    refusal = done.result["refused"]
    assert (done.result["by"], refusal["code"], refusal["reason"]) == ("Maple Street Auto", "SLOT_TAKEN", "slot_taken")
    assert refusal["details"]["contact"]["phone"] == "+1 416 555 0134"
    assert "guest.host_refused" in await home.kinds()


BAD_RECEIPTS = {
    "another total": lambda claims: claims["booking"]["total"].update(amount="99.27"),
    "a charge": lambda claims: claims["booking"].update(fees_charged=MONEY),
    "another contract": lambda claims: claims["booking"].update(offer_sha256="A" * 43),
    "limits instead of the offer": lambda claims: claims["consent"].update(approved="limits"),
    "a mandate nobody gave": lambda claims: claims["consent"].update(mandate="m_other"),
    "another guest": lambda claims: claims.update(aud=f"urn:schcp:principal:jwk-thumbprint:{'A' * 43}"),
    "longer retention": lambda claims: claims.update(retention="P730D"),
    "another act": lambda claims: claims.update(act="changed"),
}


@pytest.mark.req("SCH-193", "SCH-189", "SCH-191")
@pytest.mark.parametrize("edit", BAD_RECEIPTS.values(), ids=BAD_RECEIPTS.keys())
async def test_a_receipt_that_proves_something_else_is_not_relied_on(home, town, wire, edit):
    """The booking is called off again and the person is told plainly."""
    wire.rules["/confirm"] = receipting(edit)
    held = await home.held()
    done = await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    refusal = done.result["refused"]
    assert (done.is_error, refusal["reason"]) == (True, "receipt_invalid")
    assert refusal["message"].endswith("and it cannot be relied on. The host says it is called off again.")
    assert await home.guest.book.bookings() == []
    assert await town.kinds() == ["hold.placed", "booking.confirmed", "booking.cancelled"]
    assert "guest.booking_confirmed" not in await home.kinds()


@pytest.mark.req("SCH-193")
async def test_an_altered_receipt_is_not_relied_on(home, town, wire):
    """One flipped character in what the host signed."""

    def flip(answer):
        head, payload, signature = answer["receipt"].split(".")
        answer["receipt"] = f"{head}.{payload}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"

    wire.rules["/confirm"] = edited(flip)
    held = await home.held()
    done = await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "receipt_invalid")
    assert await home.guest.book.bookings() == []


async def test_an_unreadable_confirmation_is_called_off_by_what_the_hold_says(home, town, wire):
    """The hold names the booking that nobody could read."""
    wire.rules["/confirm"] = body(b"{}")
    held = await home.held()
    done = await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "answer_invalid")
    assert await town.kinds() == ["hold.placed", "booking.confirmed", "booking.cancelled"]


@pytest.mark.req("SCH-230", "SCH-222")
@pytest.mark.parametrize(
    "edit",
    [
        lambda claims: claims["change"].update(replaces="A" * 43),
        lambda claims: claims["change"].update(booking_id="b_other"),
        lambda claims: claims.pop("change") and claims.update(hold_id="h_1"),
        lambda claims: claims.update(start="2026-10-15T15:00:00Z"),
    ],
)
async def test_a_change_offer_that_does_not_continue_the_contract_is_never_shown(home, town, wire, edit):
    """The booking stays, the other time goes back."""
    booked = await home.booked()
    asked = len(home.questions)
    wire.rules["/changes"] = offering(edit)
    done = await home.call("change_booking", {"booking_id": booked["booking_id"], "start": "2026-10-15T14:00"})
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "offer_invalid")
    assert len(home.questions) == asked
    assert (await home.guest.book.booking(booked["booking_id"])).sequence == 0


@pytest.mark.req("SCH-230")
@pytest.mark.parametrize(
    "edit",
    [
        lambda claims: claims["booking"].update(sequence=0),
        lambda claims: claims["booking"].update(sequence=2),
        lambda claims: claims.update(act="confirmed"),
        lambda claims: claims["booking"].update(start="2026-10-15T13:00:00-04:00"),
    ],
)
async def test_a_receipt_of_a_move_that_contradicts_itself_is_refused(home, wire, edit):
    """Moved at the old sequence, skipped one, confirmed instead of changed, at the old time."""
    booked = await home.booked()
    wire.rules["/accept"] = receipting(edit)
    done = await home.call("change_booking", {"booking_id": booked["booking_id"], "start": "2026-10-15T14:00"})
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "receipt_invalid")
    assert (await home.guest.book.booking(booked["booking_id"])).sequence == 0


@pytest.mark.req("SCH-006", "SCH-007", "SCH-230")
async def test_a_change_nobody_agreed_to_is_shown_as_a_warning_and_not_believed(home, wire):
    """A later sequence without a change accepted here."""
    booked = await home.booked()
    wire.rules[booked["booking_id"]] = edited(lambda answer: answer["booking"].update(sequence=1))
    found = (await home.call("booking_status", {})).result["bookings"][0]
    assert (found["status"], found["when"]) == ("confirmed", booked["when"])
    assert "never agreed here" in found["warning"]


async def test_a_cancellation_that_is_not_proved_is_not_believed(home, wire):
    """The booking counts as it was until a receipt says otherwise."""
    booked = await home.booked()
    wire.rules["/cancel"] = receipting(lambda claims: claims.update(act="confirmed"))
    done = await home.call("cancel_booking", {"booking_id": booked["booking_id"]})
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "receipt_invalid")
    assert (await home.guest.book.booking(booked["booking_id"])).state == "confirmed"


@pytest.mark.req("SCH-056", "SCH-063", "SCH-069")
async def test_a_lost_answer_is_asked_for_again_with_the_same_bytes_and_a_new_nonce(home, town, wire):
    """One hold, one booking."""
    wire.lose = {"/holds": 1, "/confirm": 2}
    booked = await home.booked()
    assert booked["outcome"] == "confirmed"
    for end, times in (("/holds", 2), ("/confirm", 3)):
        sent = [(headers, data) for _, url, headers, data in wire.sent if url.endswith(end)]
        assert len(sent) == times
        assert len({data for _, data in sent}) == 1
        assert len({headers["Signature-Input"] for headers, _ in sent}) == times
    assert await town.kinds() == ["hold.placed", "booking.confirmed"]


@pytest.mark.req("SCH-069")
async def test_a_confirmation_that_was_never_heard_is_found_again(home, town, wire, clock):
    """Every answer lost, the process restarted, the approval long expired: the hold names the booking."""
    held = await home.held()
    wire.lose = {"/confirm": 3}
    done = await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    assert done.result["refused"]["message"] == "Maple Street Auto could not be reached: the answer was lost"
    clock.advance(timedelta(minutes=10))
    later = household(home.store, clock, wire)
    found = await later.call("approve_and_book", {"hold_id": held["hold_id"]})
    assert (found.is_error, found.result["outcome"], found.result["user_signed"]) == (
        False,
        "confirmed",
        "this exact offer",
    )
    assert [question.kind for question, _ in later.questions] == ["management"]
    assert await town.kinds() == ["hold.placed", "booking.confirmed"]
    assert (await home.kinds()).count("guest.booking_confirmed") == 1


async def test_ctrl_c_while_a_confirmation_is_unheard_loses_no_booking(home, wire):
    """What the host confirmed is kept and shown, not forgotten."""
    held = await home.held()
    wire.lose = {"/confirm": 3}
    await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    await home.operations.release_open_holds()
    found = await home.call("booking_status", {})
    assert (found.result["upcoming"], found.result["bookings"][0]["status"]) == (1, "confirmed")


async def test_a_move_that_was_never_heard_is_found_again(home, town, wire, clock):
    """Accepted, every answer lost, the offer over since."""
    booked = await home.booked()
    move = {"booking_id": booked["booking_id"], "start": "2026-10-15T14:00"}
    wire.lose = {"/accept": 3}
    lost = await home.call("change_booking", move)
    assert lost.is_error
    clock.advance(timedelta(minutes=10))
    found = await household(home.store, clock, wire).call("change_booking", move)
    assert (found.is_error, found.result["outcome"]) == (False, "moved")
    assert (await town.kinds()).count("booking.moved") == 1


async def test_a_hold_the_host_will_not_release_is_left_to_run_out(home, wire):
    """And the receipt says so."""
    held = await home.held()
    wire.rules["/release"] = status(503)
    done = await home.start("approve_and_book", {"hold_id": held["hold_id"]}, [Answer(granted=False)])
    assert done.result["refused"]["reason"] == "consent_refused"
    assert (await home.guest.book.hold(held["hold_id"])).state == "released"
    assert strictjson.encode(await home.kinds()).count(b"guest.hold_released") == 1
