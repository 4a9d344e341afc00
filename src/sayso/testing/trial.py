"""Runs tests in forked children of a process that has imported everything but the tree's own modules.

Most of a break's time went into starting Python and importing pytest and the libraries again. They are imported once,
here, under pytest's own import hook. A child forgets the few modules of `sayso` that this process has needed, so that
it reads all of them anew and the break's import hook sees each. Beyond that a child is what a fresh process was: its
own session, its own environment, which what it starts inherits, nothing on standard input, its output in a file.

Under a break the first failing example is enough: Hypothesis neither makes it smaller nor remembers it, and no example
that an earlier run remembered is tried, so that a break is caught on every machine or on none.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import pytest

from sayso.core.clock import SystemClock

__all__ = ("Outcome", "Trial", "tried", "warm")

_LIBRARIES = (
    "alembic.command",
    "anyio.abc",
    "argon2",
    "click.testing",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "httpcore2",
    "httpx2",
    "hypothesis.stateful",
    "jiter",
    "joserfc.jwk",
    "jsonschema_rs",
    "orjson",
    "psycopg",
    "pysqlite3",
    "rich.console",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "starlette.applications",
    "structlog",
    "trustme",
    "uvicorn.protocols.http.httptools_impl",
)
"""What takes long to import. One that is missing here costs time and changes no verdict."""

_CRASHED = 70
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of pytest: what is set in its environment, its arguments, and how many seconds it may take."""

    environment: dict[str, str]
    arguments: tuple[str, ...]
    bound: float | None = None
    stops_at_first: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended: pytest's exit status, or None where it did not end within its bound."""

    status: int | None
    output: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Running:
    trial: Trial
    pid: int
    output: IO[bytes]
    since: float


class _Libraries:
    """A plugin that imports the libraries inside a session, so that pytest sees them as it always does."""

    def pytest_configure(self) -> None:
        for name in _LIBRARIES:
            importlib.import_module(name)


class _FirstExample:
    """A plugin for runs under a break: Hypothesis stops at the first example that fails."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings  # noqa: PLC0415 - pytest's import hook has to be there before it

        name = "sayso under a break"
        phases = (Phase.explicit, Phase.generate, Phase.target)
        settings.register_profile(name, settings(), phases=phases, database=None, report_multiple_bugs=False)
        settings.load_profile(name)


class _Ended:
    """A plugin that keeps what pytest thought of the tests: it may yet break on what a thread of theirs left."""

    has_failed = False

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.has_failed = exitstatus == pytest.ExitCode.TESTS_FAILED


def warm() -> None:
    """Imports what most children need, in a session of pytest that finds nothing to run; worth it for several."""
    with tempfile.TemporaryDirectory() as folder:
        alone = ["-c", os.devnull, "--rootdir", folder, "-p", "no:terminal", "-p", "no:cacheprovider", folder]
        status = pytest.main(alone, plugins=[_Libraries()])
    if status != pytest.ExitCode.NO_TESTS_COLLECTED:
        raise RuntimeError(f"pytest ended with {status} where there was nothing to do")
    # What is never collected is never written to either, and stays shared between the children.
    gc.collect()
    gc.freeze()


def tried(
    root: Path, trials: Sequence[Trial], jobs: int, *, may_start: Callable[[], bool] = lambda: True
) -> Iterator[tuple[int, Outcome]]:
    """Runs trials in `root`, `jobs` side by side, and gives each one's place and outcome as it ends.

    Before each start `may_start` is asked; from its first no on, what runs is awaited and nothing more is started.
    """
    waiting = deque(enumerate(trials))
    running: dict[int, _Running] = {}
    try:
        while True:
            while waiting and len(running) < jobs and may_start():
                number, trial = waiting.popleft()
                running[number] = _start(root, trial)
            if not running:
                return
            for number, each in list(running.items()):
                if (outcome := _look(each)) is not None:
                    del running[number]
                    yield number, outcome
            time.sleep(_POLL_SECONDS)
    finally:
        for each in running.values():
            _end(each)


def _start(root: Path, trial: Trial) -> _Running:
    output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the trial has ended
    sys.stdout.flush()
    sys.stderr.flush()
    since = SystemClock().monotonic()
    pid = os.fork()
    if pid == 0:
        _become(root, trial, output.fileno())
    return _Running(trial, pid, output, since)


def _become(root: Path, trial: Trial, output: int) -> NoReturn:
    """What the child does, to its end."""
    status = _CRASHED
    ended = _Ended()
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(root)
        os.environ.update(trial.environment, PYTHONDONTWRITEBYTECODE="1")
        sys.dont_write_bytecode = True
        for name in [name for name in sys.modules if name.partition(".")[0] == "sayso"]:
            del sys.modules[name]
        plugins = [ended, _FirstExample()] if trial.stops_at_first else [ended]
        status = int(pytest.main(list(trial.arguments), plugins=plugins))
        # Temporary folders are tidied there.
        atexit._run_exitfuncs()
    except BaseException:  # noqa: BLE001 - nothing may return into the parent's code
        traceback.print_exc()
        status = int(pytest.ExitCode.TESTS_FAILED) if ended.has_failed else status
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def _look(running: _Running) -> Outcome | None:
    """The outcome of a trial that has ended or whose time is over, and nothing of it runs on; None while it runs."""
    seconds = SystemClock().monotonic() - running.since
    pid, status = os.waitpid(running.pid, os.WNOHANG)
    is_over = pid == 0 and running.trial.bound is not None and seconds > running.trial.bound
    if pid == 0 and not is_over:
        return None
    if is_over:
        _end(running)
    else:
        _kill_group(running)
    with running.output as output:
        output.seek(0)
        said = output.read().decode(errors="replace")
    return Outcome(None if is_over else os.waitstatus_to_exitcode(status), said, seconds)


def _end(running: _Running) -> None:
    """Ends a trial that still runs."""
    _kill_group(running)
    # It may not have made its group yet.
    os.kill(running.pid, signal.SIGKILL)
    os.waitpid(running.pid, 0)


def _kill_group(running: _Running) -> None:
    """Ends what a trial started: a session of its own is a process group of its own."""
    with suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
