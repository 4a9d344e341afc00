"""Receipts: they prove the booking beside them, or nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sayso.core import strictjson
from sayso.core.instants import epoch
from sayso.core.refusal import Refused
from sayso.proof.jws import sign_jws
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.event import event_of
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.receipt_checks import ExpectedReceipt, check_receipt_matches, verify_receipt
from tests.scheduling.terms.samples import AGENT, HOST, HOST_KEY, NOW, PRINCIPAL, document, money, signed_offer

OFFER = verify_offer(signed_offer(), document())
EXPECTED = ExpectedReceipt(
    act="confirmed", principal=PRINCIPAL, sequence=0, approved="offer", mandate="m_2", counted_under="m_1"
)


def booking(status="confirmed", sequence=0, **changed):
    event = event_of(booking_id="b_1", terms=OFFER.claims, sequence=sequence, status=status, updated=NOW)
    found = {
        "booking_id": "b_1",
        "status": status,
        "sequence": sequence,
        "version": 1,
        "host": HOST,
        "service": {"id": "oil-change", "title": "Synthetic oil change"},
        "start": "2026-10-15T13:00:00-04:00",
        "end": "2026-10-15T13:45:00-04:00",
        "place": {"at": "host"},
        "offer_sha256": OFFER.sha256,
        "event": strictjson.parse(strictjson.encode(event)),
        "mandate": "m_1",
        "total": money("89.27"),
        "lines": strictjson.parse(strictjson.encode(OFFER.claims.lines)),
        "answered": {"by": "host"},
        **changed,
    }
    return {name: value for name, value in found.items() if value is not None}


def receipt(inner=None, key=HOST_KEY, typ="schcp-receipt+jwt", kid="k1", **changed):
    claims = {
        "iss": HOST,
        "aud": PRINCIPAL,
        "iat": epoch(NOW),
        "jti": "r_1",
        "act": "confirmed",
        "booking": inner or booking(),
        "consent": {"approved": "offer", "mandate": "m_2", "mode": "human_present"},
        "retention": "P365D",
        **changed,
    }
    return sign_jws(claims, key, typ=typ, kid=kid)


def verified(token, beside=None):
    shown = strictjson.decode(strictjson.encode(beside or booking()), Booking)
    return verify_receipt(token, document(), shown)


def refused_for(token, beside=None, expected=EXPECTED):
    with pytest.raises(Refused) as caught:
        check_receipt_matches(verified(token, beside), OFFER, expected)
    return caught.value.refusal.reason, caught.value.refusal.place


CANCELLED = booking("cancelled", cancelled={"by": "guest", "at": "2026-10-14T13:00:00Z"}, version=2)


@pytest.mark.req("SCH-188", "SCH-189", "SCH-190", "SCH-191")
def test_a_good_receipt_proves_the_booking_and_how_it_was_agreed():
    """Contract hash, manner, root mandate and retention."""
    found = verified(receipt())
    check_receipt_matches(found, OFFER, EXPECTED)
    assert (found.booking.offer_sha256, found.claims.consent.approved, found.claims.retention) == (
        OFFER.sha256,
        "offer",
        "P365D",
    )


@pytest.mark.req("SCH-018", "SCH-022")
@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (lambda: receipt(key=AGENT), "receipt_invalid"),
        (lambda: receipt(kid="k2"), "unknown_key"),
        (lambda: receipt(typ="schcp-offer+jwt"), "receipt_invalid"),
        (lambda: receipt(iss="fades-on-queen@chairly.example"), "receipt_invalid"),
        (lambda: receipt()[:-4] + "AAAA", "receipt_invalid"),
        (lambda: "x", "receipt_invalid"),
    ],
)
def test_a_receipt_the_host_did_not_sign_is_refused(token, reason):
    """Another key, an unpublished one, another document, altered bytes."""
    assert refused_for(token())[0] == reason


@pytest.mark.req("SCH-193", "SCH-023", "SCH-400")
@pytest.mark.parametrize(
    "inner",
    [
        booking(fees_charged=money("20.00")),
        booking(no_show_fee=money("20.00")),
        CANCELLED | {"cancelled": {"by": "guest", "at": "2026-10-14T13:00:00Z", "fee": money("1.00")}},
        booking(awaiting_host={"offer": "x"}),
    ],
)
def test_a_charge_or_an_unknown_member_in_a_receipt_is_refused(inner):
    """There is no member in which it could stand."""
    with pytest.raises(Refused) as caught:
        verify_receipt(receipt(inner), document())
    assert caught.value.refusal.reason == "receipt_invalid"


@pytest.mark.req("SCH-193", "SCH-230")
@pytest.mark.parametrize(
    ("inner", "changed", "place"),
    [
        (booking("cancelled"), {"act": "cancelled"}, "$.booking.cancelled"),
        (CANCELLED, {}, "$.act"),
        (booking(), {"act": "cancelled"}, "$.act"),
        (booking("completed"), {}, "$.act"),
        (booking(sequence=1), {}, "$.booking.sequence"),
        (booking(), {"act": "changed"}, "$.booking.sequence"),
        (booking(end=None), {}, "$.end"),
        (booking(total=None), {}, "$.booking.total"),
    ],
)
def test_a_receipt_that_contradicts_itself_is_refused(inner, changed, place):
    """Confirmed but cancelled, moved at the old sequence, a total without lines."""
    with pytest.raises(Refused) as caught:
        verified(receipt(inner, **changed), inner)
    assert (caught.value.refusal.reason, caught.value.refusal.place) == ("receipt_invalid", place)


def test_a_receipt_for_another_booking_than_the_one_beside_it_is_refused():
    """Member by member."""
    assert refused_for(receipt(), booking(version=2)) == ("receipt_invalid", "$.booking")


@pytest.mark.req("SCH-189", "SCH-190", "SCH-197")
@pytest.mark.parametrize(
    ("inner", "changed", "expected", "place"),
    [
        ({"sequence": 1} | {"event": booking(sequence=1)["event"]}, {"act": "changed"}, EXPECTED, "$.act"),
        ({}, {"aud": f"urn:schcp:principal:jwk-thumbprint:{'A' * 43}"}, EXPECTED, "$.aud"),
        ({}, {}, replace(EXPECTED, booking_id="b_2"), "$.booking"),
        ({}, {}, replace(EXPECTED, sequence=1), "$.booking.sequence"),
        ({"offer_sha256": "A" * 43}, {}, EXPECTED, "$.booking.offer_sha256"),
        ({"start": "2026-10-15T12:00:00-04:00"}, {}, EXPECTED, "$.booking.start"),
        ({"end": "2026-10-15T14:45:00-04:00"}, {}, EXPECTED, "$.booking.end"),
        ({"service": {"id": "detailing", "title": "Detailing"}}, {}, EXPECTED, "$.booking.service"),
        ({"place": {"at": "elsewhere", "name": "the park"}}, {}, EXPECTED, "$.booking.place"),
        ({"resource_name": "Robin"}, {}, EXPECTED, "$.booking.resource_name"),
        ({"total": money("99.27")}, {}, EXPECTED, "$.booking.total"),
        ({"mandate": "m_9"}, {}, EXPECTED, "$.booking.mandate"),
        ({}, {"retention": "P730D"}, EXPECTED, "$.retention"),
        ({}, {"consent": {"approved": "limits", "mandate": "m_2", "mode": "human_present"}}, EXPECTED, "$.consent"),
        (
            {},
            {"consent": {"approved": "offer", "mandate": "m_3", "mode": "human_present"}},
            EXPECTED,
            "$.consent.mandate",
        ),
        ({"event": booking()["event"] | {"title": "Dinner"}}, {}, EXPECTED, "$.booking.event"),
    ],
)
def test_a_receipt_that_does_not_stand_on_the_contract_is_refused(inner, changed, expected, place):
    """Each fact is compared with the offer that was agreed and the mandate that agreed it."""
    found = booking(**inner)
    assert refused_for(receipt(found, **changed), found, expected) == ("receipt_invalid", place)
