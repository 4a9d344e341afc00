"""What a check is, and the three ways it can end: pass, fail, or skip with the reason why nothing is owed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from sayso.control.conformance.talk import Talk

__all__ = ("Check", "Failed", "Gone", "Outcome", "Result", "Silent", "Skipped")


class Outcome(Enum):
    """How a check ended."""

    PASS = "pass"  # noqa: S105 - a word of a report
    FAIL = "fail"
    SKIP = "skip"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One check: what was found, or why nothing was owed."""

    name: str
    outcome: Outcome
    detail: str = ""


class Failed(Exception):
    """The endpoint did not do what it owes."""


class Silent(Failed):
    """Nothing came within the budget. Whoever waits again waits in vain, so the script ends here."""


class Gone(Failed):
    """The endpoint ended, or sends what no endpoint may: the script ends here."""


class Skipped(Exception):
    """The endpoint, or the binding, does not carry the obligation."""


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the script. `act` returns what is worth telling of a pass. `needs` are checks without which it cannot
    be reached. A check that is `derived` asks nothing: it tells what was seen, and is told even of a script cut short.
    """

    name: str
    meaning: str
    act: Callable[[Talk], Awaitable[str | None]]
    needs: tuple[str, ...] = ()
    derived: bool = False
