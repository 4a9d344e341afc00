"""Where a home keeps its world: one folder, copied whole or not at all (SCH-374).

<home>/world/clock.json                  the movable clock: one instant
<home>/world/ports.json                  which name is served where, while the world runs
<home>/world/serve.lock                  held by the process that serves
<home>/world/hosts/<host id>/            a business's own home: keys, database, receipt log
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

__all__ = ("START", "clock_file", "host_folder", "lock_file", "make_world_folder", "ports_file", "world_folder")

START: Final = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
"""Tuesday 13 October 2026, 9:00 in Toronto: when every world begins (SCH-377)."""


def world_folder(home: Path) -> Path:
    """The world of a home."""
    return home / "world"


def make_world_folder(home: Path) -> Path:
    """The world's folder, made if it is new; it and the home around it are their owner's alone."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = world_folder(home)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def clock_file(home: Path) -> Path:
    """The world's clock."""
    return world_folder(home) / "clock.json"


def ports_file(home: Path) -> Path:
    """Name to address, for whoever wants to reach the world's hosts."""
    return world_folder(home) / "ports.json"


def lock_file(home: Path) -> Path:
    """What keeps two processes from serving one world."""
    return world_folder(home) / "serve.lock"


def host_folder(home: Path, host_id: str) -> Path:
    """One host's own home."""
    return world_folder(home) / "hosts" / host_id
