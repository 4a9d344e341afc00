"""Before the screen stands: what is imported when, and what is said where there can be no screen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.apps.tui.acting import ACTS
from sayso.apps.tui.commands import COMMANDS, is_command
from sayso.apps.tui.terminal import Terminal
from tests.apps.tui.test_tmux import ROOT, Tmux

SLOW = (
    "textual",
    "rich",
    "asyncio",
    "anyio",
    "msgspec",
    "click",
    "structlog",
    "inspect",
    "sayso.core",
    "sayso.control",
)


@pytest.mark.req("OAP-221", "OAP-222")
def test_nothing_slow_is_imported_before_the_first_frame() -> None:
    """What draws the first frame stands on the standard library's quick parts alone."""
    code = f"import sys, sayso.apps.tui.launch; print([name for name in {SLOW!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.req("OAP-213")
def test_without_textual_it_says_what_to_install(tmp_path: Path) -> None:
    """Exit 3, and the terminal is never taken."""
    code = "import sys; sys.modules['textual'] = None; from sayso.apps.tui.launch import launch; sys.exit(launch())"
    terminal = Tmux(
        tmp_path / "tmux", f'cd {ROOT}; {sys.executable} -c "{code}"; echo ENDED $?; read -r rest', (80, 24), {}
    )
    try:
        assert "pip install 'sayso[tui]'" in terminal.sees("ENDED 3")
    finally:
        terminal.end()


@pytest.mark.req("OAP-211")
def test_what_libraries_print_goes_to_a_log_of_bounded_size(tmp_path: Path) -> None:
    """Of this process and of its children; for its owner alone; the screen keeps a descriptor of its own."""
    code = (
        "import os, pty, sys\n"
        "from sayso.apps.tui.terminal import Terminal\n"
        "pid, master = pty.fork()\n"
        "if pid:\n"
        "    seen = b''\n"
        "    while True:\n"
        "        try: more = os.read(master, 1024)\n"
        "        except OSError: break\n"
        "        if not more: break\n"
        "        seen += more\n"
        "    os.waitpid(pid, 0)\n"
        "    sys.stdout.write(repr(seen)); sys.exit()\n"
        "terminal = Terminal()\n"
        f"terminal.silence({str(tmp_path / 'log' / 'tui.log')!r})\n"
        "print('a library prints', flush=True)\n"
        "os.system('echo a child prints >&2')\n"
        "terminal.write('drawn')\n"
        "os.write(2, b'x' * (3 * 1024 * 1024)); terminal.trim()\n"
        "terminal.note('the last line')\n"
        "terminal.give_back()\n"
        "print('given back', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "drawn" in done.stdout
    assert "given back" in done.stdout
    assert "prints" not in done.stdout
    log = tmp_path / "log" / "tui.log"
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.stat().st_size < 512 * 1024
    assert log.read_bytes().endswith(b"the last line")


def test_a_log_keeps_what_a_child_says(tmp_path: Path) -> None:
    """Where nothing is over its size, nothing is lost."""
    log = tmp_path / "tui.log"
    terminal = Terminal.__new__(Terminal)
    terminal.log = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    terminal.note("one\n")
    terminal.trim()
    terminal.note("two\n")
    assert log.read_text() == "one\ntwo\n"
    os.close(terminal.log)


@pytest.mark.req("OAP-211")
def test_every_command_is_done_and_nothing_else() -> None:
    """The list that is shown and what there is are one."""
    assert sorted(ACTS) == sorted(command.name for command in COMMANDS)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("/help", True),
        ("/model gpt", True),
        ("/etc/hosts", False),
        ("/", False),
        ("/1", False),
        ("no /help", False),
        ("/help\nme", False),
    ],
)
def test_a_command_is_told_from_what_is_said(text: str, is_one: bool) -> None:
    """Paths and texts of several lines are said."""
    assert is_command(text) is is_one
