"""RFC 8785: the fast path, the slow path and the independent package write the same bytes."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from sayso.core import canonical as module
from sayso.core.canonical import canonical
from sayso.core.refusal import Refused

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**54), 2**54) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=5),
    max_leaves=20,
)
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=5),
    max_leaves=20,
)


def reference(value: Any) -> bytes | None:
    """What the independent package writes, None where it refuses."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        return None


@given(json_values)
@example({"\U0001f600": 1, "\ufb33": 2})
@example({"\ue000": 1, "\U00010000": {"\uffff": -0.0}})
@example([1e16, 1e21, 1e-7, 0.000001, -0.0, 1.0, 5e-324])
@example("".join(map(chr, range(0x80))) + "\u2028\u2029\ufeff")
@example([2**53, float("nan")])
def test_any_value_is_written_as_the_reference_writes_it(value: Any) -> None:
    """Floats, negative zero, astral names and control characters included; refused alike as well."""
    expected = reference(value)
    if expected is None:
        with pytest.raises(Refused):
            canonical(value)
    else:
        assert canonical(value) == expected


@given(plain_values)
def test_the_fast_path_equals_the_slow_one(value: Any) -> None:
    """Taking the fast path is a matter of speed alone."""
    assert canonical(value) == module._write(value).encode()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_double_is_written_as_the_reference_writes_it(number: float) -> None:
    """The shortest digits, placed as ECMAScript places them."""
    assert canonical(number) == reference(number)


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
    ],
)
def test_the_numbers_of_the_rfc_are_written_as_it_says(bits: str, text: str) -> None:
    """RFC 8785, appendix B."""
    assert canonical(struct.unpack(">d", bytes.fromhex(bits))[0]) == text.encode()


def test_names_are_ordered_by_utf16_unit() -> None:
    """A name beyond U+FFFF comes before U+FB33: its first unit is a surrogate."""
    value = {"\ufb33": 1, "\U0001f600": 2, "\r": 3, "1": 4, "\u20ac": 5}
    assert canonical(value) == '{"\\r":3,"1":4,"€":5,"😀":2,"\ufb33":1}'.encode()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (2**53, "integer_out_of_range"),
        ([-(2**53)], "integer_out_of_range"),
        ({"a": 2**70}, "integer_out_of_range"),
        (float("nan"), "not_finite"),
        ([{"a": float("inf")}], "not_finite"),
        ("\ud800", "lone_surrogate"),
        ({"\udfff": 1}, "lone_surrogate"),
        ({1: 2}, "not_json"),
        ({"a": {1, 2}}, "not_json"),
        (b"bytes", "not_json"),
    ],
)
def test_what_has_no_canonical_form_is_refused(value: Any, reason: str) -> None:
    """Nothing is rounded, replaced by null or guessed."""
    with pytest.raises(Refused) as caught:
        canonical(value)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("not_canonical", reason)


def test_bottomless_nesting_is_refused() -> None:
    """A value nested beyond the interpreter's stack is a refusal, not a crash."""
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(Refused) as caught:
        canonical(value)
    assert caught.value.refusal.reason == "too_deep"
