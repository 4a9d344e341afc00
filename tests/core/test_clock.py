"""Clocks that stand still until they are moved, and wake exactly those whose time has come."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from sayso.core.clock import FileClock, ManualClock, SystemClock, write_clock_file
from sayso.core.refusal import Corrupt, Misuse

START = datetime(2026, 10, 13, 13, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


async def until_asleep(clock: ManualClock, count: int) -> None:
    """Lets the other tasks run until so many sleep on the clock."""
    while clock.sleepers < count:
        await anyio.lowlevel.checkpoint()


@pytest.mark.anyio
async def test_sleepers_wake_when_their_instant_is_reached_and_not_before() -> None:
    """Exactly at the instant, and only those."""
    clock, woken = ManualClock(START), []

    async def sleeper(minutes: int) -> None:
        await clock.sleep_until(START + minutes * MINUTE)
        woken.append((minutes, clock.now()))

    async with anyio.create_task_group() as tasks:
        for minutes in (3, 1, 2):
            tasks.start_soon(sleeper, minutes)
        await until_asleep(clock, 3)
        clock.advance(MINUTE - timedelta(microseconds=1))
        await anyio.wait_all_tasks_blocked()
        assert woken == []
        clock.advance(timedelta(microseconds=1))
        await anyio.wait_all_tasks_blocked()
        assert woken == [(1, START + MINUTE)]
        assert clock.sleepers == 2
        clock.set(START + 10 * MINUTE)
    assert sorted(woken) == [(1, START + MINUTE), (2, START + 10 * MINUTE), (3, START + 10 * MINUTE)]
    assert clock.sleepers == 0


@pytest.mark.anyio
async def test_an_instant_already_reached_is_no_sleep() -> None:
    """Neither the present nor the past waits for a move."""
    clock = ManualClock(START)
    await clock.sleep_until(START)
    await clock.sleep_until(START - MINUTE)
    assert clock.sleepers == 0


@pytest.mark.anyio
async def test_a_clock_moved_in_another_thread_wakes_its_sleepers() -> None:
    """Units of work run off the loop and may move it from there."""
    clock = ManualClock(START)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.sleep_until, START + MINUTE)
        await until_asleep(clock, 1)
        await anyio.to_thread.run_sync(clock.advance, MINUTE)
    assert clock.sleepers == 0


@pytest.mark.anyio
async def test_a_cancelled_sleeper_is_forgotten() -> None:
    """Nothing is left to wake, and moving the clock is harmless."""
    clock = ManualClock(START)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.sleep_until, START + MINUTE)
        await until_asleep(clock, 1)
        tasks.cancel_scope.cancel()
    assert clock.sleepers == 0
    clock.advance(MINUTE)


def test_a_clock_is_never_turned_back() -> None:
    """Nor does it start without an offset."""
    clock = ManualClock(START)
    for turn in (
        lambda: clock.advance(-MINUTE),
        lambda: clock.set(START - MINUTE),
        lambda: ManualClock(datetime(2026, 1, 1)),
    ):
        with pytest.raises(Misuse):
            turn()
    assert clock.now() == START


def test_measured_time_moves_with_the_clock() -> None:
    """And now is in UTC, wherever the clock was started."""
    clock = ManualClock(START.astimezone(timezone(timedelta(hours=-4))))
    clock.advance(MINUTE)
    assert (clock.now(), clock.now().tzinfo, clock.monotonic()) == (START + MINUTE, UTC, 60.0)


def test_a_clock_file_moves_every_clock_that_reads_it(tmp_path: Path) -> None:
    """However quickly it is moved, in this process and in another."""
    path = tmp_path / "clock.json"
    write_clock_file(path, START)
    clock = FileClock(path)
    assert clock.now() == START
    for seconds in range(50):
        write_clock_file(path, START + timedelta(seconds=seconds))
        assert clock.now() == START + timedelta(seconds=seconds)
    program = (
        "import sys; from pathlib import Path; from sayso.core.clock import FileClock;"
        "print(FileClock(Path(sys.argv[1])).now().isoformat())"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (START + timedelta(seconds=49)).isoformat()


@pytest.mark.anyio
async def test_who_sleeps_on_a_clock_file_wakes_when_it_is_moved(tmp_path: Path) -> None:
    """Nobody can call into another process, so the file is looked at."""
    path = tmp_path / "clock.json"
    write_clock_file(path, START)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FileClock(path).sleep_until, START + MINUTE)
        await anyio.lowlevel.checkpoint()
        write_clock_file(path, START + MINUTE)


@pytest.mark.anyio
async def test_a_clock_file_that_runs_goes_on_by_itself_until_it_is_stopped(tmp_path: Path) -> None:
    """From where it stood, with the machine's own pace; a machine clock set back does not turn it back."""
    path = tmp_path / "clock.json"
    write_clock_file(path, START, runs=True)
    clock = FileClock(path)
    before = clock.now()
    await clock.sleep_until(before + timedelta(milliseconds=20))
    assert (START <= before < clock.now() < START + MINUTE, clock.runs) == (True, True)
    write_clock_file(path, START + MINUTE)
    assert (clock.now(), clock.now(), clock.runs) == (START + MINUTE, START + MINUTE, False)
    path.write_text("2026-10-13T13:00:00Z\n9999-01-01T00:00:00Z\n")
    assert clock.now() == datetime(2026, 10, 13, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    "content",
    [
        None, b"", b"tomorrow\n", b"2026-10-13T13:00:00\n", b"\xff",
        b"2026-10-13T13:00:00Z\nnow\n", b"2026-10-13T13:00:00Z\n2026-10-13T13:00:00Z\n2026-10-13T13:00:00Z\n",
    ],
)  # fmt: skip
def test_a_clock_file_without_an_instant_is_corrupt(tmp_path: Path, content: bytes | None) -> None:
    """No deadline is ever reckoned from a guess."""
    path = tmp_path / "clock.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Corrupt):
        FileClock(path)


@pytest.mark.anyio
async def test_the_machines_clock_is_aware_and_does_not_run_backwards() -> None:
    """And a moment that has come is not slept for."""
    clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep_until(clock.now() + timedelta(milliseconds=5))
    assert clock.monotonic() - before >= 0.004
    assert clock.now().tzinfo is UTC
