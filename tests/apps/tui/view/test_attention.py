"""Which keys count: those of somebody who had the question before their eyes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.apps.tui.view.attention import Attention


@dataclass
class At:
    time: float


@pytest.mark.req("OAP-209")
@given(st.floats(0, 100), st.lists(st.floats(-5, 5), max_size=10))
def test_no_key_counts_before_the_question_was_there_for_a_while(painted: float, keys: list[float]) -> None:
    """Whenever they were typed and however they arrive."""
    attention = Attention(0.5)
    attention.begin(painted)
    assert not any(attention.hears(At(painted + key)) for key in keys if key < 0.5)


def test_typing_on_puts_the_moment_off() -> None:
    """A key that comes without a pause after one that did not count does not count either."""
    attention = Attention(0.5)
    attention.begin(10.0)
    assert [attention.hears(At(at)) for at in (10.4, 10.8, 11.2, 11.7)] == [False, False, False, True]


def test_between_two_questions_of_a_form_no_pause_is_due() -> None:
    """But the next has to be on the screen."""
    attention = Attention(0.5)
    attention.begin(10.0)
    attention.lapse(is_pause_due=False)
    assert not attention.hears(At(20.0))
    attention.begin(21.0)
    assert [attention.hears(At(at)) for at in (20.9, 21.0)] == [False, True]


def test_nothing_counts_while_the_question_is_on_its_way() -> None:
    """Not painted is not read."""
    assert not Attention(0.0).hears(At(1e9))
