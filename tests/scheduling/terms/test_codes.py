"""One registry of refusals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sayso.core.refusal import Misuse, Refusal, Refused
from sayso.scheduling.terms.codes import BY_REASON, ROWS, refused, registered

SOURCES = Path(__file__).resolve().parents[3] / "src" / "sayso" / "scheduling"
SPEC = Path(__file__).resolve().parents[3] / "docs" / "spec" / "scheduling.md"


@pytest.mark.req("SCH-336", "SCH-342")
def test_every_reason_stands_once_with_a_code_a_status_and_what_would_help():
    """A status of 0 never travels."""
    assert len({row.reason for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row.status == 0 or 400 <= row.status <= 599, row
        assert row.message.endswith("."), row
        assert row.help.endswith("."), row
        assert not row.stored or row.status in (404, 409), row


@pytest.mark.req("SCH-066")
def test_what_waiting_or_retrying_may_cure_is_never_stored():
    """Rate limits, full pools, server trouble, an expired mandate."""
    for reason in ("rate_limited", "unavailable", "internal", "too_many_holds", "newcomers_full", "mandate_expired"):
        assert not BY_REASON[reason].stored


@pytest.mark.req("SCH-337")
def test_every_registered_reason_is_used_somewhere():
    """A row that nobody can meet would be a promise nobody keeps."""
    text = "".join(path.read_text() for path in SOURCES.rglob("*.py") if path.name != "codes.py")
    text += (SOURCES / "terms" / "codes.py").read_text().partition("BY_REASON")[2]
    assert [row.reason for row in ROWS if not re.search(rf'"{row.reason}"', text)] == []


def test_every_section_named_exists():
    """The table points into the specification."""
    spec = SPEC.read_text()
    assert [
        row.section for row in ROWS if not re.search(rf"^(?:#+ )?{re.escape(row.section)} ", spec, re.MULTILINE)
    ] == []


def test_an_unregistered_reason_is_our_bug():
    """Nothing is refused in words that nobody can look up."""
    with pytest.raises(Misuse):
        raise refused("because")


@pytest.mark.req("SCH-340")
def test_a_refusal_says_what_would_help():
    """From the registry, whatever the message."""
    found = refused("mandate_expired", "It is over.").refusal
    assert (found.code, found.message, found.help) == (
        "MANDATE_EXPIRED",
        "It is over.",
        "Ask the person for a fresh one.",
    )


def test_what_a_lower_floor_refused_is_said_in_this_protocols_words():
    """And what is registered already stays as it is."""
    lower = Refused.because("malformed_duration", "months vary", place="$.ttl").refusal
    assert (registered(lower).code, registered(lower).reason, registered(lower).place) == (
        "MALFORMED",
        "malformed_value",
        "$.ttl",
    )
    assert registered(Refusal(code="whatever", message="x")).reason == "schema_invalid"
    ours = refused("slot_taken").refusal
    assert registered(ours) is ours
