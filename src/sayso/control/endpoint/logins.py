"""The authentication unit of an endpoint: it belongs to the adapter and to no session (OAP-076, 077)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog

from sayso.control.adapters.contract import Authenticates
from sayso.control.adapters.gates import verify_feature
from sayso.control.hub.answers import answer
from sayso.control.hub.hub import Hub
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.ids import Ids
from sayso.core.refusal import Refused

__all__ = ("Logins",)

_log = structlog.get_logger(__name__)


class Logins:
    """Requests about logins, and their events to `told`."""

    def __init__(self, hub: Hub, name: str, ids: Ids, told: Callable[[Envelope[Wire]], None]) -> None:
        self._hub = hub
        self._name = name
        self._ids = ids
        self._told = told

    async def providers(self, request: Envelope[Any]) -> Envelope[Wire]:
        adapter = self._adapter("auth.providers")
        verify_feature(request, await self._hub.probe(self._name), "auth.providers")
        return await self._answer(request, await adapter.auth_providers())

    async def start(self, request: Envelope[Any]) -> Envelope[Wire]:
        """The flow's events are told by `tell`, once the answer is out."""
        return await self._answer(request, await self._adapter("auth.login").login(request))

    async def cancel(self, request: Envelope[Any]) -> Envelope[Wire]:
        return await self._answer(request, await self._adapter("auth.login").cancel_login(request))

    async def tell(self, flow_id: str) -> None:
        """A flow's events to its terminal."""
        try:
            async for envelope in self._adapter("auth.login").login_events(flow_id):
                self._told(envelope)
        except Refused as refused:
            _log.error("login_events_refused", code=refused.refusal.code)

    def _adapter(self, feature: str) -> Authenticates:
        adapter = self._hub.adapter(self._name)
        if not isinstance(adapter, Authenticates):
            details = {"feature": feature, "reason": "unadvertised"}
            raise Refused.because("unsupported_feature", f"{feature} is not offered here", details=details)
        return adapter

    async def _answer(self, request: Envelope[Any], payload: Wire) -> Envelope[Wire]:
        return answer(request, payload, self._ids, (await self._hub.probe(self._name)).revision)
