"""The terminal UI as one program: its log, its application, and what is said when it is over."""

from __future__ import annotations

import asyncio
import importlib
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from sayso.apps.tui.app import SaysoApp
from sayso.apps.tui.driver import driver_over
from sayso.apps.tui.seat import Seat, Wanted

if TYPE_CHECKING:
    from sayso.apps.tui.launch import Launch
    from sayso.apps.tui.terminal import Terminal

__all__ = ("run",)


def run(terminal: Terminal, asked: Launch, opener: str, home_path: str, log: str) -> tuple[int, str]:
    """Runs to the end: the exit code, and what is said on the terminal once it is given back."""
    home = Path(home_path)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    terminal.silence(log)
    logging.basicConfig(level=logging.WARNING)
    wanted = Wanted(
        home=home,
        workspace=(asked.workspace or Path.cwd()).resolve(),
        attach=asked.attach,
        backend=asked.backend,
        config=asked.config,
        model=asked.model,
        permission=asked.permission,
        resume=asked.resume,
    )
    module, _, name = opener.partition(":")
    early = terminal.early()

    @asynccontextmanager
    async def opens(wanted: Wanted) -> AsyncIterator[Seat]:
        # Slow to import: the screen stands by now and goes on taking keys.
        found = await anyio.to_thread.run_sync(importlib.import_module, module)
        async with getattr(found, name)(wanted) as seat:
            yield seat

    app = SaysoApp(wanted, opens, theme=asked.theme, is_light=bool(terminal.is_light), trim=terminal.trim)
    app.driver_class = driver_over(terminal, early)
    asyncio.run(app.run_async())
    if (failure := app.failure) is not None:
        terminal.note("".join(traceback.format_exception(failure)))
        return 1, f"sayso failed inside ({type(failure).__name__}). Your terminal is as it was. Where it broke: {log}"
    return app.return_code or 0, app.farewell
