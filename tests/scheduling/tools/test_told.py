"""What an assistant is told, and what it is warned of: in results and in the words of the tools."""

from __future__ import annotations

import pytest

from sayso.proof.jws import read_jws
from sayso.scheduling.tools.acts import ACTS
from tests.scheduling.tools.household import DOMAIN, HOLD

pytestmark = pytest.mark.anyio


@pytest.mark.req("SCH-273", "SCH-344")
async def test_a_price_is_a_list_price_and_its_taxes_are_named_before_anything_is_held(home):
    """So nobody is surprised by a total above it; whom one may ask for, notes and approval are said in words."""
    done = await home.call("discover_host", {"host": DOMAIN})
    [host] = done.result["hosts"]
    oil, detailing = host["services"][0], host["services"][2]
    assert {name: oil[name] for name in ("list_price", "total", "price_in_words")} == {
        "list_price": {"amount": "79.00", "currency": "CAD"},
        "total": {"amount": "89.27", "currency": "CAD"},
        "price_in_words": "CAD 89.27 in total, HST 13% included",
    }
    assert (host["taxes"], detailing["choose_from"], "price" in oil) == (["HST 13%"], ["Alex", "Robin"], False)
    assert {name: host[name] for name in ("notes", "confirmation", "approval")} == {
        "notes": 'No notes. Maple Street Auto says: "Call us about anything we should know."',
        "confirmation": "A booking is confirmed at once.",
        "approval": "The person's signed limits are enough; approving the exact offer is stronger.",
    }
    held = await home.held()
    assert held["price"].startswith("CAD 89.27 in total, paid to Maple Street Auto directly: Synthetic oil change")
    assert "HST 13% CAD 10.27" in held["price"]


@pytest.mark.req("SCH-351")
def test_words_for_a_host_come_with_a_warning():
    """What was sent cannot be taken back, and nothing may be made up, a surname least of all."""
    acts = {act.name: act for act in ACTS}
    cancel = acts["cancel_booking"]
    assert "cannot be taken back" in cancel.description
    assert "invent nothing, no names and no reasons" in cancel.description
    message = cancel.input_schema()["properties"]["message"]
    assert "It cannot be taken back: add nothing to it." in str(message)
    for act in ACTS:
        for name in {"message", "note", "notes"} & set(act.input_schema()["properties"]):
            words = act.description + str(act.input_schema()["properties"][name])
            assert ("cannot be taken back" in words, "add nothing" in words) == (True, True), act.name


@pytest.mark.req("SCH-347", "SCH-348", "SCH-009")
async def test_no_result_says_that_something_was_not_booked(home):
    """Outcomes are held, confirmed, requested: a state has its own name and nothing is called an error."""
    held = await home.held()
    booked = (await home.call("approve_and_book", {"hold_id": held["hold_id"]})).result
    assert (held["outcome"], booked["outcome"], booked["user_signed"]) == ("held", "confirmed", "this exact offer")
    words = {name for result in (held, booked) for name in result}
    assert words.isdisjoint({"booked", "approved_by", "human_signature", "error"})
    assert held["held_until"].endswith("about 5 minutes from now")


@pytest.mark.req("SCH-346")
async def test_the_text_that_is_approved_is_the_key_apps_own(home):
    """Written from the signed offer's bytes, retention included; the assistant passes it on and writes none."""
    held = await home.held()
    await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    question, shown = home.questions[1]
    assert question.text == shown.text
    assert "Maple Street Auto keeps my booking details for 1 year after the booking." in shown.text
    assert question.document.decode() == (await home.guest.book.hold(held["hold_id"])).offer


@pytest.mark.req("SCH-025")
async def test_what_the_persons_key_signs_for_a_booking_is_mandates_alone(home):
    """Three documents from the limits to the care of it, each of one `typ`; what it signs as a host is told in 25.4."""
    await home.call("hold_slot", HOLD)
    held = await home.held()
    await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    kinds = ("buying", "closed", "management")
    kept = [each for kind in kinds for each in await home.guest.book.mandates(kind, HOLD["host"])]
    assert [read_jws(each.token).header.typ for each in kept] == ["schcp-mandate+jwt"] * 3
    assert {each.kind for each in kept} == set(kinds)
