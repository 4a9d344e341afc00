"""Signing in to a provider from a program: a flow is begun and watched, and nothing secret ever crosses (OAP-076, 201).

A login carries the provider's name and no more. Whatever a flow wants of a person it asks where they are: in a browser,
or on another device. A flow that needs something typed fails with `auth_input_unavailable`.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import anyio

from sayso.control.client.endpoint import EndpointClient
from sayso.control.client.errors import ServerError
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.auth import (
    AuthLoginCancelRequest,
    AuthLoginCancelResponse,
    AuthLoginCompleted,
    AuthLoginEvent,
    AuthLoginStartRequest,
    AuthLoginStartResponse,
    AuthProvider,
    AuthProvidersRequest,
    AuthProvidersResponse,
)
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal

__all__ = ("LoginClient", "LoginWatcher")

_CANCEL_SECONDS = 5.0
_EARLY_FLOWS = 64
"""Whose events are kept before anybody follows them: they may come before the answer that names their flow."""

LoginWatcher = Callable[[AuthLoginEvent], Awaitable[None] | None]
"""Shown each address to open and how far the flow has come."""


@dataclass(slots=True)
class _Flow:
    told: deque[AuthLoginEvent | AuthLoginCompleted] = field(default_factory=deque)
    more: anyio.Event = field(default_factory=anyio.Event)
    is_followed: bool = False


class LoginClient:
    """The sign-in half of an SDK client."""

    def __init__(self, client: EndpointClient, ids: Ids, watch: LoginWatcher | None = None) -> None:
        self._client = client
        self._ids = ids
        self._watch = watch
        self._flows: dict[str, _Flow] = {}
        client.pipe.listeners.append(self._told)
        client.pipe.endings.append(self._wake)

    async def providers(self) -> tuple[AuthProvider, ...]:
        """What one can sign in to, and how each stands."""
        answer = await self._client.exchange(
            self._request("auth.providers.request", AuthProvidersRequest()), AuthProvidersResponse
        )
        return answer.providers

    async def login(self, provider_id: str, watch: LoginWatcher | None = None) -> AuthLoginCompleted:
        """Signs in. `watch` sees the flow's events, or else who watches this client's logins.

        Raises `ServerError` with the flow's code for one that failed, `login_cancelled` for one that was stopped.
        """
        payload = AuthLoginStartRequest(provider_id=provider_id)
        started = await self._client.exchange(
            self._request("auth.login.start.request", payload), AuthLoginStartResponse
        )
        is_over = False
        try:
            ended = await self._follow(started.flow_id, watch or self._watch)
            is_over = True
        finally:
            self._flows.pop(started.flow_id, None)
            if not is_over:
                await self._give_up(started.flow_id)
        return self._judged(ended)

    async def cancel(self, flow_id: str) -> bool:
        """Wishes a flow to end; whether that is still possible."""
        payload = AuthLoginCancelRequest(flow_id=flow_id)
        request = self._request("auth.login.cancel.request", payload)
        return (await self._client.exchange(request, AuthLoginCancelResponse)).accepted

    async def _give_up(self, flow_id: str) -> None:
        """Nobody waits for the flow any more, whatever came between."""
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True), suppress(PeerRefused, PeerUnreachable):
            await self.cancel(flow_id)

    async def _follow(self, flow_id: str, watch: LoginWatcher | None) -> AuthLoginCompleted:
        flow = self._flows.setdefault(flow_id, _Flow())
        flow.is_followed = True
        while True:
            while not flow.told:
                self._client.pipe.verify_open()
                await flow.more.wait()
            told = flow.told.popleft()
            if isinstance(told, AuthLoginCompleted):
                return told
            shown = watch(told) if watch is not None else None
            if inspect.isawaitable(shown):
                await shown

    def _judged(self, ended: AuthLoginCompleted) -> AuthLoginCompleted:
        if ended.status == "success":
            return ended
        if ended.error is not UNSET:
            refusal = Refusal(code=ended.error.code, message=ended.error.message, details=ended.error.details or {})
        else:
            refusal = Refusal(code="login_cancelled", message=f"the sign-in to {ended.provider_id} was stopped")
        raise ServerError(self._client.pipe.peer, refusal)

    def _told(self, envelope: Envelope[Wire]) -> None:
        payload = envelope.payload
        if isinstance(payload, AuthLoginEvent | AuthLoginCompleted):
            self._flows.setdefault(payload.flow_id, _Flow()).told.append(payload)
            self._forget()
            self._wake()

    def _forget(self) -> None:
        """Of flows that nobody follows, such as those that were given up, only the latest are kept."""
        unread = [flow_id for flow_id, flow in self._flows.items() if not flow.is_followed]
        for flow_id in unread[: max(0, len(unread) - _EARLY_FLOWS)]:
            del self._flows[flow_id]

    def _wake(self) -> None:
        for flow in self._flows.values():
            more, flow.more = flow.more, anyio.Event()
            more.set()

    def _request(self, name: str, payload: Wire) -> Envelope[Wire]:
        return Envelope(type=name, id=self._ids.new("req"), payload=payload)
