"""A program for one test: a session of the loop that is in the middle of a tool call until somebody kills it.

Arguments: the folder of its conversations and the file of the hub's history. It prints each event of its run as a type,
and `in the middle` from inside the tool.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from sayso.control.hub.history_file import HistoryFile
from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolOutcome
from sayso.control.loop.saved import SavedConversations
from sayso.core.clock import ManualClock
from sayso.core.ids import SystemIds
from sayso.testing.provider import Call, Say
from tests.control.houses import NOON
from tests.control.loop.stage import TWO, staged


async def never(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
    print("in the middle", flush=True)
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


async def live(folder: str, history: str) -> None:
    turns = [[Say("noted")], [Say("I will write it. "), Call("write", {"text": "all of it"}, "c1")]]
    async with staged(
        turns,
        {"write": never},
        ids=SystemIds(),
        history=HistoryFile(Path(history), issuer="first"),
        conversations=SavedConversations(Path(folder), clock=ManualClock(NOON)),
        opens={"session_id": "s1", "reasoning_level": "high", "metadata": {"sayso": {"permission": "bypass"}}},
    ) as stage:
        await stage.begin("remember the milk")
        await stage.client.switch_model(stage.id, TWO)
        admitted = await stage.client.submit(stage.id, "now write it down")
        async for envelope in stage.client.events(stage.id, run_id=str(admitted.run_id), after=0):
            print(envelope.type, flush=True)


if __name__ == "__main__":
    anyio.run(live, sys.argv[1], sys.argv[2])
