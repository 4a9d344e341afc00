"""JSON-RPC messages of MCP as bytes, and the streams a connection is driven over.

Bytes are read by our strict reader before the protocol's own types see them; what those complain about is told in our
words, since theirs quote the message. Imports the `mcp` package: only `opener` loads this, and only when a source is
opened.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from sayso.core import strictjson
from sayso.core.refusal import Refusal, Refused

__all__ = ("UNANSWERED", "Ends", "Lost", "Owed", "Transport", "join", "read_message", "write_message")

_MOST_OWED = 64

Inbound: TypeAlias = "SessionMessage | Exception"

Lost: TypeAlias = Callable[[Refusal], None]
"""Told once, with why, when nothing more can come from a server."""


UNANSWERED = object()
"""The data of an error that a transport gives in a server's stead: told apart by identity, for a server may send any
code.
"""


class Owed:
    """How many requests of the server wait for our answer: one that asks and takes no answers fills no memory."""

    def __init__(self) -> None:
        self._count = 0

    def take(self, message: JSONRPCMessage) -> None:
        """Told of each message that comes. Refused `protocol_violation`: too many wait."""
        self._count += isinstance(message, JSONRPCRequest)
        if self._count > _MOST_OWED:
            raise Refused.because("protocol_violation", "it asks more than it takes answers to", reason="requests")

    def give(self, message: JSONRPCMessage) -> None:
        """Told of each message that has gone."""
        self._count -= isinstance(message, JSONRPCResponse | JSONRPCError)


@dataclass(frozen=True, slots=True)
class Ends:
    """Two streams between a session and its transport: the session's ends, and the transport's."""

    owed: Owed
    read: MemoryObjectReceiveStream[Inbound]
    write: MemoryObjectSendStream[SessionMessage]
    inbound: MemoryObjectSendStream[Inbound]
    outbound: MemoryObjectReceiveStream[SessionMessage]

    def close(self) -> None:
        for stream in (self.inbound, self.outbound, self.read, self.write):
            stream.close()


Transport: TypeAlias = Callable[[Lost], AbstractAsyncContextManager[Ends]]
"""Opens a way to a server and keeps it for the length of a block. Refused: it cannot be opened."""


def join() -> Ends:
    """Two streams without a buffer, so that whoever sends waits for whoever reads."""
    inbound, read = anyio.create_memory_object_stream[Inbound](0)
    write, outbound = anyio.create_memory_object_stream[SessionMessage](0)
    return Ends(Owed(), read, write, inbound, outbound)


def read_message(data: bytes) -> JSONRPCMessage:
    """One message. Refused `protocol_violation`, whose reason says what it is instead."""
    try:
        value = strictjson.parse(data)
    except Refused as refused:
        reason = refused.refusal.reason
        raise Refused.because("protocol_violation", "it sent a message that is no JSON", reason=reason) from None
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        raise Refused.because("protocol_violation", "it sent JSON that is no message", reason="shape") from None


def write_message(message: JSONRPCMessage) -> bytes:
    """A message in one line."""
    return strictjson.encode(message.model_dump(by_alias=True, mode="json", exclude_unset=True))
