"""What holds when a process is killed at any step of an act, and when several share the work."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from sayso.core.clock import ManualClock
from sayso.governance import claims
from sayso.governance.execution import LEASE
from sayso.governance.machine import ProposalState as State
from sayso.store.open import open_store
from sayso.store.unit import Unit
from sayso.testing.store import START
from tests.governance.house import House, until

pytestmark = pytest.mark.anyio

WORKER = Path(__file__).with_name("worker.py")
STEPS = ("claimed", "intended", "inside", "effect", "ran", "settled")
EFFECT_BEFORE = ("effect", "ran", "settled")


class Worker:
    """One process that carries out acts."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()


@contextmanager
def workers(location: str, effects: Path, steps: Sequence[str]) -> Iterator[list[Worker]]:
    started = [Worker(location, str(effects), f"w{index}", step) for index, step in enumerate(steps)]
    try:
        for worker in started:
            assert worker.hear() == "ready"
        yield started
    finally:
        for worker in started:
            worker.process.kill()
            worker.process.communicate()


@pytest.fixture(scope="module")
def forking() -> Iterator[Worker]:
    """A process that starts others, in which everything is imported already."""
    worker = Worker("forking")
    yield worker
    worker.process.kill()
    worker.process.communicate()


Die = Callable[[House, str, str], Awaitable[str]]


@pytest.fixture
def die(forking: Worker, location: str) -> Die:
    """Approves an act and lets a process of its own die at a step of it; the proposal's id."""

    async def killed_at(house: House, act: str, step: str) -> str:
        found = await house.approved(act)
        forking.say(json.dumps([location, str(house.effects.path), "victim", step]))
        assert forking.hear() == str(-signal.SIGKILL)
        assert len(house.effects.all()) == (step in EFFECT_BEFORE)
        return found.id

    return killed_at


@pytest.mark.req("GTW-033", "GTW-051", "GTW-053")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("act", ["note", "keep", "book"])
async def test_an_act_whose_process_was_killed_has_exactly_one_effect(
    house: House, die: Die, clock: ManualClock, act: str, step: str
) -> None:
    """At every step: another process finishes it once the lease is over, and says so once."""
    proposal_id = await die(house, act, step)
    if step != "settled":
        assert await house.executor("next").run_once() == 0
        assert (await house.gate.find(proposal_id)).state in (State.APPROVED, State.EXECUTING)
    clock.advance(LEASE)
    await house.executor("next").run_once()
    after = await house.gate.find(proposal_id)
    assert (after.state, after.result) == (State.EXECUTED, {"did": "tea"})
    assert house.effects.all() == [proposal_id]
    kinds = await house.kinds()
    assert (kinds.count("executed"), kinds.index("executing") < kinds.index("executed")) == (1, True)
    if act == "keep" and step in ("effect", "ran"):
        assert house.ran == []
        assert (await house.ledger.records())[-1].body["probed"] is True


@pytest.mark.req("GTW-033", "GTW-051", "GTW-053")
@pytest.mark.parametrize("step", STEPS)
async def test_an_act_that_must_not_run_twice_ends_unknown(
    house: House, die: Die, clock: ManualClock, step: str
) -> None:
    """Killed between intent and outcome it is never run again, and a person is told to look; before, it simply runs."""
    proposal_id = await die(house, "ring", step)
    clock.advance(LEASE)
    await house.executor("next").run_once()
    after = await house.gate.find(proposal_id)
    if step in ("claimed", "settled"):
        assert (after.state, house.effects.all()) == (State.EXECUTED, [proposal_id])
        return
    assert after.refusal is not None
    assert (after.state, after.refusal.code, after.refusal.reason) == (State.FAILED, "outcome_unknown", "unknown")
    assert "Look at the other side" in (after.refusal.help or "")
    assert house.ran == []
    assert len(house.effects.all()) == (step in EFFECT_BEFORE)
    receipt = (await house.ledger.records())[-1]
    assert (receipt.kind, receipt.body["code"], receipt.body["reason"]) == (
        "proposal.failed", "outcome_unknown", "unknown"
    )  # fmt: skip


@pytest.mark.req("GTW-033")
async def test_an_act_that_kills_its_process_every_time_is_given_up(house: House, clock: ManualClock) -> None:
    """Ninth time no more: it would take every process down with it."""
    found = await house.approved()
    deaths = 0
    while (await house.gate.find(found.id)).state is not State.FAILED:
        claimed = await house.store.unit(lambda unit: leave(house, unit))
        if claimed is None:
            await house.executor("last").run_once()
            continue
        deaths += 1
        clock.advance(LEASE)
    after = await house.gate.find(found.id)
    assert after.refusal is not None
    assert (after.refusal.code, after.refusal.reason) == ("outcome_unknown", "unknown")
    assert (deaths, house.ran) == (9, [])


def leave(house: House, unit: Unit) -> object:
    """What a process leaves that dies right after its intent, nine times."""
    (claim,) = claims.claim(unit, house.gate.owner, "dying", LEASE, limit=1)
    if claim.tries > 8:
        claims.postpone(unit, claim, unit.now)
        return None
    claims.intend(unit, claim)
    return claim


@pytest.mark.req("GTW-033")
async def test_two_processes_share_the_work(house: House, location: str) -> None:
    """Each is in the middle of an act of its own at the same time; each act has one effect."""
    found = {(await house.approved(what=f"w{number}")).id for number in range(4)}
    with workers(location, house.effects.path, ["shared", "shared"]) as started:
        for worker in started:
            worker.say("go")
        first = [worker.hear() for worker in started]
        assert len({*first}) == 2
        assert all(line.startswith("running prop_") for line in first)
        for worker in started:
            worker.say("\n" * len(found))
        for worker in started:
            while worker.hear() != "done":
                assert worker.process.poll() is None
    assert sorted(house.effects.all()) == sorted(found)
    assert {each.state for each in await house.gate.list()} == {State.EXECUTED}
    kinds = await house.kinds()
    assert (kinds.count("executing"), kinds.count("executed")) == (4, 4)


@pytest.mark.req("GTW-033")
async def test_what_was_left_is_finished_by_starting_an_executor(house: House, die: Die, clock: ManualClock) -> None:
    """Nobody has to name it: the loop finds it when its lease ends."""
    proposal_id = await die(house, "note", "intended")
    async with anyio.create_task_group() as group:
        group.start_soon(house.executor("next").run)
        await until(lambda: clock.sleepers)
        clock.advance(LEASE)
        after = await house.gate.wait(proposal_id, 3)
        while after.state is State.EXECUTING:
            after = await house.gate.wait(proposal_id, after.moves)
        group.cancel_scope.cancel()
    assert (after.state, house.effects.all()) == (State.EXECUTED, [proposal_id])
    assert clock.now() > START


def test_the_worker_is_the_same_house(location: str, tmp_path: Path) -> None:
    """A process with nothing to do ends by itself."""
    open_store(location, ManualClock(START)).close()
    with workers(location, tmp_path / "effects", ["never"]) as (worker,):
        worker.say("go")
        assert worker.hear() == "done"
