"""The examples of the documents, run as a reader would: a hub on a fresh home, and a script that drives it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.models import scripted_model

ROOT = Path(__file__).resolve().parents[2]
SAYSO = str(Path(sys.executable).with_name("sayso"))


@pytest.mark.req("OAP-101", "OAP-202", "OAP-203", "OAP-218")
def test_a_run_is_driven_cut_off_and_seen_once(tmp_path: Path) -> None:
    """`sayso serve` on a fresh home; the script answers both gates and sees every event once."""
    seen = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "SAYSO_TEST_BREAK")}
    hub = subprocess.Popen(
        [SAYSO, "serve", "--home", str(tmp_path), "--addr", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=seen,
    )
    assert hub.stdout is not None
    try:
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:[0-9]+", said)):
            line = hub.stdout.readline()
            assert line, said
            said += line
        script = [sys.executable, str(ROOT / "docs/examples/drive_a_run.py"), found[0]]
        run = subprocess.run(script, capture_output=True, text=True, env=seen, check=False)
    finally:
        hub.terminate()
        hub.communicate()
    assert run.returncode == 0, run.stderr
    events = [line.split(" ") for line in run.stdout.splitlines()]
    assert [int(number) for number, _type in events] == list(range(1, len(events) + 1))
    assert events[-1][1] == "run.completed"
    for resolved in ("action.permission.resolved", "user.input.resolved"):
        assert sum(type_ == resolved for _number, type_ in events) == 1
    assert hub.returncode == 0


@pytest.mark.req("OAP-206", "OAP-220")
def test_a_hub_is_embedded_with_public_names_alone(tmp_path: Path) -> None:
    """The example needs no file, no socket and no setting; both sessions said something and are idle."""
    script = [sys.executable, str(ROOT / "docs/examples/embed_a_hub.py")]
    seen = {name: value for name, value in os.environ.items() if name in ("PYTHONPATH", "SAYSO_TEST_BREAK")}
    run = subprocess.run(script, capture_output=True, text=True, env={**seen, "HOME": str(tmp_path)}, check=False)
    assert run.returncode == 0, run.stderr
    first, second, listed = run.stdout.splitlines()
    assert [len(line.split(" ", 1)[1]) > 0 for line in (first, second)] == [True, True]
    assert listed.count("'idle'") == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("OAP-155", "OAP-206", "OAP-220")
def test_the_loop_is_embedded_with_public_names_alone(tmp_path: Path) -> None:
    """A model that is nothing but an address, a tool of the program's own, its question answered, and no home."""
    script = str(ROOT / "docs/examples/embed_the_loop.py")
    seen = {name: value for name, value in os.environ.items() if name in ("PYTHONPATH", "SAYSO_TEST_BREAK")}
    with scripted_model("chat", "tool_turn", "--open") as model:
        command = [sys.executable, script, model.base_url, model.name]
        run = subprocess.run(command, capture_output=True, text=True, env={**seen, "HOME": str(tmp_path)}, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[:2] == [
        "asked: The agent wants to read README.md.",
        "read: Buy a new chain for the bicycle.",
    ]
    assert run.stdout.splitlines()[-1] == "ended: end_turn"
    assert list(tmp_path.iterdir()) == []
