"""Reading and refusing are pure and total: whatever the bytes, a value or a refusal in the right shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refusal, Refused
from sayso.gateway.crossing import Crossing, Denial
from sayso.gateway.doors.a2a.codes import ERRORS
from sayso.gateway.doors.a2a.read import v03, v10
from sayso.gateway.doors.a2a.read.members import Members, plain
from sayso.gateway.doors.a2a.read.message import read_message
from sayso.gateway.doors.a2a.read.request import read_request
from sayso.gateway.doors.a2a.read.rest import ROUTES
from sayso.gateway.doors.a2a.write import v10 as spelled_v10
from sayso.gateway.doors.a2a.write.errors import write_denial
from sayso.gateway.guard.rules.limits import DEFAULTS

BASE = "/api/protocols/a2a"
METHODS = [*v10.METHODS, *v03.METHODS]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
NAMES = st.sampled_from(
    ["id", "message", "parts", "taskId", "task_id", "text", "data", "kind", "role", "config", "url"]
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4))
HEADERS = st.sampled_from([(), ((b"a2a-version", b"1.0"),), ((b"a2a-version", b"\xff"),)])


def crossing(
    body: bytes = b"", *, method: str = "POST", target: bytes = BASE.encode(), headers: tuple[Any, ...] = ()
) -> Crossing:
    """A request to the door."""
    return Crossing(door="a2a", method=method, target=target, headers=headers, body=body, peer="127.0.0.1")


def read_or_refuse(got: Crossing) -> Any:
    """The value, or the refusal's answer, which is JSON in the binding's shape."""
    try:
        return read_request(got, DEFAULTS)
    except Refused as refused:
        denial = Denial(refusal=refused.refusal, status=400)
        return json.loads(write_denial(got, denial, DEFAULTS).body)


@given(st.binary(max_size=300), HEADERS)
@pytest.mark.req("GTW-021a")
def test_any_bytes_are_read_or_refused(body: bytes, headers: Any) -> None:
    """Never another exception."""
    read_or_refuse(crossing(body, headers=headers))


@given(st.sampled_from(METHODS), VALUES, VALUES, HEADERS)
@pytest.mark.req("GTW-021a")
def test_any_parameters_are_read_or_refused(method: str, params: Any, id_: Any, headers: Any) -> None:
    """An error names the id only where it is one."""
    body = json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()
    got = read_or_refuse(crossing(body, headers=headers))
    if isinstance(got, dict):
        assert got["id"] is None or (got["id"] == id_ and type(got["id"]) is type(id_))


PIECES = st.sampled_from([b"%", b"%ff", b"%00", b"%0a", b"%2F", b"a", b"/", b":cancel", b"=", b"&pageSize=", b"\xe9"])
PATHS = st.binary(max_size=60) | st.lists(PIECES, max_size=8).map(b"".join)


@given(st.sampled_from(["GET", "POST", "DELETE", "PATCH"]), PATHS, VALUES, HEADERS)
@pytest.mark.req("GTW-021a")
def test_any_path_is_read_or_refused(method: str, path: bytes, body: Any, headers: Any) -> None:
    """Whatever stands in it."""
    for start in (b"/tasks/", b"/v1/", b"/message:send", b"/tasks?", b"/"):
        target = BASE.encode() + start + path
        read_or_refuse(crossing(json.dumps(body).encode(), method=method, target=target, headers=headers))


@given(
    st.sampled_from([*ERRORS, "bad_signature", "payload_limits", "made_up"]),
    st.text(max_size=400),
    st.text(max_size=400),
    st.sampled_from([b"", b"/tasks/x", b"/v1/tasks/x", b"/\xff", b"?%"]),
    st.binary(max_size=60),
)
@pytest.mark.req("GTW-021a", "GTW-022")
def test_a_denial_is_always_an_error_in_the_bindings_shape(
    code: str, message: str, place: str, path: bytes, body: bytes
) -> None:
    """Whatever the body was, with a number outside JSON-RPC's range where the code is ours."""
    denial = Denial(refusal=Refusal(code=code, message=message, place=place), status=403)
    got = crossing(body, target=BASE.encode() + path)
    answer = write_denial(got, denial, DEFAULTS)
    found = json.loads(answer.body)
    assert answer.status == 403
    if path in (b"", b"?%"):
        number = found["error"]["code"]
        assert (code in ERRORS) == (-32768 <= number <= -32000)
    elif path.startswith(b"/v1/"):
        assert found["type"]
    else:
        assert found["error"]["code"] == 403


@pytest.mark.req("GTW-003")
def test_every_operation_of_both_versions_is_read() -> None:
    """Eleven of 1.0 and ten of 0.3, which knows no list; each but those by REST as well."""
    assert len(v10.METHODS) == 11
    assert len(v03.METHODS) == 10
    assert {(version, method, pattern.pattern.count("(")) for version, method, pattern, _ in ROUTES} >= {
        ("1.0", "POST", 0),
        ("1.0", "GET", 0),
        ("0.3", "POST", 0),
        ("1.0", "DELETE", 2),
        ("0.3", "DELETE", 2),
    }


@given(st.text(min_size=1, max_size=20).filter(str.isprintable), st.text(max_size=50))
def test_a_message_means_the_same_in_each_spelling(id_: str, words: str) -> None:
    """One value behind three spellings, and 1.0's own reads back what it writes."""
    shared = {"messageId": id_, "contextId": "c"}
    new = {**shared, "role": "ROLE_USER", "parts": [{"text": words}, {"data": {"a": 1}}]}
    old = {
        **shared,
        "kind": "message",
        "role": "user",
        "parts": [{"kind": "text", "text": words}, {"kind": "data", "data": {"a": 1}}],
    }
    rest = {
        "message_id": id_,
        "context_id": "c",
        "role": "ROLE_USER",
        "content": [{"text": words}, {"data": {"data": {"a": 1.0}}}],
    }
    read = [
        read_message(Members(new, "$"), "1.0"),
        read_message(Members(old, "$"), "0.3"),
        read_message(Members(rest, "$", snake=True), "0.3 rest"),
    ]
    assert read[0] == read[1] == read[2]
    assert read_message(Members(spelled_v10.message(read[0]), "$"), "1.0") == read[0]


def test_a_member_under_two_names_is_refused() -> None:
    """Two readers could take different ones."""
    with pytest.raises(Refused):
        Members({"taskId": "a", "task_id": "b"}, "$", snake=True).word("taskId")
    assert Members({"taskId": "a", "task_id": "b"}, "$").word("taskId") == "a"


def test_whole_numbers_are_read_from_doubles_exactly() -> None:
    """5.0 is 5; what is none stays; true stays true."""
    value = {"a": 5.0, "b": [1.5, -0.0, 2.0**53, 2.0**60], "c": True, "d": "5.0"}
    found = plain(value)
    assert found == {"a": 5, "b": [1.5, 0, 2**53, 2.0**60], "c": True, "d": "5.0"}
    assert [type(each) for each in found["b"]] == [float, int, int, float]
