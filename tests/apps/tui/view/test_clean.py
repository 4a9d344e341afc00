"""What other people's text may put on a terminal: letters, lines and tabs, and a trace of everything else."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.apps.tui.view.clean import Cleaner, clean, clean_name, clean_strict

TRICKS = list(
    "\x1b[]P^_m;1\x07\\\x18\x9b\x9c\x9d\r\n\t \x00\x7f\x85\u2028a漢é\u0301\u200b\u200d\u202e\ufe0f👍\U0001f3fd"
)
WILD = st.text(st.sampled_from([*TRICKS, "\ud800", "\U000e0041", "\u115f"]) | st.characters(), max_size=60)
NEVER = {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0))} - {"\n", "\t"}


@pytest.mark.req("OAP-211")
@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("a\x1b]52;c;cm0gLXJm\x07b", "a␛b"),
        ("\x1b]8;;https://bank.example\x1b\\click\x1b]8;;\x1b\\", "␛click␛"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hgone", "␛␛gone"),
        ("\x9b2Jgone", "␛gone"),
        ("\x9d0;title\x9cx", "␛x"),
        ("\x1bPq#0\x1b\\x", "␛x"),
        ("\x1b(Bx", "␛x"),
        ("\x1b[3\x1b[4mx", "␛x"),
        ("\x1b]never ended\nnext line", "␛\nnext line"),
        ("a\x08\x00\x7f", "a␈␀␡"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("\ttab", "\ttab"),
        ("pay \u202eevil\u202c", "pay [U+202E]evil[U+202C]"),
        ("\ud83d", "[U+D83D]"),
        ("a\u200bb\ufeff\U000e0041", "a[U+200B]b[U+FEFF][U+E0041]"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻 ❤\ufe0f 👍\U0001f3fd", "👩💻 ❤ 👍"),
    ],
)
def test_a_trick_is_taken_out_whole_and_leaves_a_trace(given_text: str, shown: str) -> None:
    """Sequences with their payloads, overrides, zero widths and lone surrogates; letters and lines stay."""
    assert clean(given_text) == shown


@pytest.mark.req("OAP-211")
def test_what_a_person_decides_by_hides_nothing() -> None:
    """In names and questions even what only picks a glyph is shown, and a name stays on its line."""
    assert clean_strict("r\u00adm ❤\ufe0f\u00a0x\x1b[31m") == "r[U+00AD]m ❤[U+FE0F] x␛"
    assert clean_name("Re\u200dad\nfile\x1b]0;x\x07") == "Re[U+200D]ad file␛"


def test_a_long_name_says_that_it_was_cut() -> None:
    """By an ellipsis, also where it is cut before it is cleaned."""
    assert clean_name("a" * 121) == "a" * 119 + "…"
    assert clean_name("\x1b]" + "a" * 10_000, 10).endswith("…")


def test_marks_do_not_pile_up() -> None:
    """A pile of combining marks would paint over the lines above."""
    assert clean("e" + "\u0301" * 8) == "e" + "\u0301" * 6 + "[U+0301][U+0301]"


@given(WILD)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    """Whatever comes in: no control character, no surrogate, and cleaning again changes nothing."""
    for cleaning in (clean, clean_strict):
        shown = cleaning(text)
        assert NEVER.isdisjoint(shown)
        assert not any(unicodedata.category(each) == "Cs" for each in shown)
        assert not any("\u202a" <= each <= "\u202e" or "\u2066" <= each <= "\u2069" for each in shown)
        assert cleaning(shown) == shown


@given(WILD)
def test_strict_text_has_no_invisible_character(text: str) -> None:
    """Beyond the space, the line end and the tab, everything in it shows."""
    assert not any(unicodedata.category(each) in ("Cf", "Cc") and each not in "\n\t" for each in clean_strict(text))


@given(WILD, st.lists(st.integers(0, 60), max_size=4))
def test_it_does_not_matter_where_a_text_is_cut(text: str, cuts: list[int]) -> None:
    """Deltas end anywhere, in the middle of a sequence too."""
    cleaner, edges = Cleaner(), [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]
    assert "".join(map(cleaner.feed, pieces)) + cleaner.close() == clean(text)
