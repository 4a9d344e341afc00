"""Ask a gateway for an act over A2A with the official client, and follow it to its end.

    SAYSO_AGENT_KEY=osz_... python a2a_client.py http://127.0.0.1:6271 take_note '{"text": "milk"}'

Needs the packages `sayso` (for the auth object that signs) and `a2a-sdk`. Prints one line for each thing it is told.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.helpers import new_data_message
from a2a.types import Role, SendMessageRequest, TaskState
from google.protobuf.json_format import MessageToJson

from sayso.gateway.clients.for_httpx import SigningAuth


async def main(origin: str, act: str, arguments: str) -> None:
    auth = SigningAuth(os.environ["SAYSO_AGENT_KEY"])
    # A person may take a while to decide, so the stream is read without a time limit.
    async with httpx.AsyncClient(auth=auth, timeout=None) as http:
        # The card at the origin's root says which versions and bindings there are.
        client = await ClientFactory(ClientConfig(httpx_client=http)).create_from_url(origin)
        message = new_data_message(data={"act": act, "arguments": json.loads(arguments)}, role=Role.ROLE_USER)
        async for event in client.send_message(SendMessageRequest(message=message)):
            if event.HasField("task"):
                tell(event.task.id, event.task.status.state)
                for artifact in event.task.artifacts:
                    print("result", MessageToJson(artifact.parts[0].data, indent=None), flush=True)
            elif event.HasField("artifact_update"):
                print("result", MessageToJson(event.artifact_update.artifact.parts[0].data, indent=None), flush=True)
            elif event.HasField("status_update"):
                tell(event.status_update.task_id, event.status_update.status.state)


def tell(id_: str, state: int) -> None:
    print("task", id_, TaskState.Name(state), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
