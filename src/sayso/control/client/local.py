"""A hub in this process, behind the methods of every client: what `sayso ask` uses."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Self, TypeVar, Unpack

from sayso.control.client.agent import AgentClient
from sayso.control.client.contract import OpenSettings
from sayso.control.client.errors import OverflowError, ServerError  # noqa: A004 - the protocol's word for it
from sayso.control.client.requests import ATTACHING, USER, answered, open_request
from sayso.control.hub.following import HUB
from sayso.control.hub.hub import Hub
from sayso.control.hub.serving import serve_request
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ToolsListResponse
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.models import ModelsResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import SessionState
from sayso.control.protocol.signals import TERMINALS
from sayso.core.ids import Ids, SystemIds
from sayso.core.refusal import Refused

__all__ = ("LocalClient",)

T = TypeVar("T", bound=Wire)
R = TypeVar("R")


class LocalClient(AgentClient):
    """An `AgentClient` over a hub that somebody else entered and will leave."""

    def __init__(self, hub: Hub, *, ids: Ids | None = None, participant: str = USER) -> None:
        super().__init__(ids or SystemIds(), participant)
        self._hub = hub

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def exchange(self, request: Envelope[Wire], payload: type[T]) -> T:
        response = await _told(serve_request(self._hub, request))
        self._hub.published(str(request.session_id), request.id)
        return answered(response, payload, HUB)

    async def capabilities(self, adapter: str) -> CapabilitiesResponse:
        return answered(await _told(self._hub.capabilities(adapter)), CapabilitiesResponse, HUB)

    async def open(self, adapter: str, **settings: Unpack[OpenSettings]) -> SessionState:
        revision = None
        if any(name in settings for name in ATTACHING):
            revision = (await _told(self._hub.probe(adapter))).revision
        request = open_request(self._ids, revision, **settings)
        return answered(await self._hub.open(adapter, request), SessionState, HUB)

    async def events(
        self, session_id: str, *, run_id: str | None = None, after: int | None = None
    ) -> AsyncGenerator[Envelope[Wire]]:
        run, after = run_id, 0 if after is None and run_id is not None else after
        while True:
            try:
                reading = self._hub.subscribe(session_id, run_id=run, after=after)
            except Refused as refused:
                raise ServerError(HUB, refused.refusal) from None
            try:
                async with aclosing(reading) as events:
                    async for envelope in events:
                        if run_id not in (None, envelope.run_id):
                            continue
                        yield envelope
                        if run_id is not None and envelope.type in TERMINALS:
                            return
            except OverflowError as lost:
                run, after = lost.run_id, lost.last_sequence
            else:
                return

    async def state(self, session_id: str) -> SessionState:
        return answered(await _told(self._hub.state(session_id)), SessionState, HUB)

    async def tools(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> ToolsListResponse:
        asked = self._hub.tools(session_id, allow_degraded=allow_degraded)
        return answered(await _told(asked), ToolsListResponse, HUB)

    async def models(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> ModelsResponse:
        """The session's models; an id it leaves out is refused `model_not_found`."""
        asked = self._hub.models(session_id, allow_degraded=allow_degraded)
        return answered(await _told(asked), ModelsResponse, HUB)

    async def close(self, session_id: str) -> None:
        await _told(self._hub.close(session_id))


async def _told(asked: Awaitable[R]) -> R:
    """What the hub answers; its refusal as any client's."""
    try:
        return await asked
    except Refused as refused:
        raise ServerError(HUB, refused.refusal) from None
