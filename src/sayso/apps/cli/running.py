"""Running a command's work until it is done or the person stops it: Ctrl-C, a closed terminal, a polite kill.

Each of these cancels the work once, which then ends in order; a second one while it does changes nothing.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ("Stopped", "run_until_stopped")

T = TypeVar("T")
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """The work was stopped before it had anything to say."""


def run_until_stopped(work: Callable[[], Awaitable[T]]) -> T:
    """What `work` answers. `Stopped`: it was stopped and answered nothing."""

    async def main() -> T:
        task = asyncio.ensure_future(work())
        loop = asyncio.get_running_loop()
        was_stopped = False

        def stop() -> None:
            nonlocal was_stopped
            if not was_stopped:
                was_stopped = True
                task.cancel()

        for each in _STOPS:
            loop.add_signal_handler(each, stop)
        try:
            return await task
        except asyncio.CancelledError:
            raise Stopped from None

    return asyncio.run(main())
