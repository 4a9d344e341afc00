"""Offers: signed by the host, whole, adding up, and the ones that were asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sayso.core import strictjson
from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.hold import HoldView
from sayso.scheduling.terms.offer import Change
from sayso.scheduling.terms.offer_checks import ExpectedOffer, check_offer_matches, verify_offer
from tests.scheduling.terms.samples import AGENT, HASH, HOST_KEY, JKT, PRINCIPAL, document, money, signed_offer

START = parse_instant("2026-10-15T13:00:00-04:00")
EXPECTED = ExpectedOffer(principal=PRINCIPAL, agent=JKT, service_id="oil-change", start=START)


def view(token, **changed):
    answer = {
        "hold_id": "h_1",
        "status": "held",
        "version": 1,
        "service_id": "oil-change",
        "start": "2026-10-15T17:00:00Z",
        "end": "2026-10-15T13:45:00-04:00",
        "expires_at": "2026-10-13T13:05:00Z",
        "total": money("89.27"),
        "offer": token,
        **changed,
    }
    answer = {name: value for name, value in answer.items() if value is not None}
    return strictjson.decode(strictjson.encode(answer), HoldView)


def refused_for(token, found=None):
    with pytest.raises(Refused) as caught:
        verify_offer(token, found or document())
    return caught.value.refusal.reason, caught.value.refusal.place


@pytest.mark.req("SCH-158", "SCH-163", "SCH-170")
def test_a_good_offer_is_read_with_the_hash_of_its_token():
    """43 characters over the ASCII bytes of the compact form."""
    token = signed_offer()
    found = verify_offer(token, document())
    check_offer_matches(found, view(token), EXPECTED)
    assert (found.sha256, found.start, len(found.sha256)) == (sha256_b64u(token.encode("ascii")), START, 43)


@pytest.mark.req("SCH-018", "SCH-022")
@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (lambda: signed_offer(kid="k2"), "unknown_key"),
        (lambda: signed_offer(key=AGENT), "offer_invalid"),
        (lambda: signed_offer(typ="schcp-receipt+jwt"), "offer_invalid"),
        (lambda: signed_offer()[:-2], "offer_invalid"),
        (lambda: "not a token", "offer_invalid"),
        (lambda: signed_offer(iss="fades-on-queen@chairly.example"), "offer_invalid"),
    ],
)
def test_an_offer_the_host_did_not_sign_is_refused(token, reason):
    """Unknown kid, another key, another document's typ, cut bytes, another host."""
    assert refused_for(token())[0] == reason


@pytest.mark.req("SCH-027")
def test_a_new_offer_under_a_retired_key_is_refused_but_an_old_contract_still_reads():
    """A key that only verifies signs nothing new."""
    keys = [
        {"kid": "k1", "use": "verify", "jwk": HOST_KEY.public.jwk()},
        {"kid": "k2", "use": "sign", "jwk": PrivateKey.from_seed(b"n" * 32).public.jwk()},
    ]
    retired = document(keys=keys)
    assert refused_for(signed_offer(), retired)[0] == "unknown_key"
    assert verify_offer(signed_offer(), retired, is_new=False).claims.jti == "o_1"


@pytest.mark.req("SCH-023", "SCH-165", "SCH-400", "SCH-401")
@pytest.mark.parametrize(
    "changed",
    [
        {"cancellation_fee": money("20.00")},
        {"no_show": {"fee": money("20.00")}},
        {"deposit": money("20.00")},
        {"lines": [{"kind": "cancellation", "title": "Late cancellation", "amount": money("89.27")}]},
        {"service": {"id": "oil-change", "title": "Synthetic oil change", "tier": "gold"}},
        {"place": {"at": "host", "fee": "1"}},
        {"place": {"at": "moon"}},
    ],
)
def test_a_term_slipped_in_beside_the_protocol_is_refused_though_the_host_signed_it(changed):
    """A fee for cancelling has no place to stand, at any depth."""
    assert refused_for(signed_offer(**changed))[0] == "offer_invalid"


