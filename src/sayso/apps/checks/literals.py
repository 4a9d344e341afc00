"""Names of the protocol that stand in our source: each is in the table that says what it means.

Three tables: types of envelopes, capability keys, error codes. A name that is in none of them was mistyped, or would
promise what nobody can look up. Only `sayso.control` is read: there the protocol is spoken.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from sayso import control
from sayso.apps.checks.part import Part
from sayso.control.protocol.codes import CODES
from sayso.control.protocol.features import FEATURES
from sayso.control.protocol.signals import OVERFLOW, REPLAY_GAP, SUBSCRIBED
from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES

__all__ = ("literals",)

FOLDER = Path(next(iter(control.__path__)))
_ROOTS = "action|auth|capabilities|content|credential|inference|models|permissions|protocol|provider|run|session|user"
_NAME = re.compile(rf"(?:{_ROOTS})(?:\.[a-z_]+)+")
_STARTUP = frozenset(("config_invalid", "file_not_private", "malformed_line", "cannot_start", "replay_gap"))
"""Codes told to an operator before anything is served, or that end a pipe instead of answering on it."""
_STEMS = frozenset(("user.input", "session.settings.update.request"))
"""A type's stem, and a type of a later text that is refused by its name (OAP-075)."""


def literals(folder: Path = FOLDER) -> Part:
    """Every text literal that looks like a name of the protocol is one."""
    known = {*AGENT_TYPES, *PROVIDER_TYPES, *FEATURES, *_STEMS}
    known |= {name.rpartition(".")[0] for name in (*AGENT_TYPES, *PROVIDER_TYPES)}
    count = 0
    faults: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        for line, kind, name in _names(ast.parse(path.read_text())):
            count += 1
            if kind == "code" and name not in CODES and name not in _STARTUP:
                faults.append(f"{place}:{line}: the code `{name}` is not registered")
            elif kind == "name" and name not in known and f"{name}.request" not in known:
                faults.append(f"{place}:{line}: `{name}` is no type and no capability key")
    return Part(name="literals", looked=f"{count} names", faults=tuple(faults))


def _names(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value not in (OVERFLOW, REPLAY_GAP, SUBSCRIBED) and _NAME.fullmatch(node.value):
                yield node.lineno, "name", node.value
        elif isinstance(node, ast.Call) and (code := _code(node)) is not None:
            yield node.lineno, "code", code


def _code(call: ast.Call) -> str | None:
    """The code of `Refused.because("...")`."""
    is_refusal = isinstance(call.func, ast.Attribute) and call.func.attr == "because"
    first = call.args[0] if is_refusal and call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
