"""SIGKILL of a hub and of an endpoint: what a client is told, and what is still there afterwards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sayso.client import Client, DisconnectError, ServerError
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.refusal import PeerUnreachable

pytestmark = pytest.mark.anyio
SAYSO = str(Path(sys.executable).with_name("sayso"))


@contextmanager
def hub(home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A hub as a process of its own, by its address."""
    seen = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "SAYSO_TEST_BREAK")}
    process = subprocess.Popen(
        [SAYSO, "serve", "--home", str(home), "--addr", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=seen,
    )
    assert process.stdout is not None
    try:
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:[0-9]+", said)):
            line = process.stdout.readline()
            assert line, said
            said += line
        yield found[0], process
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.req("OAP-081", "OAP-099", "OAP-202", "OAP-204")
async def test_a_hub_that_is_killed_ends_its_sessions_and_not_their_history(tmp_path: Path) -> None:
    """The reader is told its cursor; the next hub knows the session by its record alone, and takes its id for nobody
    else's.
    """
    got: list[Envelope[Wire]] = []
    with hub(tmp_path) as (url, process):
        async with Client(url, first_pause=0.001) as client:
            session = await client.start("memory", session_id="mine")
            run = await session.submit("script: hold")

            async def read() -> None:
                async for envelope in session.events(run_id=run.run_id, after=0):
                    got.append(envelope)
                    if envelope.type == "content.delta":
                        os.kill(process.pid, signal.SIGKILL)

            with pytest.raises(DisconnectError) as cut:
                await read()
            with pytest.raises(PeerUnreachable):
                await session.state()
    assert (cut.value.run_id, cut.value.last_sequence) == (run.run_id, got[-1].sequence)
    with hub(tmp_path) as (url, _process):
        async with Client(url) as client:
            listed = (await client.sessions()).sessions
            (entry,) = (await client.history()).sessions
            codes = []
            for asked in (client.state("mine"), client.open("memory", session_id="mine")):
                with pytest.raises(ServerError) as refused:
                    await asked
                codes.append(refused.value.code)
    assert (listed, entry.session_id, entry.adapter, entry.state) == ((), "mine", "memory", "closed")
    assert codes == ["unknown_session", "session_exists"]
