"""The vendor and our service, each in a process of its own, and the questions they are asked."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.provider.load import WORDS, Question

SAYSO = str(Path(sys.executable).with_name("sayso"))
MODEL = "deepseek/fixture"
"""The fixture's model as a catalogued provider, whose base URL a variable moves."""
PROMPT = "Say in one sentence what you are made of, and nothing else."


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens; `awake` is its turn. Its process leads a group of its own, with what it starts itself."""

    question: Question
    process: subprocess.Popen[Any]

    @contextmanager
    def awake(self) -> Iterator[None]:
        os.killpg(self.process.pid, signal.SIGCONT)
        try:
            yield
        finally:
            self.rest()

    def processor(self) -> float:
        """Seconds of processor time it has had so far."""
        told = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")

    def rest(self) -> None:
        os.killpg(self.process.pid, signal.SIGSTOP)


@dataclass(frozen=True, slots=True)
class Vendor:
    """The fixture vendor: its address, and the credential it takes."""

    port: int
    key: str

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def environ(self) -> dict[str, str]:
        return {"DEEPSEEK_BASE_URL": self.base_url, "DEEPSEEK_API_KEY": self.key}

    @property
    def question(self) -> Question:
        return Question(self.port, "/v1/chat/completions", chat_body(), b"[DONE]", self.key)


def chat_body() -> bytes:
    """The question as the vendor takes it."""
    messages = [{"role": "user", "content": PROMPT}]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    return json.dumps({"model": "fixture", "messages": messages, **options}).encode()


def create_body() -> bytes:
    """The same question as the provider profile takes it."""
    from sayso.control.protocol.envelope import write_envelope

    return write_envelope(create_request())


def create_request() -> Any:
    from sayso.control.protocol.envelope import ProviderEnvelope
    from sayso.control.protocol.payloads.content import Message
    from sayso.control.protocol.payloads.inference import InferenceCreateRequest

    asked = InferenceCreateRequest(model_ref=MODEL, messages=(Message(role="user", content=PROMPT),))
    return ProviderEnvelope(type="inference.create.request", id="req-1", payload=asked)


@contextmanager
def vendor(script: str = "short") -> Iterator[Vendor]:
    """The fixture; `short` says WORDS, `slow_text` two thousand words."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.provider", "--serve", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    if not said:
        raise SystemExit("the fixture vendor did not start")
    try:
        yield Vendor(**json.loads(said))
    finally:
        process.communicate("")


@contextmanager
def listening(command: list[str], environ: Mapping[str, str]) -> Iterator[tuple[int, subprocess.Popen[Any]]]:
    """A command of ours that prints where it listens."""
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environ},
        start_new_session=True,
    )
    try:
        assert child.stdout is not None
        told = []
        for line in child.stdout:
            told.append(line)
            if found := re.search(r"http://127\.0\.0\.1:([0-9]+)", line):
                break
        else:
            raise SystemExit(f"{' '.join(command)} did not start: {''.join(told)[-500:]}")
        yield int(found[1]), child
    finally:
        os.killpg(child.pid, signal.SIGCONT)
        child.terminate()
        child.communicate()


@contextmanager
def provider_service(home: Path, asked: Vendor) -> Iterator[Running]:
    """`sayso serve provider --http`, as it comes."""
    command = [SAYSO, "serve", "provider", "--home", str(home), "--http", "127.0.0.1:0"]
    with listening(command, asked.environ) as (port, child):
        yield Running(Question(port, "/oap/v0.1/provider", create_body(), b"inference.completed"), child)


def serve(script: str) -> None:
    """The vendor's side."""
    from sayso.apps.serving import run_server, settle_in
    from sayso.net.listen import serving
    from sayso.testing.provider import Say
    from sayso.testing.vendor_servers import CHAT, SCRIPTS, Said, Stream, VendorServer
    from sayso.testing.vendor_servers.server import KEY, Received

    said: Any = SCRIPTS[script](create_request().payload) if script in SCRIPTS else None
    answer = said or Said([Say(*(f"{word} " for word in WORDS))], counted=(12, len(WORDS)))
    frames = CHAT.stream(answer)

    def decide(_: Received) -> Stream:
        server.received.clear()
        return Stream(frames)

    server = VendorServer(CHAT, decide=decide)

    async def run() -> None:
        async with serving(server) as address:
            settle_in()
            print(json.dumps({"port": address.port, "key": KEY}), flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

    run_server(run)
