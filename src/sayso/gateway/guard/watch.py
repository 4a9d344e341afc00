"""How long each step of a crossing took, for whoever measures; nothing is measured while nobody watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeAlias, TypeVar

from sayso.core.clock import Clock

__all__ = ("Watch", "timed")

P = ParamSpec("P")
T = TypeVar("T")

Watch: TypeAlias = Callable[[str, float], None]
"""Told of a step's name and its seconds, from the event loop and from the store's thread.

`read` is the snapshot, then the rungs of the ladder by name (`signature` is the HMAC, `replay` the look-up's verdict),
`act` the constitution and the act, and of the unit `again`, `rate`, `spend`, `file`, `receipt`; `settle` is the whole
unit with its wait for the disk.
"""


def timed(watch: Watch | None, clock: Clock, name: str, step: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Runs a step and tells of it."""
    if watch is None:
        return step(*args, **named)
    began = clock.monotonic()
    try:
        return step(*args, **named)
    finally:
        watch(name, clock.monotonic() - began)
