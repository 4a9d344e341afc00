"""Submits, answers, cancels, readers and time in any order: whatever a caller does, no trace of ours is ever illegal.

The oracle is the protocol's machine and the upstream schemas over the whole trace, and a plain model of what is live.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from sayso.control.client.requests import cancel_request, resolve_request
from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolDone, ToolOutcome
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolved, PermissionResolveRequest
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.inference import InferenceCreateRequest
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.signals import TERMINALS
from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerRefused
from sayso.testing.provider import Call, Fails, Hangs, Say, Step, Stops, Vanishes
from sayso.testing.tools import asking, read_only
from tests.control.conftest import Trace
from tests.control.houses import open_house

STEPS: st.SearchStrategy[Step] = st.sampled_from(
    [Say("a", "b"), Call("look"), Call("book"), Call("nothing"), Call("look", "no object", "same")]
)
ENDS: st.SearchStrategy[list[Step]] = st.sampled_from(
    [[], [], [], [Hangs()], [Fails("rate_limited")], [Vanishes()], [Stops("length")]]
)
TURNS = st.builds(lambda steps, end: [*steps, *end] or [Say("x")], st.lists(STEPS, max_size=3), ENDS)


async def look(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
    await anyio.lowlevel.checkpoint()
    return ToolDone({"seen": call.name})


class AnyOrder(RuleBasedStateMachine):
    def __init__(self, schema: Any) -> None:
        super().__init__()
        self.ids = SystemIds()
        self.trace = Trace(schema)
        self.plan: list[list[Step]] = []
        self.runs: list[str] = []
        # One loop in this thread, which stands still between rules: what happens is a function of the rules alone.
        self.loop = asyncio.Runner()
        self.leave = asyncio.Event()
        self.loop.run(self.enter())

    async def enter(self) -> None:
        entered = asyncio.Event()
        self.holding = asyncio.get_running_loop().create_task(self.hold(entered))
        await entered.wait()

    async def hold(self, entered: asyncio.Event) -> None:
        acts = {"look": look, "book": asking("limits", "offer")}
        turns, specs = iter(lambda: self.turn, None), [read_only("look")]
        async with open_house(turns, acts, specs=specs, record=self.trace.record, max_turns=4) as self.house:
            entered.set()
            await self.leave.wait()

    async def let_go(self) -> None:
        self.leave.set()
        await self.holding

    def turn(self, request: InferenceCreateRequest) -> list[Step]:
        return self.plan.pop(0) if self.plan else [Say("done")]

    # --- what is so, read off the trace ---

    def events(self, run_id: str) -> list[Envelope[Wire]]:
        return [each for each in self.trace.envelopes if each.run_id == run_id and each.sequence]

    def is_live(self, run_id: str) -> bool:
        told = self.events(run_id)
        return not told or told[-1].type not in TERMINALS

    @property
    def open_question(self) -> Envelope[PermissionRequested] | None:
        asked = [each for each in self.trace.envelopes if isinstance(each.payload, PermissionRequested)]
        closed = {e.payload.interaction_id for e in self.trace.envelopes if isinstance(e.payload, PermissionResolved)}
        still = [each for each in asked if each.payload.interaction_id not in closed]  # type: ignore[attr-defined]
        return still[-1] if still else None  # type: ignore[return-value]

    # --- what may happen ---

    @rule(plan=st.lists(TURNS, min_size=1, max_size=3))
    def submit(self, plan: list[list[Step]]) -> None:
        async def attempt() -> None:
            # What is so is asked inside the loop: the tasks that were ready have had their turn by now. A run that is
            # live then may end before the adapter hears of this message, and never the other way round.
            live = sum(map(self.is_live, self.runs))
            self.plan = [*self.plan, *plan] if live else list(plan)
            code = None
            try:
                self.runs.append(str((await self.house.client.submit(self.house.session_id, "go")).run_id))
            except PeerRefused as refused:
                code = refused.refusal.code
            assert code in ((None, "run_active") if live > 8 else (None,))

        self.loop.run(attempt())

    @rule(turns=st.integers(1, 30))
    def let_time_pass(self, turns: int) -> None:
        async def wait() -> None:
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()

        self.loop.run(wait())

    @precondition(lambda self: self.open_question is not None)
    @rule(granted=st.booleans(), responder=st.sampled_from(["user", "user", "stranger"]), times=st.integers(1, 2))
    def answer(self, granted: bool, responder: str, times: int) -> None:
        asked = self.open_question
        assert asked is not None
        responses = [self.resolve(asked, granted=granted, responder=responder) for _ in range(times)]
        codes = [each.payload.error.code for each in responses if isinstance(each.payload, ErrorResponse)]
        if responder == "user":
            assert codes in ([], ["resolution_rejected"] * (times - 1), ["resolution_rejected"] * times)
        else:
            assert codes == ["resolution_rejected"] * times

    def resolve(self, asked: Envelope[PermissionRequested], *, granted: bool, responder: str) -> Envelope[Wire]:
        right = resolve_request(self.ids, asked, granted=granted, signed=None, reason=None)
        members = {name: getattr(right.payload, name) for name in right.payload.__struct_fields__}
        payload = PermissionResolveRequest(**{**members, "responded_by": responder})
        request = Envelope(
            type=right.type, id=right.id, payload=payload, session_id=right.session_id, run_id=right.run_id
        )
        return self.loop.run(self.house.hub.session(self.house.session_id).resolve(request))

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from([*self.runs, "unknown"]))

        async def attempt() -> None:
            told = self.events(run_id)
            ended = told[-1].type if told and told[-1].type in TERMINALS else None
            request = cancel_request(self.ids, self.house.session_id, run_id, None)
            response = await self.house.hub.session(self.house.session_id).cancel(request)
            code = response.payload.error.code if isinstance(response.payload, ErrorResponse) else None
            if run_id == "unknown":
                assert code == "run_not_found"
            elif ended is not None:
                assert code == (None if ended == "run.cancelled" else "run_terminal")

        self.loop.run(attempt())

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        """A reader that comes now, at any cursor of any run that has ended, gets exactly the rest of it."""
        ended = [run_id for run_id in self.runs if not self.is_live(run_id)]
        if not ended:
            return
        run_id = data.draw(st.sampled_from(ended))
        after = data.draw(st.integers(0, len(self.events(run_id))))

        async def read() -> list[Envelope[Wire]]:
            events = self.house.client.events(self.house.session_id, run_id=run_id, after=after)
            return [envelope async for envelope in events]

        assert self.loop.run(read()) == self.events(run_id)[after:]

    # --- what always holds ---

    @invariant()
    def the_trace_so_far_is_legal(self) -> None:
        self.trace.verify(is_over=False)

    @invariant()
    def one_run_works_and_eight_wait(self) -> None:
        live = [run_id for run_id in self.runs if self.is_live(run_id)]
        assert len(live) <= 9
        assert sum(bool(self.events(run_id)) for run_id in live) <= 1

    def teardown(self) -> None:
        self.loop.run(self.let_go())
        self.loop.close()
        self.trace.verify()
        abandoned = set(self.house.tools.abandoned)
        for run_id in self.runs:
            made = {call.tool_call_id for call, _ in self.house.tools.calls if call.run_id == run_id}
            kept = made - abandoned
            ended = self.events(run_id)[-1].type
            assert kept == (made if ended == "run.completed" else set()), ended


@pytest.mark.req("OAP-007", "OAP-010", "OAP-012", "OAP-013", "OAP-014", "OAP-015", "OAP-017", "OAP-093")
def test_whatever_order_things_happen_in_the_trace_is_legal(agent_schema: Any) -> None:
    """Every run ends once, every question closes, every hold of a run that did not complete is let go."""
    run_state_machine_as_test(
        lambda: AnyOrder(agent_schema),
        settings=settings(
            max_examples=150, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
