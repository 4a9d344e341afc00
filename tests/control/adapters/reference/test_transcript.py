"""The reference path against its golden file, and that file against the law."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sayso.control.protocol.envelope import read_envelope
from sayso.control.protocol.types import AGENT_TYPES
from tests.control.adapters.reference.transcript import GOLDEN, written
from tests.control.conftest import Trace

pytestmark = pytest.mark.anyio

_ELSEWHERE = {
    "capabilities.updated",  # its descriptor never moves
    "session.provider.attach.request",
    "session.provider.attach.response",
    "action.call.progress",
    "action.call.failed",
    "action.call.cancelled",
    "run.steer.dropped",
    "run.failed",
    "error.response",
    "auth.login.cancel.request",
    "auth.login.cancel.response",
    "user.input.cancel.request",
    "user.input.cancel.response",
}


@pytest.mark.req("OAP-037", "OAP-040")
async def test_the_reference_path_is_its_golden_file_byte_for_byte() -> None:
    """Ids from a counter, times from a clock that stands: whatever differs is a change of behaviour."""
    assert await written() == GOLDEN.read_bytes()


@pytest.mark.req("OAP-037", "OAP-038", "OAP-039")
async def test_the_golden_file_is_legal_and_shows_every_unit(trace: Trace) -> None:
    """Judged like any trace by the fixture; what it does not show is named here and tested elsewhere."""
    lines = GOLDEN.read_bytes().splitlines()
    envelopes: list[Any] = [read_envelope(line) for line in lines]
    for envelope in envelopes:
        trace.record(envelope)
    assert {envelope.type for envelope in envelopes} == set(AGENT_TYPES) - _ELSEWHERE


@pytest.mark.req("OAP-060", "OAP-078")
def test_the_golden_file_holds_nothing_that_was_attached_in_confidence() -> None:
    """Command and environment are in the open request alone."""
    told = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    published = [each for each in told if each["type"] != "session.open.request"]
    assert "hidden" not in json.dumps(published)
    assert "/bin/notes" not in json.dumps(published)
