"""The working sheet: tidied words, atoms, and what is left."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sayso.control.provider.planner.language.sheet import CLOCK, USED, Sheet, tidy


@given(st.text(max_size=200))
def test_tidying_is_done_once(text: str) -> None:
    """What is tidy stays as it is, and no sign of ours comes in from outside."""
    once = tidy(text)
    assert tidy(once) == once
    assert not re.search("[\ue000-\uf8ff]", once)


def test_only_what_a_reader_takes_becomes_an_atom() -> None:
    """A reader that gives no value leaves the words alone."""
    sheet = Sheet("at three or four")
    sheet.mark(re.compile("three|four"), CLOCK, lambda m: 4 if m[0] == "four" else None)
    assert sheet.text == f"at three or {CLOCK * 4}"
    assert sheet.atoms(CLOCK, int) == [(12, 16, 4)]


def test_a_phrase_is_used_up_and_an_atom_restored() -> None:
    """Painting never changes the length, so places in the text stay places in what was said."""
    sheet = Sheet("at three or four")
    sheet.mark(re.compile("three|four"), CLOCK, lambda m: m[0])
    assert [m.start() for m in sheet.use(re.compile(f"at {CLOCK}+"))] == [0]
    sheet.restore(CLOCK)
    assert sheet.text == f"{USED * 8} or four"
    assert (len(sheet.text), sheet.atom(3, str)) == (len(sheet.said), "three")
