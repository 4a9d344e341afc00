"""An answer of 2,000 pieces through our loop and hub, beside the bare wire that reads it from the vendor.

The fixture vendor (OpenAI's chat wire) streams as fast as it can, in a process of its own. The floor is our wire alone,
each of its envelopes taken and dropped: what nobody who talks to that vendor in this protocol can do without. Then the
same answer as a run of the loop, told to one subscriber: in the loop's own process, and over HTTP and server-sent
events from a process of its own. The vendor's bytes, read and thrown away, say what the vendor can do.

`python -m bench.loop [--quick]` prints this.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvloop

from bench.measure import compare, report, stopwatch, table
from bench.provider.servers import MODEL, Vendor, create_request, listening, vendor
from sayso.apps.serving import run_server, settle_in
from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.agent import AgentClient
from sayso.control.client.http import HubClient
from sayso.control.client.local import LocalClient
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.payloads.inference import PartDelta
from sayso.control.protocol.payloads.run import ContentDelta, RunCompleted
from sayso.control.provider.wires import Offering, open_wire
from sayso.control.provider.wires.driver import WireProvider
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds

IDS = SystemIds()
PIECES = 2000
TITLE = f"pieces of an answer of {PIECES:,} a second"
BARE = "bare wire"


async def _drain(asked: Vendor) -> int:
    """The vendor's bytes, thrown away."""
    question = asked.question
    reader, writer = await asyncio.open_connection("127.0.0.1", asked.port, limit=1 << 20)
    writer.write(question.bytes())
    tail = b""
    while not tail.endswith(b"\r\n0\r\n\r\n"):
        data = await reader.read(1 << 16)
        assert data, "the vendor hung up"
        tail = (tail + data)[-64:]
    writer.close()
    return PIECES


def wire_to(asked: Vendor) -> WireProvider:
    async def credential() -> str:
        return asked.key

    offering = Offering(
        id="deepseek",
        wire="openai-chat-completions",
        base_url=asked.base_url,
        model="fixture",
        model_ref=MODEL,
        credential=credential,
    )
    return open_wire(offering, clock=SystemClock(), ids=IDS)


@asynccontextmanager
async def hub_over(asked: Vendor) -> AsyncIterator[Hub]:
    async with wire_to(asked) as wire:
        loop = OwnLoop(wire, clock=SystemClock(), ids=IDS, model_ref=MODEL)
        async with Hub(Registry({"sayso": loop}), clock=SystemClock(), ids=IDS) as hub:
            yield hub


async def take(wire: WireProvider) -> int:
    request = create_request()
    return len([1 async for envelope in wire.create(request) if isinstance(envelope.payload, PartDelta)])


async def follow(client: AgentClient) -> int:
    """One run in a session of its own, read to its end."""
    session_id = (await client.open("sayso")).session_id
    admitted = await client.submit(session_id, "Tell me everything.")
    said, last = 0, None
    async for event in client.events(session_id, run_id=str(admitted.run_id), after=0):
        last = event.payload
        said += isinstance(last, ContentDelta)
    assert isinstance(last, RunCompleted), last
    await client.close(session_id)
    return said


async def _timed(work: Callable[[], Awaitable[int]], times: int) -> float:
    """Pieces a second; the first answer, which opens connections, is not counted."""
    await work()
    with stopwatch() as watch:
        counts = [await work() for _ in range(times)]
    assert counts == [PIECES] * times, counts
    return watch.rate(sum(counts))


async def _vendor_alone(asked: Vendor, times: int) -> float:
    return await _timed(lambda: _drain(asked), times)


async def _bare_wire(asked: Vendor, times: int) -> float:
    async with wire_to(asked) as wire:
        return await _timed(lambda: take(wire), times)


async def _in_process(asked: Vendor, times: int) -> float:
    async with hub_over(asked) as hub:
        client = LocalClient(hub, ids=IDS)
        return await _timed(lambda: follow(client), times)


async def _over_http(url: str, times: int) -> float:
    async with HubClient(url) as client:
        return await _timed(lambda: follow(client), times)


@contextmanager
def _serving(asked: Vendor) -> Iterator[str]:
    """The same loop and hub in a process of their own."""
    command = [sys.executable, "-m", "bench.loop", "--serve", str(asked.port), asked.key]
    with listening(command, {}) as (port, _):
        yield f"http://127.0.0.1:{port}"


def serve(asked: Vendor) -> None:
    """The server's side, until it is ended."""

    async def run() -> None:
        async with hub_over(asked) as hub, serving_hub(hub, IDS, port=0) as address:
            settle_in()
            print(address.url, flush=True)
            await asyncio.get_running_loop().create_future()

    run_server(run)


def measure(*, quick: bool = False) -> list[dict[str, object]]:
    """One table."""
    rounds, times = (3, 1) if quick else (5, 5)
    with vendor("slow_text") as asked, _serving(asked) as url:

        def of(way: Callable[[Any, int], Awaitable[float]], where: object) -> Callable[[], float]:
            return lambda: uvloop.run(way(where, times))  # type: ignore[arg-type]

        cases = {
            "loop and hub, in process": of(_in_process, asked),
            "loop and hub, over HTTP": of(_over_http, url),
            BARE: of(_bare_wire, asked),
            "the vendor's bytes": of(_vendor_alone, asked),
        }
        rows = compare(cases, rounds=rounds)
    print(table(TITLE, rows, floor=BARE))
    return [report(TITLE, rows, floor=BARE)]


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(Vendor(int(sys.argv[2]), sys.argv[3]))
    else:
        measure(quick="--quick" in sys.argv)
