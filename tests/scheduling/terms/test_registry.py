"""The registry names what the paper names: each code and reason under exactly these words."""

from __future__ import annotations

import pytest

from sayso.scheduling.terms.codes import BY_REASON

NAMED = {
    "not_a_contact": ("NOT_PERMITTED", 403),
    "place_required": ("NOT_OFFERED", 409),
    "window_too_short": ("NOT_OFFERED", 409),
    "replayed_nonce": ("SIGNATURE_REPLAYED", 401),
    "mandate_expired": ("MANDATE_EXPIRED", 403),
    "key_reused": ("IDEMPOTENCY_CONFLICT", 409),
    "contract_mismatch": ("CONTRACT_MISMATCH", 409),
    "slot_taken": ("SLOT_TAKEN", 409),
}
DESCRIBED = {
    "wrong_audience": ("NOT_PERMITTED", 403),
    "agent_mismatch": ("NOT_PERMITTED", 403),
    "revoked": ("NOT_PERMITTED", 403),
    "scope_missing": ("NOT_PERMITTED", 403),
    "service_not_covered": ("NOT_PERMITTED", 403),
    "outside_window": ("NOT_PERMITTED", 403),
    "above_price": ("NOT_PERMITTED", 403),
    "wrong_currency": ("NOT_PERMITTED", 403),
    "closed_mandate_required": ("NOT_PERMITTED", 403),
    "claim_unavailable": ("NOT_PERMITTED", 403),
    "not_eligible": ("NOT_OFFERED", 409),
    "outside_area": ("NOT_OFFERED", 409),
    "not_released": ("NOT_OFFERED", 409),
    "newcomers_full": ("HOLD_LIMIT", 409),
    "suspended": ("SUSPENDED", 429),
    "schema_invalid": ("MALFORMED", 400),
}


def found(reasons):
    return {reason: (BY_REASON[reason].code, BY_REASON[reason].status) for reason in reasons if reason in BY_REASON}


@pytest.mark.req("SCH-337")
def test_the_codes_the_paper_names_are_those():
    """One booking too many, and somebody who may not."""
    assert (BY_REASON["limit_reached"].code, BY_REASON["not_a_contact"].code) == ("MANDATE_LIMIT", "NOT_PERMITTED")


@pytest.mark.req("SCH-338")
def test_the_reasons_the_paper_names_or_requires_are_registered():
    """Each with the code and the status an agent branches on."""
    assert found(NAMED) == NAMED


@pytest.mark.req("SCH-339")
def test_the_further_refusals_are_registered():
    """All that bookings can meet; an unknown member and a member for a payment are both `schema_invalid`."""
    assert found(DESCRIBED) == DESCRIBED


@pytest.mark.req("SCH-340")
@pytest.mark.parametrize(
    ("reason", "word"),
    [("mandate_expired", "fresh"), ("rate_limited", "Retry-After"), ("closed_mandate_required", "approve")],
)
def test_what_would_help_is_said_in_the_registry(reason, word):
    """Not only what was wrong."""
    assert word in BY_REASON[reason].help
