"""A process group, asked and signalled."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from sayso.net.group import ProcessGroup

pytestmark = pytest.mark.anyio


async def test_a_group_lives_as_long_as_a_member_runs() -> None:
    """The leader exits and is reaped; its child goes on, counts, and is reached by the group's signal."""
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(120)'])"
    leader = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    leader.wait()
    group = ProcessGroup(leader.pid)
    assert group.is_alive()
    assert await group.gone(0) is False
    group.send(signal.SIGKILL)
    assert await group.gone(20) is True


async def test_a_dead_leader_that_nobody_reaped_is_no_life() -> None:
    """A zombie cannot be ended any further, so waiting for it would be for ever."""
    leader = subprocess.Popen([sys.executable, "-c", "pass"], start_new_session=True, stdout=subprocess.PIPE)
    assert leader.stdout is not None
    leader.stdout.read()
    group = ProcessGroup(leader.pid)
    assert await group.gone(20) is True
    leader.wait()
    leader.stdout.close()


async def test_a_group_seen_empty_is_never_signalled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may belong to strangers by then."""
    leader = subprocess.Popen([sys.executable, "-c", "pass"], start_new_session=True)
    leader.wait()
    group = ProcessGroup(leader.pid)
    assert not group.is_alive()
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr("os.killpg", lambda *arguments: sent.append(arguments))
    group.send(signal.SIGTERM)
    assert (group.is_alive(), sent) == (False, [])
