"""What comes in before the screen stands, and what is a paste."""

from __future__ import annotations

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from sayso.apps.tui.driver import TypedChunks, pasted
from sayso.apps.tui.first_frame import first_frame
from sayso.apps.tui.terminal import read_early


@pytest.mark.parametrize(
    ("data", "typed", "is_light"),
    [
        (b"hello", "hello", None),
        (b"\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?62;c", "", True),
        (b"he\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\llo\x1b[?1;2c\r", "hello\r", False),
        (b"\x1b]11;rgba:fd/f6/e3/ff\x07w\xc3\xa4hrend", "während", True),
    ],
)
def test_the_terminals_answers_are_told_from_what_was_typed(data: bytes, typed: str, is_light: bool | None) -> None:
    """No letter is lost and no answer ends up in the composer."""
    assert read_early(data) == (typed, is_light)


@pytest.mark.parametrize(
    ("text", "is_paste"),
    [
        ("one\rtwo", True),
        ("one\rtwo\r", True),
        ("one\r", False),
        ("\r", False),
        ("one", False),
        ("\x1b[A\rtwo", False),
        ("o\x03\rtwo", False),
    ],
)
def test_several_lines_at_once_are_a_paste(text: str, is_paste: bool) -> None:
    """A terminal without bracketed paste must not send each line by itself."""
    assert pasted(text) is is_paste


def _events(*chunks: str) -> list[str]:
    typed = TypedChunks(XTermParser())
    found = []
    for chunk in chunks:
        for event in typed.read(chunk):
            found.append(f"paste {event.text!r}" if isinstance(event, events.Paste) else f"key {event.key}")
    return found


def test_a_bracketed_paste_is_one_however_it_is_cut() -> None:
    """Its lines are not judged by themselves while the bracket is open."""
    assert _events("\x1b[200~one\rt", "wo\rthree", "\rfour\x1b[201~", "x") == [
        "paste 'one\\rtwo\\rthree\\rfour'",
        "key x",
    ]


def test_a_bracket_cut_in_two_still_closes() -> None:
    """The marker may arrive in pieces."""
    assert _events("\x1b[200~a\x1b[20", "1~", "one\rtwo") == ["paste 'a'", "paste 'one\\ntwo'"]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (140, 40), (20, 6), (10, 3), (1, 1)])
def test_the_first_frame_stays_inside_its_terminal(width: int, height: int) -> None:
    """No line of it is longer than the terminal, whatever the size."""
    frame = first_frame(width, height)
    drawn = frame.count("─")
    assert drawn == (2 * (width - 2) if width >= 20 and height >= 6 else 0)
    assert "starting" in frame
