"""What was typed is kept for the next time, for its writer alone."""

from __future__ import annotations

from pathlib import Path

from sayso.apps.tui.look import choose_theme, keep_theme
from sayso.apps.tui.typed import KEPT, TypedText


def _typed(tmp_path: Path, *texts: str) -> TypedText:
    typed = TypedText(tmp_path / "tui")
    for each in texts:
        typed.add(each)
    return typed


def test_sent_texts_come_back_next_time_newest_first(tmp_path: Path) -> None:
    """Up, up; and down again to what was being typed."""
    _typed(tmp_path, "one", "two\nlines")
    again = TypedText(tmp_path / "tui")
    again.load()
    assert [again.earlier("half"), again.earlier("x"), again.earlier("x")] == ["two\nlines", "one", None]
    assert [again.later(), again.later(), again.later()] == ["two\nlines", "half", None]


def test_the_files_are_the_persons_alone(tmp_path: Path) -> None:
    """Nobody else of the machine reads what somebody typed."""
    typed = _typed(tmp_path, "secret plans")
    typed.keep_draft("more plans")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "tui").iterdir()}
    assert modes == {"typed.json": 0o600, "draft.txt": 0o600}


def test_a_draft_is_kept_and_forgotten(tmp_path: Path) -> None:
    """Sent or emptied, it is gone."""
    typed = _typed(tmp_path)
    typed.keep_draft("half a th" * 10_000)
    assert TypedText(tmp_path / "tui").draft() == "half a th" * 10_000
    typed.keep_draft("")
    assert TypedText(tmp_path / "tui").draft() == ""


def test_only_the_latest_are_kept_and_a_repeat_once(tmp_path: Path) -> None:
    """The file does not grow for ever."""
    typed = _typed(tmp_path, *(f"text {number}" for number in range(KEPT + 5)), "last", "last")
    assert (len(typed.sent), typed.sent[0], typed.sent[-2:]) == (KEPT, "text 6", (f"text {KEPT + 4}", "last"))


def test_long_texts_leave_room_for_fewer(tmp_path: Path) -> None:
    """The file is written anew with each Enter; one that is too long is sent and not kept."""
    long = [str(number) * 60_000 for number in range(10)]
    typed = _typed(tmp_path, *long, "x" * 70_000, "last")
    assert typed.sent == (*long[-8:], "last")


def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    """Whoever cannot read their history can still type."""
    _typed(tmp_path, "one")
    (tmp_path / "tui" / "typed.json").write_bytes(b'{"sent": [1]')
    typed = TypedText(tmp_path / "tui")
    typed.load()
    assert typed.sent == ()


def test_the_colours_that_were_chosen_are_there_again(tmp_path: Path) -> None:
    """Unless others are asked for, or these are not known any more; forgotten, the terminal decides."""
    folder, known = tmp_path / "home" / "tui", ("textual-dark", "textual-light", "nord")
    assert choose_theme(folder, None, known, is_light=True) == "textual-light"
    keep_theme(folder, "nord")
    assert (folder / "theme").stat().st_mode & 0o777 == 0o600
    assert choose_theme(folder, None, known, is_light=True) == "nord"
    assert choose_theme(folder, "textual-dark", known, is_light=True) == "textual-dark"
    assert choose_theme(folder, None, known[:2], is_light=False) == "textual-dark"
    keep_theme(folder, None)
    assert choose_theme(folder, None, known, is_light=False) == "textual-dark"
