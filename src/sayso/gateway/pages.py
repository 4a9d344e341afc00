"""An address that anybody may read: only GET, the same bytes to everybody, and not too often.

The answer has a tag, so that whoever has this version is told so and no more is sent. A large one comes from an open
file whose position nobody shares.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio.to_thread
import msgspec
from starlette.types import Receive, Scope, Send

from sayso.core import strictjson
from sayso.core.refusal import Refusal, Refused
from sayso.gateway.guard.rules.codes import find_code, refusal
from sayso.gateway.strangers import Reading, Strangers

__all__ = ("Answerer", "Page", "PublicFailure", "Reply")

JSON = "application/json"
_CHUNK = 65_536


class PublicFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A no."""

    error: Refusal


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: its bytes, or an open file's with its length. `tag` says which version it is."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    tag: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    file: int | None = None
    length: int = 0


Answerer: TypeAlias = Callable[[Scope], Awaitable[Reply]]


class Page:
    """One published address: who comes too often waits, who has this version already is told so."""

    def __init__(self, answer: Answerer, strangers: Strangers, what: Reading = "read") -> None:
        self._answer = answer
        self._strangers = strangers
        self._what: Reading = what

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        reply = await self._reply(scope)
        async with _closing(reply):
            if reply.tag is not None and _has_it(scope, reply.tag):
                reply = Reply(status=304, tag=reply.tag, content_type="")
            await _send(send, reply)

    async def _reply(self, scope: Scope) -> Reply:
        if scope["method"] != "GET":
            return _refused(refusal("method_not_allowed"), ((b"allow", b"GET"),))
        client = scope.get("client")
        wait = self._strangers.admit(client[0] if client else "", self._what)
        if wait is not None:
            return _refused(refusal("too_many_requests"), ((b"retry-after", str(wait).encode()),))
        try:
            return await self._answer(scope)
        except Refused as no:
            return _refused(no.refusal)


@asynccontextmanager
async def _closing(reply: Reply) -> AsyncIterator[None]:
    try:
        yield
    finally:
        if reply.file is not None:
            os.close(reply.file)


async def _send(send: Send, reply: Reply) -> None:
    length = reply.length if reply.file is not None else len(reply.body)
    headers = [(b"cache-control", b"no-cache"), *reply.headers]
    if reply.tag is not None:
        headers.append((b"etag", f'"{reply.tag}"'.encode()))
    if reply.content_type:
        headers += [(b"content-type", reply.content_type.encode()), (b"content-length", str(length).encode())]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if reply.file is None:
        await send({"type": "http.response.body", "body": reply.body})
        return
    at = 0
    while chunk := await anyio.to_thread.run_sync(os.pread, reply.file, min(_CHUNK, length - at), at):
        at += len(chunk)
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _refused(why: Refusal, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Reply:
    return Reply(status=find_code(why.code).status, body=strictjson.encode(PublicFailure(error=why)), headers=headers)


def _has_it(scope: Scope, tag: str) -> bool:
    asked = [value for name, value in scope["headers"] if name == b"if-none-match"]
    return any(f'"{tag}"'.encode() in value for value in asked)
