"""Which files `@` offers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from sayso.apps.tui.files import FILES, list_files_now


def _write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_git_says_which_files_there_are(tmp_path: Path) -> None:
    """Kept and new ones, not those it ignores."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, env=environment)
    _write(tmp_path, ".gitignore", "a.py", "deep/b.py", "built/c.o")
    (tmp_path / ".gitignore").write_text("built/\n")
    assert list_files_now(tmp_path) == [".gitignore", "a.py", "deep/b.py"]


def test_without_git_it_looks_itself_and_passes_over_what_is_hidden(tmp_path: Path) -> None:
    """Folders of dots and of build results are not looked into; a link to a folder is not followed."""
    _write(tmp_path, "a.py", "deep/b.py", ".cache/c", "node_modules/d.js")
    (tmp_path / "round").symlink_to(tmp_path)
    assert list_files_now(tmp_path) == ["a.py", "deep/b.py"]


def test_the_home_is_never_offered(tmp_path: Path) -> None:
    """A home inside the workspace is no part of it."""
    _write(tmp_path, "a.py", "home/keys/principal")
    assert list_files_now(tmp_path, tmp_path / "home") == ["a.py"]


def test_a_name_that_cannot_be_shown_is_left_out(tmp_path: Path) -> None:
    """A control sequence in a file's name never reaches the screen."""
    _write(tmp_path, "fine.txt", "evil\x1b[31m.txt")
    assert list_files_now(tmp_path) == ["fine.txt"]


def test_a_folder_of_very_many_files_costs_a_bounded_list(tmp_path: Path) -> None:
    """What is near comes before what is deep."""
    for number in range(FILES // 100 + 2):
        _write(tmp_path, *(f"d{number:03}/f{each:03}" for each in range(100)))
    _write(tmp_path, "near.txt")
    found = list_files_now(tmp_path)
    assert len(found) == FILES
    assert "near.txt" in found


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    """Nothing is raised at whoever types an @."""
    assert list_files_now(tmp_path / "gone") == []
