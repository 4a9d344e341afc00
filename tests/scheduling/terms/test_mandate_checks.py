"""Mandates: who signed, and whether what is asked is inside what they signed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from sayso.core.instants import epoch, parse_instant
from sayso.core.money import Money
from sayso.core.refusal import Refused
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.mandate_checks import Action, Ask, check_limit, check_mandate, verify_mandate
from tests.scheduling.terms.samples import (
    HASH,
    HOST,
    JKT,
    NO_LIMITS,
    NOW,
    PRINCIPAL,
    SAM,
    closed,
    managing,
    mandate,
    money,
    signed_mandate,
)

HOLD = Ask(
    action=Action.HOLD,
    host=HOST,
    agent=JKT,
    service_id="oil-change",
    start=parse_instant("2026-10-15T13:00:00-04:00"),
    end=parse_instant("2026-10-15T13:45:00-04:00"),
    total=Money(8927, "CAD"),
)
CONFIRM = replace(HOLD, action=Action.CONFIRM, principal=PRINCIPAL, offer_sha256=HASH)
CANCEL = Ask(action=Action.CANCEL, host=HOST, agent=JKT, principal=PRINCIPAL, booking_id="b_1", booked_under="m_1")
MOVE = replace(CONFIRM, action=Action.ACCEPT_CHANGE, booking_id="b_1", booked_under="m_0")


def allows(token, ask=HOLD, now=NOW):
    return check_mandate(verify_mandate(token), ask, now).approved


def refuses(token, ask=HOLD, now=NOW):
    with pytest.raises(Refused) as caught:
        check_mandate(verify_mandate(token), ask, now)
    return caught.value.refusal.reason


def test_the_walkthroughs_mandate_allows_the_walkthroughs_hold():
    """Oil change, Thursday 13:00 to 13:45, CAD 89.27 under 100."""
    assert allows(signed_mandate()) == "limits"


def test_no_mandate_is_a_no():
    """An absent header is told apart from a bad one."""
    for header in (None, ""):
        with pytest.raises(Refused) as caught:
            verify_mandate(header)
        assert caught.value.refusal.reason == "mandate_missing"


@pytest.mark.req("SCH-022", "SCH-023")
@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (lambda: signed_mandate() + "=", "mandate_malformed"),
        (lambda: "x" * 9000, "mandate_malformed"),
        (lambda: signed_mandate(typ="schcp-offer+jwt"), "mandate_malformed"),
        (lambda: signed_mandate(key=PrivateKey.from_seed(b"x" * 32)), "mandate_signature"),
        (lambda: signed_mandate(wallet="mine"), "mandate_malformed"),
        (lambda: signed_mandate({"max_deposit": money("1.00")}), "mandate_malformed"),
        (lambda: signed_mandate({"window": {"not_before": "2026-10-15T11:00:00-04:00"}}), "mandate_malformed"),
        (lambda: signed_mandate(scope=["pay"]), "mandate_malformed"),
        (lambda: signed_mandate(aud=[HOST]), "mandate_malformed"),
        (lambda: signed_mandate(aud="maple-street-auto"), "mandate_malformed"),
        (lambda: signed_mandate(iat=True), "mandate_malformed"),
        (lambda: f"{signed_mandate()},{signed_mandate()}", "mandate_malformed"),
    ],
)
def test_a_token_that_is_no_mandate_is_refused(token, reason):
    """Another form, another document, another signer, an unknown member at any depth, a chain."""
    with pytest.raises(Refused) as caught:
        verify_mandate(token())
    assert caught.value.refusal.reason == reason


@pytest.mark.req("SCH-016")
def test_an_issuer_that_is_not_the_key_inside_is_refused():
    """iss is recomputed from principal_jwk."""
    other = PrivateKey.from_seed(b"o" * 32)
    with pytest.raises(Refused) as caught:
        verify_mandate(signed_mandate(iss=principal_urn(other.public)))
    assert caught.value.refusal.reason == "issuer_mismatch"


@pytest.mark.req("SCH-019")
def test_a_private_key_inside_a_mandate_is_refused_as_such():
    """Even when the rest would verify."""
    jwk = {**SAM.public.jwk(), "d": "c" * 43}
    with pytest.raises(Refused) as caught:
        verify_mandate(signed_mandate(principal_jwk=jwk))
    assert caught.value.refusal.reason == "private_key_received"


@pytest.mark.req("SCH-060", "SCH-083")
@pytest.mark.parametrize(
    ("after", "reason"), [(3599, None), (3629, None), (3630, "mandate_expired"), (-30, None), (-31, "not_yet_valid")]
)
def test_times_count_with_half_a_minute_of_skew(after, reason):
    """And an expired mandate says so, so that an agent asks for a fresh one."""
    now = NOW + timedelta(seconds=after)
    if reason is None:
        assert allows(signed_mandate(), now=now) == "limits"
    else:
        assert refuses(signed_mandate(), now=now) == reason


@pytest.mark.req("SCH-102")
def test_a_buying_mandate_lives_at_most_31_days_and_a_management_mandate_as_long_as_its_booking():
    """The cap is on what can hold or book."""
    long = epoch(NOW) + 31 * 86400 + 1
    assert refuses(signed_mandate(exp=long)) == "lifetime_too_long"
    assert allows(signed_mandate(exp=long - 1)) == "limits"
    assert allows(managing(exp=long), CANCEL) == "limits"
    assert refuses(signed_mandate(exp=epoch(NOW))) == "mandate_malformed"


@pytest.mark.req("SCH-074", "SCH-046")
def test_a_mandate_for_another_host_is_refused():
    """The same bare id at another domain is another host."""
    assert refuses(signed_mandate(aud="maple-street-auto@other.example")) == "wrong_audience"
    both = [HOST, "fades-on-queen@chairly.example"]
    assert allows(signed_mandate(aud=both)) == "limits"


@pytest.mark.req("SCH-073")
def test_a_mandate_shown_by_another_key_is_useless():
    """cnf binds it to one agent."""
    assert refuses(signed_mandate(), replace(HOLD, agent=HASH)) == "agent_mismatch"


def test_another_persons_mandate_does_not_continue_a_hold():
    """A hold is confirmed by the principal it was placed for."""
    assert refuses(
        signed_mandate(), replace(CONFIRM, principal=principal_urn(PrivateKey.from_seed(b"o" * 32).public))
    ) == ("wrong_principal")


@pytest.mark.req("SCH-075", "SCH-100")
@pytest.mark.parametrize(
    ("scope", "ask"),
    [
        (["book", "cancel"], HOLD),
        (["hold", "cancel"], CONFIRM),
        (["hold", "reschedule"], CANCEL),
        (["hold", "book", "cancel"], replace(MOVE, booked_under="m_1")),
        (["cancel"], replace(CANCEL, action=Action.REQUEST_CHANGE)),
    ],
)
def test_an_action_outside_the_scope_is_refused(scope, ask):
    """Each action needs its own word."""
    assert refuses(signed_mandate(scope=scope), ask) == "scope_missing"


@pytest.mark.req("SCH-076")
def test_a_service_that_is_not_listed_is_refused():
    """And no list allows none."""
    assert refuses(signed_mandate(), replace(HOLD, service_id="detailing")) == "service_not_covered"
    assert refuses(signed_mandate({"services": None})) == "service_not_covered"


@pytest.mark.req("SCH-078")
@pytest.mark.parametrize(
    ("start", "end", "allowed"),
    [
        ("11:00", "11:45", True),
        ("15:00", "15:45", True),
        ("10:45", "11:30", False),
        ("15:15", "16:00", False),
        ("15:45", None, True),
        ("15:46", None, False),
    ],
)
def test_a_fixed_appointment_lies_inside_the_window_and_an_open_one_starts_inside(start, end, allowed):
    """A 45-minute job may end exactly at the window's end; its buffer does not count."""

    def at(clock):
        return None if clock is None else parse_instant(f"2026-10-15T{clock}:00-04:00")

    ask = replace(HOLD, start=at(start), end=at(end))
    if allowed:
        assert allows(signed_mandate(), ask) == "limits"
    else:
        assert refuses(signed_mandate(), ask) == "outside_window"


