"""What the person types, without keeping the program alive: a read that nobody waits for any more is left behind.

A blocking read cannot be cancelled. It runs in a daemon thread, so that Ctrl-C at a prompt ends the program at once
and not at the next Enter. What was typed before a question is shown is thrown away: an answer to a
question that was not on the screen yet is no answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import termios
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ("Keyboard", "beside")

T = TypeVar("T")


async def beside(read: Callable[[], T]) -> T:
    """What `read` returns, from a thread that nobody joins. Cancelling leaves the thread behind."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if answered.done():
            return
        if error is not None:
            answered.set_exception(error)
        else:
            answered.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value, error = None, None
        try:
            value = read()
        except Exception as failure:  # noqa: BLE001 - handed to whoever waits
            error = failure
        # The loop may be closed by the time somebody presses Enter.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, daemon=True).start()
    return await answered


class Keyboard:
    """Standard input as a person's keyboard, or as the pipe that plays one."""

    @property
    def is_persons(self) -> bool:
        """Whether a terminal is at the other end: only then did a person see what was asked."""
        return sys.stdin is not None and sys.stdin.isatty()

    def forget(self) -> None:
        """Throws away what was typed so far; call it before a question is shown, never after."""
        if self.is_persons:
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    async def line(self) -> str:
        """The next line with its end, or what there is of it at the end of input."""
        return "" if sys.stdin is None else await beside(sys.stdin.readline)