@pytest.mark.req("SCH-167", "SCH-270", "SCH-272", "SCH-166")
@pytest.mark.parametrize(
    "changed",
    [
        {"total": money("89.28")},
        {"total": money("89.27", "USD")},
        {"total": None},
        {"lines": None},
        {"lines": []},
        {
            "lines": [
                {"kind": "service", "title": "Oil", "amount": money("79.00")},
                {"kind": "tax", "title": "HST", "amount": money("10.27", "USD")},
            ]
        },
        {"total": money("89.270")},
    ],
)
def test_money_that_does_not_add_up_is_refused(changed):
    """In one currency, with its own digits, total and lines together."""
    assert refused_for(signed_offer(**changed))[0] == "offer_invalid"


def test_an_offer_without_a_price_says_nothing_about_money():
    """Neither total nor lines."""
    assert verify_offer(signed_offer(total=None, lines=None), document()).claims.total is None


@pytest.mark.req("SCH-255", "SCH-276")
@pytest.mark.parametrize(
    "changed",
    [
        {"end": None},
        {"open_end": True},
        {"end": "2026-10-15T12:00:00-04:00"},
        {"start": "2026-02-30T13:00:00-05:00"},
        {"start": "2026-10-15T13:00:00-00:00"},
        {"timezone": "Mars/Olympus"},
        {"retention": "P1Y"},
        {"exp": 1},
        {"hold_id": None},
        {"change": {"booking_id": "b_1", "replaces": HASH}},
    ],
)
def test_an_offer_that_contradicts_itself_is_refused(changed):
    """Both ends or none, an end before the start, impossible dates, two origins."""
    assert refused_for(signed_offer(**changed))[0] == "offer_invalid"


@pytest.mark.req("SCH-149", "SCH-167", "SCH-164")
@pytest.mark.parametrize(
    ("token", "beside", "expected", "place"),
    [
        ({"aud": f"urn:schcp:principal:jwk-thumbprint:{'A' * 43}"}, {}, EXPECTED, "$.aud"),
        ({"agent": "A" * 43}, {}, EXPECTED, "$.agent"),
        ({"service": {"id": "detailing", "title": "Detailing"}}, {}, EXPECTED, "$.service"),
        ({}, {}, replace(EXPECTED, start=parse_instant("2026-10-15T14:00:00-04:00")), "$.start"),
        ({}, {"start": "2026-10-15T14:00:00-04:00"}, EXPECTED, "$.start"),
        ({}, {"end": "2026-10-15T14:00:00-04:00"}, EXPECTED, "$.end"),
        ({}, {"expires_at": "2026-10-13T13:10:00Z"}, EXPECTED, "$.exp"),
        ({}, {"total": money("79.00")}, EXPECTED, "$.total"),
        ({}, {"total": None}, EXPECTED, "$.total"),
        ({}, {"hold_id": "h_2"}, EXPECTED, "$.hold_id"),
        ({}, {}, replace(EXPECTED, change=Change(booking_id="b_1", replaces=HASH)), "$.change"),
    ],
)
def test_an_offer_that_is_not_the_one_asked_for_is_refused(token, beside, expected, place):
    """Each fact is compared: guest, agent, service, time, expiry, total, hold, chain."""
    signed = signed_offer(**token)
    found = verify_offer(signed, document())
    with pytest.raises(Refused) as caught:
        check_offer_matches(found, view(signed, **beside), expected)
    assert (caught.value.refusal.reason, caught.value.refusal.place) == ("offer_invalid", place)


@pytest.mark.req("SCH-158", "SCH-160")
def test_an_offer_with_somebody_else_is_not_the_one_asked_for():
    """Marcus was asked for: Dev will not do, nor nobody in particular; who did not ask takes either."""
    marcus = replace(EXPECTED, resource_name="Marcus")
    for named, ok in (("Marcus", True), ("Dev", False), (None, False)):
        signed = signed_offer(**({} if named is None else {"resource_name": named}))
        found = verify_offer(signed, document())
        check_offer_matches(found, view(signed), EXPECTED)
        if ok:
            check_offer_matches(found, view(signed), marcus)
            continue
        with pytest.raises(Refused) as caught:
            check_offer_matches(found, view(signed), marcus)
        assert (caught.value.refusal.reason, caught.value.refusal.place) == ("offer_invalid", "$.resource_name")


@pytest.mark.req("SCH-149")
def test_a_hold_answer_with_an_undefined_member_is_refused():
    """The schema is closed."""
    with pytest.raises(Refused):
        view(signed_offer(), surcharge="later")
