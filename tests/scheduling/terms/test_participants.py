"""Participants in the documents: offers that ask people along, receipts that say what they answered, and the words."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.consent_text import offer_text, verified_identity
from sayso.scheduling.terms.draft import InvitationDraft
from sayso.scheduling.terms.hold import HoldView
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.invitation_text import coming_text, invitation_text, not_coming_text
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.offer_checks import ExpectedOffer, check_offer_matches, verify_offer
from sayso.scheduling.terms.participant import Company, InvitationTerms, Participant
from sayso.scheduling.terms.participant_checks import company_of
from sayso.scheduling.terms.receipt_checks import ExpectedReceipt, check_receipt_matches
from tests.scheduling.terms.samples import HOST, JKT, PRINCIPAL, document, offer, signed_offer
from tests.scheduling.terms.test_receipt_checks import booking, receipt, verified

LEE = principal_urn(PrivateKey.from_seed(b"l" * 32).public)
NOOR = principal_urn(PrivateKey.from_seed(b"n" * 32).public)
INVITATION = {"answer_within": "PT2H", "answer_by": "2026-10-13T11:05:00-04:00", "silence": "no"}
ASKED = [
    {"principal": LEE, "name": "Lee", "required": True},
    {"principal": NOOR, "name": "Noor", "required": True, "attendee": "Maya"},
]
WHO = {"participants": ASKED, "invitation": INVITATION}
AT = "2026-10-13T13:00:00Z"
WHERE = verified_identity(document())


def claims(**changed):
    return strictjson.decode(strictjson.encode(offer(**{**WHO, **changed})), OfferClaims)


def entry(name="Lee", **changed):
    return Participant(**{"principal": LEE, "name": name, "required": True, **changed})


WHAT = (
    "Synthetic oil change at Maple Street Auto (maplestreetauto.example), Thursday 15 October 2026 from 1:00 p.m. to "
    "1:45 p.m. Eastern time"
)


@pytest.mark.req("SCH-169", "SCH-245", "SCH-247")
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {},
            "Lee and Noor (for Maya) have to say yes by Tuesday 13 October 2026 at 11:05 a.m., each for themselves; "
            "no answer by then counts as a no, and nothing is booked.",
        ),
        (
            {"participants": ASKED[:1], "invitation": {**INVITATION, "silence": "yes"}},
            "Lee has to say yes by Tuesday 13 October 2026 at 11:05 a.m.; no answer by then counts as a yes.",
        ),
        (
            {"participants": ASKED[:1], "hold_id": None, "change": {"booking_id": "b_1", "replaces": "A" * 43}},
            "Lee has to say yes by Tuesday 13 October 2026 at 11:05 a.m.; no answer by then counts as a no, "
            "and my booking is over.",
        ),
        (
            {"participants": [{**each, "required": False} for each in ASKED]},
            "Lee and Noor (for Maya) are asked along; nothing waits for their answers.",
        ),
        (
            {"participants": [{**ASKED[0], "required": False}], "answers": "person"},
            "Lee is asked along; nothing waits for that answer. "
            "I ask to be answered in person: no rule may say yes instead.",
        ),
    ],
)
def test_the_bookers_text_says_whose_yes_is_needed_and_what_silence_does(changed, said):
    """Beside what the offer costs and who keeps what, in the reader's own words."""
    text = offer_text(claims(**changed), WHERE)
    opening = "I approve this change to my booking" if "change" in changed else "I approve"
    assert text == (
        f"{opening}: {WHAT}. I pay Maple Street Auto CAD 89.27 directly: Synthetic oil change CAD 79.00, "
        f"HST 13% CAD 10.27. {said} Maple Street Auto keeps my booking details for 1 year after the booking."
    )


@pytest.mark.req("SCH-169", "SCH-244", "SCH-247")
def test_a_participant_reads_what_it_is_for_whom_they_answer_and_who_pays():
    """Each answer has its own text, and so has the permission to read."""
    noor = entry("Noor", principal=NOOR, attendee="Maya")
    assert coming_text(claims(answer_by="2026-10-13T13:05:00-04:00"), WHERE, noor) == (
        f"I accept this invitation: {WHAT}. I answer for Maya. Lee is asked along, too. "
        "Whoever made the booking pays Maple Street Auto CAD 89.27; I pay nothing. "
        "Maple Street Auto answers by Tuesday 13 October 2026 at 1:05 p.m.; if it does not, nothing is booked. "
        "Maple Street Auto keeps the booking's details for 1 year after the booking."
    )
    at_home = claims(place={"at": "guest", "postal_code": "M5V 2T6", "country": "CA"}, total=None, lines=None)
    assert not_coming_text(at_home, WHERE, entry()) == (
        f"I decline this invitation: {WHAT}, at the address of whoever made the booking (M5V 2T6, CA). "
        "Without my yes nothing is booked."
    )
    assert not_coming_text(claims(), WHERE, entry(required=False)).endswith("The booking stands without me.")
    draft = InvitationDraft(host=HOST, agent=JKT, booking_id="b_1")
    assert invitation_text(draft, WHERE) == (
        "I allow my assistant to read the invitation to booking b_1 at Maple Street Auto (maplestreetauto.example). "
        "It may not answer it: whether I come, I say myself. My permission lasts 7 days from when I sign. "
        "I cannot take it back sooner, only wait until it ends: this key app has no address where "
        "Maple Street Auto could ask."
    )


