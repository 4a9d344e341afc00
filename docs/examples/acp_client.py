"""Asks an agent of a gateway by the Agent Communication Protocol, with the client of its SDK, and waits for a person.

SAYSO_AGENT_KEY=osz_... python acp_client.py http://127.0.0.1:6271/api/protocols/acp take-note "Buy milk" [SECONDS]
"""

import asyncio
import json
import os
import sys

from acp_sdk.client import Client
from acp_sdk.models import Message, MessageAwaitResume, MessagePart, Run, RunStatus

from sayso.gateway.clients.for_httpx import SigningAuth

AGAIN = MessageAwaitResume(message=Message(role="user", parts=[MessagePart(content="How far is it?")]))


def say(run: Run) -> str:
    if run.status == RunStatus.AWAITING:
        told = json.loads(run.await_request.message.parts[-1].content)
        return f"awaiting: proposal {told['proposal']} is {told['state']}"
    if run.status == RunStatus.FAILED:
        return f"failed: {run.error.message}"
    return f"{run.status.value}: {''.join(part.content for message in run.output for part in message.parts)}"


async def main(url: str, agent: str, text: str, seconds: float) -> None:
    auth = SigningAuth(os.environ["SAYSO_AGENT_KEY"])
    async with Client(base_url=url, auth=auth) as client:
        run = await client.run_sync(text, agent=agent)
        said = say(run)
        print(said, flush=True)
        while run.status == RunStatus.AWAITING:
            await asyncio.sleep(seconds)
            run = await client.run_resume_sync(AGAIN, run_id=run.run_id)
            if say(run) != said:
                said = say(run)
                print(said, flush=True)


asyncio.run(main(*sys.argv[1:4], float(sys.argv[4]) if len(sys.argv) > 4 else 5.0))
