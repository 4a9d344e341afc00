"""Traces with a known verdict: our own, the worked pack's, and upstream's where they lie beside the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from sayso.apps.checks.part import Part
from sayso.control.validator.judging import judge
from sayso.control.validator.pack_loading import read_fixtures
from sayso.control.validator.shipped import STORAGE, differences, own_fixtures
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("own", "upstream", "upstream_folder")

_INDEXES = ("index-positive.json", "index-negative.json")


class _Row(msgspec.Struct, frozen=True):
    """One row of upstream's index; what it says besides is for people."""

    id: str
    path: str
    codes: tuple[str, ...]
    phase: str | None = None
    mode: Literal["strict", "tolerant"] = "strict"
    profile: Literal["agent-control-core", "model-provider-core"] = "agent-control-core"


def own() -> Part:
    """Every fixture of ours and of the worked pack gets the verdict its index says."""
    count = len(own_fixtures()) + len(read_fixtures(STORAGE))
    return Part(name="fixtures", looked=f"{count} fixtures of ours", faults=tuple(differences()))


def upstream_folder() -> Path | None:
    """Where upstream's fixtures lie beside a checkout; None for an installed package, or where there are none."""
    folder = Path(__file__).resolve().parents[4].parent / "shared" / "oap" / "fixtures"
    return folder if folder.is_dir() else None


def upstream(folder: Path | None) -> Part:
    """Every fixture of upstream's index gets exactly its phase and codes."""
    if folder is None:
        return Part(name="upstream", looked="", skipped="upstream's fixtures are not beside this checkout")
    try:
        rows = [row for name in _INDEXES for row in strictjson.decode((folder / name).read_bytes(), list[_Row])]
        faults = [fault for row in rows if (fault := _fault(folder, row)) is not None]
    except (OSError, Refused) as error:
        return Part(name="upstream", looked="", faults=(f"the index cannot be read: {error}",))
    if not rows:
        faults.append("the index is empty")
    return Part(name="upstream", looked=f"{len(rows)} fixtures of upstream's", faults=tuple(faults))


def _fault(folder: Path, row: _Row) -> str | None:
    report = judge((folder / row.path).read_bytes(), mode=row.mode, profile=row.profile)
    codes = sorted(each.code for each in report.diagnostics)
    phases = {each.phase for each in report.diagnostics}
    if codes == sorted(row.codes) and phases == ({row.phase} if row.codes else set()):
        return None
    return f"{row.id}: expected {sorted(row.codes)}, found {codes}"
