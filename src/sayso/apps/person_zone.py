"""Which time zone "Thursday at one" is meant in: the person's setting, else the machine's."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import ZoneInfo

from sayso.core.refusal import Refused
from sayso.core.zones import find_zone

__all__ = ("person_zone",)

_LOCALTIME = Path("/etc/localtime")
_ZONES = "zoneinfo/"


def person_zone(setting: str | None) -> ZoneInfo:
    """The zone of `settings.toml`, of $TZ, of the machine, or UTC. Refused `unknown_zone`: the setting is none."""
    if setting is not None:
        return find_zone(setting)
    for name in (os.environ.get("TZ"), _machine_zone()):
        if name:
            try:
                return find_zone(name)
            except Refused:
                continue
    return find_zone("Etc/UTC")


def _machine_zone() -> str | None:
    """The name behind /etc/localtime, where that is a link into the zone files."""
    try:
        target = str(_LOCALTIME.resolve(strict=True))
    except OSError:
        return None
    _, found, name = target.partition(_ZONES)
    return name if found else None
