"""What is kept: a bounded journal to resume from, and a conversation to reopen; the two never mix (OAP-019)."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.adapters.reference.script import STREAMED
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Misuse, Refused
from tests.control.adapters.reference.stage import SESSION, Stage, refused, request, staged
from tests.control.conftest import Trace
from tests.control.houses import NOON

pytestmark = pytest.mark.anyio


async def resumed(stage: Stage, run_id: str, after: int) -> list[int]:
    return [int(each.sequence or 0) async for each in stage.session.resume(run_id, after)]


@pytest.mark.req("OAP-019", "OAP-042")
async def test_a_resume_gives_what_lies_behind_the_cursor_and_then_goes_on_live(stage: Stage) -> None:
    """The same envelopes, ids and all, to the run's terminal, for any number of readers."""
    run = (await stage.submit("script: hold")).run_id
    await stage.read(run)
    async with aclosing(stage.session.resume(run, 1)) as reader:  # type: ignore[type-var]
        got = [await anext(reader)]
        await stage.cancel(run)
        got += [each async for each in reader]
    await stage.read(run)
    assert got == stage.runs[run][1:]
    assert await resumed(stage, run, 3) == [4]
    assert await resumed(stage, run, 4) == []


@pytest.mark.req("OAP-019", "OAP-042")
async def test_a_cursor_that_is_no_longer_kept_is_a_gap_that_names_the_window(trace: Trace) -> None:
    """Never a part of what was asked for."""
    async with staged(trace, journal_capacity=16) as stage:
        run = (await stage.submit("script: stream")).run_id
        await stage.read(run)
        last = STREAMED + 2
        bounds = {"oldest_available": last - 15, "latest_available": last}
        assert await refused(resumed(stage, run, last - 17)) == ("replay_gap", bounds)
        assert await resumed(stage, run, last - 16) == [*range(last - 15, last + 1)]
        assert (await refused(resumed(stage, run, last + 1)))[0] == "replay_cursor_future"
        assert (await refused(resumed(stage, "r9", 0)))[0] == "run_not_found"


@pytest.mark.req("OAP-042")
async def test_a_reader_that_falls_behind_is_told_where_it_was_and_holds_nothing_up(trace: Trace) -> None:
    """The run never waits."""
    async with staged(trace, journal_capacity=8) as stage:
        first = (await stage.submit("script: hold")).run_id
        await stage.read(first)
        async with aclosing(stage.session.resume(first, 0)) as reader:  # type: ignore[type-var]
            assert (await anext(reader)).sequence == 1
            await stage.submit("script: stream")
            await stage.cancel(first)
            await stage.read(first)
            await stage.finish()
            with pytest.raises(Refused) as behind:
                await anext(reader)
        assert behind.value.refusal.code == "overflow"
        assert behind.value.refusal.details == {"run_id": first, "last_sequence": 1}


def test_a_journal_keeps_at_least_one_event() -> None:
    """None at all would be a gap for ever."""
    with pytest.raises(Misuse):
        MemoryAdapter(clock=ManualClock(NOON), ids=CountingIds(), journal_capacity=0)


@pytest.mark.req("OAP-079")
async def test_a_closed_session_reopens_with_its_conversation_and_its_own_settings(trace: Trace) -> None:
    """Model, level and policy are the session's; no run is under way, ids go on, and old events are a gap."""
    policy = {"kind": "tokens", "tokens": 30}
    opened = {"reasoning_level": "low", "compaction_policy": policy}
    async with staged(trace, opened=opened) as stage:
        old = (await stage.submit(f"script: plain {'x' * 200}")).run_id
        await stage.read(old)
        await stage.ask("session.model.switch.request", {"session_id": SESSION, "model_id": "memory-large"})
        await stage.finish()
        await stage.open(reopen=True)
        state = await stage.session.state()
        assert state.recovery
        assert state.compaction_policy
        assert (state.recovery.recovered, state.status, state.active_runs) == (True, "idle", ())
        assert (state.current_model_id, state.reasoning_level, state.compaction_policy.tokens) == (
            "memory-large",
            "low",
            30,
        )
        assert (await refused(resumed(stage, old, 1)))[0] == "replay_gap"
        new = (await stage.submit("script: plain")).run_id
        assert new != old
        assert "run.compaction.started" in await stage.read(new)


@pytest.mark.req("OAP-079", "OAP-080")
async def test_only_a_session_that_was_closed_here_reopens(trace: Trace) -> None:
    """An unknown one is unknown, an open one exists, and creating over a kept one is no reopening."""
    async with staged(trace, opened=None) as stage:
        assert (await refused(stage.open(reopen=True)))[0] == "unknown_session"
        await stage.open()
        assert (await refused(stage.open(reopen=True)))[0] == "session_exists"
        assert (await refused(stage.open()))[0] == "session_exists"
        await stage.finish()
        assert (await refused(stage.open()))[0] == "session_exists"
        await stage.open(reopen=True)


@pytest.mark.req("OAP-080")
async def test_a_binding_whose_conversation_is_gone_is_unsupported(stage: Stage) -> None:
    """Whoever hosts the session knows that it was there; the adapter only says that it cannot load it."""
    asked = request("session.open.request", {"session_id": "s9", "reopen": True}, "r")
    code, details = await refused(stage.adapter.reopen(asked, "s9", "s9", stage.tasks))
    assert (code, details) == ("unsupported_feature", {"feature": "session.open.reopen", "reason": "unsatisfiable"})
    name = stage.adapter.native_id(stage.session)
    await stage.finish()
    again = request("session.open.request", {"session_id": SESSION, "reopen": True}, "r2")
    stage.session = await stage.adapter.reopen(again, SESSION, name, stage.tasks)
    assert stage.session.id == SESSION
