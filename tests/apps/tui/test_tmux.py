"""The real program in a real terminal: tmux, at the smallest and at a large size."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


class Tmux:
    """One terminal of its own server, on a socket of its own."""

    def __init__(self, socket: Path, command: str, size: tuple[int, int], environment: dict[str, str]) -> None:
        self._socket = str(socket)
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in ("TMUX", "SSH_CONNECTION", "SSH_TTY")},
            "TERM": "xterm-256color",
            **environment,
        }
        width, height = map(str, size)
        self._run("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, command)

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *arguments], capture_output=True, text=True, env=self._environment, check=False
        )
        return done.stdout

    def keys(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def type(self, text: str) -> None:
        self._run("send-keys", "-l", text)

    def screen(self, *options: str) -> str:
        return self._run("capture-pane", "-p", *options)

    def resize(self, width: int, height: int) -> None:
        self._run("resize-window", "-x", str(width), "-y", str(height))

    def paste(self, text: str, *, bracketed: bool) -> None:
        self._run("set-buffer", text)
        self._run("paste-buffer", *(["-p"] if bracketed else []), "-d")

    def pid(self) -> int:
        """The program's: the child of the pane's shell."""
        pane = self._run("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{pane}/task/{pane}/children").read_text().split()[0])

    def title(self) -> str:
        return self._run("display-message", "-p", "#{pane_title}").strip()

    def until(self, holds: Callable[[str], object]) -> str:
        for _ in range(1200):
            screen = self.screen()
            if holds(screen):
                return screen
            if "ENDED" in screen and not holds(self.screen()):
                break  # nothing comes any more
            time.sleep(0.02)  # a look at the screen now and then, until it holds what is waited for
        raise AssertionError(f"it never came:\n{self.screen()}")

    def starts(self) -> str:
        return self.until(lambda screen: "idle" in screen and "starting" not in screen)

    def sees(self, *texts: str) -> str:
        return self.until(lambda screen: all(text in screen for text in texts))

    def answer(self, key: str) -> None:
        """One key; a question takes none that comes with it, so it is pressed again when it did not count."""
        looks = 0

        def is_gone(screen: str) -> bool:
            nonlocal looks
            if looks % 40 == 39:
                self.keys(key)
            looks += 1
            return "allows it" not in screen

        self.until(is_gone)

    def end(self) -> None:
        self._run("kill-server")


@contextmanager
def tui(
    tmp_path: Path,
    what: str = "memory",
    *,
    size: tuple[int, int] = (80, 24),
    resume: str = "",
    environment: dict[str, str] | None = None,
) -> Iterator[Tmux]:
    worker = [
        sys.executable,
        "-m",
        "tests.apps.tui.worker",
        what,
        str(tmp_path / "home"),
        *([resume] if resume else []),
    ]
    command = f"cd {shlex.quote(str(ROOT))}; {shlex.join(worker)}; echo ENDED $?; read -r rest"
    terminal = Tmux(tmp_path / f"tmux{len(list(tmp_path.glob('tmux*')))}", command, size, environment or {})
    try:
        yield terminal
    finally:
        terminal.end()


@pytest.mark.req("OAP-208", "OAP-211")
def test_a_frame_is_there_at_once_and_the_composer_takes_keys(tmp_path: Path) -> None:
    """What is typed while everything slow is read stands in the composer."""
    with tui(tmp_path) as terminal:
        terminal.sees("starting…")
        terminal.type("typed early")
        terminal.sees("typed early", "idle")


@pytest.mark.req("OAP-209")
@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
def test_a_whole_turn_with_a_permission_by_one_key(tmp_path: Path, size: tuple[int, int]) -> None:
    """Typed, asked, granted by `y`, told, at both sizes."""
    with tui(tmp_path, size=size) as terminal:
        terminal.starts()
        terminal.type("script: tools please")
        terminal.keys("Enter")
        terminal.sees("May write_note run?", "y allows it")
        terminal.answer("y")
        screen = terminal.sees("Done: script: tools please", "idle")
        assert len(screen.splitlines()) == size[1]


@pytest.mark.req("OAP-209")
def test_escape_stops_a_run_and_what_waits_goes_on(tmp_path: Path) -> None:
    """Esc ends the run, the queue stays, its turn comes."""
    with tui(tmp_path) as terminal:
        terminal.starts()
        terminal.type("script: hold")
        terminal.keys("Enter")
        terminal.sees("working")
        terminal.type("script: plain after it")
        terminal.keys("Enter")
        terminal.sees("1 waiting")
        terminal.keys("Escape")
        terminal.until(lambda screen: "Done: script: plain after it" in screen and "waiting" not in screen)


@pytest.mark.req("OAP-211")
def test_a_conversation_is_gone_on_with_after_a_kill(tmp_path: Path) -> None:
    """Killed in the middle of a tool call: the next start has what was said, and the model hears it again."""
    with tui(tmp_path, "opens") as terminal:
        terminal.starts()
        terminal.type("remember this")
        terminal.keys("Enter")
        terminal.sees("messages of yours: 1.")
        terminal.type("wait_for_ever")
        terminal.keys("Enter")
        terminal.sees("I look.", "working")
        os.kill(terminal.pid(), signal.SIGKILL)
        terminal.sees("ENDED 137")
    with tui(tmp_path, "opens") as terminal:
        terminal.starts()
        terminal.type("/resume")
        terminal.keys("Enter")
        terminal.sees("Go on with", "remember this")
        terminal.keys("Enter")
        terminal.sees("I look.")
        terminal.type("and now?")
        terminal.keys("Enter")
        terminal.sees("messages of yours: 3.")


@pytest.mark.req("OAP-211")
def test_no_control_sequence_of_a_tool_reaches_the_terminal(tmp_path: Path) -> None:
    """A stranger's mail neither clears the screen nor colours it nor names the window."""
    with tui(tmp_path, "opens") as terminal:
        terminal.starts()
        title = terminal.title()
        terminal.type("read_mail")
        terminal.keys("Enter")
        terminal.sees("read_mail", "messages of yours: 1.")
        assert "owned" not in terminal.title()
        assert terminal.title() == title
        coloured = terminal.screen("-e")
        assert "\x1b[31mRED" not in coloured
        assert "\x1b[5m" not in coloured


