"""The values of a child's end; how they come about is in test_child."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.net.pipes import Cause, Ending, Tail


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (Ending(cause=Cause.EXITED, exit_code=3), "it exited with code 3"),
        (Ending(cause=Cause.EXITED, exit_code=-15), "it was ended by signal 15"),
        (Ending(cause=Cause.CLOSED_OUTPUT, exit_code=None), "it closed its output and went on running"),
        (Ending(cause=Cause.CLOSED_BY_US, exit_code=0), "it was closed"),
        (Ending(cause=Cause.LINE_TOO_LONG, exit_code=None), "it wrote a line over the bound"),
    ],
)
def test_an_ending_reads_as_a_sentence(ending: Ending, said: str) -> None:
    """It follows a name: "toy could not be reached: it exited with code 3"."""
    assert str(ending) == said


@given(st.lists(st.binary(max_size=40)), st.integers(1, 50))
def test_a_tail_is_the_last_bytes_however_they_came(pieces: list[bytes], limit: int) -> None:
    """The last `limit` bytes of all, and never much more than that in memory."""
    tail = Tail(limit)
    for piece in pieces:
        tail.add(piece)
        assert tail.size <= 2 * limit
    assert tail.text() == b"".join(pieces)[-limit:].decode("utf-8", "replace")