def test_no_window_allows_no_time():
    """An empty yes is a no."""
    assert refuses(signed_mandate({"window": None})) == "outside_window"


@pytest.mark.req("SCH-077")
def test_an_impossible_window_makes_the_mandate_invalid():
    """There is no 30 February."""
    window = {"not_before": "2026-02-30T11:00:00-04:00", "not_after": "2026-10-15T15:45:00-04:00"}
    assert refuses(signed_mandate({"window": window})) == "mandate_malformed"


@pytest.mark.req("SCH-079", "SCH-272")
@pytest.mark.parametrize(
    ("ceiling", "total", "reason"),
    [
        (money("89.27"), Money(8927, "CAD"), None),
        (money("89.26"), Money(8927, "CAD"), "above_price"),
        (money("79.00"), Money(8927, "CAD"), "above_price"),
        (money("100.00", "USD"), Money(8927, "CAD"), "wrong_currency"),
        (None, Money(8927, "CAD"), "price_not_covered"),
        (None, None, None),
        (money("1.00"), None, None),
        (money("100.0"), Money(8927, "CAD"), "mandate_malformed"),
    ],
)
def test_the_ceiling_is_compared_with_the_all_in_total(ceiling, total, reason):
    """In its own currency only; without a price any ceiling fits, without a ceiling nothing with a price."""
    token, ask = signed_mandate({"max_price": ceiling}), replace(HOLD, total=total)
    if reason is None:
        assert allows(token, ask) == "limits"
    else:
        assert refuses(token, ask) == reason


