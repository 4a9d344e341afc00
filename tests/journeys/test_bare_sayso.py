"""Bare `sayso` in a real terminal: a turn with a tool on no credential and over every wire, and on after a kill."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.apps.tui.test_tmux import Tmux
from tests.journeys.house import SAYSO, environment
from tests.journeys.models import WIRES, Model, scripted_model

README = "# Fixture\n\nA folder that a test made.\n"
NO_MODELS_DEV = 'resolve = { "models.dev" = "127.0.0.1:9" }\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    (place / "README.md").write_text(README)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text(NO_MODELS_DEV)
    return place


@contextmanager
def bare_sayso(folder: Path, model: Model | None = None, size: tuple[int, int] = (80, 24)) -> Iterator[Tmux]:
    """`sayso`, typed in the folder; its model comes by variables alone."""
    more = {} if model is None else {"SAYSO_MODEL": model.ref, **model.environ}
    command = f"cd {shlex.quote(str(folder))}; {shlex.join(SAYSO)}; echo ENDED $?; read -r rest"
    socket = folder.parent / f"tmux{len(list(folder.parent.glob('tmux*')))}"
    terminal = Tmux(socket, command, size, environment(SAYSO_HOME=str(folder.parent / "home"), **more))
    try:
        yield terminal
    finally:
        terminal.end()


@pytest.mark.req("OAP-155", "OAP-208", "OAP-209")
def test_a_turn_with_a_tool_on_no_credential(folder: Path) -> None:
    """The offline planner says what it is, reads the file, and shows it."""
    with bare_sayso(folder) as terminal:
        terminal.sees("offline planner", "idle")
        terminal.type("read README.md")
        terminal.keys("Enter")
        terminal.sees("A folder that a test made.", "idle")


@pytest.mark.req("OAP-155", "OAP-208", "OAP-209")
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_with_a_tool_over_each_wire(folder: Path, wire: str) -> None:
    """The model asks to write a file, the person is shown it and presses one key, and it is written."""
    with scripted_model(wire, "write_turn") as model, bare_sayso(folder, model, (140, 40)) as terminal:
        terminal.starts()
        terminal.type("Write a note")
        terminal.keys("Enter")
        terminal.sees("Written by the fixture model.", "y allows it")
        assert not (folder / "notes.txt").exists()
        terminal.answer("y")
        terminal.sees("I wrote notes.txt", "idle")
    assert (folder / "notes.txt").read_text() == "Written by the fixture model.\n"


@pytest.mark.req("OAP-164", "OAP-209")
def test_killed_in_the_middle_of_a_call_it_goes_on(folder: Path) -> None:
    """SIGKILL while a command runs; `/resume` shows what was said, and the next turn ends well."""
    with bare_sayso(folder) as terminal:
        terminal.sees("offline planner", "idle")
        terminal.type("run `touch begun; sleep 600`")
        terminal.keys("Enter")
        terminal.sees("y allows it")
        terminal.answer("y")
        terminal.until(lambda _screen: (folder / "begun").exists())
        os.kill(terminal.pid(), signal.SIGKILL)
        terminal.sees("ENDED")
    with bare_sayso(folder) as terminal:
        terminal.sees("offline planner", "idle")
        terminal.type("/resume")
        terminal.keys("Enter")
        terminal.sees("Go on with", "touch begun")
        terminal.keys("Enter")
        terminal.sees("Shell touch begun; sleep 600", "idle")
        terminal.type("read README.md")
        terminal.keys("Enter")
        terminal.sees("A folder that a test made.", "idle")
