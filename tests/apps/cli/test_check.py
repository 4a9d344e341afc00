"""`sayso check` as a command: what it prints, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def run(*words: object) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "sayso", "check", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.req("OAP-031", "OAP-215")
def test_a_good_build_exits_0_and_tells_what_it_looked_at() -> None:
    """Each part once, in both formats, and nothing on standard error."""
    code, out, err = run("--format", "json")
    rows = json.loads(out)
    assert (code, err) == (0, "")
    names = ["fixtures", "upstream", "reference", "schemas", "literals", "modules", "catalog"]
    assert [row["name"] for row in rows] == names
    assert all(row["good"] and not row["faults"] for row in rows)


@pytest.mark.req("OAP-031", "OAP-215")
def test_a_fault_exits_1_and_is_named(tmp_path: Path) -> None:
    """An index that cannot be read is found wrong, and the other parts are told all the same."""
    code, out, err = run("--fixtures", tmp_path)
    assert (code, err) == (1, "")
    assert "fail  upstream" in out
    assert "the index cannot be read" in out
    assert "good  modules" in out


@pytest.mark.req("OAP-215")
def test_calling_it_wrongly_exits_2() -> None:
    """A folder that is none, an option nobody knows, a format nobody writes."""
    assert [run(*words)[0] for words in (("--fixtures", "/no/such"), ("--loud",), ("--format", "xml"))] == [2, 2, 2]
