"""What a body may hold, at its edges and on arbitrary input."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refused
from sayso.gateway.guard.rules.limits import check_payload, scan_depth

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=40,
)


def levels(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(levels, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(levels, value), default=0)
    return 0


def nested(count: int) -> object:
    return [nested(count - 1)] if count else 1


@pytest.mark.req("GTW-021")
@given(JSON, st.integers(1, 6))
def test_depth_on_raw_bytes_is_the_depth_of_the_parsed_value(value: object, allowed: int) -> None:
    """Brackets inside strings do not count, whatever is escaped in them."""
    raw = json.dumps(value).encode()
    if levels(value) > allowed:
        with pytest.raises(Refused, match="nested deeper"):
            scan_depth(raw, allowed)
    else:
        scan_depth(raw, allowed)


@pytest.mark.req("GTW-021")
@pytest.mark.parametrize("text", ["[[[[[[", '"[[[[', "\\[[[[", '\\"[[[[', "]]]]"])
def test_brackets_inside_strings_are_no_levels(text: str) -> None:
    """However the string is escaped; and closing ones inside it give no level back."""
    scan_depth(json.dumps({"a": [text]}).encode(), 2)
    with pytest.raises(Refused):
        scan_depth(json.dumps({"a": [text, [1]]}).encode(), 2)


@pytest.mark.req("GTW-021")
@given(st.binary(max_size=200), st.integers(1, 4))
def test_scanning_bytes_that_are_no_json_answers_or_refuses(raw: bytes, allowed: int) -> None:
    """No other exception leaves, and a document without enough brackets always passes."""
    with contextlib.suppress(Refused):
        scan_depth(raw, allowed)
    if raw.count(b"[") + raw.count(b"{") <= allowed:
        scan_depth(raw, allowed)


@pytest.mark.req("GTW-021")
@pytest.mark.parametrize(
    "raw",
    [b"[" * 4000, b'{"a":' * 1600, b"[" * 12 + b'"' + b"]" * 12 + b"\\" * 4001, b'"' + b'\\"[' * 2000 + b"[" * 13],
)
def test_thousands_of_brackets_are_looked_at_once(raw: bytes) -> None:
    """What a parser would choke on is refused or passed by its real depth."""
    opened = raw.partition(b'"')[0].count(b"[") if not raw.startswith(b"{") else 1600
    if opened > 12:
        with pytest.raises(Refused) as no:
            scan_depth(raw)
        assert (no.value.refusal.code, no.value.refusal.reason) == ("payload_limits", "too_deep")
    else:
        scan_depth(raw)


@pytest.mark.req("GTW-021")
def test_four_levels_of_payload_pass_and_a_fifth_is_named() -> None:
    """The payload's own root is the first level."""
    check_payload({"a": [{"b": [1]}]}, "$.params.arguments")
    with pytest.raises(Refused) as no:
        check_payload({"a": [{"b": [[1]]}]}, "$.params.arguments")
    assert (no.value.refusal.reason, no.value.refusal.place) == ("too_deep", "$.params.arguments.a[0].b[0]")
    assert no.value.refusal.details == {"limit": 4}


@pytest.mark.req("GTW-021")
@pytest.mark.parametrize("text", ["x" * 2000, "\U0001f600" * 2000])
def test_two_thousand_code_points_pass_and_one_more_is_named(text: str) -> None:
    """An astral character is one, whatever it takes in UTF-8 or UTF-16."""
    check_payload({"a": [text]}, "$")
    with pytest.raises(Refused) as no:
        check_payload({"a": [text + "y"]}, "$")
    assert (no.value.refusal.reason, no.value.refusal.place) == ("string_too_long", "$.a[0]")


@pytest.mark.req("GTW-021")
def test_a_name_is_a_text_too() -> None:
    """A member's name has the same bound, and is not repeated in the refusal."""
    check_payload({"k" * 2000: 1}, "$.body")
    with pytest.raises(Refused) as no:
        check_payload({"a": {"k" * 2001: 1}}, "$.body")
    assert (no.value.refusal.reason, no.value.refusal.place) == ("string_too_long", "$.body.a")


@given(JSON)
def test_a_payload_is_refused_exactly_when_it_is_deeper(value: object) -> None:
    """Against the depth reckoned by recursion."""
    if levels(value) > 4:
        with pytest.raises(Refused):
            check_payload(value, "$")  # type: ignore[arg-type]
    else:
        check_payload(value, "$")  # type: ignore[arg-type]
