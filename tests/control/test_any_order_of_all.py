"""Every unit of the reference adapter through a hub, in any order, in this process and over a socket.

Whatever a caller does, the hub's trace is legal as `sayso.validation` judges it, the hub never has to mend what its
adapter told, and every reader, however often it was cut off, has each event of its run once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from sayso.adapters import Hub, LocalClient, MemoryAdapter, Registry
from sayso.client import AgentClient, Client
from sayso.control.client.session import Session
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputRequested
from sayso.control.protocol.payloads.run import RunFailed
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse
from sayso.control.protocol.signals import TERMINALS
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.refusal import PeerRefused
from tests.control.conftest import Trace
from tests.control.houses import NOON

SCRIPTS = ("", "script: plain", "script: tools", "script: hold", "script: stubborn", "script: fail", "script: overflow")
OURS = ("internal", "protocol_violation", "adapter_failed", "state_failed", "open_failed")
"""Codes that would say that the hub had to mend something."""
MENDED = "inferred"


class Reader:
    """One reader of one run, cut off and set on again behind the last event it has."""

    def __init__(self, run_id: str, after: int) -> None:
        self.run_id = run_id
        self.first = after
        self.got: list[int] = []
        self.task: asyncio.Task[None] | None = None

    @property
    def after(self) -> int:
        return self.got[-1] if self.got else self.first

    async def read(self, session: Session) -> None:
        async with aclosing(session.events(run_id=self.run_id, after=self.after)) as events:
            async for envelope in events:
                self.got.append(int(envelope.sequence or 0))


class AnyOrder(RuleBasedStateMachine):
    def __init__(self, schema: Any, *, over_http: bool) -> None:
        super().__init__()
        self.schema = schema
        self.over_http = over_http
        self.trace = Trace(schema)
        self.runs: list[str] = []
        self.readers: list[Reader] = []
        # One loop in this thread, which stands still between rules: what happens is a function of the rules alone.
        self.loop = asyncio.Runner()
        self.leave = asyncio.Event()
        self.loop.run(self.enter())

    async def enter(self) -> None:
        entered = asyncio.Event()
        self.holding = asyncio.get_running_loop().create_task(self.hold(entered))
        await entered.wait()

    async def hold(self, entered: asyncio.Event) -> None:
        async with self.house() as self.client:
            self.session = await self.client.start("memory")
            entered.set()
            await self.leave.wait()

    @asynccontextmanager
    async def house(self) -> AsyncIterator[AgentClient]:
        ids = CountingIds()
        adapter = MemoryAdapter(clock=ManualClock(NOON), ids=ids)
        hub = Hub(
            Registry({"memory": adapter}), clock=ManualClock(NOON), ids=ids, record=lambda e: self.trace.record(e)
        )
        async with hub:
            if not self.over_http:
                yield LocalClient(hub, ids=SystemIds())
                return
            async with serving_hub(hub, ids, port=0) as address, Client(address.url, ids=SystemIds()) as client:
                yield client

    def do(self, work: Any) -> str | None:
        """Runs one act; the code it was refused with."""

        async def attempt() -> str | None:
            try:
                await work
            except PeerRefused as refused:
                return refused.refusal.code
            return None

        return self.loop.run(attempt())

    # --- what is so, read off the trace ---

    def told(self, run_id: str) -> list[int]:
        return [int(each.sequence or 0) for each in self.trace.envelopes if each.run_id == run_id and each.sequence]

    def open_questions(self) -> list[Envelope[Any]]:
        asked = [e for e in self.trace.envelopes if isinstance(e.payload, (PermissionRequested, UserInputRequested))]
        closed = {getattr(e.payload, "interaction_id", None) for e in self.trace.envelopes if "resolved" in e.type}
        return [each for each in asked if each.payload.interaction_id not in closed]

    # --- what may happen ---

    @rule(text=st.sampled_from(SCRIPTS), delivery=st.sampled_from(["auto", "auto", "queue", "steer", "btw"]))
    def submit(self, text: str, delivery: str) -> None:
        async def work() -> None:
            admitted: MessageSubmitResponse = await self.session.submit(text or "go", delivery=delivery)
            if admitted.admission != "steered":
                self.runs.append(str(admitted.run_id))

        assert self.do(work()) in (None, "run_active", "invalid_steer_target", "unsupported_feature")

    @rule(focus=st.sampled_from(["x", "script: hold", "script: fail"]), go_on=st.booleans())
    def compact(self, focus: str, go_on: bool) -> None:
        async def work() -> None:
            admitted = await self.client.compact(self.session.id, focus=focus, go_on=go_on)
            self.runs.append(str(admitted.run_id))

        assert self.do(work()) in (None, "run_active")

    @rule(model=st.sampled_from(["memory-small", "memory-large", "no-such-model"]))
    def switch(self, model: str) -> None:
        code = self.do(self.session.switch_model(model))
        assert code == ("model_not_found" if model == "no-such-model" else None)

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from([*self.runs, "unknown"]))
        assert self.do(self.session.cancel(run_id)) in (None, "run_terminal", "run_not_found")

    @precondition(lambda self: self.open_questions())
    @rule(granted=st.booleans(), times=st.integers(1, 2))
    def resolve(self, granted: bool, times: int) -> None:
        asked = self.open_questions()[-1]
        for _ in range(times):
            work = self.answer(asked) if isinstance(asked.payload, UserInputRequested) else None
            code = self.do(work or self.session.resolve(asked, granted=granted))
            assert code in (None, "resolution_rejected")

    async def answer(self, asked: Envelope[UserInputRequested]) -> None:
        answers = [
            UserAnswer(question_id=each.id, selected_option_ids=(each.options[0].id,))
            if each.options
            else UserAnswer(question_id=each.id, text="because")
            for each in asked.payload.questions
        ]
        await self.session.answer(asked, answers)

    @rule(turns=st.integers(1, 40))
    def let_time_pass(self, turns: int) -> None:
        async def wait() -> None:
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()

        self.loop.run(wait())

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def connect(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(self.runs))
        after = data.draw(st.integers(0, len(self.told(run_id))))
        self.readers.append(Reader(run_id, after))
        self.set_on(self.readers[-1])

    @precondition(lambda self: self.readers)
    @rule(data=st.data())
    def reconnect(self, data: st.DataObject) -> None:
        reader = data.draw(st.sampled_from(self.readers))
        self.loop.run(self.cut_off(reader))
        self.set_on(reader)

    def set_on(self, reader: Reader) -> None:
        async def begin() -> None:
            reader.task = asyncio.get_running_loop().create_task(reader.read(self.session))
            await anyio.lowlevel.checkpoint()

        self.loop.run(begin())

    async def cut_off(self, reader: Reader) -> None:
        if reader.task is not None:
            reader.task.cancel()
            await asyncio.gather(reader.task, return_exceptions=True)

    @rule()
    def look(self) -> None:
        async def work() -> None:
            state = await self.session.state()
            await self.session.models()
            await self.session.tools()
            live = [str(run.run_id) for run in state.active_runs or ()]
            assert set(live) <= set(self.runs)

        assert self.do(work()) is None

    @rule()
    def close_and_reopen(self) -> None:
        code = self.do(self.session.close())
        if code is not None:
            assert code == "run_active"
            return
        assert self.do(self.session.state()) == "session_closed"
        self.finish_trace()

        async def again() -> None:
            self.session = await self.client.start("memory", session_id=self.session.id, reopen=True)

        assert self.do(again()) is None

    def finish_trace(self) -> None:
        async def settle() -> None:
            for reader in self.readers:
                if reader.task is not None:
                    await asyncio.gather(reader.task, return_exceptions=True)

        self.loop.run(settle())
        for reader in self.readers:
            assert reader.got == self.told(reader.run_id)[reader.first :]
        self.trace.verify()
        self.trace, self.runs, self.readers = Trace(self.schema), [], []

    # --- what always holds ---

    @invariant()
    def the_trace_so_far_is_legal_and_nothing_was_mended(self) -> None:
        self.trace.verify(is_over=False)
        for envelope in self.trace.envelopes:
            payload: Wire = envelope.payload
            assert not isinstance(payload, ErrorResponse) or payload.error.code not in OURS
            assert not isinstance(payload, RunFailed) or payload.settled_by != MENDED

    @invariant()
    def every_reader_has_each_event_once(self) -> None:
        for reader in self.readers:
            assert reader.got == list(range(reader.first + 1, reader.first + 1 + len(reader.got)))

    def teardown(self) -> None:
        async def let_go() -> None:
            if self.over_http:  # streams end before sessions do: what the sweep tells is for nobody
                for reader in self.readers:
                    await self.cut_off(reader)
                self.readers = []
            self.leave.set()
            await self.holding

        self.loop.run(let_go())
        for run_id in self.runs:
            last = [e.type for e in self.trace.envelopes if e.run_id == run_id and e.sequence][-1]
            assert last in TERMINALS
        self.finish_trace()
        self.loop.close()


@pytest.mark.req("OAP-012", "OAP-013", "OAP-040", "OAP-042", "OAP-053", "OAP-057", "OAP-072", "OAP-085", "OAP-093")
@pytest.mark.parametrize(("over_http", "examples"), [(False, 60), (True, 20)])
def test_whatever_is_done_in_any_order_the_trace_is_legal(agent_schema: Any, over_http: bool, examples: int) -> None:
    """Submits, guidance, compactions, switches, cancels, answers, readers cut off and set on, closes and reopens."""
    run_state_machine_as_test(
        lambda: AnyOrder(agent_schema, over_http=over_http),
        settings=settings(
            max_examples=examples, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
