"""A hub over HTTP and server-sent events: what other processes use, and what attaches to a running hub.

A stream is resumed behind the last event that was seen whole, however it was cut: an event counts once its blank line
arrived. So each event comes once and in order, or the gap is told. Only a terminal, a closed session or a refusal ends
a stream. `record` sees every envelope that was sent or received.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import anyio
import httpx2

from sayso.control.client.contract import Said
from sayso.control.client.requests import (
    answered,
    cancel_request,
    open_request,
    refusal_of,
    resolve_request,
    submit_request,
)
from sayso.control.protocol.envelope import Envelope, read_envelope, write_envelope
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolveResponse, ToolsListResponse
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.run import RunCancelResponse
from sayso.control.protocol.payloads.scalars import JsonObject, Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse, SessionState
from sayso.control.protocol.signals import (
    OVERFLOW,
    REPLAY_GAP,
    SUBSCRIBED,
    TERMINALS,
    JoinedSignal,
    ReplayGapSignal,
)
from sayso.core import strictjson
from sayso.core.frames import SseEvent
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.net.eventstream import read_events

__all__ = ("HubClient",)

_ATTEMPTS = 6
"""How often a stream is taken up again without a single new event before the hub counts as gone."""
_FIRST_PAUSE = 0.05
"""Seconds before a cut stream is taken up again; they double with each attempt in vain."""
_ANSWER_SECONDS = 60.0
_SILENCE_SECONDS = 60.0
"""The hub sends a comment every 15 seconds; a minute without a byte is a dead connection."""
_JSON = {"content-type": "application/json"}

T = TypeVar("T", bound=Wire)


@dataclass(slots=True)
class _Position:
    """Where a stream stands: the cursor to resume at, and whether the stream is over."""

    run_id: str | None
    after: int | None
    is_over: bool = False
    was_open: bool = False

    @property
    def query(self) -> dict[str, str]:
        if self.after is None:
            return {}
        return {"after": str(self.after), **({"run_id": self.run_id} if self.run_id else {})}


class HubClient:
    """An `AgentClient` over `url`, such as `http://127.0.0.1:6270`. Use as `async with`."""

    def __init__(
        self,
        url: str,
        *,
        ids: Ids,
        record: Callable[[Envelope[Wire]], None] | None = None,
        first_pause: float = _FIRST_PAUSE,
    ) -> None:
        self._first_pause = first_pause
        self._peer = url
        self._ids = ids
        self._record = record or (lambda _envelope: None)
        timeout = httpx2.Timeout(_ANSWER_SECONDS, read=_SILENCE_SECONDS)
        self._http = httpx2.AsyncClient(base_url=url, trust_env=False, timeout=timeout)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    async def capabilities(self, adapter: str) -> CapabilitiesResponse:
        return await self._get(f"/adapters/{quote(adapter, safe='')}/capabilities", CapabilitiesResponse)

    async def open(
        self, adapter: str, *, session_id: str | None = None, metadata: JsonObject | None = None
    ) -> SessionState:
        request = open_request(self._ids, session_id, metadata)
        return await self._post(f"/adapters/{quote(adapter, safe='')}/sessions", request, SessionState)

    async def submit(self, session_id: str, said: Said, *, delivery: str = "auto") -> MessageSubmitResponse:
        request = submit_request(self._ids, session_id, said, delivery)
        return await self._post(f"{_path(session_id)}/submit", request, MessageSubmitResponse)

    async def resolve(
        self,
        asked: Envelope[PermissionRequested],
        *,
        granted: bool,
        signed: str | None = None,
        reason: str | None = None,
    ) -> PermissionResolveResponse:
        request = resolve_request(self._ids, asked, granted=granted, signed=signed, reason=reason)
        return await self._post(f"{_path(asked.payload.session_id)}/resolve", request, PermissionResolveResponse)

    async def cancel(self, session_id: str, run_id: str, *, reason: str | None = None) -> RunCancelResponse:
        request = cancel_request(self._ids, session_id, run_id, reason)
        return await self._post(f"{_path(session_id)}/cancel", request, RunCancelResponse)

    async def state(self, session_id: str) -> SessionState:
        return await self._get(f"{_path(session_id)}/state", SessionState)

    async def tools(self, session_id: str) -> ToolsListResponse:
        return await self._get(f"{_path(session_id)}/tools", ToolsListResponse)

    async def close(self, session_id: str) -> None:
        response = await self._send("POST", f"{_path(session_id)}/close")
        if response.status_code != 204:
            refused = answered(self._envelope(response.content), ErrorResponse, self._peer)
            raise PeerRefused(self._peer, refusal_of(refused))

    async def events(
        self, session_id: str, *, run_id: str | None = None, after: int | None = None
    ) -> AsyncGenerator[Envelope[Wire]]:
        position = _Position(run_id, after)
        failures = 0
        while not position.is_over:
            try:
                async with aclosing(self._stream(session_id, position)) as envelopes:
                    async for envelope in envelopes:
                        failures = 0
                        yield envelope
            except (httpx2.TransportError, OSError) as error:
                failures += 1
                if failures >= _ATTEMPTS:
                    raise PeerUnreachable(self._peer, type(error).__name__) from None
                await anyio.sleep(self._first_pause * 2**failures)

    # --- one stream ---

    async def _stream(self, session_id: str, position: _Position) -> AsyncGenerator[Envelope[Wire]]:
        """One connection's events; moves `position` behind each, and marks it over when nothing can follow."""
        url = f"{_path(session_id)}/events"
        async with self._http.stream("GET", url, params=position.query) as response:
            if response.status_code != 200:
                self._refuse_stream(await response.aread(), position)
                return
            is_first, position.was_open = not position.was_open, True
            async for event in self._read(response):
                if event.event == "message":
                    yield self._event(event, position)
                elif self._signalled(event, position, is_first=is_first):
                    return
        if not position.is_over:
            raise httpx2.RemoteProtocolError("the stream ended before its run")

    async def _read(self, response: httpx2.Response) -> AsyncGenerator[SseEvent]:
        try:
            async for event in read_events(response.aiter_raw()):
                yield event
        except Refused as refused:
            raise PeerRefused(self._peer, refused.refusal) from None

    def _event(self, event: SseEvent, position: _Position) -> Envelope[Wire]:
        envelope = self._envelope(event.data)
        run_id, sequence = str(envelope.run_id), int(envelope.sequence or 0)
        if event.id != str(sequence):
            raise self._violation("an event stands under another number than its own")
        if position.after is not None:
            expected = position.after + 1 if position.run_id in (None, run_id) else 1
            if sequence != expected:
                raise self._violation(f"event {sequence} came where event {expected} was due")
        position.run_id, position.after = run_id, sequence
        position.is_over = envelope.type in TERMINALS
        return envelope

    def _signalled(self, event: SseEvent, position: _Position, *, is_first: bool) -> bool:
        """Whether this signal ends the connection."""
        if event.event == REPLAY_GAP:
            gap = self._decoded(event.data, ReplayGapSignal)
            details = {"oldest_available": gap.oldest_available, "latest_available": gap.latest_available}
            refusal = Refusal(code="replay_gap", message="events after the cursor are no longer kept", details=details)
            raise PeerRefused(self._peer, refusal)
        if event.event == SUBSCRIBED:
            joined = self._decoded(event.data, JoinedSignal)
            position.run_id = joined.run_id
            # The first connection asked for what comes now. A later one lost a connection on which nothing had come
            # yet: the run began meanwhile, and what it has told is owed from its start.
            position.after = joined.joined_after if is_first else 0
            return not is_first
        return event.event == OVERFLOW

    def _decoded(self, data: bytes, type_: type[T]) -> T:
        try:
            return strictjson.decode(data, type_)
        except Refused as refused:
            raise PeerRefused(self._peer, refused.refusal) from None

    def _refuse_stream(self, body: bytes, position: _Position) -> None:
        refusal = refusal_of(answered(self._envelope(body), ErrorResponse, self._peer))
        if refusal.code == "unknown_session" and position.was_open:
            position.is_over = True  # it was closed while we listened, which ends a stream without a word
            return
        raise PeerRefused(self._peer, refusal)

    # --- one exchange ---

    async def _post(self, path: str, request: Envelope[Wire], payload: type[T]) -> T:
        self._record(request)
        response = await self._send("POST", path, content=write_envelope(request), headers=_JSON)
        envelope = self._envelope(response.content)
        if envelope.in_reply_to != request.id:
            raise self._violation("the answer names another request")
        return answered(envelope, payload, self._peer)

    async def _get(self, path: str, payload: type[T]) -> T:
        response = await self._send("GET", path)
        return answered(self._envelope(response.content), payload, self._peer)

    async def _send(
        self, method: str, path: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        try:
            return await self._http.request(method, path, content=content, headers=headers)
        except (httpx2.TransportError, OSError) as error:
            raise PeerUnreachable(self._peer, type(error).__name__) from None

    def _envelope(self, data: bytes) -> Envelope[Wire]:
        try:
            envelope = read_envelope(data)
        except Refused as refused:
            raise PeerRefused(self._peer, refused.refusal) from None
        self._record(envelope)
        return envelope

    def _violation(self, message: str) -> PeerRefused:
        return PeerRefused(self._peer, Refusal(code="protocol_violation", message=message))


def _path(session_id: str) -> str:
    return f"/sessions/{quote(session_id, safe='')}"
