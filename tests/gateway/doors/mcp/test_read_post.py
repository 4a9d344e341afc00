"""Headers and bodies to messages, without a socket: wire facts 1 to 4."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.gateway.doors.mcp.read.head import Head, accepts, decode_value, read_head
from sayso.gateway.doors.mcp.read.message import Fault, Notification, Reply, Request, read_message
from sayso.gateway.doors.mcp.read.post import BATCH_CAP, Legacy, Modern, read_post, readable_id
from sayso.gateway.doors.mcp.read.revisions import (
    CAPABILITIES_KEY,
    LEGACY,
    METHODS,
    MODERN,
    SERVED,
    VERSION_KEY,
    agree,
)

JSON = "application/json"


def head(**said: str) -> Head:
    return Head(**{"content_type": JSON, **said})


def modern(method: str = "tools/list", meta: Any = None, **params: Any) -> bytes:
    meta = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}} if meta is None else meta
    return orjson.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": meta}})


def fault_of(post: object) -> tuple[str, object]:
    assert isinstance(post, Fault), post
    return post.code, post.id


@pytest.mark.req("GTW-021a")
@pytest.mark.parametrize("id_", [None, 1.5, True, {}, [], 1.0])
def test_an_id_that_is_neither_text_nor_integer_makes_no_request(id_: object) -> None:
    """Null, fractions, booleans and containers: invalid request, id null, never a notification."""
    found = read_message({"jsonrpc": "2.0", "id": id_, "method": "ping"})  # type: ignore[dict-item]
    assert fault_of(found) == ("malformed_request", None)


@pytest.mark.parametrize("id_", [1, "1", 0, -3, ""])
def test_an_id_keeps_its_type(id_: int | str) -> None:
    """`"1"` is not `1`."""
    assert read_message({"jsonrpc": "2.0", "id": id_, "method": "ping"}) == Request(id_, "ping", {})


def test_what_has_no_id_is_a_notification() -> None:
    """And what has a result is a reply."""
    assert read_message({"jsonrpc": "2.0", "method": "a", "params": {}}) == Notification("a", {})
    assert read_message({"jsonrpc": "2.0", "id": 1, "result": {}}) == Reply()
    assert read_message({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}) == Reply()


@pytest.mark.req("GTW-021a")
@pytest.mark.parametrize(
    "value",
    [
        7, "text", None, [], {}, {"jsonrpc": "1.0", "id": 1, "method": "a"}, {"id": 1, "method": "a"},
        {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "id": 1, "method": 3},
        {"jsonrpc": "2.0", "id": 1, "method": "a", "extra": 1},
    ],
)  # fmt: skip
def test_what_is_no_request_object_is_an_invalid_request(value: Any) -> None:
    """The JSON is fine, the message is none."""
    assert fault_of(read_message(value))[0] == "malformed_request"


@pytest.mark.parametrize("params", [[], "a", 1, None])
def test_params_are_an_object(params: Any) -> None:
    """MCP names its params."""
    found = read_message({"jsonrpc": "2.0", "id": 4, "method": "a", "params": params})
    assert fault_of(found) == ("schema_invalid", 4)


@pytest.mark.req("GTW-021a")
@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"\xef\xbb\xbf{}", b'{"id":NaN}', b'{"a":1,"a":2}', b'{"a":"\\ud800"}', b'{"a":"\xff"}', b"{}{}",
        b'{"a":1e400}', b'{"a":99999999999999999999}', b"[" * 4000, b"{}" + b"]" * 4000,
    ],
)  # fmt: skip
def test_what_is_no_json_is_a_parse_error(body: bytes) -> None:
    """Whatever is wrong with it, and never an exception."""
    assert fault_of(read_post(head(), body)) == ("malformed_json", None)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(body: bytes) -> None:
    """Any bytes come back as a post."""
    assert isinstance(read_post(head(), body), Fault | Legacy | Modern)
    readable_id(body)


MEMBERS = st.sampled_from(["jsonrpc", "id", "method", "params", "_meta", VERSION_KEY])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=12,
)


@given(ANYTHING, st.sampled_from([None, MODERN, "2025-06-18", "x"]))
def test_no_json_breaks_the_reader(value: Any, version: str | None) -> None:
    """Any JSON value comes back as a post."""
    found = read_post(Head(content_type=JSON, version=version), orjson.dumps(value))
    assert isinstance(found, Fault | Legacy | Modern)


@pytest.mark.req("GTW-001")
@pytest.mark.parametrize("version", LEGACY)
def test_initialize_is_answered_with_the_revision_asked_for(version: str) -> None:
    """Where it is one of ours."""
    assert agree(version) == version


@pytest.mark.req("GTW-001")
@pytest.mark.parametrize("version", ["1900-01-01", "2024-11-05", MODERN, "", "2099-01-01"])
def test_initialize_never_agrees_to_what_it_does_not_speak_there(version: str) -> None:
    """The newest legacy revision is offered instead, also to who asks for the modern one."""
    assert agree(version) == "2025-11-25"


@pytest.mark.req("GTW-002")
def test_a_batch_exists_in_one_revision() -> None:
    """Elsewhere an array is an invalid request, not a parse error."""
    body = orjson.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 2)
    assert isinstance(read_post(head(), body), Legacy)
    assert isinstance(read_post(head(version="2025-03-26"), body), Legacy)
    for version in ("2025-06-18", "2025-11-25", MODERN):
        assert fault_of(read_post(head(version=version), body)) == ("malformed_request", None)


@pytest.mark.parametrize("size", [0, BATCH_CAP + 1])
def test_a_batch_has_bounds(size: int) -> None:
    """None at all, and more than the cap."""
    body = orjson.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * size)
    assert fault_of(read_post(head(), body))[0] == "malformed_request"


@pytest.mark.req("GTW-002")
def test_an_unknown_revision_in_the_header_is_refused_with_those_served() -> None:
    """400, the list, and what was asked for."""
    found = read_post(head(version="1999-09-09"), b'{"jsonrpc":"2.0","id":"q","method":"ping"}')
    assert isinstance(found, Fault)
    assert (found.code, found.id, found.data) == (
        "unsupported_version", "q", {"supported": list(SERVED), "requested": "1999-09-09"},
    )  # fmt: skip


MODERN_HEAD = {"version": MODERN, "method": "tools/list"}


@pytest.mark.req("GTW-002")
def test_a_modern_request_says_everything_itself() -> None:
    """Metadata and mirrored headers agree."""
    found = read_post(head(**MODERN_HEAD), modern())
    assert isinstance(found, Modern)
    assert isinstance(found.message, Request)


@pytest.mark.req("GTW-002")
@pytest.mark.parametrize(
    "meta",
    [
        {}, {VERSION_KEY: MODERN}, {CAPABILITIES_KEY: {}}, [], 3, {VERSION_KEY: MODERN, CAPABILITIES_KEY: []},
        {VERSION_KEY: 2026, CAPABILITIES_KEY: {}},
    ],
)  # fmt: skip
def test_modern_metadata_is_whole(meta: Any) -> None:
    """Version and capabilities, both, of the right kind; who the client is need not be said."""
    assert fault_of(read_post(head(**MODERN_HEAD), modern(meta=meta))) == ("schema_invalid", 7)


@pytest.mark.req("GTW-002")
@pytest.mark.parametrize(
    "said",
    [
        {"method": "tools/list"}, {"version": "2025-11-25", "method": "tools/list"}, {"version": MODERN},
        {"version": MODERN, "method": "Tools/list"}, {"version": MODERN, "method": "tools/call"},
    ],
)  # fmt: skip
def test_a_header_that_does_not_mirror_the_body_is_a_mismatch(said: dict[str, str]) -> None:
    """Missing, different, or in other capitals."""
    assert fault_of(read_post(head(**said), modern())) == ("header_mismatch", 7)


@pytest.mark.req("GTW-002")
@pytest.mark.parametrize(
    ("method", "member"), [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")]
)
def test_mcp_name_mirrors_name_or_uri(method: str, member: str) -> None:
    """Plain, or in base64 with UTF-8 inside."""
    said = {"version": MODERN, "method": method}
    body = modern(method, **{member: "größe"})
    assert isinstance(read_post(head(**said, name="=?base64?Z3LDtsOfZQ==?="), body), Modern)
    for name in ("größe", "grosse", "=?base64?Z3LDtsOfZQ?=", "=?base64?!!!!?=", "=?BASE64?Z3LDtsOfZQ==?="):
        assert fault_of(read_post(head(**said, name=name), body)) == ("header_mismatch", 7)
    assert fault_of(read_post(head(**said), body)) == ("header_mismatch", 7)


@pytest.mark.req("GTW-002")
def test_an_unknown_modern_revision_is_told_what_is_served() -> None:
    """After the headers: a client at odds with itself is told so first."""
    meta = {VERSION_KEY: "2099-01-01", CAPABILITIES_KEY: {}}
    found = read_post(head(version="2099-01-01", method="tools/list"), modern(meta=meta))
    assert isinstance(found, Fault)
    assert (found.code, found.data) == (
        "unsupported_version", {"supported": list(SERVED), "requested": "2099-01-01"},
    )  # fmt: skip


def test_modern_clients_answer_nothing() -> None:
    """There is nothing that they were asked."""
    assert fault_of(read_post(head(version=MODERN), b'{"jsonrpc":"2.0","id":1,"result":{}}'))[0] == "malformed_request"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"), ("=?base64?cGxhaW4=?=", "plain"), ("=?base64?w6Q=?=", "ä"), ("=?base64??=", ""),
        ("=?base64?/w==?=", None), ("=?base64?cGxhaW5=?=", None), ("ä", None), ("=?base64?=", "=?base64?="),
    ],
)  # fmt: skip
def test_header_values_are_decoded_in_one_spelling(text: str, value: str | None) -> None:
    """Canonical base64 of UTF-8, or nothing at all."""
    assert decode_value(text) == value


def test_white_space_around_a_value_is_no_part_of_it() -> None:
    """Spaces and tabs; and names come in any order."""
    found = read_head([(b"mcp-method", b" \ttools/list\t "), (b"accept", b"a/b"), (b"accept", b"c/d")])
    assert found == Head(method="tools/list", accept="a/b, c/d")


@pytest.mark.parametrize(
    ("accept", "is_enough"),
    [(None, True), ("*/*", True), ("application/*", True), ("a/b, application/json;q=1", True), ("text/html", False)],
)  # fmt: skip
def test_what_is_accepted(accept: str | None, is_enough: bool) -> None:
    """As lenient as the official server."""
    assert accepts(accept, JSON) is is_enough


def test_media_types_come_first() -> None:
    """Another type, and an Accept that leaves no room."""
    assert fault_of(read_post(Head(content_type="text/plain"), b"{}")) == ("malformed_request", None)
    assert fault_of(read_post(head(accept="text/html"), b"{}")) == ("not_acceptable", None)


@pytest.mark.req("GTW-020a", "GTW-030")
def test_finding_out_is_free_and_using_is_not() -> None:
    """The whole table: a method that is not in it does not exist."""
    assert {name: each.charges for name, each in METHODS.items()} == {
        "initialize": 0, "ping": 0, "server/discover": 0, "tools/list": 0, "resources/list": 0,
        "resources/templates/list": 0, "prompts/list": 0, "tools/call": 1, "resources/read": 1, "prompts/get": 1,
        "completion/complete": 1, "resources/subscribe": 1, "resources/unsubscribe": 0, "subscriptions/listen": 1,
    }  # fmt: skip
