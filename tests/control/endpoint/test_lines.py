"""What an endpoint's line is, before anything in it is decoded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.endpoint.lines import ControlLine, EnvelopeLine, read_line, read_replay
from sayso.core.refusal import Refused


@pytest.mark.req("OAP-127")
@pytest.mark.parametrize(
    "line",
    [
        b"", b"x", b"[1,2]", b"1", b"null", b"{}", b'{"id":"a"}', b'{"type":"session.open.request","id":"a"}',
        b'{"protocol":"open-agent-protocol"}', b'{"protocol":"p","id":5}', b'{"protocol":"p","id":""}',
        b'{"protocol":"p","id":null}', b'{"protocol":"p","id":"a","id":"a"}', b'{"protocol":"p","id":"\xff"}',
        b'{"protocol":"p","id":"a"} {}', b'{"protocol":"p","control":"replay"}',
    ],
)  # fmt: skip
def test_a_line_that_nobody_could_answer_is_fatal(line: bytes) -> None:
    """Its boundary or its address is in doubt."""
    with pytest.raises(Refused) as caught:
        read_line(line)
    assert caught.value.refusal.code == "malformed_line"


@pytest.mark.req("OAP-127")
def test_what_can_be_answered_is_never_fatal() -> None:
    """However wrong the rest is; `protocol` decides before `control`."""
    assert read_line(b'{"protocol":7,"id":"a"}') == EnvelopeLine("a", {"protocol": 7, "id": "a"})
    assert read_line(b'{"protocol":"p","id":"a","control":"replay"}').id == "a"
    assert isinstance(read_line(b'{"control":null}'), ControlLine)
    assert read_line(b'{"control":"dance","id":"r1"}') == ControlLine("dance", "r1", {"control": "dance", "id": "r1"})


@pytest.mark.req("OAP-128")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"control":"dance","id":"r"}', "unsupported_control"),
        (b'{"control":7,"id":"r"}', "unsupported_control"),
        (b'{"control":"Replay","id":"r","session_id":"s","after":1}', "unsupported_control"),
        (b'{"control":"replay","session_id":"s","after":1}', "invalid_request"),
        (b'{"control":"replay","id":"r","after":1}', "invalid_request"),
        (b'{"control":"replay","id":"r","session_id":"s"}', "invalid_request"),
        (b'{"control":"replay","id":"r","session_id":"s","after":-1}', "invalid_request"),
        (b'{"control":"replay","id":"r","session_id":"s","after":1.0}', "invalid_request"),
        (b'{"control":"replay","id":"r","session_id":"s","after":true}', "invalid_request"),
        (b'{"control":"replay","id":"r","session_id":"s","after":1,"x":1}', "invalid_request"),
    ],
)
def test_a_control_frame_that_is_no_replay_is_answered(line: bytes, code: str) -> None:
    """The frame was read, so the host is owed an answer and not a dead process."""
    frame = read_line(line)
    assert isinstance(frame, ControlLine)
    with pytest.raises(Refused) as caught:
        read_replay(frame)
    assert caught.value.refusal.code == code


@given(st.binary(max_size=200))
def test_whatever_the_bytes_a_line_is_classed_or_refused(line: bytes) -> None:
    """Nothing else ever leaves the reader."""
    said = ("malformed_line", "")
    try:
        read_line(line)
    except Refused as refused:
        said = (refused.refusal.code, refused.refusal.message)
    assert said[0] == "malformed_line"
    assert len(said[1]) <= 300