@pytest.mark.req("OAP-211")
def test_a_paste_of_many_lines_is_one_text(tmp_path: Path) -> None:
    """With brackets around it and without: nothing is sent before Enter."""
    with tui(tmp_path) as terminal:
        terminal.starts()
        for name, bracketed in (("one", True), ("two", False)):
            terminal.paste(f"script: plain {name}\nsecond line\nthird {name}", bracketed=bracketed)
            screen = terminal.sees("second line", f"third {name}")
            assert f"Done: script: plain {name}" not in screen
            terminal.keys("Enter")
            terminal.sees(f"Done: script: plain {name}", "idle")


def test_a_terminal_is_resized_while_it_talks(tmp_path: Path) -> None:
    """Smaller, larger, and what was said is still there."""
    with tui(tmp_path) as terminal:
        terminal.starts()
        terminal.type("script: plain hello")
        terminal.keys("Enter")
        terminal.sees("Done: script: plain hello")
        for width, height in ((40, 12), (140, 40), (80, 24)):
            terminal.resize(width, height)
            terminal.until(
                lambda screen, height=height: "Done: script: plain" in screen and len(screen.splitlines()) == height
            )


@pytest.mark.req("OAP-211")
def test_a_light_terminal_gets_light_colours(tmp_path: Path) -> None:
    """As the terminal says by its variable: dark letters on a light ground."""
    with tui(tmp_path, environment={"COLORFGBG": "0;15", "COLORTERM": "truecolor"}) as terminal:
        terminal.starts()
        ground = re.search(r"48;2;(\d+);(\d+);(\d+)", terminal.screen("-e"))
        assert ground is not None
        assert min(map(int, ground.groups())) > 0xC0


@pytest.mark.req("OAP-211", "OAP-213")
def test_leaving_gives_the_terminal_back_and_says_how_to_go_on(tmp_path: Path) -> None:
    """Ctrl-C twice: exit 0, the draft kept, the shell as it was."""
    with tui(tmp_path, "opens") as terminal:
        terminal.starts()
        terminal.type("hello")
        terminal.keys("Enter")
        terminal.sees("messages of yours: 1.")
        terminal.type("half a thought")
        terminal.sees("half a thought")
        terminal.keys("C-c", "C-c")
        screen = terminal.sees("ENDED 0", "--resume")
        assert "had typed is kept" in " ".join(screen.split())
        terminal.type("echoed")
        terminal.sees("echoed")
    with tui(tmp_path, "opens") as terminal:
        terminal.sees("half a thought")


@pytest.mark.req("OAP-213")
def test_a_polite_kill_leaves_in_order(tmp_path: Path) -> None:
    """SIGTERM is as good as leaving."""
    with tui(tmp_path) as terminal:
        terminal.starts()
        os.kill(terminal.pid(), signal.SIGTERM)
        terminal.sees("ENDED 0")


@pytest.mark.req("OAP-213")
def test_without_a_terminal_it_says_what_to_use(tmp_path: Path) -> None:
    """Exit 2, naming `sayso run`, and nothing is drawn."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.apps.tui.worker", "memory", str(tmp_path / "home")],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "sayso run" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.req("OAP-211", "OAP-213")
def test_a_failure_inside_gives_the_terminal_back_and_names_the_log(tmp_path: Path) -> None:
    """No traceback at a person; where it broke stands in the log, for them alone."""
    with tui(tmp_path, "breaks") as terminal:
        screen = " ".join(terminal.sees("ENDED 1").split())
        assert "sayso failed inside (ZeroDivisionError)" in screen
        assert "tui.log" in screen.replace(" ", "")
        assert "Traceback" not in screen
        assert "secret" not in screen
        terminal.type("echoed")
        terminal.sees("echoed")
    assert "ZeroDivisionError" in (tmp_path / "home" / "log" / "tui.log").read_text()
