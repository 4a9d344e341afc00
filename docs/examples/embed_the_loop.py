"""Our own agent loop inside a program: any model by its address, a tool of the program's own, one question answered.

python embed_the_loop.py http://127.0.0.1:11434/v1 qwen3
"""

import asyncio
import sys
from collections.abc import Sequence

from sayso.adapters import (
    Hub,
    LocalClient,
    Offering,
    OwnLoop,
    Registry,
    SystemClock,
    SystemIds,
    ToolAnswer,
    ToolAsks,
    ToolCall,
    ToolDone,
    ToolOutcome,
    ToolSpec,
    open_wire,
)
from sayso.protocol import ActionCallCompleted, PermissionRequested, RunCompleted

NOTES = {"README.md": "Buy a new chain for the bicycle.\n"}
ARGUMENTS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


class Notes:
    """A source of one tool. It asks before it shows a note, and keeps nothing between the two calls."""

    id = "notes"

    def tools(self) -> Sequence[ToolSpec]:
        return [ToolSpec("Read", "Reads one of the person's notes.", ARGUMENTS)]

    async def call(self, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        path = str(call.arguments.get("path"))
        if not answers:
            return ToolAsks("Show a note", f"The agent wants to read {path}.")
        if not answers[-1].granted:
            return ToolDone({"error": "permission_denied"}, is_error=True)
        return ToolDone(NOTES.get(path, "there is no such note"))

    async def abandon(self, call: ToolCall) -> None:
        """Nothing is held for a call."""


async def main(base_url: str, model: str) -> None:
    offering = Offering(id="mine", wire="openai-chat-completions", base_url=base_url, model=model)
    async with open_wire(offering) as provider:
        loop = OwnLoop(provider, [Notes()], clock=SystemClock(), ids=SystemIds(), model_ref=model)
        async with Hub(Registry({"mine": loop})) as hub, LocalClient(hub) as client:
            session = await client.start("mine")
            run = await session.submit("What do my notes say?")
            async for envelope in session.events(run_id=run.run_id, after=0):
                if isinstance(envelope.payload, PermissionRequested):
                    print("asked:", envelope.payload.description)
                    await session.resolve(envelope, granted=True)
                elif isinstance(envelope.payload, ActionCallCompleted):
                    print("read:", envelope.payload.result)
                elif isinstance(envelope.payload, RunCompleted):
                    print("ended:", envelope.payload.stop_reason)


asyncio.run(main(sys.argv[1], sys.argv[2]))
