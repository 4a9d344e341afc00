"""What a child process gets to see of our environment: the entries its configuration lists, and the clock.

An entry is `NAME` (the parent's value) or `NAME=value`. Nothing is inherited, not even PATH. Values may be secrets:
no error repeats one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sayso.core.clock import CLOCK_FILE_VARIABLE
from sayso.core.refusal import Refused

__all__ = ("child_environment",)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def child_environment(
    entries: Iterable[str], parent: Mapping[str, str], *, must_be_set: bool = False
) -> dict[str, str]:
    """The environment of a child, with `SAYSO_CLOCK_FILE` passed on where the parent has it (one clock for all).

    A bare name that the parent has not is left out, or with `must_be_set` refused. Refused `environment_not_valid`,
    reason `name`, `repeated`, `not_set` or `value`.
    """
    chosen: dict[str, str] = {}
    for entry in entries:
        name, is_given, value = entry.partition("=")
        if not _NAME.fullmatch(name):
            raise _no("name", "An entry is NAME or NAME=value", place=None)
        if name in chosen:
            raise _no("repeated", f"{name} is listed twice", place=name)
        if is_given:
            chosen[name] = value
        elif name in parent:
            chosen[name] = parent[name]
        elif must_be_set:
            raise _no("not_set", f"{name} is not set", place=name)
        if "\0" in chosen.get(name, ""):
            raise _no("value", f"{name} holds a zero byte", place=name)
    if CLOCK_FILE_VARIABLE in parent:
        chosen.setdefault(CLOCK_FILE_VARIABLE, parent[CLOCK_FILE_VARIABLE])
    return chosen


def _no(reason: str, message: str, *, place: str | None) -> Refused:
    return Refused.because("environment_not_valid", message, reason=reason, place=place)
