"""What every client of a hub says the same way, besides what it says to a session."""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import Self, Unpack

from sayso.control.client.contract import OpenSettings
from sayso.control.client.session import Session
from sayso.control.client.verbs import SessionClient
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.session import SessionState

__all__ = ("AgentClient",)


class AgentClient(SessionClient):
    """A client of a hub, which has adapters by name. Use as `async with`."""

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    @abstractmethod
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @abstractmethod
    async def capabilities(self, adapter: str) -> CapabilitiesResponse:
        """What an adapter supports now."""

    @abstractmethod
    async def open(self, adapter: str, **settings: Unpack[OpenSettings]) -> SessionState:
        """Opens a session; the hub names it unless `session_id` does."""

    async def start(self, adapter: str, **settings: Unpack[OpenSettings]) -> Session:
        """Opens a session, to be worked with as one."""
        opened = await self.open(adapter, **settings)
        return Session(self, opened.session_id, opened)

    async def attach(self, session_id: str) -> Session:
        """A session that somebody opened. Raises `ServerError` `unknown_session`."""
        return Session(self, session_id, await self.state(session_id))
