"""Drives one run over a hub, is cut off in the middle, and sees every event once. Start `sayso serve` first.

python drive_a_run.py http://127.0.0.1:6270
"""

import asyncio
import sys

from sayso.client import Client, Session
from sayso.protocol import Envelope, PermissionRequested, UserAnswer, UserInputRequested


async def answer(session: Session, envelope: Envelope) -> None:
    if isinstance(envelope.payload, PermissionRequested):
        await session.resolve(envelope, granted=True)
    elif isinstance(envelope.payload, UserInputRequested):
        said = [
            UserAnswer(question_id=each.id, selected_option_ids=(each.options[0].id,))
            if each.options
            else UserAnswer(question_id=each.id, text="Because I said so")
            for each in envelope.payload.questions
        ]
        await session.answer(envelope, said)


async def main(url: str) -> None:
    async with Client(url) as client:
        session = await client.start("memory")
        run = await session.submit("Write a note")
        async for envelope in session.events(run_id=run.run_id, after=0):
            print(envelope.sequence, envelope.type)
            if envelope.sequence == 3:
                break  # the connection is gone, and with it this client
    async with Client(url) as client:
        session = await client.attach(session.id)
        async for envelope in session.events_after(run.run_id, 3):
            print(envelope.sequence, envelope.type)
            await answer(session, envelope)


asyncio.run(main(sys.argv[1]))
