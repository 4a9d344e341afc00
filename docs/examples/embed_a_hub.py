"""Drives two sessions of one hub in this process: no socket, no child. Prints what each run said.

python embed_a_hub.py
"""

import asyncio

from sayso.adapters import Hub, LocalClient, OverflowError, default_registry  # noqa: A004
from sayso.protocol import ContentDelta, TextPart


async def follow(hub: Hub, session_id: str, run_id: str) -> str:
    said, after = "", 0
    while True:
        try:
            async for envelope in hub.subscribe(session_id, run_id=run_id, after=after):
                if isinstance(envelope.payload, ContentDelta) and isinstance(envelope.payload.part, TextPart):
                    said += envelope.payload.part.text
        except OverflowError as lost:  # fell behind: go on at the cursor
            after = lost.last_sequence
        else:
            return said


async def main() -> None:
    async with Hub(default_registry()) as hub, LocalClient(hub) as client:
        sessions = [await client.start("memory") for _ in range(2)]
        runs = [await session.submit("script: plain") for session in sessions]
        for session, run in zip(sessions, runs, strict=True):
            print(session.id, await follow(hub, session.id, str(run.run_id)))
        print([(each.session_id, each.status) for each in await hub.sessions()])


asyncio.run(main())
