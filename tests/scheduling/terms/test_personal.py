"""Rules and signed answers as anybody checks them: whose, in force when, covering what."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.core.instants import epoch, parse_instant
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import read_jws, sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.acceptance import ACCEPTANCE_TYP
from sayso.scheduling.terms.acceptance_checks import verify_acceptance
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.rule import RULE_TYP
from sayso.scheduling.terms.rule_checks import check_rule_in_force, verify_rule, weekdays_of
from tests.scheduling.host.daybook import KEEPER, NOOR, OWNER, signed_answer, signed_rule, yes_by_rule
from tests.scheduling.terms.samples import HOST, NOW, signed_offer


class Clock:
    """A moment, as far as the signing of samples asks for one."""

    def __init__(self, at=NOW):
        self.at = at

    def now(self):
        return self.at


def offered(**changed):
    given = {"owner": OWNER, "total": None, "lines": None, **changed}
    return signed_offer(**given)


def terms(token):
    return strictjson.decode(read_jws(token).payload, OfferClaims)


def checked(token, offer, at=NOW):
    return verify_acceptance(token, terms(offer), sha256_b64u(offer), at)


def reason(call):
    with pytest.raises(Refused) as caught:
        call()
    return caught.value.refusal.reason


@pytest.mark.req("SCH-267")
@pytest.mark.parametrize(
    ("start", "end", "zone", "days"),
    [
        ("2026-10-17T12:00:00-04:00", "2026-10-17T14:00:00-04:00", "America/Toronto", ("sat",)),
        ("2026-10-17T23:00:00-04:00", "2026-10-18T00:00:00-04:00", "America/Toronto", ("sat",)),
        ("2026-10-17T23:00:00-04:00", "2026-10-18T01:00:00-04:00", "America/Toronto", ("sat", "sun")),
        ("2026-10-17T23:00:00-04:00", "2026-10-18T00:00:00-04:00", "Europe/London", ("sun",)),
        ("2026-10-18T23:30:00-04:00", None, "America/Toronto", ("sun",)),
        (
            "2026-10-18T12:00:00-04:00",
            "9999-12-30T12:00:00-05:00",
            "America/Toronto",
            ("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
        ),
    ],
)
def test_the_days_of_an_appointment_are_those_of_its_calendars_own_clock(start, end, zone, days):
    """All it touches; an end at midnight is the day before's; an open end is its start's."""
    given = {"end": end} if end else {"end": None, "open_end": True}
    assert weekdays_of(terms(offered(start=start, timezone=zone, **given))) == days


@pytest.mark.req("SCH-264")
def test_a_rule_is_in_force_from_its_date_until_its_end_and_not_at_it():
    """No skew revives it; a clock that is half a minute behind does not hide it."""
    rule = verify_rule(signed_rule(Clock(), exp=epoch(NOW) + 60))
    check_rule_in_force(rule, NOW - timedelta(seconds=30))
    check_rule_in_force(rule, NOW + timedelta(seconds=59))
    for at in (NOW - timedelta(seconds=31), NOW + timedelta(seconds=60)):
        assert reason(lambda at=at: check_rule_in_force(rule, at)) == "rule_not_in_force"


@pytest.mark.req("SCH-264", "SCH-263")
def test_a_yes_by_rule_can_be_checked_by_anybody_with_the_offer_and_the_moment():
    """The agent's key, the rule inside, and both dates inside the rule."""
    offer = offered(start="2026-10-17T12:00:00-04:00", end="2026-10-17T14:00:00-04:00")
    wide = {"services": None, "weekdays": ["sat"], "exp": epoch(NOW) + 60}
    rule = signed_rule(Clock(), **wide)
    token = yes_by_rule(Clock(), offer, rule)
    assert checked(token, offer).by == "rule"
    later = NOW + timedelta(seconds=60)
    assert reason(lambda: checked(token, offer, later)) == "rule_not_in_force"
    newer = signed_rule(Clock(NOW + timedelta(seconds=60)), **{**wide, "exp": None})
    assert reason(lambda: checked(yes_by_rule(Clock(), offer, newer), offer, later)) == "rule_not_in_force"
    assert checked(yes_by_rule(Clock(later), offer, newer), offer, later).by == "rule"


