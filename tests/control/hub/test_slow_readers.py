"""Readers that do not read: a run never waits for them, and each is told what it really got (OAP-092)."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest

from sayso.adapters import Hub, LocalClient, OverflowError, default_registry  # noqa: A004
from sayso.control.hub.machine import MAILBOX
from sayso.core.frames import SseDecoder
from sayso.core.ids import SystemIds
from tests.control.conftest import Trace
from tests.control.hub.test_units import served

pytestmark = pytest.mark.anyio
READERS = 64


@pytest.mark.req("OAP-042", "OAP-092", "OAP-223")
async def test_sixty_four_readers_that_do_not_read_hold_nothing_up(trace: Trace) -> None:
    """Two hundred events are told while none of them reads a byte; then each gets its mailbox and its cursor, and
    resumed there it has every event once.
    """
    async with served(trace) as client, AsyncExitStack() as connections:
        session = await client.start("memory")
        http = httpx2.AsyncClient(base_url=client._wire.peer, trust_env=False, timeout=None)
        await connections.enter_async_context(http)
        slow = [
            await connections.enter_async_context(http.stream("GET", f"/sessions/{session.id}/events"))
            for _ in range(READERS)
        ]
        run = await session.submit("script: stream")
        whole = [envelope.sequence async for envelope in session.events(run_id=run.run_id, after=0)]
        assert (whole, whole[-1]) == (list(range(1, len(whole) + 1)), len(whole))
        for response in slow:
            got, last = await read(response)
            rest = [envelope.sequence async for envelope in session.events_after(run.run_id, last)]
            assert [*got, *rest] == whole


async def read(response: Any) -> tuple[list[int], int]:
    """What a reader got before it was let go, and the cursor it was told."""
    got: list[int] = []
    events, last = SseDecoder(), 0
    async for chunk in response.aiter_raw():
        for event in events.feed(chunk):
            if event.event == "message":
                got.append(int(event.id))
            else:
                assert event.event == "oap-overflow"
                last = got[-1] if got else 0
                assert f'"last_sequence":{last}'.encode() in event.data
    return got, last or got[-1]


@pytest.mark.req("OAP-042", "OAP-092", "OAP-206", "OAP-223")
async def test_a_reader_in_process_is_told_the_same() -> None:
    """Exactly its mailbox, then the cursor; others and the run go on."""
    ids = SystemIds()
    async with Hub(default_registry(ids=ids), ids=ids) as hub, LocalClient(hub, ids=ids) as client:
        session = await client.start("memory")
        slow = [hub.subscribe(session.id) for _ in range(READERS)]
        run = await session.submit("script: stream")
        whole = [envelope.sequence async for envelope in session.events(run_id=run.run_id, after=0)]
        for reading in slow:
            got = [(await anext(reading)).sequence for _ in range(MAILBOX)]
            with pytest.raises(OverflowError) as lost:
                await anext(reading)
            assert (got, lost.value.run_id, lost.value.last_sequence) == (whole[:MAILBOX], run.run_id, MAILBOX)
        resumed = hub.subscribe(session.id, run_id=str(run.run_id), after=MAILBOX)
        assert [envelope.sequence async for envelope in resumed] == whole[MAILBOX:]
