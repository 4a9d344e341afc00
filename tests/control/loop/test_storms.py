"""Everything at once, in any order: whatever is asked of a session when, its trace is one that can be."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolDone, ToolOutcome
from sayso.control.loop.saved import SavedConversations
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.core.clock import ManualClock
from sayso.core.refusal import PeerRefused
from sayso.testing.provider import Call, Fails, Hangs, Say, Stops, Turn
from sayso.testing.tools import asking, read_only
from tests.control.conftest import Trace
from tests.control.houses import NOON, watched
from tests.control.loop.stage import ONE, TWO, Stage, staged
from tests.control.loop.talk import QUESTIONS

pytestmark = pytest.mark.anyio
HERS = ToolDefinition(name="hers", input_schema={"type": "object"}, execution_owner="user", source="sayso")
TURNS: Sequence[Turn] = (
    [Say("a", "b", "c")],
    [Say("long " * 50)],
    [Call("look", {}, "0"), Call("book", {}, "1")],
    [Call("hers", {}, "0")],
    [Call("request_user_input", QUESTIONS, "0")],
    [Call("book", {}, "0"), Stops("length")],
    [Say("half"), Fails("rate_limited")],
    [Hangs()],
)


def turns(chance: random.Random) -> Iterator[Turn]:
    while True:
        yield chance.choice(TURNS)


async def act(stage: Stage, trace: Trace, chance: random.Random) -> None:
    """One thing that somebody may ask of the session; a refusal is an answer too."""
    for _ in range(chance.randrange(4)):
        await anyio.lowlevel.checkpoint()
    client, session = stage.client, stage.id
    wish = chance.choice(("submit", "submit", "compact", "switch", "cancel", "answer", "answer", "answer", "look"))
    try:
        match wish:
            case "submit":
                delivery = chance.choice(("auto", "queue", "steer", "steer"))
                await client.submit(session, "again " * chance.randrange(1, 99), delivery=delivery)
            case "compact":
                await client.compact(session)
            case "switch":
                await client.switch_model(session, chance.choice((ONE, TWO)))
            case "cancel":
                await cancel(stage, chance)
            case "answer":
                asked = [event for event in trace.envelopes if event.type == "action.permission.requested"]
                if asked:
                    await client.resolve(asked[-1], granted=chance.random() < 0.6)  # type: ignore[arg-type]
            case _:
                await client.tools(session)
    except PeerRefused:
        pass


async def cancel(stage: Stage, chance: random.Random) -> None:
    """One of the runs there are."""
    active = (await stage.client.state(stage.id)).active_runs
    if active:
        await stage.client.cancel(stage.id, chance.choice(active).run_id)


@pytest.mark.req("OAP-096", "OAP-155", "OAP-159", "OAP-160", "OAP-164")
@pytest.mark.parametrize("seed", range(40))
async def test_a_storm_of_requests_leaves_a_trace_that_can_be(trace: Trace, tmp_path: Path, seed: int) -> None:
    """Nothing breaks, and no run is settled by the hub because the loop told what may not come."""
    chance = random.Random(seed)

    async def look(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        for _ in range(chance.randrange(6)):
            await anyio.lowlevel.checkpoint()
        return ToolDone({})

    talks = SavedConversations(tmp_path, clock=ManualClock(NOON))
    async with (
        watched(),
        staged(
            turns(chance),
            {"book": asking("limits"), "look": look},
            specs=[read_only("look")],
            record=trace.record,
            conversations=talks,
            max_turns=5,
            opens={"tools": [HERS]},
        ) as stage,
    ):
        for _ in range(30):
            async with anyio.create_task_group() as storm:
                for _ in range(chance.randrange(1, 6)):
                    storm.start_soon(act, stage, trace, chance)
    settled = [getattr(event.payload, "settled_by", None) for event in trace.envelopes if event.type == "run.failed"]
    codes = [event.payload.error.code for event in trace.envelopes if event.type == "error.response"]  # type: ignore[attr-defined]
    assert "inferred" not in settled
    assert not {"protocol_violation", "internal"} & set(codes)
