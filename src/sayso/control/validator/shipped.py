"""Our own fixtures and the worked pack: every diagnostic shown by a trace or a pack of ours (OAP-027, OAP-036).

`sayso check` and the tests run them; a difference between a row and what the validator says is a fault of ours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from sayso.control.protocol.packs import PackFixture
from sayso.control.validator.judging import Profile, judge
from sayso.control.validator.pack_loading import PackRefused, load_packs, read_fixtures
from sayso.control.validator.packs import Packs
from sayso.control.validator.shape import Mode
from sayso.core import strictjson

__all__ = ("FIXTURES", "STORAGE", "OwnFixture", "differences", "own_fixtures", "verdict_of")

FIXTURES = Path(__file__).with_name("fixtures")
STORAGE = Path(__file__).parents[1] / "packs" / "storage"
"""The worked pack `dev.sayso.storage`."""

Verdict = tuple[tuple[str, str, int | None], ...]
"""Phase, code and index of each finding, in order."""


class OwnFixture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the index: a trace, or a pack's folder, and what the validator says of it."""

    id: str
    path: str
    valid: bool
    codes: tuple[str, ...]
    at: tuple[int, ...]
    """The index of each code's envelope."""
    units: tuple[str, ...]
    kind: Literal["trace", "pack"] = "trace"
    phase: str = ""
    mode: Mode = "strict"
    profile: Profile = "agent-control-core"
    packs: tuple[str, ...] = ()

    @property
    def expected(self) -> Verdict:
        """What this row wants."""
        at: tuple[int | None, ...] = self.at if self.kind == "trace" else (None,) * len(self.codes)
        return tuple((self.phase, code, index) for code, index in zip(self.codes, at, strict=True))


def own_fixtures() -> tuple[OwnFixture, ...]:
    """Every row, as shipped."""
    return strictjson.decode((FIXTURES / "index.json").read_bytes(), tuple[OwnFixture, ...])


def verdict_of(fixture: OwnFixture) -> Verdict:
    """What the validator says of this row."""
    beside = [FIXTURES / name for name in fixture.packs]
    if fixture.kind == "pack":
        try:
            load_packs([FIXTURES / fixture.path, *beside])
        except PackRefused as refused:
            return tuple((each.phase, each.code, None) for each in refused.findings)
        return ()
    data = (FIXTURES / fixture.path).read_bytes()
    report = judge(data, mode=fixture.mode, packs=load_packs(beside), profile=fixture.profile)
    return tuple((each.phase, each.code, each.index) for each in report.diagnostics)


def differences() -> list[str]:
    """One sentence for each row, of ours and of the worked pack, whose verdict is not the one it says."""
    found = [
        f"{fixture.id}: expected {fixture.expected}, found {verdict}"
        for fixture in own_fixtures()
        if (verdict := verdict_of(fixture)) != fixture.expected
    ]
    packs = load_packs([STORAGE])
    found += [
        f"{row.id}: expected {tuple(row.codes or ())}, found {codes}"
        for row in read_fixtures(STORAGE)
        if (codes := _codes(row, packs)) != tuple(row.codes or ())
    ]
    return found


def _codes(row: PackFixture, packs: Packs) -> tuple[str, ...]:
    report = judge((STORAGE / row.path).read_bytes(), packs=packs)
    return tuple(each.code for each in report.diagnostics)
