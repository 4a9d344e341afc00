"""A hub in this process, behind the methods of every client: what `sayso ask` uses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType
from typing import Self

from sayso.control.client.contract import Said
from sayso.control.client.requests import answered, cancel_request, open_request, resolve_request, submit_request
from sayso.control.hub.hub import Hub
from sayso.control.hub.machine import Cursor, Deliver, End, Ending
from sayso.control.hub.session import HubSession
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolveResponse, ToolsListResponse
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.run import RunCancelResponse
from sayso.control.protocol.payloads.scalars import JsonObject, Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse, SessionState
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, Refusal, Refused

__all__ = ("LocalClient",)

_PEER = "the hub"


class LocalClient:
    """An `AgentClient` over a hub that somebody else entered and will leave."""

    def __init__(self, hub: Hub, *, ids: Ids) -> None:
        self._hub = hub
        self._ids = ids

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def capabilities(self, adapter: str) -> CapabilitiesResponse:
        try:
            return answered(await self._hub.capabilities(adapter), CapabilitiesResponse, _PEER)
        except Refused as refused:
            raise PeerRefused(_PEER, refused.refusal) from None

    async def open(
        self, adapter: str, *, session_id: str | None = None, metadata: JsonObject | None = None
    ) -> SessionState:
        request = open_request(self._ids, session_id, metadata)
        return answered(await self._hub.open(adapter, request), SessionState, _PEER)

    async def submit(self, session_id: str, said: Said, *, delivery: str = "auto") -> MessageSubmitResponse:
        request = submit_request(self._ids, session_id, said, delivery)
        return answered(await self._session(session_id).submit(request), MessageSubmitResponse, _PEER)

    async def events(
        self, session_id: str, *, run_id: str | None = None, after: int | None = None
    ) -> AsyncGenerator[Envelope[Wire]]:
        cursor = None if after is None else Cursor(after, run_id)
        while True:
            session = self._session(session_id)
            try:
                reader = session.subscribe(cursor)
            except Refused as refused:
                raise PeerRefused(_PEER, refused.refusal) from None
            async with aclosing(session.read(reader)) as effects:
                async for effect in effects:
                    if isinstance(effect, Deliver):
                        for entry in effect.entries:
                            yield entry.envelope
                    else:
                        cursor = _after(effect)
            if cursor is None:
                return

    async def resolve(
        self,
        asked: Envelope[PermissionRequested],
        *,
        granted: bool,
        signed: str | None = None,
        reason: str | None = None,
    ) -> PermissionResolveResponse:
        request = resolve_request(self._ids, asked, granted=granted, signed=signed, reason=reason)
        session = self._session(asked.payload.session_id)
        return answered(await session.resolve(request), PermissionResolveResponse, _PEER)

    async def cancel(self, session_id: str, run_id: str, *, reason: str | None = None) -> RunCancelResponse:
        request = cancel_request(self._ids, session_id, run_id, reason)
        return answered(await self._session(session_id).cancel(request), RunCancelResponse, _PEER)

    async def state(self, session_id: str) -> SessionState:
        try:
            return answered(await self._hub.state(session_id), SessionState, _PEER)
        except Refused as refused:
            raise PeerRefused(_PEER, refused.refusal) from None

    async def tools(self, session_id: str) -> ToolsListResponse:
        try:
            return answered(await self._hub.tools(session_id), ToolsListResponse, _PEER)
        except Refused as refused:
            raise PeerRefused(_PEER, refused.refusal) from None

    async def close(self, session_id: str) -> None:
        try:
            await self._hub.close(session_id)
        except Refused as refused:
            raise PeerRefused(_PEER, refused.refusal) from None

    def _session(self, session_id: str) -> HubSession:
        try:
            return self._hub.session(session_id)
        except Refused as refused:
            raise PeerRefused(_PEER, refused.refusal) from None


def _after(end: End) -> Cursor | None:
    """Where to go on behind this ending: an overflow is resumed, a gap is told, the rest is the end."""
    if end.why is Ending.OVERFLOW and end.at is not None:
        return Cursor(end.at[1], end.at[0])
    if end.why is Ending.GAP and end.bounds is not None:
        oldest, latest = end.bounds
        details = {"oldest_available": oldest, "latest_available": latest}
        refusal = Refusal(code="replay_gap", message="events after the cursor are no longer kept", details=details)
        raise PeerRefused(_PEER, refusal)
    return None
