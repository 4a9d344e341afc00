"""A memory session on a stage: every exchange and every event goes into one transcript, in the order it counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import anyio
import msgspec
import pytest
from anyio.abc import TaskGroup

from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.adapters.reference.offering import AGENT, DESCRIPTOR
from sayso.control.adapters.reference.session import OpenMemorySession
from sayso.control.protocol.codes import protocol_error
from sayso.control.protocol.envelope import Envelope, convert_envelope
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.types import AGENT_TYPES
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Refused
from tests.control.conftest import Trace
from tests.control.houses import NOON

SESSION = "s1"


def request(type_: str, payload: dict[str, Any], request_id: str, **head: Any) -> Envelope[Any]:
    """A request as a client writes it, read back from JSON's own values."""
    scope = {name: payload[name] for name in ("session_id", "run_id") if name in payload}
    if type_ == "session.open.request":
        scope = {}
    return convert_envelope(
        {
            "protocol": "open-agent-protocol",
            "version": "0.1",
            "profile": "open-agent-protocol.agent-control-core",
            "type": type_,
            "id": request_id,
            "payload": payload,
            **scope,
            **head,
        }
    )


async def refused(awaitable: Awaitable[object]) -> tuple[str, dict[str, object]]:
    """The code of a refusal and its details, its reason among them."""
    with pytest.raises(Refused) as caught:
        await awaitable
    refusal = caught.value.refusal
    return refusal.code, {**refusal.details, **({"reason": refusal.reason} if refusal.reason else {})}


