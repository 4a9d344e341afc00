"""The registry of codes, and refusals as they leave."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from sayso.control.protocol.codes import CODES, protocol_error, status_of
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.inference import ProviderErrorCode
from sayso.core.refusal import Refusal

CONTROL = Path(__file__).resolve().parents[3] / "src" / "sayso" / "control"
CODE = re.compile(r'(?:because\(\s*|code=)"([a-z_]+)"')


def test_every_code_the_source_answers_with_is_registered() -> None:
    """A code that is used and not in the table would leave as an internal error."""
    sources = [path for path in CONTROL.rglob("*.py") if "planner" not in path.parts]
    used = {code for path in sources for code in CODE.findall(path.read_text())}
    inner = {"-", "peer_unreachable"}  # a model reads this one in a tool's result; it is no answer of ours
    # Told to an operator when nothing is served yet, and what ends a pipe instead of answering on it.
    inner |= {"config_invalid", "file_not_private", "malformed_line"}
    assert used - set(CODES) - inner == set()


@pytest.mark.req("OAP-132")
def test_every_error_of_a_provider_can_end_a_run() -> None:
    """The thirteen codes of the provider profile pass through unchanged."""
    assert [code for code in get_args(ProviderErrorCode) if code not in CODES] == []


@pytest.mark.req("OAP-014", "OAP-015")
def test_codes_answer_with_their_status() -> None:
    """Those the specification fixes."""
    fixed = {"run_active": 409, "run_terminal": 409, "run_not_found": 404, "resolution_rejected": 409}
    more = {"cross_origin_request": 403, "unsupported_media_type": 415, "request_too_large": 413}
    assert {code: status_of(code) for code in {**fixed, **more}} == {**fixed, **more}
    assert status_of("not_in_the_table") == 500


@pytest.mark.req("OAP-007")
def test_a_refusal_leaves_with_its_reason_and_place_in_the_details() -> None:
    """The wire has one place for what refines a code."""
    refusal = Refusal(code="run_active", message="busy", reason="one_run", place="$.id", details={"run": "r1"})
    assert protocol_error(refusal) == ProtocolError(
        code="run_active", message="busy", retriable=True, details={"run": "r1", "reason": "one_run", "place": "$.id"}
    )


def test_an_unregistered_code_leaves_without_its_text() -> None:
    """What was never meant for a caller may hold anything."""
    assert protocol_error(Refusal(code="db_secret", message="password=1")) == ProtocolError(
        code="internal", message=CODES["internal"].meaning
    )
