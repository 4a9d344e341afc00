"""What the documents print from the code: name of a marked place to its text."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import sayso
from sayso.apps.cli.main import COMMANDS
from sayso.control.hub import machine as hub_session
from sayso.control.loop import machine as loop_run
from sayso.control.protocol import machine as protocol
from sayso.control.provider import machine as inference
from sayso.ledger.rules.kinds import KINDS
from sayso.scheduling.rules import booking, change, hold, waitlist
from sayso.scheduling.tools.printed import PRINTED as SCHEDULING
from sayso.testing.coverage import Requirement, read_requirements, written

MACHINES: tuple[tuple[str, Any, Mapping[Any, Any]], ...] = (
    ("Run (Open Agent Protocol)", protocol, protocol.RUN_TABLE),
    ("Tool call of a run", protocol, protocol.CALL_TABLE),
    ("Question of a run", protocol, protocol.GATE_TABLE),
    ("Session at the hub", hub_session, hub_session.TABLE),
    ("Run in our own loop", loop_run, loop_run.TABLE),
    ("Inference (model provider)", inference, inference.TABLE),
    ("Hold", hold, hold.TABLE),
    ("Booking", booking, booking.TABLE),
    ("Change offer", change, change.TABLE),
    ("Waitlist entry", waitlist, waitlist.TABLE),
)


def machines() -> str:
    """Every state machine: where its file is, its states, and its table. Pairs that no row names are refused."""
    parts = []
    for title, module, table in MACHINES:
        path = module.__name__.replace(".", "/")
        rows = "\n".join(f"| `{state}` | {command} | {then} |" for state, command, then in _rows(table))
        parts.append(f"## {title}\n`{path}.py`\n\n| state | on | becomes |\n|---|---|---|\n{rows}\n")
    return "\n" + "\n".join(parts)


def _rows(table: Mapping[Any, Any]) -> Iterator[tuple[str, str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            if not value:
                yield _said(key), "nothing", "it stays"
            for command, then in value.items():
                yield _said(key), _said(command), f"`{_said(then)}`"
        else:
            state, command = key
            then = _decided(value) if callable(value) else f"`{_said(value)}`"
            yield _said(state), _said(command), then


def _said(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    return value.__name__ if isinstance(value, type) else str(value)


def _decided(function: Callable[..., Any]) -> str:
    words = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
    return words or f"as `{function.__name__.lstrip('_')}` decides"


def kinds() -> str:
    """Every kind of receipt that some module declares."""
    for module in pkgutil.walk_packages(sayso.__path__, "sayso."):
        if not module.name.endswith("__main__") and ".migrations" not in module.name:
            importlib.import_module(module.name)
    rows = "\n".join(f"| `{kind}` | {meaning} |" for kind, meaning in sorted(KINDS.items()))
    return f"| kind | means |\n|---|---|\n{rows}\n"


def help_texts() -> str:
    """What each command says of itself."""
    parts = []
    for name in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "sayso", name, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={"COLUMNS": "100", "PATH": "", "HOME": "/", "LANG": "C.UTF-8"},
        )
        text = done.stdout.replace("python -m sayso", "sayso")
        parts.append(f"### sayso {name}\n```text\n{text}```\n")
    return "\n".join(parts)


@cache
def _requirements() -> list[Requirement]:
    return read_requirements(Path(__file__).resolve().parents[1])


PRINTED: dict[str, Callable[[], str]] = {
    "machines": machines,
    "receipt-kinds": kinds,
    "help": help_texts,
    "coverage-scheduling": lambda: written(_requirements(), "SCH"),
    "coverage-control": lambda: written(_requirements(), "OAP"),
    "coverage-gateway": lambda: written(_requirements(), "GTW"),
    **SCHEDULING,
}
