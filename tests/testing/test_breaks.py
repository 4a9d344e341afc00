"""The break harness itself: it changes one module, touches no file, and refuses breaks that no longer mean anything."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sayso.core.refusal import Misuse
from sayso.testing.breaks import Break, load_breaks
from sayso.testing.turns import in_turn, touches
from sayso.testing.verdict import Verdict, is_proof, judged

ROOT = Path(__file__).resolve().parents[2]
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
# As `python -m sayso.testing.breaks`, but with the break of this project applied that the harness itself is tried with.
HARNESS = f"""
import pathlib, sys
from sayso.testing import breaks
breaks.apply_from_environment(pathlib.Path({str(ROOT)!r}))
sys.exit(breaks.main())
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
    environment = {**os.environ, "PYTHONPATH": str(project)}
    command = [sys.executable, "-c", HARNESS, *arguments]
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


def test_each_test_that_a_break_names_has_to_notice(project: Path) -> None:
    """A requirement counts as proven by every test named there, so none of them may be along for the ride."""
    (project / "test_other.py").write_text("def test_nothing_much():\n    assert True\n")
    both = BREAK.replace('too_many"]', 'too_many", "test_other.py::test_nothing_much"]')
    (project / "tests" / "breaks" / "rule.toml").write_text(both)
    done = run(project)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "breaks: 0 caught, 1 missed")
    assert "    test_other.py::test_nothing_much" in done.stdout.splitlines()


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


HANGS = BREAK.replace('old = "n <= LIMIT"', 'old = "return n <= LIMIT"').replace(
    'new = "n <= LIMIT + 1"', 'new = "import time; print(time.sleep(600))"'
)


def test_a_test_that_hangs_is_told_as_one_and_under_a_short_bound_proves_nothing(project: Path) -> None:
    """Whoever waits for ever has failed, but after a second nobody can tell it from a slow machine."""
    (project / "tests" / "breaks" / "rule.toml").write_text(HANGS)
    done = run(project, "--bound", "3")
    first, *_, last = done.stdout.splitlines()
    assert (done.returncode, last) == (1, "breaks: 0 caught, 1 missed")
    assert re.fullmatch(r"\[1/1\] HUNG +\d+\.\d s  limit: three is the most", first)


def test_what_a_test_leaves_running_ends_with_it(project: Path) -> None:
    """The break may be the very reason why a test does not tidy up; nobody would look after hundreds of servers."""
    lock = project / "lock"
    (project / "test_rule.py").write_text(
        "import subprocess, sys\nimport rule\n\n"
        "HOLDS = '''\nimport fcntl, os, sys, time\n"
        f"held = open({str(lock)!r}, 'w')\n"
        "fcntl.flock(held, fcntl.LOCK_EX)\nprint(os.getpid(), file=held, flush=True)\nprint('held', flush=True)\n"
        "time.sleep(600)\n'''\n\n\n"
        "def test_four_is_too_many():\n"
        "    if rule.is_within(4):\n"
        "        assert not subprocess.Popen([sys.executable, '-c', HOLDS], stdout=subprocess.PIPE).stdout.readline()\n"
    )
    done = run(project, "--suite-passed")
    with lock.open() as file:
        for _ in range(500):
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.02)
        else:
            os.kill(int(file.read()), signal.SIGKILL)
            pytest.fail("what the test had started still ran")
    assert done.returncode == 0


def test_a_process_that_a_test_starts_is_under_the_break_too(project: Path) -> None:
    """Servers and commands under test are processes of their own; a rule is taken away from them as well."""
    (project / "test_rule.py").write_text(
        "import subprocess, sys\n\n\n"
        "def test_four_is_too_many():\n"
        "    command = [sys.executable, '-c', 'import conftest, rule, sys; sys.exit(rule.is_within(4))']\n"
        "    assert subprocess.run(command).returncode == 0\n"
    )
    assert run(project).returncode == 0


def test_the_first_example_that_fails_is_enough(project: Path) -> None:
    """Making it smaller takes a hundred runs and proves nothing more."""
    marks = project / "marks"
    (project / "test_rule.py").write_text(
        "import rule\nfrom hypothesis import given, strategies\n\n\n"
        "@given(strategies.integers())\n"
        "def test_four_is_too_many(n):\n"
        f"    with open({str(marks)!r}, 'a') as marks:\n"
        "        print(n, file=marks)\n"
        "    assert not rule.is_within(4) or n < 1000\n"
    )
    assert run(project, "--suite-passed").returncode == 0
    tried = [int(line) for line in marks.read_text().split()]
    failing = [n for n in tried if n >= 1000]
    assert (len(set(failing)), len(failing) <= 3) == (1, True)


