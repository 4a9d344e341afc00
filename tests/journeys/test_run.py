"""`sayso run`, as a person types it: over the offline planner and over every wire, with the tools of a folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.control.protocol.envelope import read_envelope
from tests.journeys.house import SAYSO, Ran, environment, sayso
from tests.journeys.models import WIRES, Model, scripted_model
from tests.journeys.terminal import at_terminal

README = "# Fixture\n\nA folder that a test made.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    (place / "README.md").write_text(README)
    return place


@pytest.fixture(params=WIRES)
def reading(request: pytest.FixtureRequest) -> Iterator[Model]:
    with scripted_model(request.param, "tool_turn") as model:
        yield model


def run(folder: Path, *arguments: str, model: Model | None = None, answers: str = "") -> Ran:
    named = () if model is None else ("--model", model.ref)
    environ = {} if model is None else model.environ
    place = ("--home", str(folder.parent / "home"), "--workspace", str(folder))
    return sayso("run", *place, *named, *arguments, answers=answers, **environ)


@pytest.mark.req("OAP-212", "OAP-155", "OAP-156", "OAP-131")
def test_a_turn_with_a_tool_over_each_wire(folder: Path, reading: Model) -> None:
    """The model reads a file and quotes it; every event is printed; a read needs nobody's yes."""
    done = run(folder, "--agent", "What is this folder?", model=reading)
    assert (done.code, "> Read README.md" in done.out) == (0, True), done
    assert "A folder that a test made." in done.out.split("begins like this:")[1]
    assert "offline planner" not in done.out


@pytest.mark.req("OAP-212")
def test_with_no_credential_the_offline_planner_reads_the_file_and_says_what_it_is(folder: Path) -> None:
    """Plainly, before it answers, and how to sign in."""
    done = run(folder, "read README.md")
    assert done.code == 0, done
    assert "no language model" in done.out.splitlines()[0]
    assert "sayso auth login" in done.out.splitlines()[0]
    assert "> Read README.md" in done.out
    assert "A folder that a test made." in done.out


@pytest.mark.req("OAP-212")
def test_every_event_is_printed_as_an_envelope(folder: Path, reading: Model) -> None:
    """One a line on standard output, numbered without a gap, and nothing else there."""
    done = run(folder, "--json", "What is this folder?", model=reading)
    events = [read_envelope(line.encode()) for line in done.out.splitlines()]
    assert [each.sequence for each in events] == list(range(1, len(events) + 1))
    assert {"run.started", "action.call.completed", "content.delta"} <= {each.type for each in events}
    assert (done.code, events[-1].type) == (0, "run.completed")


@pytest.mark.req("OAP-157", "OAP-212")
def test_a_change_is_refused_where_nobody_can_be_asked(folder: Path) -> None:
    """No terminal means no yes: nothing is written, and the output says how to allow it beforehand."""
    with scripted_model("chat", "write_turn") as model:
        done = run(folder, "Write a note", model=model, answers="y\n")
        assert "--permission bypass" in done.out
        assert not (folder / "notes.txt").exists()
        assert done.code == 0
        allowed = run(folder, "--permission", "bypass", "Write a note", model=model)
    assert allowed.code == 0, allowed
    assert (folder / "notes.txt").read_text() == "Written by the fixture model.\n"


@pytest.mark.req("OAP-157")
@pytest.mark.parametrize("answer", ["y", ""])
def test_a_person_at_the_terminal_is_shown_the_change_and_asked(folder: Path, answer: str) -> None:
    """Their `y` is good for the one call; Enter is a no."""
    with scripted_model("messages", "write_turn") as model:
        home = folder.parent / "home"
        arguments = ["run", "--home", str(home), "--workspace", str(folder), "--model", model.ref, "Write a note"]
        with at_terminal(arguments, **model.environ) as (terminal, program):
            terminal.wait_for("Allow this once? [y/N] ")
            assert "Written by the fixture model." in terminal.text
            assert not (folder / "notes.txt").exists()
            terminal.type(answer)
            terminal.rest()
            assert program.wait() == 0
    assert (folder / "notes.txt").exists() is (answer == "y")


@pytest.mark.req("OAP-212", "OAP-213")
def test_what_cannot_be_started_with_is_told_apart_from_what_failed(folder: Path) -> None:
    """3 for a model that is not there or has no credential, 2 for a wrong call, 1 for a run that failed."""
    assert run(folder, "--model", "nobody/nothing", "hello").code == 3
    missing = run(folder, "--model", "openai/gpt-5", "hello")
    assert (missing.code, "sayso auth login --provider openai" in missing.err) == (3, True), missing
    assert run(folder).code == 2
    assert run(folder, "--permission", "always", "hello").code == 2
    assert run(folder, "--resume", "never-was", "hello").code == 3


@pytest.mark.req("OAP-212")
def test_what_comes_through_a_pipe_stands_where_the_dash_is(folder: Path) -> None:
    """And a prompt alone is not held up by a pipe that nobody ends."""
    done = run(folder, "-", answers="read README.md\n")
    assert "A folder that a test made." in done.out


@pytest.mark.req("OAP-159", "OAP-212")
def test_ctrl_c_cancels_the_run_and_names_the_conversation(folder: Path) -> None:
    """It waits for the end of the run, says so, and ends with 1; the conversation can be gone on with."""
    with scripted_model("responses", "hang") as model:
        home = folder.parent / "home"
        arguments = ["run", "--home", str(home), "--workspace", str(folder), "--model", model.ref, "hello"]
        with at_terminal(arguments, **model.environ) as (terminal, program):
            terminal.wait_for("I am still")
            terminal.press_ctrl_c()
            terminal.rest()
            assert program.wait() == 1
    assert "cancelled" in terminal.text
    assert re.search(r"sayso run --resume \S+", terminal.text)


@pytest.mark.req("OAP-164")
def test_a_conversation_killed_in_the_middle_of_a_call_goes_on(folder: Path) -> None:
    """SIGKILL while a tool works: the conversation is there, its call is answered as interrupted, and the next run
    ends well.
    """
    home = folder.parent / "home"
    arguments = ["run", "--json", "--home", str(home), "--workspace", str(folder), "--permission", "bypass"]
    program = subprocess.Popen(
        [*SAYSO, *arguments, "run `touch begun; sleep 600`"],
        stdout=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    assert program.stdout is not None
    try:
        while not (folder / "begun").exists():
            assert program.poll() is None, "it ended before its call began"
            time.sleep(0.01)
        session = read_envelope(program.stdout.readline()).session_id
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        program.stdout.close()
    with scripted_model("messages", "tool_turn") as model:
        done = run(folder, "--resume", str(session), "Go on", model=model)
    assert done.code == 0, done
    assert "begins like this:" in done.out
