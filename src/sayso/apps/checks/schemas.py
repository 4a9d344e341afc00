"""Our published schemas say what the typed payloads say."""

from __future__ import annotations

from pathlib import Path

from sayso.apps.checks.part import Part
from sayso.control.protocol import schema
from sayso.control.protocol.schema.printing import documents
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("schemas",)

FOLDER = Path(schema.__file__).parent


def schemas(folder: Path = FOLDER) -> Part:
    """Each document that is shipped is the one that would be printed now, and none is missing or left over."""
    wanted = documents()
    faults = [
        f"{name} is not what the payloads say" for name, value in wanted.items() if _shipped(folder / name) != value
    ]
    left = sorted({path.name for path in folder.glob("*.json")} - set(wanted))
    faults += [f"{name} belongs to nothing" for name in left]
    return Part(name="schemas", looked=f"{len(wanted)} documents", faults=tuple(faults))


def _shipped(path: Path) -> object:
    try:
        return strictjson.parse(path.read_bytes())
    except (OSError, Refused):
        return None
