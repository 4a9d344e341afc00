"""Our own input and output as lines, over real pipes, files and their ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from sayso.core.refusal import Refused
from sayso.net.ownpipes import LineInput, LineOutput

pytestmark = pytest.mark.anyio


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    this = os.fstat(ends[0]).st_ino
    yield ends
    for end in ends:  # a test may have closed it, and its number may be another file's by now
        with suppress(OSError):
            if os.fstat(end).st_ino == this:
                os.close(end)


async def all_lines(lines: LineInput) -> list[bytes]:
    found = []
    while (line := await lines.read_line()) is not None:
        found.append(line)
    return found


@pytest.mark.req("OAP-020", "OAP-115")
async def test_lines_are_cut_at_line_feeds_alone(pipe: tuple[int, int]) -> None:
    """B01, B06: U+2028 and friends stay inside a line, a character split between writes arrives whole."""
    lines = LineInput(pipe[0], 1000)
    odd = "a\u2028b\u0085c\x0bd\r 😀".encode()
    for byte in odd + b"\n\nlast":
        os.write(pipe[1], bytes([byte]))
        await anyio.sleep(0)
    os.close(pipe[1])
    assert await all_lines(lines) == [odd, b""]
    assert lines.unfinished == b"last"


async def test_a_line_over_the_bound_is_refused_after_those_before_it(pipe: tuple[int, int]) -> None:
    """B03, B04: exactly the bound passes; the counter starts anew with each line."""
    lines = LineInput(pipe[0], 10)
    os.write(pipe[1], b"x" * 10 + b"\n" + b"y" * 10 + b"\n" + b"z" * 11 + b"\n")
    assert [await lines.read_line(), await lines.read_line()] == [b"x" * 10, b"y" * 10]
    with pytest.raises(Refused) as caught:
        await lines.read_line()
    assert caught.value.refusal.code == "line_too_long"
    assert lines.unfinished == b""


async def test_the_end_is_known_while_lines_are_unread(pipe: tuple[int, int]) -> None:
    """Whoever ends the program needs to know whether the host still listens."""
    lines = LineInput(pipe[0], 100)
    os.write(pipe[1], b"one\n")
    os.close(pipe[1])
    with anyio.fail_after(20):
        await lines.ended.wait()
    assert lines.has_unread
    assert await all_lines(lines) == [b"one"]
    assert not lines.has_unread


async def test_a_file_is_an_input_like_any_other(tmp_path: Path) -> None:
    """`sayso serve --stdio < requests` works."""
    (tmp_path / "in").write_bytes(b"one\ntwo\n")
    descriptor = os.open(tmp_path / "in", os.O_RDONLY)
    assert await all_lines(LineInput(descriptor, 100)) == [b"one", b"two"]
    os.close(descriptor)


async def test_input_is_read_ahead_within_a_bound(pipe: tuple[int, int]) -> None:
    """A host that floods is held back by the pipe, not by our memory, and loses nothing."""
    lines, total = LineInput(pipe[0], 1000), 40_000

    def flood() -> None:
        os.write(pipe[1], b"x" * 99 + b"\n")
        for _ in range(total - 1):
            os.write(pipe[1], b"x" * 99 + b"\n")
        os.close(pipe[1])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, flood)
        first = await lines.read_line()
        held = sum(map(len, lines._chunks)) + sum(map(len, lines._lines))
        assert held <= 5 * 256 * 1024
        assert [first, *await all_lines(lines)] == [b"x" * 99] * total


@pytest.mark.req("OAP-123")
async def test_many_writers_never_break_a_line(pipe: tuple[int, int]) -> None:
    """The order of the calls is the order on the pipe."""
    output = LineOutput(pipe[1])
    expected = [bytes([65 + n]) * 5000 for n in range(26)] * 4

    async with anyio.create_task_group() as tasks:
        reading = LineInput(pipe[0], 10_000)
        for line in expected:
            tasks.start_soon(output.write_line, line)
        seen = [await reading.read_line() for _ in expected]
    assert seen == expected
    assert await output.drain(5)


@pytest.mark.req("OAP-124")
async def test_a_writer_waits_past_the_bound_and_nothing_is_lost(pipe: tuple[int, int]) -> None:
    """Nobody reads at first: a few lines wait, then the writer does."""
    output, done = LineOutput(pipe[1], bound=4), 0

    async def write() -> None:
        nonlocal done
        for number in range(100):
            await output.write_line(b"%03d" % number + b"x" * 10_000)
            done += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        while not output.pending > 4:
            await anyio.sleep(0)
        assert done < 100
        reading = LineInput(pipe[0], 20_000)
        seen = [(await reading.read_line() or b"")[:3] for _ in range(100)]
    assert seen == [b"%03d" % number for number in range(100)]


@pytest.mark.req("OAP-125")
async def test_a_host_that_closed_its_end_frees_every_writer(pipe: tuple[int, int]) -> None:
    """A lost output is told once, and nobody waits for it."""
    output = LineOutput(pipe[1], bound=1)
    os.close(pipe[0])
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(output.write_line, b"x" * 100_000)
        with anyio.fail_after(20):
            await output.broken.wait()
    assert await output.write_line(b"more") is False
    assert await output.drain(5) is False


@pytest.mark.req("OAP-125")
async def test_output_that_nobody_reads_is_given_up(pipe: tuple[int, int]) -> None:
    """The pipe is full and stays full: the end is reached all the same, and says that not all was written."""
    output = LineOutput(pipe[1])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.write_line, b"x" * 1_000_000)
        await asyncio.sleep(0)
        assert await output.drain(0.05) is False
    os.set_blocking(pipe[0], False)
    while True:  # let the writer's thread go
        try:
            os.read(pipe[0], 1 << 20)
        except BlockingIOError:
            if output.written >= 1_000_001:
                break
            await asyncio.sleep(0)
