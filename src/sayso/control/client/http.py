"""A hub over HTTP and server-sent events: what other processes use, and what attaches to a running hub (OAP-202).

What a session is asked is `verbs`', exchanges are `wire`'s and event streams `streams`'.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar, Unpack
from urllib.parse import quote

import httpx2

from sayso.control.client.agent import AgentClient
from sayso.control.client.contract import OpenSettings
from sayso.control.client.requests import ATTACHING, USER, open_request
from sayso.control.client.streams import FIRST_PAUSE, Position, run_events
from sayso.control.client.wire import HubWire, Record, session_path
from sayso.control.hub.history import HistoryPage
from sayso.control.hub.listings import AdapterListings, SessionListings
from sayso.control.hub.session import RESOLVES, SETTINGS, SUBMITS
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ToolsListResponse
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.models import ModelsResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import SessionState
from sayso.core.ids import Ids, SystemIds

__all__ = ("HubClient",)

T = TypeVar("T", bound=Wire)
_ROUTES: Mapping[str, str] = {
    **dict.fromkeys(SUBMITS, "submit"),
    **dict.fromkeys(RESOLVES, "resolve"),
    "run.cancel.request": "cancel",
    **dict.fromkeys(SETTINGS, "settings"),
}


class HubClient(AgentClient):
    """An `AgentClient` over `url`, such as `http://127.0.0.1:6270`. Use as `async with`.

    `participant` is who answers interactions. With `strict_resume` a cut stream and a lost mailbox are told instead of
    mended. With `judged` every envelope that comes in is also held against the protocol's law. `record` sees every
    envelope sent or received; nothing is logged. `transport` stands in for the network.
    """

    def __init__(
        self,
        url: str,
        *,
        ids: Ids | None = None,
        participant: str = USER,
        strict_resume: bool = False,
        judged: bool = False,
        record: Record | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        super().__init__(ids or SystemIds(), participant)
        self._wire = HubWire(url, record=record, is_judged=judged, transport=transport)
        self._is_strict = strict_resume
        self._first_pause = first_pause

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._wire.__aexit__(kind, error, trace)

    async def exchange(self, request: Envelope[Wire], payload: type[T]) -> T:
        path = f"{session_path(str(request.session_id))}/{_ROUTES[request.type]}"
        return (await self._wire.post(path, request, payload)).payload

    # --- the hub ---

    async def adapters(self) -> AdapterListings:
        """All adapters by name; one that cannot be probed is listed with its error."""
        return await self._wire.list_all("/adapters", AdapterListings)

    async def sessions(self) -> SessionListings:
        """The sessions of this hub's life, by id."""
        return await self._wire.list_all("/sessions", SessionListings)

    async def history(self, *, limit: int | None = None, cursor: str | None = None) -> HistoryPage:
        """Sessions live and closed, newest first, of earlier hubs too."""
        given = {"limit": limit, "cursor": cursor}
        params = {name: str(value) for name, value in given.items() if value is not None}
        return await self._wire.list_all("/sessions/history", HistoryPage, params)

    async def capabilities(self, adapter: str) -> CapabilitiesResponse:
        return (await self._capabilities(adapter)).payload

    async def _capabilities(self, adapter: str) -> Envelope[CapabilitiesResponse]:
        return await self._wire.ask(f"{_adapter_path(adapter)}/capabilities", CapabilitiesResponse)

    # --- a session ---

    async def open(self, adapter: str, **settings: Unpack[OpenSettings]) -> SessionState:
        revision = None
        if any(name in settings for name in ATTACHING):
            revision = (await self._capabilities(adapter)).capability_revision or None
        request = open_request(self._ids, revision, **settings)
        return (await self._wire.post(f"{_adapter_path(adapter)}/sessions", request, SessionState)).payload

    def events(
        self, session_id: str, *, run_id: str | None = None, after: int | None = None
    ) -> AsyncGenerator[Envelope[Wire]]:
        position = Position(run_id, after)
        return run_events(self._wire, session_id, position, is_strict=self._is_strict, first_pause=self._first_pause)

    def events_after(self, session_id: str, run_id: str, sequence: int) -> AsyncGenerator[Envelope[Wire]]:
        """Resumes by hand, where a `DisconnectError` or an `OverflowError` says."""
        return self.events(session_id, run_id=run_id, after=sequence)

    async def state(self, session_id: str) -> SessionState:
        state = (await self._wire.ask(f"{session_path(session_id)}/state", SessionState)).payload
        if state.session_id != session_id:
            raise self._wire.violation("the state of another session came")
        return state

    async def tools(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> ToolsListResponse:
        path = f"{session_path(session_id)}/tools"
        return (await self._wire.ask(path, ToolsListResponse, _allowing(allow_degraded))).payload

    async def models(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> ModelsResponse:
        """The session's models; an id it leaves out is refused `model_not_found`."""
        path = f"{session_path(session_id)}/models"
        return (await self._wire.ask(path, ModelsResponse, _allowing(allow_degraded))).payload

    async def close(self, session_id: str) -> None:
        await self._wire.close_session(f"{session_path(session_id)}/close")


def _adapter_path(name: str) -> str:
    return f"/adapters/{quote(name, safe='')}"


def _allowing(features: Sequence[str]) -> dict[str, Sequence[str]]:
    return {"allow_degraded": list(features)} if features else {}
