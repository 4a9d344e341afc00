"""The hub between an adapter and its subscribers: how long one event is under way, and how many get through.

Latency is from the moment the adapter has the event until the subscriber has it typed; the next one is told only
then, so nothing waits behind anything. Each binding has its floor: the same event over the same kind of transport with
nothing of ours around it. Throughput is with 64 reading. A hub's size is what 1,000 idle sessions, and then as many
subscribers, add to the process; its start-up is the time until `sayso serve` has said where it listens.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec
import uvloop
from starlette.applications import Starlette
from starlette.routing import Route

from bench.measure import compare, report, stopwatch, table
from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.client.http import HubClient
from sayso.control.client.local import LocalClient
from sayso.control.client.requests import submit_request
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.bindings.stdio import HubOverStdio
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope, read_envelope, write_envelope
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.run import ContentDelta, RunCompleted, RunStarted
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import SystemClock
from sayso.core.frames import SseEvent
from sayso.core.ids import SystemIds
from sayso.net.eventstream import EventStream, read_events
from sayso.net.listen import serving
from sayso.net.ownpipes import LineInput, LineOutput
from sayso.testing.adapter import ScriptedAdapter

IDS = SystemIds()
SAYSO = str(Path(sys.executable).with_name("sayso"))
SESSION, RUN = "s1", "r1"
READERS = 64
Case = Callable[[], float]


class _EventLine(msgspec.Struct):
    envelope: msgspec.Raw


def _event(type_: str, payload: Wire, sequence: int) -> Envelope[Wire]:
    return Envelope(type=type_, id=f"e{sequence}", payload=payload, session_id=SESSION, run_id=RUN, sequence=sequence)


def run_of(count: int) -> list[Envelope[Wire]]:
    """A run that says `count` short things."""
    part = {"type": "text", "text": "so many words as a model says at once"}
    started = RunStarted(session_id=SESSION, run_id=RUN, status="running")
    said = [ContentDelta(session_id=SESSION, run_id=RUN, part=part) for _ in range(count)]  # type: ignore[arg-type]
    reply = Message(role="assistant", content="done")
    completed = RunCompleted(session_id=SESSION, run_id=RUN, final_response=reply, stop_reason="end_turn")
    events = [("run.started", started), *(("content.delta", each) for each in said), ("run.completed", completed)]
    return [_event(type_, payload, number) for number, (type_, payload) in enumerate(events, 1)]  # type: ignore[arg-type]


class Turns:
    """One event at a time: told when the one before has arrived, its way timed."""

    def __init__(self, count: int) -> None:
        self.events = run_of(count)
        self.told = 0.0
        self.ways: list[float] = []
        self._go = asyncio.Event()
        self._go.set()

    def script(self) -> list[Any]:
        """For a scripted adapter: before each event, wait for the turn and note the time."""
        steps: list[Any] = []
        for event in self.events:
            steps += [self._turn, event]
        return steps

    async def _turn(self) -> None:
        await self._go.wait()
        self._go.clear()
        self.told = time.perf_counter()

    async def source(self) -> AsyncIterator[Envelope[Wire]]:
        """For a floor: the same events in the same turns."""
        for event in self.events:
            await self._turn()
            yield event

    def arrived(self) -> None:
        """The subscriber has it."""
        self.ways.append(time.perf_counter() - self.told)
        self._go.set()

    def median(self) -> float:
        """Microseconds; the first tenth, which warms things up, is left out."""
        return 1e6 * statistics.median(self.ways[len(self.ways) // 10 :])


@asynccontextmanager
async def hub_of(turns: Turns) -> AsyncIterator[Hub]:
    async with Hub(Registry({"peer": ScriptedAdapter(turns.script())}), clock=SystemClock(), ids=IDS) as hub:
        yield hub


async def _read(events: AsyncIterator[Any], turns: Turns) -> None:
    async for _ in events:
        turns.arrived()


async def _in_process(turns: Turns) -> None:
    async with hub_of(turns) as hub:
        client = LocalClient(hub, ids=IDS)
        await client.open("peer", session_id=SESSION)
        await client.submit(SESSION, "go")
        await _read(client.events(SESSION, run_id=RUN, after=0), turns)


async def _queue(turns: Turns) -> None:
    queue: asyncio.Queue[Envelope[Wire] | None] = asyncio.Queue()

    async def tell() -> None:
        async for event in turns.source():
            queue.put_nowait(event)
        queue.put_nowait(None)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(tell())
        while await queue.get() is not None:
            turns.arrived()


async def _http(turns: Turns) -> None:
    async with hub_of(turns) as hub, serving_hub(hub, IDS, port=0) as address, HubClient(address.url) as client:
        await client.open("peer", session_id=SESSION)
        await client.submit(SESSION, "go")
        await _read(client.events(SESSION, run_id=RUN, after=0), turns)


async def _bare_sse(turns: Turns) -> None:
    async def endpoint(_request: Any) -> Any:
        async def events() -> AsyncIterator[SseEvent]:
            async for event in turns.source():
                yield SseEvent(write_envelope(event), id=str(event.sequence))

        return EventStream(events())

    app = Starlette(routes=[Route("/events", endpoint)])
    async with (
        serving(app, "127.0.0.1", 0) as address,
        httpx2.AsyncClient(trust_env=False) as client,
        client.stream("GET", f"{address.url}/events") as response,
    ):
        async for event in read_events(response.aiter_raw()):
            read_envelope(event.data)
            turns.arrived()


async def _stdio(turns: Turns) -> None:
    to_hub, from_hub = os.pipe(), os.pipe()
    async with hub_of(turns) as hub:
        client = LocalClient(hub, ids=IDS)
        await client.open("peer", session_id=SESSION)
        await client.submit(SESSION, "go")
        served = HubOverStdio(hub, LineInput(to_hub[0], 1 << 24), LineOutput(from_hub[1], 256))
        answers = LineInput(from_hub[0], 1 << 24)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(served.serve(anyio.Event()))
            os.write(to_hub[1], b'{"id":1,"op":"events","session_id":"s1","run_id":"r1","after":0}\n')
            await answers.read_line()
            for _ in turns.events:
                line = await answers.read_line()
                assert line is not None
                read_envelope(bytes(msgspec.json.decode(line, type=_EventLine).envelope))
                turns.arrived()
            os.close(to_hub[1])
    os.close(from_hub[1])


async def _bare_pipe(turns: Turns) -> None:
    reading, writing = os.pipe()
    output, lines = LineOutput(writing, 256), LineInput(reading, 1 << 24)

    async def tell() -> None:
        async for event in turns.source():
            await output.write_line(write_envelope(event))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(tell())
        for _ in turns.events:
            line = await lines.read_line()
            assert line is not None
            read_envelope(line)
            turns.arrived()
    os.close(writing)


def _latency(way: Callable[[Turns], Awaitable[None]], count: int) -> Case:
    async def timed() -> float:
        turns = Turns(count)
        await way(turns)
        return turns.median()

    return lambda: uvloop.run(timed())


# --- many readers ----------------------------------------------------------------------------------------------------


async def _fan_out(count: int) -> float:
    events = run_of(count)

    async def breathe() -> None:
        await asyncio.sleep(0)

    script = [step for event in events for step in (event, breathe)]
    async with Hub(Registry({"peer": ScriptedAdapter(script)}), clock=SystemClock(), ids=IDS) as hub:
        client = LocalClient(hub, ids=IDS)
        await client.open("peer", session_id=SESSION)

        async def read() -> int:
            return len([1 async for _ in client.events(SESSION, run_id=RUN, after=0)])

        with stopwatch() as watch:
            await hub.session(SESSION).submit(submit_request(IDS, SESSION, "go", "auto"))
            async with asyncio.TaskGroup() as tasks:
                readers = [tasks.create_task(read()) for _ in range(READERS)]
        got = sum(reader.result() for reader in readers)
    assert got == READERS * len(events)
    return watch.rate(got)


async def _fan_out_queues(count: int) -> float:
    events = run_of(count)
    queues: list[asyncio.Queue[bytes | None]] = [asyncio.Queue() for _ in range(READERS)]

    async def read(queue: asyncio.Queue[bytes | None]) -> None:
        while await queue.get() is not None:
            pass

    with stopwatch() as watch:
        async with asyncio.TaskGroup() as tasks:
            for queue in queues:
                tasks.create_task(read(queue))
            for data in [*(write_envelope(event) for event in events), None]:
                for queue in queues:
                    queue.put_nowait(data)
                await asyncio.sleep(0)
    return watch.rate(READERS * len(events))


# --- size and start-up -----------------------------------------------------------------------------------------------

_SIZE = """
import asyncio, resource, sys
from bench.hub import sizes
print(*asyncio.run(sizes(int(sys.argv[1]))))
"""


async def sizes(count: int) -> tuple[float, float, float]:
    """Kilobytes a session, kilobytes a subscriber, and sessions a second that all ran once, in a process of its own."""
    registry = Registry({"memory": MemoryAdapter(clock=SystemClock(), ids=IDS)})
    async with Hub(registry, clock=SystemClock(), ids=IDS) as hub:
        client = LocalClient(hub, ids=IDS)
        empty = _kilobytes()
        sessions = [(await client.open("memory")).session_id for _ in range(count)]
        opened = _kilobytes()
        readers = [(hub.session(each), hub.session(each).subscribe()) for each in sessions]
        subscribed = _kilobytes()
        for session, reader in readers:
            session.unsubscribe(reader)

        async def run(session_id: str) -> None:
            admitted = await client.submit(session_id, "script: plain")
            async for _ in client.events(session_id, run_id=str(admitted.run_id), after=0):
                pass

        with stopwatch() as watch:
            async with asyncio.TaskGroup() as tasks:
                for each in sessions:
                    tasks.create_task(run(each))
    return (opened - empty) / count, (subscribed - opened) / count, watch.rate(count)


def _kilobytes() -> float:
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1024


def _size_of(count: int, which: int) -> Case:
    def run() -> float:
        out = subprocess.run([sys.executable, "-c", _SIZE, str(count)], check=True, capture_output=True, text=True)
        return float(out.stdout.split()[which])

    return run


def _listens(command: list[str]) -> Case:
    def run() -> float:
        with stopwatch() as watch:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            assert child.stdout is not None
            for line in child.stdout:
                if re.search(r"http://127\.0\.0\.1:[0-9]+", line):
                    break
        child.terminate()
        child.communicate()
        return 1000 * watch.seconds

    return run


_BARE_SERVER = """
import asyncio, uvicorn
from starlette.applications import Starlette
server = uvicorn.Server(uvicorn.Config(Starlette(), port=0, log_level="warning"))
async def main():
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.001)
    print("http://127.0.0.1:%d" % server.servers[0].sockets[0].getsockname()[1], flush=True)
    await task
