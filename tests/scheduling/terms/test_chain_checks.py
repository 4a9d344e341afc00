"""Mandates that were passed on: each link follows from the one before it and can only narrow."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core.instants import epoch, parse_instant
from sayso.core.money import Money
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.delegating import pass_on
from sayso.scheduling.terms.mandate_checks import Action, Ask, check_limit, check_mandate, verify_mandate
from tests.scheduling.terms.samples import (
    AGENT,
    HASH,
    HOST,
    JKT,
    NO_LIMITS,
    NOW,
    PRINCIPAL,
    SAM,
    closed,
    mandate,
    money,
    signed_mandate,
)

SUB, THIRD = PrivateKey.from_seed(b"u" * 32), PrivateKey.from_seed(b"t" * 32)
LIMITS = mandate()["constraints"]


def link(parent, /, key=AGENT, to=SUB, **changed):
    """A link behind a token, as `key` would sign it."""
    claims = {
        "iss": PRINCIPAL,
        "aud": HOST,
        "iat": epoch(NOW),
        "exp": epoch(NOW) + 3600,
        "jti": "l_1",
        "parent": sha256_b64u(parent),
        "agent_jwk": key.public.jwk(),
        "cnf": {"jkt": to.public.thumbprint},
        "scope": ["hold", "book", "cancel", "reschedule"],
        "constraints": LIMITS,
        **changed,
    }
    return sign_jws({name: value for name, value in claims.items() if value is not None}, key, typ="schcp-mandate+jwt")


def limits(**changed):
    return {name: value for name, value in {**LIMITS, **changed}.items() if value is not None}


def chain(root=None, **changed):
    root = root or signed_mandate()
    return f"{root},{link(root, **changed)}"


def ask(**changed):
    found = {
        "action": Action.HOLD,
        "host": HOST,
        "agent": SUB.public.thumbprint,
        "service_id": "oil-change",
        "start": parse_instant("2026-10-15T13:00:00-04:00"),
        "end": parse_instant("2026-10-15T13:45:00-04:00"),
        "total": Money(8927, "CAD"),
        **changed,
    }
    return Ask(**found)


def reason_of(act):
    with pytest.raises(Refused) as caught:
        act()
    return caught.value.refusal.reason


@pytest.mark.req("SCH-090")
def test_a_mandate_passed_on_is_used_by_the_last_links_key_only():
    """Not by the agent that passed it on, nor by anybody else."""
    found = verify_mandate(chain())
    assert check_mandate(found, ask(), NOW).mandate.principal == PRINCIPAL
    for agent in (JKT, THIRD.public.thumbprint):
        assert reason_of(lambda who=agent: check_mandate(found, ask(agent=who), NOW)) == "agent_mismatch"


@pytest.mark.req("SCH-103", "SCH-090")
def test_a_chain_has_at_most_three_links():
    """The root among them."""
    root = verify_mandate(signed_mandate())
    second = pass_on(root, AGENT, to=SUB.public.thumbprint, jti="l_1", now=NOW)
    third = pass_on(second, SUB, to=THIRD.public.thumbprint, jti="l_2", now=NOW)
    check_mandate(third, ask(agent=THIRD.public.thumbprint), NOW)
    assert reason_of(lambda: pass_on(third, THIRD, to=JKT, jti="l_3", now=NOW)) == "chain_too_long"


@pytest.mark.req("SCH-090")
@pytest.mark.parametrize(
    "header",
    [
        lambda: chain(key=SUB),
        lambda: chain(agent_jwk=SUB.public.jwk()),
        lambda: chain(parent=HASH),
        lambda: chain(iss=PRINCIPAL[:-43] + SUB.public.thumbprint),
        lambda: f"{signed_mandate()},{link(signed_mandate(jti='m_2'))}",
        lambda: f"{signed_mandate()},{link(signed_mandate())[:-4]}AAAA",
    ],
)
def test_a_link_that_does_not_follow_from_the_one_before_it_is_refused(header):
    """Another key's, another parent's, another principal's, or a forged signature."""
    assert reason_of(lambda: verify_mandate(header())) == "chain_broken"


@pytest.mark.req("SCH-090", "SCH-023")
@pytest.mark.parametrize(
    "header",
    [
        lambda: f"{signed_mandate()},{signed_mandate()}",
        lambda: f"{signed_mandate()},",
        lambda: f"{signed_mandate()}, {link(signed_mandate())}",
        lambda: chain(consent={"mode": "human_present", "statement": "I approve."}),
        lambda: chain(note="hello"),
    ],
)
def test_a_link_that_is_none_is_refused(header):
    """A second root, an empty one, a space, a consent nobody gave, an unknown member."""
    assert reason_of(lambda: verify_mandate(header())) == "mandate_malformed"


