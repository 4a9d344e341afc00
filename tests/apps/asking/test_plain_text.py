"""What comes from elsewhere cannot move the cursor, hide a word or start a line of its own."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.apps.asking.plain_text import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Maple Street Auto", "Maple Street Auto"),
        ("Café Zoë — 21 °C, 日本語", "Café Zoë — 21 °C, 日本語"),
        ("red \x1b[31malert\x1b[0m", "red ?[31malert?[0m"),
        ("one\ntwo\rthree", "one?two?three"),
        ("pay \u202e00.1 DAC\u202c", "pay ?00.1 DAC?"),
        ("zero\u200bwidth \ufeffmark", "zero?width ?mark"),
    ],
)
def test_control_and_format_characters_are_shown_as_question_marks(text: str, shown: str) -> None:
    """Replaced and not dropped: that something was there stays visible."""
    assert plain(text) == shown


@given(st.text())
def test_nothing_that_steers_a_terminal_gets_through(text: str) -> None:
    """Whatever the text, as many characters as before, none of them a control."""
    shown = plain(text)
    assert len(shown) == len(text)
    assert not any(unicodedata.category(each) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for each in shown)
