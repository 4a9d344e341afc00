"""What others signed about this person: files that an attester gave them, one statement each, in the home.

<home>/attestations/<any name>.jwt

The key app shows a host only those it listens to (`scheduling.keyapp.documents`). Whether one still holds is judged
each time it is used, so a file that has run out, or is none, does no harm.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ("read_attestations",)

_FOLDER: Final = "attestations"
_LONGEST: Final = 4096


def read_attestations(home: Path) -> tuple[str, ...]:
    """The statements kept in a home, in the order of their files' names; none where there is no such folder."""
    found = []
    for file in sorted((home / _FOLDER).glob("*.jwt")):
        with file.open("rb") as opened:
            data = opened.read(_LONGEST + 2).strip()
        if data.isascii() and len(data) <= _LONGEST:
            found.append(data.decode("ascii"))
    return tuple(found)
