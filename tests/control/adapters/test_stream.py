"""A run's events on their way to their one reader."""

from __future__ import annotations

import anyio
import pytest

from sayso.control.adapters.stream import RunStream
from sayso.core.refusal import Misuse
from tests.control.protocol.talk import complete, say, start

pytestmark = pytest.mark.anyio


async def test_what_was_told_before_and_after_the_reader_came_is_read_in_order() -> None:
    """The writer never waits, the reader does."""
    stream, read = RunStream(), []
    stream.tell(start())

    async def reader() -> None:
        read.extend([envelope.sequence async for envelope in stream.read()])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader)
        await anyio.wait_all_tasks_blocked()
        stream.tell(say(2))
        stream.tell(complete(3))
        stream.end()
    assert read == [1, 2, 3]


async def test_nothing_is_told_after_the_end_and_nobody_reads_twice() -> None:
    """Both are bugs of an adapter."""
    stream = RunStream()
    stream.end()
    with pytest.raises(Misuse):
        stream.tell(start())
    assert [envelope async for envelope in stream.read()] == []
    with pytest.raises(Misuse):
        await anext(stream.read())
