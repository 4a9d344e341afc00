"""Refusals on the wire: registered, complete, and the same whatever floor said no."""

import pytest

from sayso.core import strictjson
from sayso.core.refusal import Refusal
from sayso.scheduling.host.answers import is_stored, refusal_answer
from sayso.scheduling.terms.codes import BY_REASON
from sayso.scheduling.terms.refusal import RefusalBody
from sayso.world.maple_street import maple_street_auto

CONTACT = maple_street_auto().contact
LOWER = {
    "malformed_signature": "header_invalid",
    "malformed_key": "header_invalid",
    "key_mismatch": "signature_invalid",
    "bad_signature": "signature_invalid",
    "digest_mismatch": "digest_mismatch",
    "stale_signature": "signature_stale",
    "replayed_request": "replayed_nonce",
    "private_key_received": "private_key_received",
    "nonce_memory_full": "rate_limited",
    "foreign_host": "header_invalid",
    "cross_origin_request": "header_invalid",
    "body_too_large": "too_large",
    "malformed_json": "malformed_json",
    "malformed_instant": "malformed_value",
    "mixed_currency": "malformed_value",
    "something_nobody_registered": "schema_invalid",
}


def wire(refusal):
    answer = refusal_answer(refusal, CONTACT)
    return answer, strictjson.decode(answer.body, RefusalBody).refusal


@pytest.mark.req("SCH-336", "SCH-341", "SCH-342")
@pytest.mark.parametrize("code", sorted(LOWER))
def test_what_a_lower_floor_refuses_is_said_in_this_protocols_words(code):
    """Under a registered reason and its status, with a way to reach the shop."""
    answer, said = wire(Refusal(code=code, message="It is not so."))
    row = BY_REASON[LOWER[code]]
    assert (said.reason, said.code, answer.status) == (row.reason, row.code, row.status)
    assert (said.contact, said.help) == (CONTACT, row.help)


@pytest.mark.req("SCH-118")
def test_too_many_requests_always_say_when_to_come_back():
    """Also where the memory of nonces is what is full."""
    for refusal in (
        Refusal(code="nonce_memory_full", message="Full."),
        Refusal(code="RATE_LIMITED", reason="rate_limited", message="Wait.", details={"retry_after": 3}),
    ):
        answer, said = wire(refusal)
        assert answer.retry_after == said.retry_after
        assert said.retry_after in (3, 70)


@pytest.mark.req("SCH-066")
def test_nothing_passing_is_ever_kept():
    """No 429, no 5xx, nothing unregistered is marked as an answer to keep."""
    for row in BY_REASON.values():
        refusal = Refusal(code=row.code, reason=row.reason, message=row.message)
        assert is_stored(refusal) is row.stored
        assert not (row.stored and (row.status == 429 or row.status >= 500))


def test_a_message_is_never_longer_than_the_schema_allows():
    """A long complaint is cut, not turned into a server error."""
    _, said = wire(Refusal(code="malformed_json", message="x" * 5000, place="$." + "y" * 5000))
    assert (len(said.message), len(said.place)) == (1000, 200)
