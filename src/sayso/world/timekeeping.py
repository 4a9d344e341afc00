"""The world's clock: it stands where it was put unless it is set running, and moves only forward.

Every process of a world reads the same file, so holds run out, mandates expire and signatures go stale together.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from sayso.core.clock import FileClock, write_clock_file
from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.world.places import START, clock_file, make_world_folder

__all__ = ("move_clock", "open_clock", "read_move", "set_running")


def open_clock(home: Path) -> FileClock:
    """The clock of a home's world, which is set to `START` the first time."""
    file = clock_file(home)
    if not file.exists():
        make_world_folder(home)
        write_clock_file(file, START)
    return FileClock(file)


def read_move(text: str, now: datetime) -> datetime:
    """The instant that `2026-10-15T13:00:00-04:00` names or that lies `+PT1H` after now.

    Refused: malformed_instant, malformed_duration; `clock_backwards`: what has run out would live again.
    """
    to = now + parse_duration(text[1:]) if text.startswith("+") else parse_instant(text)
    if to < now:
        raise Refused.because(
            "clock_backwards",
            "The world's clock is never turned back.",
            help="Start a new world in another home, or remove this one's world folder while nothing serves it.",
        )
    return to


def move_clock(home: Path, text: str) -> datetime:
    """Moves the clock; where it stands now. Refused as `read_move`."""
    clock = open_clock(home)
    to = read_move(text, clock.now())
    write_clock_file(clock_file(home), to, runs=clock.runs)
    return to


def set_running(home: Path, *, runs: bool) -> datetime:
    """Lets the clock go on by itself from where it stands, or stops it there; the instant."""
    now = open_clock(home).now()
    write_clock_file(clock_file(home), now, runs=runs)
    return now
