"""What a session keeps of its runs' events: the bound, the gap, and readers that never hold a run up."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.loop.replay import CAPACITY, Replay
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.run import RunCancelled, RunStatusUpdated
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.refusal import Misuse, Refused

pytestmark = pytest.mark.anyio


def event(run_id: str, number: int, *, is_last: bool = False) -> Envelope[Wire]:
    payload: Wire = RunStatusUpdated(session_id="s", run_id=run_id, status="running")
    if is_last:
        payload = RunCancelled(session_id="s", run_id=run_id)
    kind = "run.cancelled" if is_last else "run.status.updated"
    return Envelope(type=kind, id=f"{run_id}.{number}", payload=payload, sequence=number, session_id="s", run_id=run_id)


def told(replay: Replay, run_id: str, first: int, last: int, *, is_over: bool = False) -> None:
    for number in range(first, last + 1):
        replay.keep(event(run_id, number, is_last=is_over and number == last))


async def numbers(replay: Replay, run_id: str, after: int) -> list[int]:
    return [int(each.sequence or 0) async for each in replay.read(run_id, after)]


@pytest.mark.req("OAP-161")
async def test_65536_events_are_kept_over_all_runs_of_a_session() -> None:
    """The bound is the session's: a new run's events push out an old run's."""
    replay = Replay()
    told(replay, "old", 1, 40_000, is_over=True)
    told(replay, "new", 1, CAPACITY - 40_000)
    assert CAPACITY == 65_536
    assert await numbers(replay, "old", 0) == [*range(1, 40_001)]
    told(replay, "new", CAPACITY - 39_999, CAPACITY - 39_998, is_over=True)
    with pytest.raises(Refused) as gap:
        await numbers(replay, "old", 1)
    assert gap.value.refusal.code == "replay_gap"
    assert gap.value.refusal.details == {"oldest_available": 3, "latest_available": 40_000}
    assert await numbers(replay, "old", 2) == [*range(3, 40_001)]
    assert await numbers(replay, "new", 0) == [*range(1, CAPACITY - 39_997)]


@pytest.mark.req("OAP-161")
async def test_a_run_of_which_nothing_is_kept_is_a_gap_before_its_end_and_none_at_it() -> None:
    """`oldest_available` is then the number behind the last: nothing is missed by who had read it all."""
    replay = Replay(4)
    told(replay, "old", 1, 3, is_over=True)
    told(replay, "new", 1, 4)
    with pytest.raises(Refused) as gap:
        await numbers(replay, "old", 2)
    assert gap.value.refusal.details == {"oldest_available": 4, "latest_available": 3}
    assert await numbers(replay, "old", 3) == []


async def test_a_cursor_beyond_the_last_event_is_refused() -> None:
    """It names what nobody has told yet."""
    replay = Replay()
    told(replay, "r", 1, 2)
    with pytest.raises(Refused) as future:
        await numbers(replay, "r", 3)
    assert future.value.refusal.code == "replay_cursor_future"


@pytest.mark.req("OAP-161")
async def test_any_number_of_readers_read_what_is_kept_and_then_what_is_told() -> None:
    """Also one who waits before the run has told anything."""
    replay = Replay()
    read: dict[int, list[int]] = {}

    async def follow(number: int, after: int) -> None:
        read[number] = await numbers(replay, "r", after)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(follow, number, 0)
        await anyio.wait_all_tasks_blocked()
        told(replay, "r", 1, 3)
        await anyio.wait_all_tasks_blocked()
        for number in range(20, 40):
            tasks.start_soon(follow, number, 2)
        await anyio.wait_all_tasks_blocked()
        told(replay, "r", 4, 6, is_over=True)
    assert read == {number: [*range(1 if number < 20 else 3, 7)] for number in range(40)}


@pytest.mark.req("OAP-161")
async def test_a_slow_reader_is_told_what_it_had_last_and_the_run_waits_for_nobody() -> None:
    """A whole run is told between two events of the reader; a reader who kept up sees all of it."""
    replay = Replay(8)
    told(replay, "r", 1, 2)
    async with aclosing(replay.read("r", 0)) as slow:  # type: ignore[type-var]
        assert (await anext(slow)).sequence == 1
        told(replay, "r", 3, 9)
        assert (await anext(slow)).sequence == 2
        told(replay, "r", 10, 20, is_over=True)
        with pytest.raises(Refused) as behind:
            await anext(slow)
    assert behind.value.refusal.code == "overflow"
    assert behind.value.refusal.details == {"run_id": "r", "last_sequence": 2}
    assert await numbers(replay, "r", 12) == [*range(13, 21)]


async def test_a_reader_who_left_leaves_the_others_alone() -> None:
    """A reader is a place and no entry in any list."""
    replay = Replay()
    told(replay, "r", 1, 1)
    with anyio.move_on_after(0):
        await numbers(replay, "r", 1)
    told(replay, "r", 2, 2, is_over=True)
    assert await numbers(replay, "r", 0) == [1, 2]


async def test_a_closed_session_ends_its_readers_behind_what_is_kept() -> None:
    """No terminal is made up for a run that had none."""
    replay = Replay()
    told(replay, "r", 1, 3)
    read: list[int] = []

    async def follow() -> None:
        read.extend(await numbers(replay, "r", 1))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        replay.close()
    assert read == [2, 3]


@given(st.lists(st.sampled_from("abc"), max_size=60), st.integers(1, 12))
def test_whatever_the_order_a_run_is_kept_without_holes_and_the_bound_holds(order: list[str], capacity: int) -> None:
    """For each cursor: exactly the events behind it, or a gap; never a part."""

    async def check() -> None:
        replay = Replay(capacity)
        count = dict.fromkeys("abc", 0)
        for run_id in order:
            count[run_id] += 1
            replay.keep(event(run_id, count[run_id]))
        replay.close()
        kept = {run_id: order[-capacity:].count(run_id) for run_id in "abc"}
        for run_id, latest in count.items():
            for after in range(latest + 1):
                if after < latest - kept[run_id]:
                    with pytest.raises(Refused):
                        await numbers(replay, run_id, after)
                else:
                    assert await numbers(replay, run_id, after) == [*range(after + 1, latest + 1)]

    anyio.run(check)


def test_an_event_out_of_order_is_a_fault_of_ours() -> None:
    """A hole would look like a gap for ever; so would a bound of nothing."""
    replay = Replay()
    told(replay, "r", 1, 1)
    for number in (1, 3):
        with pytest.raises(Misuse):
            replay.keep(event("r", number))
    with pytest.raises(Misuse):
        Replay(0)