asyncio.run(main())
"""


def measure(*, quick: bool = False) -> list[dict[str, object]]:
    """Four tables."""
    rounds, count, sessions = (3, 300, 200) if quick else (5, 2000, 1000)
    found = []

    def tell(title: str, cases: dict[str, Case], floor: str | None, unit: str) -> None:
        rows = compare(cases, rounds=rounds, unit=unit)
        print(table(title, rows, floor=floor), "\n")
        found.append(report(title, rows, floor=floor))

    for name, way, floor in (
        ("in process", _in_process, _queue),
        ("stdio", _stdio, _bare_pipe),
        ("HTTP + SSE", _http, _bare_sse),
    ):
        bare = f"bare {floor.__name__.replace('_bare_', '').strip('_')}"
        cases = {"sayso hub": _latency(way, count), bare: _latency(floor, count)}
        tell(f"hub, adapter to subscriber, {name}, median", cases, bare, "us")
    cases = {
        "sayso hub": lambda: uvloop.run(_fan_out(count)),
        "bare queues": lambda: uvloop.run(_fan_out_queues(count)),
    }
    tell(f"hub, {READERS} reading, events delivered a second", cases, "bare queues", "/s")
    tell(
        f"hub, {sessions:,} idle sessions",
        {"a session": _size_of(sessions, 0), "a subscriber": _size_of(sessions, 1)},
        None,
        "KiB",
    )
    tell(f"hub, {sessions:,} sessions at once, each a whole run", {"sayso hub": _size_of(sessions, 2)}, None, "/s")
    with tempfile.TemporaryDirectory() as home:
        serve = [SAYSO, "serve", "--home", home, "--addr", "127.0.0.1:0"]
        cases = {"sayso serve": _listens(serve), "bare uvicorn": _listens([sys.executable, "-c", _BARE_SERVER])}
        tell("start-up of a hub, milliseconds until it listens", cases, "bare uvicorn", "ms")
    return found
