"""How a process runs whose work is to serve: the same for every command that does, and for the bench of the hold."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Final

import anyio

__all__ = ("COLLECTED_AFTER", "run_server", "settle_in")

COLLECTED_AFTER: Final = (10_000, 20, 50)
"""The collector's thresholds: containers made since the last look, and how many looks make one at older ones."""


def run_server(serve: Callable[[], Awaitable[None]]) -> None:
    """Runs `serve` until it returns, on uvloop where it is installed."""
    anyio.run(serve, backend_options={"use_uvloop": find_spec("uvloop") is not None})


def settle_in() -> None:
    """Called once everything is open, in a process that does nothing else: it changes the whole process.

    What was loaded by now (modules, compiled statements, desks) is there for good, so the collector walks it no more,
    and it looks for cycles less often, since a request leaves hardly any. Left to its defaults it takes a tenth of the
    time that holds do.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)
