"""A host's line: what makes it unreadable, what is answered, and what a line of ours sheds to fit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.hub.bindings.stdio_lines import (
    OPS,
    StdioRequest,
    event_line,
    read_request,
    refusal_line,
    result_line,
    verify_members,
)
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.core.refusal import Refused


@pytest.mark.req("OAP-116")
@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63)])
def test_an_id_is_any_integer_of_64_bits(number: int) -> None:
    """The host picks it."""
    assert read_request(b'{"id":%d,"op":"adapters"}' % number) == (StdioRequest(id=number, op="adapters"), frozenset())


@pytest.mark.req("OAP-116")
@pytest.mark.parametrize(
    "line",
    [
        b"", b"\r", b'{"id":1,"op":"adapters"}\r', b"x", b"[1]", b"1", b"null", b'"a"', b"{}",
        b'{"id":1}', b'{"op":"adapters"}', b'{"id":null,"op":"adapters"}', b'{"id":1,"op":null}',
        b'{"id":1.0,"op":"adapters"}', b'{"id":1.5,"op":"adapters"}', b'{"id":1e2,"op":"adapters"}',
        b'{"id":9223372036854775808,"op":"adapters"}', b'{"id":-9223372036854775809,"op":"adapters"}',
        b'{"id":true,"op":"adapters"}', b'{"id":"1","op":"adapters"}', b'{"id":1,"op":7}',
        b'{"id":1,"op":"adapters","x":1}', b'{"id":1,"op":"adapters","Adapter":"m"}', b'{"ID":1,"op":"adapters"}',
        b'{"id":1,"id":1,"op":"adapters"}', b'{"id":1,"op":"a","\\u006fp":"b"}',
        b'{"id":1,"op":"adapters"} {}', b'{"id":1,"op":"adapters"}x', b'{"id":1,"op":"\xff"}',
        b'\xef\xbb\xbf{"id":1,"op":"adapters"}', b'{"id":1,"op":"\\ud800"}',
        b'{"id":1,"op":"capabilities","adapter":7}', b'{"id":1,"op":"state","session_id":["s"]}',
        b'{"id":1,"op":"models","session_id":"s","allow_degraded_features":"k"}',
        b'{"id":1,"op":"events","session_id":"s","run_id":1}', b'{"id":1,"op":"history","limit":"1"}',
        b'{"id":1,"op":"history","limit":1.5}', b'{"id":1,"op":"submit","request":' + b"[" * 99 + b"]" * 99 + b"}",
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_fatal(line: bytes) -> None:
    """Its boundaries or its address are in doubt."""
    with pytest.raises(Refused) as caught:
        read_request(line)
    assert caught.value.refusal.code == "malformed_line"
    assert len(caught.value.refusal.message) <= 300


def judged(line: str) -> str | None:
    request, given = read_request(line.encode())
    try:
        verify_members(request, given)
    except Refused as refused:
        return refused.refusal.code
    return None


@pytest.mark.req("OAP-117", "OAP-118", "OAP-119", "OAP-121")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id":1,"op":"adapters"}', None),
        ('{"id":1,"op":"state","session_id":"s"}', None),
        ('{"id":1,"op":"events","session_id":"s","after":null,"run_id":null}', None),
        ('{"id":1,"op":"models","session_id":"s","allow_degraded_features":null}', None),
        ('{"id":1,"op":"frobnicate"}', "unknown_op"),
        ('{"id":1,"op":""}', "unknown_op"),
        ('{"id":1,"op":"Adapters"}', "unknown_op"),
        ('{"id":1,"op":"adapters","adapter":"m"}', "invalid_request"),
        ('{"id":1,"op":"adapters","adapter":null}', "invalid_request"),
        ('{"id":1,"op":"state","session_id":"s","run_id":null}', "invalid_request"),
        ('{"id":1,"op":"state"}', "invalid_request"),
        ('{"id":1,"op":"state","session_id":null}', "invalid_request"),
        ('{"id":1,"op":"capabilities","adapter":""}', "invalid_request"),
        ('{"id":1,"op":"submit","session_id":"s"}', "invalid_request"),
        ('{"id":1,"op":"history","session_id":"s"}', "invalid_request"),
    ],
)
def test_a_member_that_an_op_does_not_take_is_answered(line: str, expected: str | None) -> None:
    """Null counts as given where the op does not define the member, and as absent where it does."""
    assert judged(line) == expected


@pytest.mark.req("OAP-121")
def test_there_are_fourteen_ops() -> None:
    """The twelve of the table, and two that were added."""
    assert set(OPS) == {
        "adapters", "capabilities", "open", "sessions", "state", "models", "tools", "submit", "resolve", "cancel",
        "close", "events", "history", "settings",
    }  # fmt: skip


@pytest.mark.req("OAP-122", "OAP-124")
def test_a_line_that_is_too_long_sheds_and_is_never_dropped() -> None:
    """A result becomes `response_too_large`, a refusal keeps its code, an ending its position."""
    long = "x" * 1000
    assert json.loads(result_line(7, b'"%b"' % long.encode(), 256))["error"]["code"] == "response_too_large"
    refused = json.loads(refusal_line(7, ProtocolError(code="open_failed", message=long, details={"a": long}), 256))
    assert (refused["id"], refused["ok"], refused["error"]["code"]) == (7, False, "open_failed")
    ended = json.loads(event_line("oap-overflow", 7, 256, session_id=long, run_id=long, last_sequence=2**62))
    assert ended == {"event": "oap-overflow", "id": 7, "last_sequence": 2**62}
    assert event_line("envelope", 7, 256, b'{"a":"%b"}' % long.encode(), sequence=1) == b""
    whole = event_line("envelope", 7, 256, b'{"a":1}', session_id="s", sequence=1)
    assert whole == b'{"event":"envelope","id":7,"session_id":"s","sequence":1,"envelope":{"a":1}}'


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: json.dumps({"id": 1, "op": text}).encode()))
def test_whatever_the_bytes_a_line_is_read_or_refused(line: bytes) -> None:
    """Nothing else ever leaves the reader."""
    code = None
    try:
        read_request(line)
    except Refused as refused:
        code = refused.refusal.code
    assert code in (None, "malformed_line")
