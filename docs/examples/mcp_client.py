"""Call a gateway's tools over MCP with the official client, and follow a proposal to its end.

    SAYSO_AGENT_KEY=osz_... python mcp_client.py http://127.0.0.1:6271 take_note '{"text": "milk"}'

Needs the packages `sayso` (for the auth object that signs) and `mcp`. Prints one line for each thing it is told.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from sayso.gateway.clients.for_httpx2 import SigningAuth

ENDED = {"executed", "failed", "rejected", "expired", "withdrawn", "refused_by_constitution"}


async def main(origin: str, tool: str, arguments: str) -> None:
    auth = SigningAuth(os.environ["SAYSO_AGENT_KEY"])
    # A person may take a while to decide, so streams are read without a time limit.
    async with httpx2.AsyncClient(auth=auth, timeout=httpx2.Timeout(30, read=None)) as http:
        transport = streamable_http_client(f"{origin}/api/protocols/mcp/message", http_client=http)
        async with Client(transport) as client:
            print("tools", *(each.name for each in (await client.list_tools()).tools))
            answer = await client.call_tool(tool, json.loads(arguments))
            print("error" if answer.is_error else "answer", answer.content[0].text, flush=True)
            if not answer.is_error and "proposal_id" in (answer.structured_content or {}):
                await follow(client, answer.structured_content["read"])


async def follow(client: Client, uri: str) -> None:
    """Reads the proposal each time it has moved."""
    async with client.listen(resource_subscriptions=[uri]) as moves:
        while True:
            told = json.loads((await client.read_resource(uri)).contents[0].text)
            print("proposal", told["state"], flush=True)
            if told["state"] in ENDED:
                return
            await anext(aiter(moves))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
