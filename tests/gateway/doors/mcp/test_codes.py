"""Numbers of refusals, and denials of any bytes."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refusal
from sayso.gateway.crossing import Denial
from sayso.gateway.doors.mcp.codes import NUMBERS, number_of
from sayso.gateway.doors.mcp.read.post import readable_id
from sayso.gateway.doors.mcp.write.rpc import denial_answer
from sayso.gateway.guard.rules.codes import CODES


@pytest.mark.req("GTW-021a", "GTW-022")
def test_our_numbers_lie_outside_what_json_rpc_keeps() -> None:
    """Each is its HTTP status and two digits, unless MCP has a number for just that."""
    for code, row in CODES.items():
        number = number_of(code, row.status)
        if code in NUMBERS:
            assert -32768 <= number <= -32000
        else:
            assert number // 100 == row.status, code
            assert not -32768 <= number <= -32000


def test_mcps_numbers_are_used_for_mcps_situations_alone() -> None:
    """-32000 to -32019 are nobody's, and A2A's numbers are A2A's."""
    assert set(NUMBERS.values()) == {-32700, -32600, -32601, -32602, -32603, -32020, -32022}


@pytest.mark.req("GTW-021a")
@given(st.binary(max_size=300) | st.just(b'{"id": "x"}') | st.just(b"[" * 5000))
def test_any_bytes_can_be_denied(body: bytes) -> None:
    """A JSON-RPC error whatever they hold, with the id where there is one."""
    refusal = Refusal(code="too_many_requests", message="Too many", details={"limit": 3})
    answer = denial_answer(readable_id(body), Denial(refusal=refusal, status=429, retry_after=2))
    said = orjson.loads(answer.body)
    assert (answer.status, said["jsonrpc"], said["error"]["code"]) == (429, "2.0", 42901)
    assert said["error"]["data"] == {"limit": 3, "code": "too_many_requests", "retry_after": 2}
    assert said["id"] == ("x" if body == b'{"id": "x"}' else None) or isinstance(said["id"], str | int)
