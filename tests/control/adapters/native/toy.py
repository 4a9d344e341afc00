"""A harness of a few lines, and its adapter: what a hub does with a child is tested on it.

The host writes `{"id", "do", ...}`, the harness answers `{"re": id}`. In a run it says `{"say"}`, `{"ask"}` (a tool
call with its permission) and `{"done"}`; `{"noise"}` means nothing, `{"vital"}` must not be lost, `{"please", "id"}`
asks for something nobody does.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Hashable
from itertools import count
from typing import Any

from anyio.abc import TaskGroup

from sayso.control.adapters.contract import Descriptor
from sayso.control.adapters.native.codec import Fate
from sayso.control.adapters.native.harness import Harness, open_harness
from sayso.control.adapters.stream import RunStream
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse, Endpoint
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse
from sayso.control.protocol.payloads.scalars import JsonObject, Wire
from sayso.control.protocol.payloads.session import (
    MessageSubmitRequest,
    MessageSubmitResponse,
    SessionOpenRequest,
    SessionState,
)
from sayso.core.refusal import Refusal, Refused
from sayso.net.child import Patience, Program
from tests.control.protocol.talk import ask, call, complete, event

HEAD = """
import json, os, signal, subprocess, sys, time
out = sys.stdout.buffer
def say(**frame):
    out.write(json.dumps(frame).encode() + b"\\n"); out.flush()
def hear():
    return json.loads(sys.stdin.buffer.readline() or b"null")
hello = hear()
"""
HELLO = HEAD + 'say(re=hello["id"])\n'
PROMPT = HELLO + 'prompt = hear()\nsay(re=prompt["id"])\n'
SHORT = Patience(eof=0.2, term=0.2, kill=5.0, drain=0.1)


def program(code: str, **how: Any) -> Program:
    settings = {"environment": {"TOKEN": "hunter2-token"}, "called": "toy", "patience": SHORT, **how}
    return Program(command=[sys.executable, "-I", "-c", code], **settings)


class ToySession:
    """Session `s1`, runs `r1`, `r2`, ..."""

    def __init__(self, session_id: str) -> None:
        self._id = session_id
        self._numbers = count(1)
        self._streams: dict[str, RunStream] = {}
        self._live: str | None = None
        self._told = 0
        self.harness: Harness | None = None

    # --- the reducer ---

    def judge(self, frame: JsonObject) -> Fate:
        for member, fate in (("noise", Fate.OBSERVED), ("vital", Fate.UNMAPPED), ("please", Fate.UNSUPPORTED)):
            if member in frame:
                return fate
        return Fate.MAPPED

    def answers(self, frame: JsonObject) -> Hashable | None:
        return frame.get("re")  # type: ignore[return-value]

    def unsupported(self, frame: JsonObject) -> JsonObject:
        return {"re": frame["id"], "error": "nobody does that here"}

    def take(self, frame: JsonObject) -> None:
        if self._live is None:
            return
        if "say" in frame:
            self._tell(event(self._next(), "content.delta", part={"type": "text", "text": frame["say"]}))
        elif "ask" in frame:
            self._tell(call(self._next(), "requested"))
            self._tell(ask(self._next(), tool_call_id="t1"))
        elif "done" in frame:
            stream, self._live = self._streams[self._live], None
            stream.tell(complete(self._next()))
            stream.end()

    def lost(self, why: Refusal) -> None:
        if self._live is not None:
            self._streams[self._live].break_off(why)
            self._live = None

    def _next(self) -> int:
        self._told += 1
        return self._told

    def _tell(self, envelope: Envelope[Wire]) -> None:
        assert self._live is not None
        self._streams[self._live].tell(envelope)

    # --- the adapter's session ---

    @property
    def id(self) -> str:
        return self._id

    async def submit(self, request: Envelope[MessageSubmitRequest]) -> MessageSubmitResponse:
        assert self.harness is not None
        if self.harness.loss is not None:
            raise Refused(self.harness.loss)
        run_id = f"r{next(self._numbers)}"
        self._streams[run_id], self._live, self._told = RunStream(), run_id, 0
        self._tell(event(self._next(), "run.started", status="running"))
        await self.harness.ask("p", {"id": "p", "do": "prompt", "text": "x"})
        return MessageSubmitResponse(
            session_id=self._id, accepted=True, submission_id=run_id, requested_delivery="auto",
            effective_delivery="start", admission="started", run_id=run_id, status="running",
        )  # fmt: skip

    async def events(self, run_id: str) -> AsyncIterator[Envelope[Wire]]:
        async for envelope in self._streams[run_id].read():
            yield envelope

    async def resolve(self, request: Envelope[Wire]) -> Wire:
        raise Refused.because("unsupported_feature", "not in this toy")

    async def cancel(self, request: Envelope[RunCancelRequest]) -> RunCancelResponse:
        run_id = request.payload.run_id
        return RunCancelResponse(session_id=self._id, run_id=run_id, accepted=True, status="cancelling")

    async def state(self) -> SessionState:
        return SessionState(session_id=self._id, status="idle")

    async def close(self) -> None:
        if self.harness is not None:
            await self.harness.close()


class ToyAdapter:
    """Opens sessions over a harness that runs this code."""

    def __init__(self, code: str, *, seconds: float = 20.0, **how: Any) -> None:
        self._program = program(code, **how)
        self._seconds = seconds
        self.sessions: list[ToySession] = []

    async def probe(self) -> Descriptor:
        return Descriptor("v1", CapabilitiesResponse(endpoint=Endpoint(id="toy")))

    async def open(self, request: Envelope[SessionOpenRequest], session_id: str, tasks: TaskGroup) -> ToySession:
        session = ToySession(session_id)

        async def ready(harness: Harness) -> None:
            await harness.ask("h", {"id": "h", "do": "hello"})

        session.harness = await open_harness(
            self._program, session, tasks, ready=ready, lost=session.lost, seconds=self._seconds
        )
        self.sessions.append(session)
        return session
