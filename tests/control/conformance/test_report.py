"""What a report says: when an endpoint conforms, and nothing of it that a terminal would obey."""

from __future__ import annotations

import json

import pytest

from sayso.control.conformance.checks import Outcome, Result
from sayso.control.conformance.report import ConformanceReport, write_json, write_text


def report(*checks: Result) -> ConformanceReport:
    return ConformanceReport(endpoint="x", binding="b", revision="r", checks=checks)


@pytest.mark.req("OAP-199")
def test_an_endpoint_that_was_asked_nothing_does_not_conform() -> None:
    """No check failed, and none passed: nothing was shown."""
    skipped = Result(name="a", outcome=Outcome.SKIP, detail="not carried")
    passed = Result(name="b", outcome=Outcome.PASS)
    failed = Result(name="c", outcome=Outcome.FAIL, detail="no")
    cases = [(), (skipped,), (skipped, passed), (skipped, passed, failed)]
    assert [report(*checks).conforms for checks in cases] == [False, False, True, False]


@pytest.mark.req("OAP-199", "OAP-215")
def test_both_formats_tell_every_check_and_neither_lets_a_control_character_out() -> None:
    """What an endpoint wrote stands in details; a terminal is not to obey it."""
    checks = (Result(name="a", outcome=Outcome.FAIL, detail="\x1b[2Jgone\n"), Result(name="b", outcome=Outcome.PASS))
    text = write_text(report(*checks))
    assert text == "fail  a  \\u001b[2Jgone\\u000a\npass  b\nx does not conform (b): 1 passed, 1 failed, 0 skipped\n"
    told = json.loads(write_json(report(*checks)))
    assert told == {
        "endpoint": "x",
        "binding": "b",
        "revision": "r",
        "conforms": False,
        "claim": "",
        "checks": [
            {"name": "a", "outcome": "fail", "detail": "\x1b[2Jgone\n"},
            {"name": "b", "outcome": "pass", "detail": ""},
        ],
    }
