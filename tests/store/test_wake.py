"""Waking those who wait, in this process and in others."""

from __future__ import annotations

import asyncio

import pytest

from sayso.core.refusal import Misuse
from sayso.store import outbox
from sayso.store.unit import Store, Unit
from tests.store.processes import workers
from tests.store.rows import add


class Broken(Exception):
    """What a body raises when it wants nothing to have happened."""


async def settled(store: Store, channel: str) -> int:
    """A mark from which nothing is outstanding: on Postgres the first wait only says that listening has begun."""
    mark = store.wake.mark(channel)
    return await store.wake.wait(channel, mark) if store.dialect == "postgresql" else mark


@pytest.mark.anyio
async def test_a_waiter_is_woken_by_a_commit(store: Store) -> None:
    """Once the unit is committed, whoever waits looks again and finds what it wrote."""
    mark = await settled(store, "bell")
    waiting = asyncio.ensure_future(store.wake.wait("bell", mark))
    await store.unit(lambda unit: unit.wake("bell"))
    assert await waiting > mark


@pytest.mark.anyio
async def test_what_happens_between_looking_and_waiting_is_not_lost(store: Store) -> None:
    """A wait with an older mark returns at once."""
    mark = await settled(store, "bell")
    await store.unit(lambda unit: unit.wake("bell"))
    assert await store.wake.wait("bell", mark) > mark


@pytest.mark.anyio
async def test_a_unit_that_fails_wakes_nobody(store: Store) -> None:
    """The next commit does, and until it the waiter waits."""

    def fail(unit: Unit) -> None:
        unit.wake("bell")
        raise Broken

    mark = await settled(store, "bell")
    waiting = asyncio.ensure_future(store.wake.wait("bell", mark))
    with pytest.raises(Broken):
        await store.unit(fail)
    await store.unit(lambda unit: add(unit, "a"))
    assert not waiting.done()
    await store.unit(lambda unit: unit.wake("bell"))
    await waiting


@pytest.mark.anyio
async def test_everybody_on_the_channel_is_woken(store: Store) -> None:
    """One announcement is for all who wait."""
    mark = await settled(store, "bell")
    waiting = [asyncio.ensure_future(store.wake.wait("bell", mark)) for _ in range(20)]
    await asyncio.sleep(0)
    await store.unit(lambda unit: [unit.wake("bell"), unit.wake("bell")])
    assert len(await asyncio.gather(*waiting)) == 20


@pytest.mark.anyio
async def test_putting_work_wakes_its_workers(store: Store) -> None:
    """An outbox announces itself."""
    channel = outbox.channel("mail")
    mark = await settled(store, channel)
    waiting = asyncio.ensure_future(store.wake.wait(channel, mark))
    await store.unit(lambda unit: outbox.put(unit, "mail", "a", b""))
    await waiting


@pytest.mark.anyio
async def test_a_cancelled_waiter_is_forgotten(store: Store) -> None:
    """Nothing polls for somebody who is gone."""
    mark = await settled(store, "bell")
    waiting = asyncio.ensure_future(store.wake.wait("bell", mark))
    await asyncio.sleep(0)
    assert store.wake.is_awaited
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not store.wake.is_awaited


@pytest.mark.anyio
async def test_a_commit_of_another_process_wakes(store: Store, location: str) -> None:
    """Whichever process committed, and also where it committed between looking and waiting."""
    with workers("announce", location, [["bell"], ["bell"]]) as (first, second):
        mark = await settled(store, "bell")
        waiting = asyncio.ensure_future(store.wake.wait("bell", mark))
        await asyncio.sleep(0)
        first.go()
        mark = await waiting
        second.go()
        assert await asyncio.to_thread(second.hear) is None
        await store.wake.wait("bell", mark)


@pytest.mark.anyio
async def test_closing_wakes_whoever_still_waits(store: Store) -> None:
    """They look again and find the store closed."""
    mark = await settled(store, "bell")
    waiting = asyncio.ensure_future(store.wake.wait("bell", mark))
    await asyncio.sleep(0)
    await asyncio.to_thread(store.close)
    assert await waiting > mark
    with pytest.raises(Misuse, match="the store is closed"):
        await store.wake.wait("bell", store.wake.mark("bell"))


@pytest.mark.anyio
async def test_many_channels_are_remembered_within_bounds(store: Store) -> None:
    """What is forgotten costs a waiter one look for nothing, never a wake."""
    marks = {channel: store.wake.mark(channel) for channel in ("old", "new")}
    store.wake.announce(["old"])
    store.wake.announce(map(str, range(10_000)))
    for channel, mark in marks.items():
        assert await store.wake.wait(channel, mark) > mark
