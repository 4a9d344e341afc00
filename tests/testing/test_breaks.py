"""The break harness itself: it changes one module, touches no file, and refuses breaks that no longer mean anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.core.refusal import Misuse
from sayso.testing.breaks import BREAK_VARIABLE, Break, load_breaks

MODULE = "LIMIT = 3\n\n\ndef is_within(n: int) -> bool:\n    return n <= LIMIT\n"
CONFTEST = (
    "from pathlib import Path\n"
    "from sayso.testing.breaks import apply_from_environment\n"
    "apply_from_environment(Path(__file__).parent)\n"
)
TEST = "import rule\n\n\ndef test_four_is_too_many():\n    assert not rule.is_within(4)\n"
BREAK = """
[[break]]
id = "limit"
file = "rule.py"
old = "n <= LIMIT"
new = "n <= LIMIT + 1"
tests = ["test_rule.py::test_four_is_too_many"]
rule = "three is the most"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "rule.py").write_text(MODULE)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_rule.py").write_text(TEST)
    (tmp_path / "tests" / "breaks").mkdir(parents=True)
    (tmp_path / "tests" / "breaks" / "rule.toml").write_text(BREAK)
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != BREAK_VARIABLE} | {"PYTHONPATH": str(project)}
    command = [sys.executable, "-m", "sayso.testing.breaks", *arguments]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_a_break_that_a_test_notices_is_caught(project: Path) -> None:
    """The changed source reaches the test, and the file on disk stays as it was."""
    done = run(project)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "breaks: 1 caught, 0 missed")
    assert (project / "rule.py").read_text() == MODULE


def test_a_break_that_no_test_notices_is_missed(project: Path) -> None:
    """A test that still passes without the rule proves nothing, and the run says so."""
    (project / "test_rule.py").write_text("def test_four_is_too_many():\n    assert True\n")
    done = run(project)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "breaks: 0 caught, 1 missed")


@pytest.mark.parametrize("fails", ["assert False", "raise ValueError"])
def test_a_break_whose_test_fails_anyway_is_not_caught(project: Path, fails: str) -> None:
    """What fails with the rule in place says nothing about the rule, so nothing is judged and the test is named."""
    (project / "test_rule.py").write_text(f"def test_four_is_too_many():\n    {fails}\n")
    done = run(project)
    first, last = done.stdout.splitlines()
    assert (done.returncode, last) == (
        3,
        "breaks: none was tried, because these tests do not pass even without a break",
    )
    assert first.startswith("FAILED test_rule.py::test_four_is_too_many")


def test_a_fixture_that_fails_anyway_catches_nothing(project: Path) -> None:
    """An error before the test is as blind as a failure in it."""
    (project / "test_rule.py").write_text(
        "import pytest\n\n\n@pytest.fixture\ndef four():\n    raise OSError\n\n\n"
        "def test_four_is_too_many(four):\n    assert True\n"
    )
    done = run(project)
    assert (done.returncode, done.stdout.split()[:2]) == (3, ["ERROR", "test_rule.py::test_four_is_too_many"])


def test_after_a_whole_suite_the_tests_are_not_run_without_a_break_again(project: Path) -> None:
    """Each run of the test leaves a mark: one before the break and one under it, or only the latter."""
    marks = project / "marks"
    (project / "test_rule.py").write_text(
        f"{TEST}\n\nwith open({str(marks)!r}, 'a') as marks:\n    print(rule.is_within(4), file=marks)\n"
    )
    for arguments, expected in (((), ["False", "True"]), (("--suite-passed",), ["True"])):
        marks.unlink(missing_ok=True)
        assert run(project, *arguments).returncode == 0
        assert marks.read_text().split() == expected


def test_a_named_test_that_does_not_exist_catches_nothing(project: Path) -> None:
    """A run that cannot collect its test has shown nothing, whether or not it was looked for first."""
    (project / "test_rule.py").write_text("")
    done = run(project)
    assert (done.returncode, "test_rule.py::test_four_is_too_many" in done.stdout) == (3, True)
    assert run(project, "--suite-passed").returncode == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (BREAK.replace('n <= LIMIT"', 'n < LIMIT"'), "0 times"),
        (BREAK.replace('old = "n <= LIMIT"', 'old = "LIMIT"'), "2 times"),
        (BREAK + BREAK, "twice"),
        (BREAK.replace('["test_rule.py::test_four_is_too_many"]', "[]"), "names no test"),
    ],
)
def test_a_break_that_means_nothing_is_refused(project: Path, text: str, complaint: str) -> None:
    """An old text that is gone or ambiguous is an error, never a pass."""
    (project / "tests" / "breaks" / "rule.toml").write_text(text)
    with pytest.raises(Misuse, match=complaint):
        load_breaks(project)


def test_every_break_of_this_project_still_applies() -> None:
    """Each old text stands exactly once in its file, and each named test file exists."""
    root = Path(__file__).resolve().parents[2]
    breaks: dict[str, Break] = load_breaks(root)
    gone = [test for each in breaks.values() for test in each.tests if not (root / test.split("::")[0]).is_file()]
    assert (len(breaks) >= 25, gone) == (True, [])
