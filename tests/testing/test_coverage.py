"""The printout of requirements says what the sources say."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.testing.coverage import read_requirements, written

SPEC = "# Text\n\n## 5. Requests\n\n5.1 Signed. (SCH-051 to SCH-053)\n\n5.2 Bare. (SCH-060)\n"
TESTS = """
import pytest

@pytest.mark.req("SCH-051", "SCH-052")
def test_it_is_signed(): ...

class TestMore:
    @pytest.mark.req("SCH-052")
    async def test_it_is_fresh(self): ...

TestShop = pytest.mark.req("SCH-060")(Shop.TestCase)
"""
BREAK = """
[[break]]
id = "x"
file = "src/x.py"
old = "1"
new = "2"
tests = ["tests/test_a.py::test_it_is_signed[one]"]
rule = "r"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("docs/spec", "tests/breaks", "src"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs/spec/scheduling.md").write_text(SPEC)
    (tmp_path / "tests/test_a.py").write_text(TESTS)
    (tmp_path / "tests/breaks/a.toml").write_text(BREAK)
    (tmp_path / "src/x.py").write_text("ONE = 1\n")
    return tmp_path


def test_ids_are_joined_with_their_sections_tests_and_breaks(project: Path) -> None:
    """Ranges count each id; a break counts for the tests it names, parameters aside."""
    found = {each.id: (each.sections, len(each.tests), each.broken) for each in read_requirements(project)}
    signed = ("tests/test_a.py::test_it_is_signed",)
    assert found == {
        "SCH-051": (("scheduling 5.1",), 1, signed),
        "SCH-052": (("scheduling 5.1",), 2, signed),
        "SCH-053": (("scheduling 5.1",), 0, ()),
        "SCH-060": (("scheduling 5.2",), 1, ()),
    }


def test_the_printout_names_what_is_not_proven(project: Path) -> None:
    """A reader sees at once what nobody tests."""
    text = written(read_requirements(project), "SCH")
    assert text.startswith("4 ids: 2 proven (a break makes a test of theirs fail), 1 tested only, 1 named")
    assert ("Tested only: SCH-060" in text, "Without a test: SCH-053" in text) == (True, True)
