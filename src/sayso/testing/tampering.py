"""A dishonest wire: a loopback proxy that passes everything on and changes what it is told to change.

For tests of what a verifier notices. It forwards bytes and headers as they came, signatures included.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.net.edge import read_body
from sayso.net.listen import Address, serving

__all__ = ("Alter", "tampering_with")

Alter = Callable[[str, bytes], bytes]
"""The path of a request and the body of its answer to the body the client gets."""

_OURS = {b"content-length", b"transfer-encoding", b"connection", b"content-encoding"}
_CAP = 1 << 20


@asynccontextmanager
async def tampering_with(target: str, alter: Alter) -> AsyncIterator[Address]:
    """Serves a proxy to `127.0.0.1:PORT` while the block runs."""
    async with (
        httpx2.AsyncClient(base_url=f"http://{target}", trust_env=False) as client,
        serving(_proxy(client, alter)) as address,
    ):
        yield address


def _proxy(client: httpx2.AsyncClient, alter: Alter) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive, _CAP)
        query = scope["query_string"]
        url = scope["raw_path"].decode("ascii") + (f"?{query.decode('ascii')}" if query else "")
        headers = [(name, value) for name, value in scope["headers"] if name not in _OURS]
        answer = await client.request(scope["method"], url, headers=headers, content=body)
        altered = alter(scope["path"], answer.content)
        kept = [(name, value) for name, value in answer.headers.raw if name.lower() not in _OURS]
        length = (b"content-length", str(len(altered)).encode())
        await send({"type": "http.response.start", "status": answer.status_code, "headers": [*kept, length]})
        await send({"type": "http.response.body", "body": altered})

    return app
