"""A hub over our own loop, a scripted model and scripted tools, as most control tests need it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.local import LocalClient
from sayso.control.client.run import Answered, RunOutcome, run_to_terminal
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.loop.contract import ToolSpec
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.testing.provider import ScriptedProvider, Turn
from sayso.testing.tools import Act, ScriptedTools

PATIENCE = 30
NOON = datetime(2026, 10, 13, 16, tzinfo=UTC)


@dataclass(frozen=True)
class House:
    """What a test holds in its hands."""

    hub: Hub
    client: LocalClient
    provider: ScriptedProvider
    tools: ScriptedTools
    ids: CountingIds
    session_id: str

    async def run(self, said: str, answer: Callable[[int], Answered] | None = None) -> tuple[RunOutcome, list[str]]:
        """Submits to the end; `answer` is given the number of the question. Also the types of the run's events."""
        types: list[str] = []
        asked = 0

        async def reply(_envelope: Envelope[PermissionRequested]) -> Answered:
            nonlocal asked
            asked += 1
            assert answer is not None, "nobody was to be asked"
            return answer(asked)

        def watch(envelope: Envelope[Wire]) -> None:
            types.append(envelope.type)

        outcome = await run_to_terminal(self.client, self.session_id, said, reply, watch)
        return outcome, types


@asynccontextmanager
async def watched() -> AsyncIterator[None]:
    """A wait that never ends fails."""
    with anyio.fail_after(PATIENCE):
        yield


@asynccontextmanager
async def open_house(
    turns: Iterable[Turn],
    acts: Mapping[str, Act] | None = None,
    *,
    specs: Iterable[ToolSpec] = (),
    record: Callable[[Envelope[Wire]], None] | None = None,
    max_turns: int = 8,
    capacity: int = 65_536,
) -> AsyncIterator[House]:
    ids, clock = CountingIds(), ManualClock(NOON)
    provider = ScriptedProvider(turns, ids=ids)
    tools = ScriptedTools(acts or {}, specs=list(specs))
    loop = OwnLoop(
        provider,
        [tools],
        clock=clock,
        ids=ids,
        model_ref="scripted/one",
        system=lambda: "now: noon",
        max_turns=max_turns,
    )
    registry = Registry({"sayso": loop})
    async with Hub(registry, clock=clock, ids=ids, record=record, capacity=capacity) as hub:
        client = LocalClient(hub, ids=ids)
        opened = await client.open("sayso")
        yield House(hub, client, provider, tools, ids, opened.session_id)
