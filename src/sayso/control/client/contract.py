"""What both clients of a hub can do, so that a command need not know where its hub runs.

A refusal of the hub is raised as `PeerRefused` with the hub's code; `PeerUnreachable` means that no answer came. What
this side can see is wrong is `Refused` before anything is sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Protocol, Self

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolveResponse, ToolsListResponse
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.run import RunCancelResponse
from sayso.control.protocol.payloads.scalars import JsonObject, Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse, SessionState

__all__ = ("AgentClient", "Said")

Said = str | Message
"""What a person says: plain text, or a whole message."""


class AgentClient(Protocol):
    """A client of a hub. Use as `async with`."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...

    async def capabilities(self, adapter: str) -> CapabilitiesResponse:
        """What an adapter supports now."""
        ...

    async def open(
        self, adapter: str, *, session_id: str | None = None, metadata: JsonObject | None = None
    ) -> SessionState:
        """Opens a session; the hub names it unless `session_id` does."""
        ...

    async def submit(self, session_id: str, said: Said, *, delivery: str = "auto") -> MessageSubmitResponse:
        """Submits a message; the answer names the run it was admitted as."""
        ...

    def events(
        self, session_id: str, *, run_id: str | None = None, after: int | None = None
    ) -> AsyncGenerator[Envelope[Wire]]:
        """A run's events, each once and in order, to its terminal; cut connections and overflows are resumed unseen.

        With `run_id` and `after=0` nothing of the run is missed, whenever this is called after the submit. Events that
        are no longer kept are `PeerRefused` `replay_gap`, its details naming `oldest_available`.
        """
        ...

    async def resolve(
        self,
        asked: Envelope[PermissionRequested],
        *,
        granted: bool,
        signed: str | None = None,
        reason: str | None = None,
    ) -> PermissionResolveResponse:
        """Answers a permission as participant `user`; `signed` is the signed document where one was asked for."""
        ...

    async def cancel(self, session_id: str, run_id: str, *, reason: str | None = None) -> RunCancelResponse:
        """Wishes a run to end; the answer is intent, the run's terminal tells what became of it."""
        ...

    async def state(self, session_id: str) -> SessionState:
        """The session's state now."""
        ...

    async def tools(self, session_id: str) -> ToolsListResponse:
        """The session's tools."""
        ...

    async def close(self, session_id: str) -> None:
        """Closes a session that has no live run."""
        ...