@pytest.mark.req("SCH-090", "SCH-088")
@pytest.mark.parametrize(
    ("root", "changed"),
    [
        ({}, {"exp": epoch(NOW) + 3601}),
        ({"scope": ["hold"]}, {"scope": ["hold", "book"]}),
        ({}, {"aud": "other@other.example"}),
        ({}, {"aud": [HOST, "other@other.example"]}),
        ({}, {"constraints": limits(services=["oil-change", "diagnosis"])}),
        ({}, {"constraints": limits(services=None)}),
        ({}, {"constraints": limits(max_bookings=2)}),
        ({}, {"constraints": limits(max_bookings=None)}),
        ({}, {"constraints": limits(max_price=money("100.01"))}),
        ({}, {"constraints": limits(max_price=money("90.00", "USD"))}),
        ({}, {"constraints": limits(max_price=None)}),
        ({}, {"constraints": limits(window=None)}),
        ({}, {"constraints": limits(window={**LIMITS["window"], "not_before": "2026-10-15T10:59:59-04:00"})}),
        ({}, {"constraints": limits(window={**LIMITS["window"], "not_after": "2026-10-15T15:45:01-04:00"})}),
        ({}, {"constraints": limits(shared_limit=True)}),
    ],
)
def test_a_link_that_allows_more_than_the_one_before_it_is_refused(root, changed):
    """Expiry, scope, audience and every limit; leaving a limit out is more, too."""
    assert reason_of(lambda: verify_mandate(chain(signed_mandate(**root), **changed))) == "chain_widens"


@pytest.mark.req("SCH-090", "SCH-087", "SCH-088")
@pytest.mark.parametrize(
    ("root", "constraints"),
    [
        (lambda: closed(), {}),
        (lambda: closed(), {"offer_sha256": "B" * 43}),
        (lambda: signed_mandate({**NO_LIMITS, "bookings": ["b_1"]}), {"bookings": ["b_1", "b_2"]}),
        (lambda: signed_mandate({**NO_LIMITS, "bookings": ["b_1"]}), {}),
        (lambda: signed_mandate({"shared_limit": True}, aud=[HOST, "b@b.example"]), LIMITS),
    ],
)
def test_a_link_keeps_the_bookings_the_offer_and_the_shared_limit_of_its_parent(root, constraints):
    """None of them can be dropped or exchanged."""
    token = root()
    scope = verify_mandate(token).claims.scope
    widened = lambda: verify_mandate(chain(token, constraints=constraints, scope=list(scope), exp=epoch(NOW) + 60))  # noqa: E731
    assert reason_of(widened) == "chain_widens"


@pytest.mark.req("SCH-090", "SCH-091")
@pytest.mark.parametrize(
    ("changed", "asked", "reason"),
    [
        ({"scope": ["cancel"]}, {}, "scope_missing"),
        ({"constraints": limits(max_price=money("80.00"))}, {}, "above_price"),
        (
            {"constraints": limits(window={**LIMITS["window"], "not_after": "2026-10-15T13:44:00-04:00"})},
            {},
            "outside_window",
        ),
        ({"constraints": limits(bookings=["b_1"])}, {}, "management_only"),
        ({"constraints": limits(offer_sha256=HASH)}, {}, "scope_missing"),
        ({"exp": epoch(NOW) - 31, "iat": epoch(NOW) - 60}, {}, "mandate_expired"),
        ({"iat": epoch(NOW) + 31}, {}, "not_yet_valid"),
    ],
)
def test_what_a_link_narrows_binds_whoever_uses_it(changed, asked, reason):
    """The root would have allowed each of these."""
    found = verify_mandate(chain(**changed))
    assert reason_of(lambda: check_mandate(found, ask(**asked), NOW)) == reason


@pytest.mark.req("SCH-091", "SCH-083")
def test_an_expired_root_ends_every_link():
    """A link cannot outlive what it came from."""
    found = verify_mandate(chain())
    late = NOW + timedelta(hours=1, seconds=30)
    assert reason_of(lambda: check_mandate(found, ask(), late)) == "mandate_expired"


@pytest.mark.req("SCH-089")
def test_a_hash_in_an_agents_link_approves_nothing_for_the_person():
    """At a host that wants the exact offer approved only the person's own signature does that."""
    by_agent = verify_mandate(chain(constraints=limits(offer_sha256=HASH)))
    accept = {"action": Action.CONFIRM, "offer_sha256": HASH, "principal": PRINCIPAL}
    assert check_mandate(by_agent, ask(**accept), NOW).approved == "limits"
    asked = ask(**accept, closed_mandate="always")
    assert reason_of(lambda: check_mandate(by_agent, asked, NOW)) == "closed_mandate_required"
    root = closed()
    by_person = verify_mandate(chain(root, scope=["book"], constraints={"offer_sha256": HASH}))
    assert check_mandate(by_person, asked, NOW).approved == "offer"


@pytest.mark.req("SCH-091", "SCH-080")
def test_each_links_own_limit_counts():
    """And the root's over all of them."""
    root = verify_mandate(signed_mandate({"max_bookings": 3}))
    found = verify_mandate(chain(root.token, constraints=limits(max_bookings=1)))
    check_limit(found, 2, 0)
    assert reason_of(lambda: check_limit(found, 2, 1)) == "limit_reached"
    assert reason_of(lambda: check_limit(found, 3, 0)) == "limit_reached"


def test_sam_signed_the_root():
    """The fixtures mean what the tests above say."""
    assert verify_mandate(chain()).principal.endswith(SAM.public.thumbprint)