@pytest.mark.req("SCH-246", "SCH-251")
@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"invitation": None}, "$.invitation"),
        ({"participants": None}, "$.invitation"),
        ({"participants": [ASKED[0], ASKED[0]]}, "$.participants"),
        ({"participants": [{**ASKED[0], "principal": PRINCIPAL}]}, "$.participants"),
        ({"invitation": {**INVITATION, "answer_by": "2026-10-15T13:00:01-04:00"}}, "$.invitation.answer_by"),
    ],
)
def test_an_offer_that_asks_along_senselessly_is_refused(changed, place):
    """Even though the host signed it: nobody twice, nobody on no terms, no answer after the start."""
    with pytest.raises(Refused) as found:
        verify_offer(signed_offer(**{**WHO, **changed}), document())
    assert (found.value.refusal.reason, found.value.refusal.place) == ("offer_invalid", place)


@pytest.mark.req("SCH-149", "SCH-251", "SCH-182")
@pytest.mark.parametrize(
    "company",
    [
        Company(),
        Company(participants=(entry(),), invitation=InvitationTerms(answer_within="PT2H", silence="no")),
        Company(
            participants=(entry(), entry("Noor", principal=NOOR)),
            invitation=InvitationTerms(answer_within="PT2H", silence="no"),
        ),
        Company(
            participants=company_of(claims()).participants,
            invitation=InvitationTerms(answer_within="PT2H", silence="yes"),
        ),
        Company(
            participants=company_of(claims()).participants,
            invitation=InvitationTerms(answer_within="PT2H", silence="no"),
            answers="person",
        ),
    ],
)
def test_an_offer_that_asks_others_along_than_was_asked_for_is_refused(company):
    """Whom, on which terms, for whom, and whether a person has to answer: the offer says what was asked, or nothing."""
    found = verify_offer(signed_offer(**WHO), document())
    view = _view(found)
    expected = {"principal": PRINCIPAL, "agent": JKT, "service_id": "oil-change", "start": found.start}
    check_offer_matches(found, view, ExpectedOffer(company=company_of(found.claims), **expected))
    with pytest.raises(Refused) as no:
        check_offer_matches(found, view, ExpectedOffer(company=company, **expected))
    assert no.value.refusal.place == "$.participants"


def _view(found):
    return HoldView(
        hold_id="h_1",
        status="held",
        version=1,
        service_id="oil-change",
        start=found.claims.start,
        end=found.claims.end,
        expires_at="2026-10-13T13:05:00Z",
        offer=found.token,
        total=found.claims.total,
    )


def said(answer, *, name="Lee", principal=LEE, required=True, **more):
    found = {"principal": principal, "name": name, "required": required, **more}
    return found if answer is None else {**found, "answer": {"said": answer, "at": AT}}


SILENT_NO = {**said(None), "answer": {"said": "no", "at": AT, "by_default": True}}
NO = {"declined": {"by": "participant", "at": AT}, "answered": None}
GOOD = {
    "requested": booking("tentative", participants=[said(None)]),
    "answered": booking("tentative", participants=[said("yes"), said(None, name="Noor", principal=NOOR)]),
    "confirmed": booking(participants=[said("yes"), said(None, name="Noor", principal=NOOR, required=False)]),
    "declined": booking("declined", participants=[said("no")], **NO),
    "expired": booking("expired", participants=[SILENT_NO], answered=None),
}


@pytest.mark.req("SCH-192", "SCH-201")
@pytest.mark.parametrize("act", sorted(GOOD))
def test_each_act_of_a_booking_with_participants_can_be_proved(act):
    """As long as status and answers agree."""
    assert verified(receipt(GOOD[act], act=act), GOOD[act]).claims.act == act


@pytest.mark.req("SCH-201", "SCH-243")
@pytest.mark.parametrize(
    ("act", "inner"),
    [
        ("confirmed", booking(participants=[said(None)])),
        ("confirmed", booking(participants=[said("yes"), said("no", name="Noor", principal=NOOR)])),
        ("requested", booking("tentative", participants=[said("yes")])),
        ("requested", booking("tentative")),
        ("declined", booking("declined", participants=[said("yes")], **NO)),
        ("declined", booking("declined", participants=[said("no")], declined={"by": "host", "at": AT}, answered=None)),
        ("expired", booking("expired", participants=[said("no")], answered=None)),
    ],
)
def test_a_receipt_that_settles_without_the_answers_it_needs_proves_nothing(act, inner):
    """Confirmed over somebody's head, waiting for nobody, declined by nobody: the person is not told that it stands."""
    with pytest.raises(Refused) as found:
        verified(receipt(inner, act=act), inner)
    assert found.value.refusal.place == "$.booking.participants"


@pytest.mark.req("SCH-193", "SCH-251")
def test_a_receipt_that_names_other_participants_than_the_contract_proves_nothing():
    """The contract says who was asked along; the booking says no more and no less."""
    terms = verify_offer(signed_offer(**WHO), document())
    inner = booking(offer_sha256=terms.sha256, participants=[said("yes")])
    proof = verified(receipt(inner, act="confirmed"), inner)
    with pytest.raises(Refused) as found:
        check_receipt_matches(proof, terms, ExpectedReceipt(act="confirmed", principal=PRINCIPAL, sequence=0))
    assert found.value.refusal.place == "$.booking.participants"
