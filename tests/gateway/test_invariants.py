"""The guard's invariants, after anything that agents, owner and clock can do to one another."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sayso.core.clock import ManualClock
from sayso.gateway.crossing import Answer, Crossing
from sayso.gateway.gateway import Passage
from sayso.store.unit import Unit
from sayso.testing.gateway import open_gateway, sign
from sayso.testing.store import START
from tests.gateway.knocks import DOOR, crossing
from tests.gateway.wire import echo


class Guarded(RuleBasedStateMachine):
    """One agent at one door, its owner, and a network that delivers twice and late."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.clock = ManualClock(START)
        self.folder = tempfile.TemporaryDirectory()
        opened = open_gateway(Path(self.folder.name), clock=self.clock)
        self.bench = self.runner.run(self.stack.enter_async_context(opened))
        self.ada = self.runner.run(self.bench.issue("ada"))
        self.keys = [self.ada.key]
        self.sent: list[Crossing] = []
        self.inside: list[tuple[Crossing, Passage]] = []
        self.effects: Counter[bytes] = Counter()
        self.answered: list[datetime] = []
        self.working = {self.ada.key}
        self.crossings = 0

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()

    # -- what happens

    @rule(key=st.integers(0, 3), good=st.booleans())
    def send(self, key: int, good: bool) -> None:
        body = echo(f"{len(self.sent)}")
        headers = sign(self.keys[key % len(self.keys)], body if good else b"other", clock=self.clock)
        self.sent.append(crossing(headers, body))
        self._arrive(self.sent[-1])

    @rule(which=st.integers(0, 50))
    def deliver_again(self, which: int) -> None:
        if self.sent:
            self._arrive(self.sent[which % len(self.sent)])

    @rule(which=st.integers(0, 50))
    def settle(self, which: int) -> None:
        if not self.inside:
            return
        request, passage = self.inside.pop(which % len(self.inside))
        signature = dict(request.headers)[b"x-osz-signature"]
        touched: list[Unit] = []
        answer = self.runner.run(passage.settle(Answer(status=200), about="x", effect=touched.append))
        assert bool(touched) == (answer.status == 200)
        self.effects[signature] += len(touched)
        self.crossings += 1
        if touched:
            assert self._state() == "active"
            assert dict(request.headers)[b"x-osz-agent-key"].decode() in self.working
            self.answered.append(self.clock.now())

    @rule(seconds=st.sampled_from([0.1, 0.4, 1, 30, 61, 3600]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    @rule()
    def rotate(self) -> None:
        if self._state() == "active":
            issued = self.runner.run(self.bench.agents.rotate(self.ada.agent.id, by="o", keep_old=True))
            self.keys.append(issued.key)
            self.working.add(issued.key)

    @rule()
    def revoke(self) -> None:
        self.runner.run(self.bench.agents.revoke(self.ada.agent.id, by="o"))
        self.working.clear()

    @rule()
    def reissue(self) -> None:
        issued = self.runner.run(self.bench.agents.reissue(self.ada.agent.id, by="o"))
        self.keys.append(issued.key)
        self.working = {issued.key}

    # -- what holds

    @invariant()
    def each_signature_has_one_effect(self) -> None:
        """Invariant G-01."""
        assert max(self.effects.values(), default=0) <= 1

    @invariant()
    def five_that_count_and_suspended_are_the_same(self) -> None:
        """Invariant G-02."""
        row = self.runner.run(self.bench.agents.find(self.ada.agent.id))
        assert row.violations < 5 or row.state == "suspended"

    @invariant()
    def no_second_has_more_than_its_burst(self) -> None:
        for at in self.answered:
            assert sum(at <= when < at + timedelta(milliseconds=333) for when in self.answered) <= 3

    @invariant()
    def every_crossing_has_its_receipt(self) -> None:
        leaves = self.runner.run(self.bench.ledger.disclosures())
        assert [leaf.number for leaf in leaves] == list(range(self.crossings))

    # -- how

    def _arrive(self, request: Crossing) -> None:
        passage = self.runner.run(self.bench.gateway.enter(request, DOOR.deny))
        if isinstance(passage, Passage):
            self.inside.append((request, passage))
        else:
            self.crossings += 1
            assert passage.status in (401, 403, 429)

    def _state(self) -> str:
        return self.runner.run(self.bench.agents.find(self.ada.agent.id)).state


TestGuarded = Guarded.TestCase
TestGuarded.settings = settings(max_examples=15, stateful_step_count=40, deadline=None)
