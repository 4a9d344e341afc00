"""Failures as sentences: what went wrong, where, and what to do next."""

from __future__ import annotations

import os
import sys

from sayso.apps.cli.main import NOT_STARTED, REFUSED
from sayso.core.refusal import Corrupt, PeerRefused, PeerUnreachable, Refused
from sayso.store.failures import Unavailable

__all__ = ("say_failure",)

_BEFORE_ANYTHING = frozenset(
    (
        "address_not_ours",
        "cannot_start",
        "clock_not_movable",
        "config_invalid",
        "database_newer",
        "database_url_invalid",
        "file_not_private",
        "home_not_private",
        "location_not_understood",
        "no_host",
        "no_keys",
        "port_in_use",
        "postgres_missing",
        "settings_invalid",
        "sqlite_too_old",
        "unavailable",
        "world_is_running",
    )
)
"""Refusals that mean that the command could not start: nothing was asked of anybody yet."""


def say_failure(failure: Exception) -> int:
    """Prints one failure for a person and gives the exit code that goes with it."""
    if os.environ.get("SAYSO_DEBUG") == "1":
        raise failure
    while isinstance(failure, ExceptionGroup) and len(failure.exceptions) == 1:
        # A task group wraps what ended it; one failure is told as itself.
        failure = failure.exceptions[0]
    if isinstance(failure, Unavailable):
        sys.stderr.write(f"The database does not answer: {failure.why}. Nothing was changed.\n")
        return NOT_STARTED
    if isinstance(failure, Refused | PeerRefused | PeerUnreachable):
        sys.stderr.write(f"{_upper(str(failure))}\n")
        started = not isinstance(failure, Refused) or failure.refusal.code not in _BEFORE_ANYTHING
        return REFUSED if started else NOT_STARTED
    if isinstance(failure, Corrupt):
        sys.stderr.write(f"Stored data contradicts itself: {failure}. Nothing was changed.\n")
        return NOT_STARTED
    if isinstance(failure, PermissionError | FileNotFoundError | OSError):
        sys.stderr.write(f"{failure.strerror or failure}{f': {failure.filename}' if failure.filename else ''}\n")
        return NOT_STARTED
    sys.stderr.write(
        f"sayso failed inside ({type(failure).__name__}). Nothing more was done. "
        "Run again with SAYSO_DEBUG=1 to see where, and please report it.\n"
    )
    return NOT_STARTED


def _upper(sentence: str) -> str:
    """The sentence with a capital, unless it begins with a path or an address."""
    first = sentence.partition(" ")[0]
    return sentence if set(first) & set("/.@:") else sentence[:1].upper() + sentence[1:]
