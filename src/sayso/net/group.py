"""A process group that one of our children leads: told to end, and asked whether anybody in it still runs."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import anyio

__all__ = ("ProcessGroup",)

_PROC = Path("/proc")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.1


class ProcessGroup:
    """The group led by process `leader`. Seen empty once, it is never signalled again: its number may be reused."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._is_gone = False

    def is_alive(self) -> bool:
        """Whether a member runs. Dead members that nobody has reaped (a container without init) do not count."""
        if not self._is_gone:
            try:
                os.killpg(self._leader, 0)
            except ProcessLookupError:
                self._is_gone = True
            except PermissionError:
                pass  # somebody is there, under another user
            else:
                self._is_gone = not _has_running_member(self._leader)
        return not self._is_gone

    def send(self, signal_number: signal.Signals) -> None:
        """Signals every member; does nothing when there is none."""
        if self.is_alive():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, signal_number)

    async def gone(self, seconds: float) -> bool:
        """Whether the group emptied within `seconds`."""
        with anyio.move_on_after(seconds):
            pause = _FIRST_PAUSE
            while self.is_alive():  # no event tells of the end of somebody else's child
                await anyio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        return not self.is_alive()


def _has_running_member(group: int) -> bool:
    """False only where /proc shows that all members are dead; without /proc the signal's answer stands."""
    if not _PROC.is_dir():
        return True
    # The leader first: as long as it runs, nobody else needs to be looked at.
    return _runs_in(group, _PROC / str(group)) or any(
        _runs_in(group, entry) for entry in _PROC.iterdir() if entry.name.isdigit()
    )


def _runs_in(group: int, entry: Path) -> bool:
    try:
        stat = (entry / "stat").read_bytes()
    except OSError:
        return False
    # The program's name stands in parentheses and may hold any byte; after the last one: state, parent, group.
    state, _parent, its_group = stat.rpartition(b")")[2].split()[:3]
    return int(its_group) == group and state not in (b"Z", b"X")
