"""`sayso conformance` as a command: what it drives, what it prints, its exit codes, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.control.conformance.child import ChildLauncher
from sayso.control.conformance.script import script
from sayso.net.child import Program

TOY = f"{shlex.quote(sys.executable)} -m sayso.testing.broken_endpoints"


def run(*words: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "sayso", "conformance", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def rows(out: str) -> list[str]:
    """The lines, however they are padded."""
    return [" ".join(line.split()) for line in out.splitlines()]


@pytest.mark.req("OAP-040", "OAP-198", "OAP-199", "OAP-215")
def test_without_a_command_our_memory_endpoint_is_driven_and_conforms() -> None:
    """Every check passes, none is skipped; the rows are the script's, in its order."""
    code, out, err = run("--format", "json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert (report["conforms"], report["binding"]) == (True, "endpoint over stdio")
    assert report["endpoint"] == "sayso serve agent --backend memory --stdio"
    names = [check.name for check in script(ChildLauncher(Program(command=["none"], environment={})))]
    assert [(row["name"], row["outcome"]) for row in report["checks"]] == [(name, "pass") for name in names]


@pytest.mark.req("OAP-198", "OAP-199", "OAP-215")
def test_an_endpoint_that_fails_exits_1_and_the_check_is_named() -> None:
    """For people a line for each check and one for them all."""
    code, out, err = run("--command", f"{TOY} exit_code")
    lines = rows(out)
    assert (code, err) == (1, "")
    assert "fail exit_clean it ended with 7 instead of 0" in lines
    assert lines[-1].startswith(f"{TOY} exit_code does not conform (endpoint over stdio): ")


@pytest.mark.req("OAP-129", "OAP-198", "OAP-199")
def test_an_endpoint_that_hangs_is_given_up_and_reaped(tmp_path: Path) -> None:
    """The budget bounds the wait; what was not reached is told in one line; no process is left."""
    pid = tmp_path / "pid"
    code, out, _ = run("--command", f"sh -c 'echo $$ > {pid}; exec sleep 3600'", "--timeout-ms", "300")
    lines = rows(out)
    assert code == 1
    assert lines[0] == "fail initialize an answer to `protocol.initialize.request` did not come within 0.3 s"
    assert sum(line.startswith("skip not reached: capabilities, open, ") for line in lines) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.req("OAP-198", "OAP-215")
def test_one_that_is_stopped_has_judged_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """Exit code 3, and the endpoint is gone before the command is."""
    pid = tmp_path / "pid"
    os.mkfifo(pid)
    words = ["--command", f"sh -c 'echo $$ > {pid}; exec sleep 3600'"]
    command = [sys.executable, "-m", "sayso", "conformance", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    endpoint = int(pid.read_text())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (3, "", "Stopped before it was judged; the endpoint was ended.\n")
    with pytest.raises(ProcessLookupError):
        os.kill(endpoint, 0)


@pytest.mark.req("OAP-198")
def test_the_model_that_is_named_is_submitted_with() -> None:
    """An endpoint that lists it takes it; one that does not is driven no further than the submission."""
    code, out, _ = run("--command", f"{TOY} honest", "--model", "toy-large")
    assert (code, "pass model_selection `toy-large`" in rows(out)) == (0, True)
    code, out, _ = run("--command", f"{TOY} honest", "--model", "nobodys")
    assert code == 1
    refused = "fail submit `session.message.submit.request` was refused: model_not_found"
    assert sum(line.startswith(refused) for line in rows(out)) == 1


@pytest.mark.req("OAP-215")
def test_what_cannot_be_started_exits_3_and_what_is_called_wrongly_2() -> None:
    """The reason is on standard error, and standard output stays empty."""
    code, out, err = run("--command", "no-such-endpoint --oap")
    assert (code, out) == (3, "")
    assert "there is no such program (no-such-endpoint)" in err
    for words in (("--command", ""), ("--command", "'"), ("--timeout-ms", "0"), ("--format", "human"), ("extra",)):
        assert run(*words)[:2] == (2, "")


@pytest.mark.req("OAP-215")
@pytest.mark.parametrize("name", ["validate", "conformance", "check"])
def test_each_of_the_three_says_what_it_does_and_which_version_it_is(name: str) -> None:
    """On standard output, exit 0."""
    for option, word in (("--help", "Exit codes"), ("--version", "sayso 0.")):
        done = subprocess.run(
            [sys.executable, "-m", "sayso", name, option], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert word in done.stdout
