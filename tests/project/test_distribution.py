"""What is handed out is enough to build, test and measure: an sdist is the whole of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from sayso.testing.breaks import read_text

ROOT = Path(__file__).resolve().parents[2]


def test_the_sdist_holds_what_its_own_makefile_needs() -> None:
    """`make test` reads the constraints, `make bench` the benches; licences and the rules of the house come along."""
    built = tomllib.loads(read_text(ROOT, ROOT / "pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["sdist"]
    held = {each.removeprefix("/") for each in built["include"]}
    needed = {"src", "tests", "docs", "bench", "constraints.txt", "Makefile", "README.md", "LICENSE", "IPR_POLICY.md"}
    assert needed - held == set()
    assert [name for name in held if not (ROOT / name).exists()] == []
    makefile = read_text(ROOT, ROOT / "Makefile")
    assert "constraints.txt" in makefile
    assert "-m bench" in makefile


@pytest.mark.req("SCH-397", "SCH-396")
def test_there_is_one_command_for_each_thing() -> None:
    """The demonstration, the suite, the breaks, the measures and the documents; each says what it is."""
    makefile = read_text(ROOT, ROOT / "Makefile")
    commands = dict(re.findall(r"^([a-z]+):.*?## (.+)$", makefile, re.MULTILINE))
    assert {"demo", "test", "check", "breaks", "bench", "docs"} <= set(commands)
    assert "`make test`, `make breaks`, `make demo` and `make bench`" in read_text(
        ROOT, ROOT / "docs/spec/scheduling.md"
    )
