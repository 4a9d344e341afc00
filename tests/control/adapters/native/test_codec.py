"""One line of a harness: an object, or no agreement on where the lines are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.adapters.native.codec import read_frame, verify_last, write_frame
from sayso.core.refusal import Refused


@pytest.mark.req("OAP-045", "OAP-020")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "blank"), (b"  ", "blank"), (b"\r", "blank"), (b"{}\r", "carriage_return"),
        (b'{"a":\r1}', "carriage_return"),
        (b"[1,2]", "not_an_object"), (b"null", "not_an_object"), (b'"x"', "not_an_object"), (b"7", "not_an_object"),
        (b'{"a":1,"a":2}', "duplicate_member"), (b'{"a":1,"\\u0061":2}', "duplicate_member"),
        (b'{"a":1}{"a":2}', "trailing_data"), (b'{"a"', "syntax"), (b'{"a":"\xff"}', "not_utf8"),
        (b'{"a":NaN}', "not_finite"), (b'{"a":1e999}', "number_out_of_range"), (b'{"a":"\\ud800"}', "lone_surrogate"),
        (b'{"a":' + b"[" * 90 + b"]" * 90 + b"}", "too_deep"), (b'\xef\xbb\xbf{"a":1}', "bom"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_strict_object_is_a_violation(line: bytes, reason: str) -> None:
    """B05 among them: a valid line that is no object is judged before it is used."""
    with pytest.raises(Refused) as caught:
        read_frame(line)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("protocol_violation", reason)


@pytest.mark.req("OAP-045")
def test_what_follows_the_last_line_end_is_a_violation() -> None:
    """Half a frame is none."""
    verify_last(b"")
    with pytest.raises(Refused) as caught:
        verify_last(b'{"a":1}')
    assert caught.value.refusal.reason == "unterminated"


OBJECTS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(st.none() | st.booleans() | st.text() | st.integers(-(2**63), 2**63 - 1), st.lists, max_leaves=5),
    max_size=4,
)


@given(OBJECTS)
def test_a_frame_is_one_line_and_comes_back_whole(value: dict[str, object]) -> None:
    """B01: whatever characters its texts hold, no byte of the line is a line end."""
    line = write_frame(value)
    assert b"\n" not in line
    assert read_frame(line) == value


@given(st.binary(max_size=60))
def test_whatever_the_bytes_nothing_but_a_violation_leaves(line: bytes) -> None:
    """The codec is a funnel."""
    code = None
    try:
        read_frame(line)
    except Refused as refused:
        code = refused.refusal.code
    assert code in (None, "protocol_violation")
