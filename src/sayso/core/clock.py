"""The one clock.

Deadlines, tokens, nonces, holds and sweepers all read time through it, so that a test or the sample world can move it
and everything moves together, child processes included (`SAYSO_CLOCK_FILE`).
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from sayso.core.instants import parse_instant, write_instant
from sayso.core.refusal import Corrupt, Misuse, Refused

__all__ = ("CLOCK_FILE_VARIABLE", "Clock", "FileClock", "ManualClock", "SystemClock", "write_clock_file")

CLOCK_FILE_VARIABLE = "SAYSO_CLOCK_FILE"
_POLL_SECONDS = 0.05
_NOTHING = timedelta(0)


class Clock(Protocol):
    """What every floor knows of time."""

    def now(self) -> datetime:
        """The present instant, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary origin that never run backwards; for measuring, never for deadlines on rows."""
        ...

    async def sleep_until(self, instant: datetime) -> None:
        """Returns once `now()` has reached `instant`."""
        ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        return _machine_now()

    def monotonic(self) -> float:
        return time.monotonic()  # noqa: TID251 - the one home of this call

    async def sleep_until(self, instant: datetime) -> None:
        while (left := (instant - self.now()).total_seconds()) > 0:  # noqa: ASYNC110 - it waits for time itself
            await asyncio.sleep(left)


class ManualClock:
    """A clock that stands still until it is moved; sleepers wake as soon as it reaches their instant.

    It may be moved from any thread, whichever event loop the sleepers are in.
    """

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise Misuse("a clock starts at an aware instant")
        self._now = start.astimezone(UTC)
        self._origin = self._now
        self._sleepers: list[tuple[datetime, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return (self._now - self._origin).total_seconds()

    @property
    def sleepers(self) -> int:
        """How many wait for the clock to move; lets a test wait until somebody does."""
        return len(self._sleepers)

    def advance(self, by: timedelta) -> None:
        """Moves time forward; going backwards is a bug in the test."""
        self.set(self._now + by)

    def set(self, instant: datetime) -> None:
        """Moves time forward to an instant."""
        if instant < self._now:
            raise Misuse("a clock is never turned back")
        self._now = instant.astimezone(UTC)
        for due, sleeper in list(self._sleepers):
            if due <= self._now and not sleeper.get_loop().is_closed():
                sleeper.get_loop().call_soon_threadsafe(_wake, sleeper)

    async def sleep_until(self, instant: datetime) -> None:
        if self._now >= instant:
            return
        sleeper = (instant, asyncio.get_running_loop().create_future())
        self._sleepers.append(sleeper)
        try:
            # A move from another thread between the look above and the entry in the list would not have woken us.
            if self._now < instant:
                await sleeper[1]
        finally:
            self._sleepers.remove(sleeper)


class FileClock:
    """A clock kept in a small file that several processes read: one line, an RFC 3339 instant in UTC.

    It stands still between writes. With a second line, the machine's own instant at which the first was true, it runs
    from there. Only a sample world or a test home may use it: on a real home a file that moves
    time would move every deadline with it. The file is read every time: no stamp of it is fine enough to tell two
    quick moves apart. A file that is gone or no instant is `Corrupt`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.now()

    def now(self) -> datetime:
        try:
            instant, *since = self._lines()
            run = max(_machine_now() - parse_instant(*since), _NOTHING) if since else _NOTHING
            return parse_instant(instant) + run
        except (OSError, TypeError, ValueError, Refused):
            raise Corrupt("the clock file holds no instant", str(self._path)) from None

    def monotonic(self) -> float:
        return time.monotonic()  # noqa: TID251 - the one home of this call

    async def sleep_until(self, instant: datetime) -> None:
        while self.now() < instant:  # noqa: ASYNC110 - another process moves the file and cannot wake us
            await asyncio.sleep(_POLL_SECONDS)

    @property
    def runs(self) -> bool:
        """Whether it goes on by itself."""
        return len(self._lines()) > 1

    def _lines(self) -> list[str]:
        return self._path.read_text(encoding="ascii").strip().split("\n")


def write_clock_file(path: Path, instant: datetime, *, runs: bool = False) -> None:
    """Moves a `FileClock` by replacing its file in one step, so that no reader sees half of it."""
    lines = [instant, _machine_now()] if runs else [instant]
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(f"{write_instant(each)}\n" for each in lines), encoding="ascii")
    fresh.replace(path)


def _machine_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the one home of this call


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
