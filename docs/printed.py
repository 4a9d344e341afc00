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
from sayso import gateway
from sayso.apps.checks.modules import PUBLIC, public_names
from sayso.apps.cli.main import COMMANDS
from sayso.apps.gateway_settings import SETTINGS
from sayso.control.adapters.reference import logins as reference_logins
from sayso.control.adapters.reference import machine as reference_run
from sayso.control.conformance.child import ChildLauncher
from sayso.control.conformance.script import script
from sayso.control.hub import machine as hub_session
from sayso.control.loop import machine as loop_run
from sayso.control.loop.line import machine as loop_line
from sayso.control.protocol.codes import CODES
from sayso.control.protocol.features import FEATURES
from sayso.control.protocol.machine import calls, compactions, gates, handed, logins, runs, steers
from sayso.control.provider import machine as inference
from sayso.control.validator.diagnostics import DIAGNOSTICS
from sayso.gateway.guard.rules.codes import CODES as GATEWAY_CODES
from sayso.gateway.guard.rules.codes import find_code
from sayso.gateway.guard.rules.ladder import LADDER
from sayso.governance import machine as proposal
from sayso.governance.constitution import Constitution
from sayso.ledger.rules.kinds import KINDS
from sayso.net.child import Program
from sayso.scheduling.rules import booking, change, hold, waitlist
from sayso.scheduling.tools.printed import PRINTED as SCHEDULING
from sayso.testing.broken_endpoints import BROKEN
from sayso.testing.coverage import Requirement, read_requirements, written

MACHINES: tuple[tuple[str, Any, Mapping[Any, Any]], ...] = (
    ("Run (Open Agent Protocol)", runs, runs.RUN_TABLE),
    ("Tool call of a run", calls, calls.CALL_TABLE),
    ("Tool call that the control layer runs", handed, handed.HANDED_TABLE),
    ("Question of a run", gates, gates.GATE_TABLE),
    ("Steer into a run", steers, steers.STEER_TABLE),
    ("Compaction inside a run", compactions, compactions.COMPACTION_TABLE),
    ("Login flow", logins, logins.LOGIN_TABLE),
    ("Session at the hub", hub_session, hub_session.TABLE),
    ("Run in our own loop", loop_run, loop_run.TABLE),
    ("Place in the line of our own loop's runs", loop_line, loop_line.TABLE),
    ("Run of the reference adapter", reference_run, reference_run.TABLE),
    ("Login flow of the reference adapter", reference_logins, reference_logins.TABLE),
    ("Inference (model provider)", inference, inference.TABLE),
    ("Proposal at the Promotion Gate", proposal, proposal.TABLE),
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


def diagnostics() -> str:
    """Every code a trace or a pack can get."""
    rows = "\n".join(f"| `{kind.code}` | {kind.phase.value} | {kind.meaning} |" for kind in DIAGNOSTICS.values())
    return f"| code | phase | means |\n|---|---|---|\n{rows}\n"


def checks() -> str:
    """Every check of `sayso conformance`, in its order."""
    rows = script(ChildLauncher(Program(command=["none"], environment={})))
    lines = "\n".join(f"| `{row.name}` | {row.meaning} |" for row in rows)
    return f"| check | passes when |\n|---|---|\n{lines}\n"


def broken_endpoints() -> str:
    """Every deliberately broken endpoint, and the check that finds it."""
    kinds = sorted(BROKEN.items())
    rows = "\n".join(f"| `{name}` | {inspect.getdoc(kind.endpoint)} | `{kind.check}` |" for name, kind in kinds)
    return f"| endpoint | what it breaks | fails |\n|---|---|---|\n{rows}\n"


def capability_keys() -> str:
    """Every capability key."""
    rows = "\n".join(f"| `{feature.key}` | {feature.promise} |" for feature in FEATURES.values())
    return f"| key | promises |\n|---|---|\n{rows}\n"


def error_codes() -> str:
    """Every code an `error.response`, or a run's error, may have."""
    rows = "\n".join(
        f"| `{code.name}` | {code.status} | {'yes' if code.retriable else ''} | {code.meaning} |"
        for code in CODES.values()
    )
    return f"| code | HTTP | again? | means |\n|---|---|---|---|\n{rows}\n"


def gateway_settings() -> str:
    """Every environment variable of the gateway."""
    rows = "\n".join(f"| `{each.variable}` | {each.default} {each.unit} | {each.says} |" for each in SETTINGS)
    return f"| variable | unless set | sets |\n|---|---|---|\n{rows}\n"


def gateway_ladder() -> str:
    """The order of admission."""
    rows = "\n".join(
        f"| {number} | `{rung.name}` | {rung.says} | {', '.join(map(_refused_with, rung.codes))} |"
        for number, rung in enumerate(LADDER, 1)
    )
    return f"| | step | asks | refuses with |\n|---|---|---|---|\n{rows}\n"


def _refused_with(code: str) -> str:
    found = find_code(code)
    return f"`{code}` {found.status}{' (counts)' if found.counts else ''}"


def gateway_codes() -> str:
    """Every code of the gateway, those that its doors declare included."""
    for module in pkgutil.walk_packages(gateway.__path__, "sayso.gateway."):
        importlib.import_module(module.name)
    rows = "\n".join(
        f"| `{each.code}` | {each.status} | {each.rpc} | {'yes' if each.counts else ''} | {each.title}. {each.help} |"
        for each in sorted(GATEWAY_CODES.values(), key=lambda found: (found.status, found.code))
    )
    return f"| code | HTTP | JSON-RPC | counts | means |\n|---|---|---|---|---|\n{rows}\n"


def constitution() -> str:
    """The articles, as people read them."""
    found = Constitution.load()
    parts = [f"**Article {each.number}. {each.title}.** {each.text}\n" for each in found.articles]
    return f"Version {found.version}. {found.preamble}\n\n" + "\n".join(parts)


def public_modules() -> str:
    """Every public module and its names."""
    parts = []
    for name, meaning in PUBLIC.items():
        names = ", ".join(f"`{each}`" for each in sorted(public_names(name)))
        parts.append(f"**`sayso.{name}`**: {meaning}.\n{names}\n")
    return "\n".join(parts)


@cache
def _requirements() -> list[Requirement]:
    return read_requirements(Path(__file__).resolve().parents[1])


PRINTED: dict[str, Callable[[], str]] = {
    "machines": machines,
    "receipt-kinds": kinds,
    "diagnostics": diagnostics,
    "conformance-checks": checks,
    "broken-endpoints": broken_endpoints,
    "capability-keys": capability_keys,
    "error-codes": error_codes,
    "gateway-settings": gateway_settings,
    "gateway-codes": gateway_codes,
    "gateway-ladder": gateway_ladder,
    "constitution": constitution,
    "public-modules": public_modules,
    "help": help_texts,
    "coverage-scheduling": lambda: written(_requirements(), "SCH"),
    "coverage-control": lambda: written(_requirements(), "OAP"),
    "coverage-gateway": lambda: written(_requirements(), "GTW"),
    **SCHEDULING,
}
