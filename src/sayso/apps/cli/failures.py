"""Failures as sentences: what went wrong, where, and what to do next; and as an object for a program that asked so."""

from __future__ import annotations

import os
import sys

from sayso.apps.cli.main import NOT_STARTED, REFUSED
from sayso.core import strictjson
from sayso.core.refusal import Corrupt, PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.store.failures import Unavailable

__all__ = ("print_failure", "say_failure")

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


def say_failure(failure: Exception, *, as_json: bool = False) -> int:
    """Prints one failure for a person, with `as_json` for a program too, and gives the exit code that goes with it."""
    if os.environ.get("SAYSO_DEBUG") == "1":
        raise failure
    while isinstance(failure, ExceptionGroup) and len(failure.exceptions) == 1:
        # A task group wraps what ended it; one failure is told as itself.
        failure = failure.exceptions[0]
    sentence, refusal = _told(failure)
    sys.stderr.write(f"{sentence}\n")
    if as_json:
        print_failure(refusal)
    started = isinstance(failure, Refused | PeerRefused | PeerUnreachable) and refusal.code not in _BEFORE_ANYTHING
    return REFUSED if started else NOT_STARTED


def print_failure(refusal: Refusal) -> None:
    """The one JSON object of a command that did not come to an answer: `{"failed": {code, message, ...}}`."""
    members = {name: getattr(refusal, name) for name in ("code", "reason", "place", "message", "help")}
    said = {name: value for name, value in members.items() if value is not None}
    sys.stdout.write(f"{strictjson.encode({'failed': said}).decode()}\n")
    sys.stdout.flush()


def _told(failure: Exception) -> tuple[str, Refusal]:
    """The sentence, and what a program reads; of a bug only its kind, never its content."""
    if isinstance(failure, Refused | PeerRefused):
        return _upper(str(failure)), failure.refusal
    if isinstance(failure, PeerUnreachable):
        sentence, code = _upper(str(failure)), "unreachable"
    elif isinstance(failure, Unavailable):
        sentence, code = f"The database does not answer: {failure.why}. Nothing was changed.", "database_unavailable"
    elif isinstance(failure, Corrupt):
        sentence, code = f"Stored data contradicts itself: {failure}. Nothing was changed.", "stored_data_damaged"
    elif isinstance(failure, OSError):
        where = f": {failure.filename}" if failure.filename else ""
        sentence, code = f"{failure.strerror or failure}{where}", "system"
    else:
        sentence = (
            f"sayso failed inside ({type(failure).__name__}). Nothing more was done. "
            "Run again with SAYSO_DEBUG=1 to see where, and please report it."
        )
        code = "internal"
    return sentence, Refusal(code=code, message=sentence)


def _upper(sentence: str) -> str:
    """The sentence with a capital, unless it begins with a path or an address."""
    first = sentence.partition(" ")[0]
    return sentence if set(first) & set("/.@:") else sentence[:1].upper() + sentence[1:]