@pytest.mark.req("SCH-264", "SCH-182")
def test_a_rule_of_another_or_for_something_else_answers_nothing():
    """Another owner's calendar, another host, another day, or a guest who asked for the person."""
    saturday = {"start": "2026-10-17T12:00:00-04:00", "end": "2026-10-17T14:00:00-04:00"}
    rule = signed_rule(Clock(), services=None, weekdays=["sat"])
    for changed, outcome in (
        ({"start": "2026-10-16T12:00:00-04:00", "end": "2026-10-16T14:00:00-04:00"}, "rule_not_covering"),
        ({**saturday, "answers": "person"}, "rule_not_covering"),
        ({**saturday, "iss": "other@other.example"}, "rule_not_covering"),
        ({**saturday, "owner": OWNER[:-1] + "A"}, "acceptance_invalid"),
    ):
        offer = offered(**changed)
        token = yes_by_rule(Clock(), offer, rule)
        assert reason(lambda token=token, offer=offer: checked(token, offer)) == outcome


@pytest.mark.req("SCH-265")
def test_a_rule_never_says_no_and_signs_no_words():
    """Every no is the person's own."""
    offer = offered(start="2026-10-17T12:00:00-04:00", end="2026-10-17T14:00:00-04:00")
    rule = signed_rule(Clock(), services=None)
    for changed in ({"answer": "no"}, {"message": "Fine."}):
        token = yes_by_rule(Clock(), offer, rule, **changed)
        assert reason(lambda token=token: checked(token, offer)) == "acceptance_invalid"


@pytest.mark.req("SCH-022", "SCH-023", "SCH-019")
def test_rules_and_answers_are_closed_and_have_a_type_of_their_own():
    """A member more, the other type, a private key, a signature by another key: none of them counts."""
    offer = offered()
    claims = strictjson.parse(read_jws(signed_answer(Clock(), offer)).payload)
    private = {**claims, "principal_jwk": {**NOOR.public.jwk(), "d": "A" * 43}}
    for payload, key, typ, outcome in (
        ({**claims, "fee": "10.00"}, NOOR, ACCEPTANCE_TYP, "acceptance_invalid"),
        (claims, NOOR, RULE_TYP, "acceptance_invalid"),
        (claims, KEEPER, ACCEPTANCE_TYP, "acceptance_invalid"),
        (private, NOOR, ACCEPTANCE_TYP, None),
        (
            {**claims, "consent": {"mode": "preapproved", "statement": "Yes."}},
            NOOR,
            ACCEPTANCE_TYP,
            "acceptance_invalid",
        ),
    ):
        token = sign_jws(payload, key, typ=typ)
        assert reason(lambda token=token: checked(token, offer)) == outcome
    assert checked(signed_answer(Clock(), offer), offer).by == "person"
    for rule in (
        signed_rule(Clock(), budget=5),
        signed_rule(Clock(), PrivateKey.generate(), iss=OWNER),
        signed_rule(Clock(), consent={"mode": "preapproved", "statement": "Weekends."}),
        signed_rule(Clock(), words="x" * 201),
        signed_rule(Clock(), exp=epoch(NOW)),
    ):
        assert reason(lambda rule=rule: verify_rule(rule)) == "rule_invalid"


@pytest.mark.req("SCH-264")
def test_an_answer_is_dated_between_its_offer_and_the_moment_it_was_taken():
    """With half a minute for clocks that differ, and no more."""
    offer = offered()
    made = terms(offer).iat
    assert terms(offer).iss == HOST
    for iat, at, good in (
        (made, NOW, True),
        (made - 30, NOW, True),
        (made - 31, NOW, False),
        (epoch(NOW) + 30, NOW, True),
        (epoch(NOW) + 31, NOW, False),
        (253402300799, NOW, False),
        (made, parse_instant("9999-12-31T23:59:59Z"), True),
    ):
        token = signed_answer(Clock(), offer, iat=iat)
        if good:
            assert checked(token, offer, at).claims.iat == iat
        else:
            assert reason(lambda token=token, at=at: checked(token, offer, at)) == "acceptance_invalid"
