"""What an offer may bind its booker to, what a receipt may say of it, and the words a person reads."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.consent_text import management_text, offer_text, verified_identity
from sayso.scheduling.terms.mandate import Constraints
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.receipt_checks import check_receipt_matches
from sayso.scheduling.terms.reconfirm import Reconfirmation, lapses_at
from tests.scheduling.terms.samples import discovery, document, offer, signed_offer
from tests.scheduling.terms.test_receipt_checks import EXPECTED, booking, receipt, verified

ASKED = {"opens": "2026-10-14T01:00:00-04:00", "by": "2026-10-14T13:00:00-04:00", "silence": "lapses"}
STANDS = {**ASKED, "silence": "stands"}


def said(**changed):
    claims = strictjson.decode(strictjson.encode(offer(reconfirm={**ASKED, **changed})), OfferClaims)
    return offer_text(claims, verified_identity(document()))


@pytest.mark.req("SCH-169", "SCH-248")
def test_the_person_reads_when_they_are_asked_again_and_what_their_silence_does():
    """Both moments and the effect stand in the sentence that is signed, before how long records are kept."""
    assert said().endswith(
        "Maple Street Auto asks me to reconfirm on Wednesday 14 October 2026 between 1:00 a.m. and 1:00 p.m. Eastern "
        "time; if I do not, my booking ends and its time is free. Maple Street Auto keeps my booking details for 1 "
        "year after the booking."
    )
    assert "if I do not, my booking stands all the same." in said(silence="stands")
    assert "between Tuesday 13 October 2026 at 1:00 a.m. and Wednesday" in said(opens="2026-10-13T01:00:00-04:00")


@pytest.mark.req("SCH-086", "SCH-248")
def test_the_care_of_a_booking_that_asks_again_covers_the_answer():
    """One permission for all three, and the sentence says so; a booking that asks nothing keeps the other words."""
    asks = strictjson.decode(strictjson.encode(booking(reconfirm=ASKED)), Booking)
    plain = strictjson.decode(strictjson.encode(booking()), Booking)
    identity = verified_identity(document())
    assert management_text(asks, Constraints(), identity).startswith(
        "I allow my assistant to cancel, move or reconfirm this one booking until the appointment is over: "
    )
    assert management_text(plain, Constraints(), identity).startswith("I allow my assistant to cancel or move this one")


@pytest.mark.req("SCH-248")
@pytest.mark.parametrize(
    "asked",
    [
        {**ASKED, "by": "2026-10-15T13:00:01-04:00"},
        {**ASKED, "opens": ASKED["by"]},
        {**ASKED, "opens": "2026-10-14T14:00:00-04:00"},
        {**ASKED, "silence": "fines"},
        {**ASKED, "fee": {"amount": "20.00", "currency": "CAD"}},
        {"by": ASKED["by"], "silence": "lapses"},
    ],
)
def test_an_offer_that_asks_after_the_start_or_for_something_else_is_not_shown(asked):
    """By the start at the latest, opening before it is due, and no member in which a charge could stand."""
    with pytest.raises(Refused) as caught:
        verify_offer(signed_offer(reconfirm=asked), document())
    assert (caught.value.refusal.reason, caught.value.refusal.place[:11]) == ("offer_invalid", "$.reconfirm")
    verify_offer(signed_offer(reconfirm={**ASKED, "by": "2026-10-15T13:00:00-04:00"}), document())


@pytest.mark.req("SCH-248", "SCH-193")
@pytest.mark.parametrize(
    ("inner", "act", "place"),
    [
        (booking(reconfirmed=ASKED["opens"]), "reconfirmed", "$.booking.reconfirmed"),
        (booking(reconfirm=ASKED), "reconfirmed", "$.booking.reconfirmed"),
        (booking(reconfirm=ASKED, unreconfirmed=True), "confirmed", "$.booking.unreconfirmed"),
        (booking("expired", reconfirm=STANDS, unreconfirmed=True), "expired", "$.booking.unreconfirmed"),
        (
            booking("expired", reconfirm=ASKED, reconfirmed=ASKED["opens"], unreconfirmed=True),
            "expired",
            "$.booking.unreconfirmed",
        ),
        (booking("expired", reconfirm=ASKED, reconfirmed=ASKED["opens"]), "reconfirmed", "$.act"),
    ],
)
def test_a_receipt_says_reconfirmed_or_ended_by_silence_only_where_it_can_be(inner, act, place):
    """Nobody reconfirms what does not ask; nothing lapses that silence leaves standing, or that was answered."""
    with pytest.raises(Refused) as caught:
        verified(receipt(inner, act=act), inner)
    assert (caught.value.refusal.reason, caught.value.refusal.place) == ("receipt_invalid", place)


@pytest.mark.req("SCH-248", "SCH-189")
def test_a_booking_cannot_ask_for_another_word_than_its_contract():
    """A host that adds the question afterwards, or moves its deadline, proves nothing."""
    inner = booking(reconfirm=ASKED)
    contract = verify_offer(signed_offer(), document())
    with pytest.raises(Refused) as caught:
        check_receipt_matches(verified(receipt(inner), inner), contract, EXPECTED)
    assert (caught.value.refusal.reason, caught.value.refusal.place) == ("receipt_invalid", "$.booking.reconfirm")


@pytest.mark.req("SCH-248", "SCH-032")
@pytest.mark.parametrize("opens", ["P1D", "PT12H", "a day"])
def test_a_document_whose_question_opens_when_it_is_due_or_later_is_refused(opens):
    """Declared in the document like every other restriction, and it has to make sense."""
    policies = {**discovery()["policies"], "reconfirm": {"opens": opens, "due": "P1D", "silence": "lapses"}}
    with pytest.raises(Refused) as caught:
        document(policies=policies)
    assert caught.value.refusal.reason == "host_document_invalid"


@pytest.mark.req("SCH-252")
def test_silence_ends_a_booking_at_the_stated_moment_or_never():
    """Only where the contract says that it lapses."""
    terms = [strictjson.decode(strictjson.encode(each), Reconfirmation) for each in (ASKED, STANDS)]
    assert [lapses_at(each) for each in (*terms, None)] == [parse_instant(ASKED["by"]), None, None]
