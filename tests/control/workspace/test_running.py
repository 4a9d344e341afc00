"""A program ends with its call, whatever it started, and is heard within bounds (B09)."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from sayso.control.workspace.running import MARK, Bounds, Outcome, Running
from sayso.core.clock import SystemClock
from sayso.core.refusal import Refused

PLENTY = 60.0


def running(
    command: str, folder: Path, *, seconds: float = PLENTY, head: int = 1000, tail: int = 1000, program: str = "/bin/sh"
) -> Running:
    environment: Mapping[str, str] = {"PATH": "/usr/bin:/bin"}
    bounds = Bounds(seconds=seconds, head=head, tail=tail)
    return Running((program, "-c", command), environment=environment, folder=folder, bounds=bounds, clock=SystemClock())


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and unread does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_both_outputs_and_the_status_are_told(tmp_path: Path) -> None:
    """In the order they were written."""
    assert running("echo one; echo two >&2; echo three; exit 3", tmp_path).run() == Outcome(
        ending="exited", status=3, head=b"one\ntwo\nthree\n", tail=b"", cut=0
    )
    assert running("kill -TERM $$", tmp_path).run().status == -15


@pytest.mark.req("OAP-156")
def test_output_keeps_both_ends(tmp_path: Path) -> None:
    """However much there is, and the bytes between are counted."""
    outcome = running("seq 1 200000; echo end", tmp_path, head=4, tail=8).run()
    whole = b"".join(b"%d\n" % number for number in range(1, 200001)) + b"end\n"
    assert (outcome.head, outcome.tail, outcome.cut) == (b"1\n2\n", b"000\nend\n", len(whole) - 12)
    exact = running("printf abcdefgh", tmp_path, head=4, tail=4).run()
    assert (exact.head, exact.tail, exact.cut) == (b"abcd", b"efgh", 0)


@pytest.mark.req("OAP-156")
def test_it_gets_no_input_and_nothing_of_ours(tmp_path: Path) -> None:
    """No environment but its own, no open file of ours."""
    secret = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        outcome = running("cat; echo $((1 + 1)); ls /proc/self/fd | wc -l; env | grep -v ^_ | sort", tmp_path).run()
    finally:
        os.close(secret)
    lines = outcome.head.decode().split()
    assert lines[0] == "2"
    assert int(lines[1]) <= 4
    assert [line.partition("=")[0] for line in lines[2:]] == ["PATH", "PWD", MARK]


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize("how", ["{} &", "setsid {} &", "(trap '' HUP TERM; {}) &", "setsid sh -c 'setsid {}' &"])
def test_nothing_it_started_outlives_it(tmp_path: Path, how: str) -> None:
    """A grandchild that holds the pipe, ignores signals or made itself a session of its own ends with the call."""
    grandchild = 'sh -c "echo \\$\\$ > pid.new; mv pid.new pid; exec sleep 600"'
    command = f"mkfifo go; {how.format(grandchild)} until test -e pid; do :; done; echo result"
    outcome = running(command, tmp_path).run()
    assert (outcome.ending, outcome.status, outcome.head) == ("exited", 0, b"result\n")
    assert not is_alive(int((tmp_path / "pid").read_text()))


@pytest.mark.req("OAP-156")
def test_a_command_that_takes_too_long_is_killed_whole(tmp_path: Path) -> None:
    """Also one that ignores being asked, and what it had said is kept."""
    command = "trap '' TERM INT; echo $$ > pid; sleep 600 & echo $! > child; echo said; wait; wait; sleep 600"
    outcome = running(command, tmp_path, seconds=1).run()
    assert (outcome.ending, outcome.status, outcome.head) == ("late", None, b"said\n")
    assert not is_alive(int((tmp_path / "pid").read_text()))
    assert not is_alive(int((tmp_path / "child").read_text()))


def test_a_command_that_never_stops_talking_is_bounded(tmp_path: Path) -> None:
    """By time alone: what is not kept is read and forgotten."""
    outcome = running("yes", tmp_path, seconds=0.3).run()
    assert (outcome.ending, len(outcome.head), len(outcome.tail)) == ("late", 1000, 1000)


@pytest.mark.req("OAP-156")
def test_stopping_ends_it_at_once(tmp_path: Path) -> None:
    """From another thread, as soon as it runs; again, or afterwards, it changes nothing."""
    os.mkfifo(tmp_path / "ready")
    command = running("echo $$ > ready; exec sleep 600", tmp_path)
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(command.run()))
    thread.start()
    pid = int((tmp_path / "ready").read_text())
    command.stop()
    command.stop()
    thread.join()
    command.stop()
    assert outcomes[0].ending == "stopped"
    assert not is_alive(pid)


def test_stopped_before_it_began_it_never_does(tmp_path: Path) -> None:
    """Nothing is started."""
    command = running("touch began", tmp_path)
    command.stop()
    assert command.run().ending == "stopped"
    assert not (tmp_path / "began").exists()


def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Typed, and without a descriptor left open."""
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Refused) as refused:
        running("true", tmp_path, program="/nonexistent/sh").run()
    assert refused.value.refusal.reason == "cannot_start"
    assert len(os.listdir("/proc/self/fd")) == before
