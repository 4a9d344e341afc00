"""Somebody comes in without an agent: the host puts them in by hand, and agents see the time gone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.journeys.house import kinds, sayso

SHOP = Path(__file__).resolve().parents[2] / "docs" / "examples" / "shop.toml"
TEN_PAST = f"{(datetime.now(UTC) + timedelta(days=2)).date().isoformat()}T10:10"


@pytest.mark.req("SCH-146")
def test_a_walk_in_is_put_in_by_hand_and_given_up_again(tmp_path: Path) -> None:
    """At ten past ten, which no agent could ask for; the one bench is then taken, and free again afterwards."""

    def host(*arguments: str):
        return sayso("host", *arguments, "--home", str(tmp_path))

    tmp_path.chmod(0o700)
    assert host("init", str(SHOP), "--unprotected").code == 0
    taken = host("walk-in", "resole", TEN_PAST)
    assert (taken.code, "from 10:10 a.m. to 10:40 a.m." in taken.out) == (0, True), taken.out + taken.err
    again = host("walk-in", "resole", TEN_PAST)
    assert (again.code != 0, "free" in again.err + again.out) == (True, True)
    walk_in = re.search(r"w_[a-z0-9]+", taken.out)
    assert walk_in is not None
    assert host("give-up", walk_in[0]).out == f"Free again: {walk_in[0]}.\n"
    assert host("give-up", walk_in[0]).code != 0
    assert host("walk-in", "resole", TEN_PAST).code == 0
    assert [kind for kind in kinds(tmp_path, world=False) if kind.startswith("walk_in.")] == [
        "walk_in.taken",
        "walk_in.given_up",
        "walk_in.taken",
    ]
