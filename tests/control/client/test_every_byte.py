"""A stream cut behind every single byte of its answer: head, frames, and the seams between them."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import httpx2
import pytest

from sayso.client import Client
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds, SystemIds
from sayso.net.listen import Address
from sayso.testing.adapter import ScriptedAdapter
from tests.control.client.proxies import cutting
from tests.control.conftest import Trace
from tests.control.houses import NOON
from tests.control.protocol.talk import complete, start

pytestmark = pytest.mark.anyio
IDS = SystemIds()


async def whole_answer(address: Address, path: str) -> bytes:
    """The bytes of one event stream as they stand on the wire, from the status line to the last chunk."""
    async with await anyio.connect_tcp(address.host, address.port) as stream:
        await stream.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n0\r\n\r\n"):
            answer += await stream.receive()
    return answer


def every_other(cuts: range) -> Iterator[int | None]:
    """Each stream's first connection is cut, its second is not."""
    for cut in cuts:
        yield cut
        yield None


@pytest.mark.req("OAP-019", "OAP-042", "OAP-203")
async def test_a_stream_cut_behind_any_byte_gives_every_event_once(trace: Trace) -> None:
    """B12: nothing twice, nothing lost, and the stream ends with its run wherever the wire breaks."""
    adapter = ScriptedAdapter([start(), complete(2)])
    registry, ids = Registry({"peer": adapter}), CountingIds()
    async with (
        Hub(registry, clock=ManualClock(NOON), ids=ids, record=trace.record) as hub,
        serving_hub(hub, ids, port=0) as address,
        Client(address.url, ids=IDS) as client,
    ):
        session = await client.start("peer", session_id="s1")
        run_id = str((await session.submit("go")).run_id)
        _ = [envelope async for envelope in session.events(run_id=run_id, after=0)]
        answer = await whole_answer(address, f"/sessions/s1/events?after=0&run_id={run_id}")
        # The last byte ends the answer: behind it there is nothing to cut.
        cuts = range(1, len(answer))
        alone = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))
        async with (
            cutting(address, every_other(cuts)) as (url, cutter),
            Client(url, ids=IDS, transport=alone, first_pause=0) as cut_off,
        ):
            for cut in cuts:
                before = cutter.connections
                got = [envelope.sequence async for envelope in cut_off.events("s1", run_id=run_id, after=0)]
                if cutter.connections - before == 1:
                    next(cutter._cuts)  # the run's end had come: nothing was taken up again
                assert got == [1, 2], answer[:cut]
    assert len(cuts) > 600
