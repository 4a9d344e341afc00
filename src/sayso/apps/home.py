"""One person's home: keys, database, settings and clock in one folder that only they can read.

The sample world has a home of its own inside (`<home>/world`), with its own keys, ledger and clock. A movable clock is
honoured there and nowhere else: on a real home it would move every deadline with it.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from sayso.apps.settings import DATABASE_VARIABLE, Settings, read_settings
from sayso.core.clock import CLOCK_FILE_VARIABLE, Clock, FileClock, SystemClock
from sayso.core.refusal import Refused
from sayso.world.places import clock_file, world_folder

__all__ = ("SESSIONS_FILE", "Home", "open_home")

DATABASE_FILE = "sayso.db"
SESSIONS_FILE = "sessions.jsonl"
"""Which sessions the hubs of a home have had."""
_POSTGRES = ("postgresql://", "postgres://")


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """An opened home. `database` is a file path or a `postgresql://` URL."""

    path: Path
    is_world: bool
    settings: Settings
    database: str
    clock: Clock


def open_home(path: Path, *, is_world: bool) -> Home:
    """Opens a home, making the folder if it is new. Refused: `home_not_private`, `clock_not_movable`,
    `database_url_invalid`, `settings_invalid`.

    With `is_world` the home is the sample world's inside `path`.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = world_folder(path) if is_world else path
    place.mkdir(mode=0o700, exist_ok=True)
    if place.stat().st_mode & 0o077:
        raise Refused.because(
            "home_not_private", f"{place} can be read by others", help=f"Close it first: chmod 700 {place}"
        )
    url = None if is_world else os.environ.get(DATABASE_VARIABLE)
    if url and not url.startswith(_POSTGRES):
        raise Refused.because(
            "database_url_invalid",
            f"{DATABASE_VARIABLE} is no postgresql:// URL",
            help="Write it as postgresql://user@host/database, or unset it to use the file in the home.",
        )
    database = url or str(place / DATABASE_FILE)
    return Home(
        path=place,
        is_world=is_world,
        settings=read_settings(place),
        database=database,
        clock=_clock(path, is_world=is_world),
    )


def _clock(home: Path, *, is_world: bool) -> Clock:
    if is_world:
        file = clock_file(home)
        return FileClock(file) if file.is_file() else SystemClock()
    if os.environ.get(CLOCK_FILE_VARIABLE):
        raise Refused.because(
            "clock_not_movable",
            f"{CLOCK_FILE_VARIABLE} is set, and this is a real home",
            help="Unset it, or use the sample world: --world.",
        )
    return SystemClock()