def test_when_the_minutes_are_over_what_is_left_is_told_and_a_miss_still_fails(project: Path) -> None:
    """A bounded run says how much it has not looked at, and never passes over what it has seen."""
    other = BREAK.replace('"limit"', '"other"')
    (project / "tests" / "breaks" / "rule.toml").write_text(BREAK + other)
    (project / "test_rule.py").write_text("import time\n\n\ndef test_four_is_too_many():\n    time.sleep(1.5)\n")
    subprocess.run(["git", "init", "-q", project], check=True)
    who = ["-c", "user.name=Casey", "-c", "user.email=casey@friend.example"]
    subprocess.run(["git", "-C", project, *who, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)
    done = run(project, "--suite-passed", "--jobs", "1", "--minutes", "0.02", "--tenth", "1")
    first, _, *told = done.stdout.splitlines()
    assert (done.returncode, "other: three is the most" in first, told) == (
        1,
        True,
        [
            "breaks: missed other",
            "breaks: 0 caught, 1 missed",
            "breaks: 1 not tried, left for the next run: the 0.02 minutes are over",
        ],
    )


def test_what_changed_last_comes_first_and_then_the_tenths_in_turn() -> None:
    """A new mistake is found at once, and however short each run is, every break is reached within ten of them."""
    breaks = [
        Break(id=str(n), file=f"{n}.py", old="a", new="b", tests=[f"test_{n}.py::test"], rule="none") for n in range(25)
    ]
    recent = ["test_7.py", "3.py", "test_7.py", "11.py"]
    ordered = [each.id for each in in_turn(breaks, 4, {"3.py", "test_7.py", "20.py"}, recent)]
    assert ordered[:6] == ["7", "3", "20", "4", "14", "24"]
    assert (ordered[-2:], sorted(ordered, key=int)) == (["13", "23"], [each.id for each in breaks])
    assert [each.id for each in breaks if touches(each, {"test_7.py", "8.py"})] == ["7", "8"]


def test_a_hang_counts_only_under_a_generous_bound() -> None:
    """Two minutes are longer than any test takes; a failure counts under every bound, and a pass under none."""
    assert [is_proof(Verdict.HUNG, bound) for bound in (3.0, 119.0, 120.0, 600.0)] == [False, False, True, True]
    assert (is_proof(Verdict.CAUGHT, 0.0), is_proof(Verdict.MISSED, 600.0)) == (True, False)


@pytest.mark.req("SCH-390")
def test_only_a_failure_or_a_hang_says_anything() -> None:
    """A pass proves nothing, and neither does a run that was interrupted, could not start or found no test."""
    assert {status: judged(status) for status in (0, 1, 2, 3, 4, 5, None)} == {
        0: Verdict.MISSED,
        1: Verdict.CAUGHT,
        2: Verdict.MISSED,
        3: Verdict.MISSED,
        4: Verdict.MISSED,
        5: Verdict.MISSED,
        None: Verdict.HUNG,
    }


def test_a_document_is_broken_for_whoever_reads_it_as_one(project: Path) -> None:
    """Rules stand in texts too; the file itself stays as it is."""
    (project / "RULES.md").write_text("Three is the most.\n")
    (project / "test_rule.py").write_text(
        "from pathlib import Path\nfrom sayso.testing.breaks import read_text\n\n\n"
        "def test_four_is_too_many():\n"
        "    root = Path(__file__).parent\n"
        "    assert 'Three' in read_text(root, root / 'RULES.md')\n"
    )
    said = BREAK.replace("rule.py", "RULES.md", 1).replace("n <= LIMIT", "Three").replace("Three + 1", "Four")
    (project / "tests" / "breaks" / "rule.toml").write_text(said)
    done = run(project)
    assert (done.returncode, (project / "RULES.md").read_text()) == (0, "Three is the most.\n")


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
    """Each old text stands exactly once in its file, and each named test stands in its own."""
    breaks: dict[str, Break] = load_breaks(ROOT)
    named = {test.partition("[")[0].removesuffix("::runTest") for each in breaks.values() for test in each.tests}
    gone = [test for test in sorted(named) if not _stands(*test.split("::"))]
    assert (len(breaks) >= 25, gone) == (True, [])


def _stands(file: str, *names: str) -> bool:
    """Whether a test's file is there and each class and function of its path has a definition in it."""
    path = ROOT / file
    forms = [rf"^\s*(?:(?:class|def|async def) {name}\b|{name} = )" for name in names]
    return path.is_file() and all(re.search(form, path.read_text(), re.MULTILINE) for form in forms)
