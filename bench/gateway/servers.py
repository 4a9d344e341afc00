"""Each server in a process of its own: ours, the official one, the floor, and the endpoint behind the proxy."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import statistics
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.gateway.calls import CONNECTIONS, Target, nothing, signing

MCP_PATH = "/api/protocols/mcp/message"
LIFTED = {
    "SAYSO_GATEWAY_CALLS_PER_MINUTE": "60000000",
    "SAYSO_GATEWAY_CALLS_PER_SECOND": "1000000",
    "SAYSO_GATEWAY_REQUESTS_PER_SECOND": "1000000",
}
_FLOOR_KEY = "osz_" + "b" * 43


@dataclass
class Running:
    """A server that listens; `awake` is its turn. Each process leads a group of its own, with what it starts itself."""

    target: Target
    processes: list[subprocess.Popen[Any]]
    steps: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def awake(self) -> Iterator[None]:
        for process in self.processes:
            os.killpg(process.pid, signal.SIGCONT)
        try:
            yield
        finally:
            self.rest()

    def rest(self) -> None:
        for process in self.processes:
            os.killpg(process.pid, signal.SIGSTOP)


@contextmanager
def server(kind: str, folder: Path, *, environ: Mapping[str, str] = LIFTED) -> Iterator[Running]:
    """`kind` is `sayso`, `watched` (the same, timing its steps), `mcp`, `floor` or `upstream`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.gateway", "--serve", kind, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environ},
        start_new_session=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    if not said:
        raise SystemExit(f"the server {kind!r} did not start")
    told = json.loads(said)
    signs = tuple(signing(key) for key in told["keys"]) or (nothing,)
    running = Running(Target(told["port"], told["path"], signs), [process])
    try:
        yield running
    finally:
        os.killpg(process.pid, signal.SIGCONT)
        last, _ = process.communicate("")
        if last:
            running.steps.update(json.loads(last))


def serve(kind: str, folder: Path) -> None:
    """The child's side."""
    from sayso.apps.serving import run_server

    ways: dict[str, Callable[[Path], Coroutine[Any, Any, None]]]
    ways = {"sayso": _sayso, "watched": partial(_sayso, watched=True), "floor": _floor, "upstream": _upstream}
    if kind == "mcp":
        _official()
    else:
        run_server(partial(ways[kind], folder))


async def _until_eof(app: Any, path: str, keys: list[str] | None = None) -> None:
    from sayso.apps.serving import settle_in
    from sayso.net.listen import serving

    async with serving(app) as address:
        settle_in()
        print(json.dumps({"port": address.port, "path": path, "keys": keys or []}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


# --- ours ------------------------------------------------------------------------------------------------------------


async def _sayso(folder: Path, *, watched: bool = False) -> None:
    from bench.gateway.house import open_house

    seen: dict[str, list[float]] = defaultdict(list)
    watch = (lambda name, seconds: seen[name].append(seconds)) if watched else None
    async with open_house(folder, agents=CONNECTIONS, watch=watch) as (app, keys):
        await _until_eof(app, MCP_PATH, keys)
    if watched:
        print(json.dumps({name: 1e6 * statistics.median(each) for name, each in seen.items()}), flush=True)


# --- the official server ---------------------------------------------------------------------------------------------


def _official() -> None:
    import socket

    import uvicorn
    from mcp.server.mcpserver import MCPServer

    from sayso.apps.serving import settle_in

    house = MCPServer("echo", log_level="ERROR")

    @house.tool(description="Says it again.")
    def echo(text: str) -> dict[str, str]:
        return {"text": text}

    app = house.streamable_http_app(json_response=True)
    listener = socket.create_server(("127.0.0.1", 0))
    told = {"port": listener.getsockname()[1], "path": "/mcp", "keys": []}
    config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="error", access_log=False)
    running = uvicorn.Server(config)

    def stop() -> None:
        sys.stdin.read()
        running.should_exit = True

    threading.Thread(target=stop, daemon=True).start()
    settle_in()
    print(json.dumps(told), flush=True)
    running.run([listener])


# --- the floor -------------------------------------------------------------------------------------------------------

_TABLES = (
    "CREATE TABLE used (owner TEXT, agent TEXT, signature BLOB, keep_until_us INTEGER,"
    " PRIMARY KEY (owner, agent, signature)) WITHOUT ROWID",
    "CREATE TABLE receipt (log TEXT, seq INTEGER, data BLOB, PRIMARY KEY (log, seq)) WITHOUT ROWID",
)


class _Commits:
    """The shortest group commit there is: one thread, whatever waits in one transaction."""

    def __init__(self, path: Path) -> None:
        from sayso.store.engines import sqlite_library

        self.connection = sqlite_library.connect(path)
        for sql in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", *_TABLES):
            self.connection.cursor().execute(sql)
        self.queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.number = 0
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    async def write(self, signature: bytes, receipt: bytes) -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self.queue.put((signature, receipt, done, loop))
        await done

    def serve(self) -> None:
        run = self.connection.cursor().execute
        while (job := self.queue.get()) is not None:
            jobs = []
            run("BEGIN IMMEDIATE")
            while job is not None:
                self.number += 1
                run("INSERT INTO used VALUES ('ada', 'agent', ?, 0)", (job[0],))
                run("INSERT INTO receipt VALUES ('home', ?, ?)", (self.number, job[1]))
                jobs.append(job)
                job = None if self.queue.empty() else self.queue.get()
            run("COMMIT")
            for *_, done, loop in jobs:
                loop.call_soon_threadsafe(done.set_result, None)


async def _floor(folder: Path) -> None:
    import jiter
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route, Router

    from sayso.proof.requestmac import read_mac, verify_request_mac

    commits = _Commits(folder / "floor.db")

    async def endpoint(request: Request) -> Response:
        body, headers = await request.body(), request.headers
        key, mac = headers["x-osz-agent-key"].encode(), read_mac(headers["x-osz-signature"].encode())
        assert mac is not None
        verify_request_mac(key, headers["x-osz-timestamp"].encode(), body, mac)
        call = jiter.from_json(body)
        result = {"content": [{"type": "text", "text": call["params"]["arguments"]["text"]}], "isError": False}
        answer = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()
        await commits.write(mac, sha256(body).digest() + sha256(answer).digest() + b"r" * 400)
        return Response(answer, media_type="application/json")

    app = Router([Route("/mcp", endpoint, methods=["POST"])])
    await _until_eof(app, "/mcp", [_FLOOR_KEY])


async def _upstream(_folder: Path) -> None:
    """What stands behind the proxy: as little as can be called."""
    import jiter
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route, Router

    async def endpoint(request: Request) -> JSONResponse:
        asked = jiter.from_json(await request.body())
        return JSONResponse({"text": asked.get("text") or asked["params"]["arguments"]["text"]})

    await _until_eof(Router([Route("/echo", endpoint, methods=["POST"])]), "/echo")
