"""The same conversation straight at the adapter and through a hub: the same events, and both traces legal (OAP-040)."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import anyio
import msgspec
import pytest

from sayso.control.hub.hub import Hub
from sayso.control.hub.machine import Cursor, Deliver
from sayso.control.hub.registry_loading import default_registry
from sayso.control.hub.session import HubSession
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.signals import TERMINALS
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from tests.control.adapters.reference.stage import SESSION, request, said, staged
from tests.control.conftest import Trace
from tests.control.houses import NOON

pytestmark = pytest.mark.anyio

ECHO = {"name": "echo", "input_schema": {}, "execution_owner": "user", "source": "memory"}
ANSWERS = {"answers": [{"question_id": "colour", "selected_option_ids": ["red"]}]}
RESOLVES = {
    "action.permission.requested": ("action.permission.resolve.request", {"granted": True}),
    "user.input.requested": ("user.input.resolve.request", ANSWERS),
}


def submission(text: str, name: str) -> Envelope[Any]:
    payload = {"session_id": SESSION, "messages": said(text), "delivery": "auto"}
    return request("session.message.submit.request", payload, name)


def resolving(asked: Any, name: str) -> Envelope[Any] | None:
    """The answer to a question, or None where nothing was asked."""
    if asked.type not in RESOLVES:
        return None
    type_, what = RESOLVES[asked.type]
    gate = {part: getattr(asked.payload, part) for part in ("interaction_id", "requested_by", "responded_by")}
    return request(type_, {**gate, "session_id": SESSION, "run_id": asked.run_id, **what}, name)


def shown(envelopes: list[Any]) -> list[Any]:
    return [(each.type, each.run_id, each.sequence, msgspec.to_builtins(each.payload)) for each in envelopes]


async def direct(trace: Trace) -> list[Any]:
    async with staged(trace) as stage:
        first = (await stage.submit("paint")).run_id
        second = (await stage.submit("script: plain")).run_id
        await stage.read(first)
        await stage.permit(first)
        await stage.read(first)
        await stage.reply(first)
        await stage.read(first)
        await stage.read(second)
        return shown([*stage.runs[first], *stage.runs[second]])


def session_runs(trace: Trace) -> list[str]:
    """The runs that were admitted, in their order."""
    return [each.payload.run_id for each in trace.envelopes if each.type == "session.message.submit.response"]  # type: ignore[attr-defined]


async def read_to_terminal(session: HubSession, run_id: str) -> list[Any]:
    """A run's events, its questions answered as they come."""
    got: list[Any] = []
    async with aclosing(session.read(session.subscribe(Cursor(0, run_id)))) as effects:
        async for effect in effects:
            for entry in effect.entries if isinstance(effect, Deliver) else ():
                if entry.envelope.run_id == run_id:
                    got.append(entry.envelope)
                    answer = resolving(entry.envelope, f"a-{entry.envelope.id}")
                    if answer is not None:
                        await session.resolve(answer)
            if got and got[-1].type in TERMINALS:
                break
    return got


async def through_a_hub(trace: Trace) -> list[Any]:
    clock, ids, got = ManualClock(NOON), CountingIds(), []
    async with Hub(default_registry(clock=clock, ids=ids), clock=clock, ids=ids, record=trace.record) as hub:
        await hub.open("memory", request("session.open.request", {"session_id": SESSION}, "o1"))
        session = hub.session(SESSION)
        for text, name in (("paint", "m1"), ("script: plain", "m2")):
            await session.submit(submission(text, name))
        for run_id in session_runs(trace):
            got += await read_to_terminal(session, run_id)
        await anyio.wait_all_tasks_blocked()
    return shown(got)


@pytest.mark.req("OAP-040")
async def test_a_hub_changes_nothing_of_what_the_adapter_tells(agent_schema: Any) -> None:
    """Types, numbers and payloads, ids of runs, messages and interactions among them."""
    traces = [Trace(agent_schema), Trace(agent_schema)]
    assert await through_a_hub(traces[0]) == await direct(traces[1])
    for trace in traces:
        trace.verify()


@pytest.mark.req("OAP-083", "OAP-084")
async def test_a_call_that_a_cancel_closed_is_answered_behind_the_event_that_closed_it(trace: Trace) -> None:
    """Cancel and acknowledgement in one breath: the refusal points at an event that stands before it."""
    clock, ids = ManualClock(NOON), CountingIds()
    async with Hub(default_registry(clock=clock, ids=ids), clock=clock, ids=ids, record=trace.record) as hub:
        await hub.open("memory", request("session.open.request", {"session_id": SESSION, "tools": [ECHO]}, "o1"))
        session = hub.session(SESSION)
        payload = {"session_id": SESSION, "messages": said("script: tools"), "delivery": "auto"}
        choice = {"tool_choice": {"allowed": ["echo"]}}
        await session.submit(request("session.message.submit.request", {**payload, **choice}, "m1"))
        await anyio.wait_all_tasks_blocked()
        asked: Any = next(each for each in trace.envelopes if each.type == "action.call.requested")
        scope = {"session_id": SESSION, "run_id": asked.run_id}
        await session.cancel(request("run.cancel.request", scope, "c1"))
        parts = ("interaction_id", "requested_by", "responded_by", "tool_call_id")
        gate = {part: getattr(asked.payload, part) for part in parts}
        answer: Any = await session.resolve(
            request("action.call.resolve.request", {**gate, **scope, "started": {}}, "k1")
        )
    settled = [each.id for each in trace.envelopes if each.type == "action.call.cancelled"]
    assert (answer.payload.reason, [answer.payload.details.settlement_id]) == ("already_resolved", settled)