def said(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


@dataclass
class Stage:
    """One session; `runs` are the events of each run that were read."""

    adapter: MemoryAdapter
    tasks: TaskGroup
    trace: Trace
    session: OpenMemorySession = None  # type: ignore[assignment]
    runs: dict[str, list[Envelope[Wire]]] = field(default_factory=dict)
    _ids: Any = field(default_factory=lambda: count(1))

    # --- requests ---

    async def ask(self, type_: str, payload: dict[str, Any], request_id: str = "", **head: Any) -> Any:
        """Any request to the open session, by the method of its type; its answer's payload."""
        head = {"capability_revision": DESCRIPTOR.revision, **head}
        envelope = request(type_, payload, request_id or f"q{next(self._ids)}", **head)
        self.trace.record(envelope)
        method = {
            "session.message.submit.request": self.session.submit,
            "session.compact.request": self.session.compact,
            "session.model.switch.request": self.session.switch_model,
            "session.provider.attach.request": self.session.attach_provider,
            "run.cancel.request": self.session.cancel,
        }.get(type_, self.session.resolve)
        try:
            reply = await method(envelope)
        except Refused as refused:
            self.refuse(envelope, refused)
            raise
        self.answer(envelope, reply)
        return reply

    def refuse(self, asked: Envelope[Wire], refused: Refused) -> None:
        error = ErrorResponse(error=protocol_error(refused.refusal))
        self.trace.record(
            Envelope(
                type="error.response",
                id=f"a-{asked.id}",
                payload=error,
                in_reply_to=asked.id,
                session_id=asked.session_id,
                run_id=asked.run_id,
                capability_revision=DESCRIPTOR.revision,
            )
        )

    def answer(self, asked: Envelope[Wire], reply: Wire) -> None:
        payload: Any = reply
        run_id = getattr(payload, "run_id", UNSET) if asked.run_id is not UNSET else UNSET
        self.trace.record(
            Envelope(
                type=AGENT_TYPES[asked.type].answer,
                id=f"a-{asked.id}",
                payload=payload,
                in_reply_to=asked.id,
                session_id=getattr(payload, "session_id", UNSET),
                run_id=run_id,
                capability_revision=DESCRIPTOR.revision,
            )
        )

    async def open(self, **payload: Any) -> OpenMemorySession:
        pin = DESCRIPTOR.revision
        body = {"session_id": SESSION, **payload}
        envelope = request("session.open.request", body, f"o{next(self._ids)}", capability_revision=pin)
        self.trace.record(envelope)
        try:
            session = await self.adapter.open(envelope, SESSION, self.tasks)
        except Refused as refused:
            self.refuse(envelope, refused)
            raise
        self.session, self.runs = session, {}
        self.answer(envelope, await session.state())
        return session

    async def submit(self, text: str = "go", request_id: str = "", **payload: Any) -> Any:
        body = {"session_id": SESSION, "messages": said(text), "delivery": "auto", **payload}
        return await self.ask("session.message.submit.request", body, request_id)

    async def compact(self, **payload: Any) -> Any:
        return await self.ask("session.compact.request", {"session_id": SESSION, **payload})

    async def cancel(self, run_id: str) -> Any:
        return await self.ask("run.cancel.request", {"session_id": SESSION, "run_id": run_id})

    async def permit(self, run_id: str, *, granted: bool = True, **more: Any) -> Any:
        payload = {**self.gate(run_id, "action.permission.requested"), "granted": granted, **more}
        return await self.ask("action.permission.resolve.request", payload)

    async def reply(self, run_id: str, *answers: dict[str, Any], **more: Any) -> Any:
        given = list(answers) or [{"question_id": "colour", "selected_option_ids": ["red"]}]
        payload = {**self.gate(run_id, "user.input.requested"), "answers": given, **more}
        return await self.ask("user.input.resolve.request", payload)

    async def decline(self, run_id: str) -> Any:
        return await self.ask("user.input.cancel.request", self.gate(run_id, "user.input.requested"))

    async def call(self, run_id: str, **word: Any) -> Any:
        asked: Any = self.last(run_id, "action.call.requested").payload
        payload = {**self.gate(run_id, "action.call.requested"), "tool_call_id": asked.tool_call_id, **word}
        return await self.ask("action.call.resolve.request", payload)

    def gate(self, run_id: str, type_: str) -> dict[str, Any]:
        asked: Any = self.last(run_id, type_).payload
        return {
            "interaction_id": asked.interaction_id,
            "requested_by": AGENT,
            "responded_by": asked.responded_by,
            "session_id": SESSION,
            "run_id": run_id,
        }

    # --- events ---

    async def read(self, run_id: str) -> list[str]:
        """The types of everything the run told until now; its reader is started by the first call."""
        if run_id not in self.runs:
            self.runs[run_id] = []
            self.tasks.start_soon(self._pump, run_id)
        await anyio.wait_all_tasks_blocked()
        return [envelope.type for envelope in self.runs[run_id]]

    async def _pump(self, run_id: str) -> None:
        got = self.runs[run_id]
        async for envelope in self.session.events(run_id):
            self.trace.record(envelope)
            got.append(envelope)

    async def finish(self) -> None:
        """Reads what is live, closes the session, and reads its last events."""
        for run in (await self.session.state()).active_runs or ():
            await self.read(run.run_id)
        await self.session.close()
        await anyio.wait_all_tasks_blocked()

    def last(self, run_id: str, type_: str) -> Envelope[Wire]:
        return [envelope for envelope in self.runs[run_id] if envelope.type == type_][-1]

    def payloads(self, run_id: str, type_: str) -> list[Any]:
        return [msgspec.to_builtins(each.payload) for each in self.runs[run_id] if each.type == type_]


@asynccontextmanager
async def staged(trace: Trace, **settings: Any) -> AsyncIterator[Stage]:
    """A stage with an open session, unless `opened` is false."""
    opened = settings.pop("opened", {})
    adapter = MemoryAdapter(clock=ManualClock(NOON), ids=CountingIds(), **settings)
    async with anyio.create_task_group() as tasks:
        stage = Stage(adapter, tasks, trace)
        if opened is not None:
            await stage.open(**opened)
        yield stage
        if stage.session is not None:
            await stage.finish()
        tasks.cancel_scope.cancel()
