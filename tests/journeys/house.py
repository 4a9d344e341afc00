"""Runs the command `sayso` as a person would: as a process, with a home of its own, answers typed line by line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sayso.core import strictjson
from sayso.world.places import host_folder

SAYSO = (sys.executable, "-m", "sayso")
ASKS = "Book my oil change Thursday around 1 PM, under $100"
MAPLE = "maplestreetauto.example"
MAPLE_ID = "maple-street-auto"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return self.out.rstrip().splitlines()[-1] if self.out.strip() else ""

    @property
    def json(self) -> dict:
        value = strictjson.parse(self.out.encode())
        assert isinstance(value, dict)
        return value


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SAYSO_") or k == "SAYSO_TEST_BREAK"}
    return {**kept, "NO_COLOR": "1", "COLUMNS": "100", **more}


def sayso(*arguments: str, answers: str = "", **more: str) -> Ran:
    """One command to its end; `answers` is what the person types."""
    done = subprocess.run(
        [*SAYSO, *arguments],
        input=answers,
        capture_output=True,
        text=True,
        check=False,
        env=environment(**more),
        start_new_session=True,  # no terminal of the tester's may answer for this person
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def ask(home: Path, *words: str, answers: str = "") -> Ran:
    return sayso("ask", "--world", "--home", str(home), *words, answers=answers)


def kinds(home: Path, *, world: bool = True) -> list[str]:
    """The kinds of receipt in a home's log, oldest first."""
    where = ["--world"] if world else []
    done = sayso("receipts", "list", "--home", str(home), *where, "--last", "1000", "--json")
    if done.code != 0:
        return []
    return [strictjson.parse(line.encode())["kind"] for line in done.out.splitlines()]


def facts(home: Path) -> list[dict]:
    """The records of the person's log in the world."""
    done = sayso("receipts", "list", "--home", str(home), "--world", "--last", "1000", "--json")
    return [strictjson.parse(line.encode()) for line in done.out.splitlines()]


def host_kinds(home: Path) -> list[str]:
    """What the garage's own log says: its side of the story, kept by another process with another key."""
    return kinds(host_folder(home, MAPLE_ID), world=False)


@contextmanager
def running(*arguments: str, **more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that serves until it is stopped, and its first line; ended by its pid."""
    child = subprocess.Popen(
        [*SAYSO, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**more),
    )
    try:
        assert child.stdout is not None
        yield child, child.stdout.readline().strip()
    finally:
        child.terminate()
        child.communicate()