@pytest.mark.req("SCH-080")
def test_the_number_of_bookings_is_a_limit_and_none_stated_is_none_allowed():
    """The next one is refused with MANDATE_LIMIT."""
    one = verify_mandate(signed_mandate())
    check_limit(one, 0)
    for token, used in ((one, 1), (verify_mandate(signed_mandate({"max_bookings": None})), 0)):
        with pytest.raises(Refused) as caught:
            check_limit(token, used)
        assert (caught.value.refusal.code, caught.value.refusal.reason) == ("MANDATE_LIMIT", "limit_reached")


@pytest.mark.req("SCH-087")
def test_naming_bookings_takes_everything_else_away():
    """No hold, no purchase, no other booking; even with the scope for it."""
    wide = signed_mandate({"bookings": ["b_1"]})
    assert refuses(wide, HOLD) == "management_only"
    assert refuses(wide, CONFIRM) == "management_only"
    assert refuses(wide, replace(CANCEL, booking_id="b_2")) == "booking_not_covered"
    assert allows(wide, CANCEL) == "limits"


def test_without_naming_bookings_a_mandate_reaches_what_was_booked_under_it():
    """And nothing that was booked under another."""
    assert allows(signed_mandate(), CANCEL) == "limits"
    assert refuses(signed_mandate(), replace(CANCEL, booked_under="m_2")) == "booking_not_covered"


@pytest.mark.req("SCH-088")
def test_a_closed_mandate_accepts_its_offer_and_does_nothing_else():
    """Not another offer, not a hold, not a cancellation."""
    assert allows(closed(), CONFIRM) == "offer"
    assert refuses(closed("A" * 43), CONFIRM) == "closed_elsewhere"
    assert refuses(signed_mandate({"offer_sha256": HASH}), HOLD) == "scope_missing"
    both = signed_mandate({**NO_LIMITS, "offer_sha256": HASH, "bookings": ["b_1"]}, scope=["reschedule", "cancel"])
    assert refuses(both, CANCEL) == "scope_missing"
    assert allows(both, MOVE) == "offer"


def test_limits_that_stand_in_a_closed_mandate_still_bind():
    """The hash does not lift a ceiling that was signed beside it."""
    tight = signed_mandate({"offer_sha256": HASH, "max_price": money("80.00")})
    assert refuses(tight, CONFIRM) == "above_price"


@pytest.mark.req("SCH-041", "SCH-089")
def test_a_host_that_always_wants_the_persons_signature_refuses_limits():
    """And a mode in which no person was present."""
    always = replace(CONFIRM, closed_mandate="always")
    assert refuses(signed_mandate(), always) == "closed_mandate_required"
    script = closed(consent={"mode": "preapproved", "statement": "I approve."})
    assert refuses(script, always) == "mode_not_accepted"
    assert allows(closed(), always) == "offer"
    assert allows(signed_mandate(), replace(HOLD, closed_mandate="always")) == "limits"


@pytest.mark.req("SCH-086", "SCH-229", "SCH-253")
def test_a_management_mandate_bounds_accepting_a_move_but_not_asking_for_one():
    """Outside its window or ceiling a closed approval is needed."""
    late = {"start": parse_instant("2026-10-16T13:00:00-04:00"), "end": parse_instant("2026-10-16T13:45:00-04:00")}
    assert allows(managing(), MOVE) == "limits"
    assert refuses(managing(), replace(MOVE, **late)) == "outside_window"
    assert refuses(managing(), replace(MOVE, total=Money(10001, "CAD"))) == "above_price"
    assert allows(managing(), replace(MOVE, action=Action.REQUEST_CHANGE, **late)) == "limits"


@pytest.mark.req("SCH-094", "SCH-098")
def test_a_status_that_was_not_read_and_a_shared_limit_without_a_claim_are_refused():
    """Closed, not open, when revocation cannot be learned."""
    found = verify_mandate(signed_mandate(status="https://keyapp.example/status/1", status_jwk=SAM.public.jwk()))
    for standing, outcome in (("unread", "status_unavailable"), ("revoked", "revoked")):
        with pytest.raises(Refused) as caught:
            check_mandate(replace(found, standing=standing), HOLD, NOW)
        assert caught.value.refusal.reason == outcome
    for standing in ("active", "not_asked"):
        assert check_mandate(replace(found, standing=standing), HOLD, NOW).approved == "limits"
    assert refuses(signed_mandate({"shared_limit": True})) == "claim_unavailable"


def test_the_samples_differ_only_where_a_test_says_so():
    """A guard for the tests above: the plain sample is the walkthrough's."""
    assert mandate()["constraints"]["max_bookings"] == 1
