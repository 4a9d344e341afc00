"""Any request of a session by its type: for transports that carry every envelope the same way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from sayso.control.adapters.gates import verify_revision
from sayso.control.hub.hub import Hub
from sayso.control.hub.session import RESOLVES, SUBMITS, HubSession
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.core.refusal import Refused

__all__ = ("serve_request",)

Act = Callable[[HubSession, Envelope[Any]], Awaitable[Envelope[Wire]]]
Query = Callable[[Hub, Envelope[Any]], Awaitable[Envelope[Wire]]]

_ACTS: Mapping[str, Act] = {
    **dict.fromkeys(SUBMITS, HubSession.submit),
    **dict.fromkeys(RESOLVES, HubSession.resolve),
    "run.cancel.request": HubSession.cancel,
    "session.model.switch.request": HubSession.switch_model,
    "session.provider.attach.request": HubSession.attach_provider,
}
_QUERIES: Mapping[str, Query] = {
    "session.state.request": lambda hub, request: hub.state(request.payload.session_id),
    "models.request": lambda hub, request: hub.models(request.payload.session_id, allow_degraded=_allowed(request)),
    "action.tools.list.request": lambda hub, request: hub.tools(
        request.payload.session_id, allow_degraded=_allowed(request)
    ),
}


async def serve_request(hub: Hub, request: Envelope[Any]) -> Envelope[Wire]:
    """The answer. Raises `Refused`: `unknown_session`, `session_closed`, `scope_mismatch`, `stale_capabilities`,
    `unsupported_feature` for a type no session serves.
    """
    act, query = _ACTS.get(request.type), _QUERIES.get(request.type)
    if act is None and query is None:
        details = {"feature": request.type.removesuffix(".request"), "reason": "unadvertised"}
        raise Refused.because("unsupported_feature", f"{request.type} is not served here", details=details)
    session = hub.session(request.payload.session_id or "")
    if act is not None:
        return await act(session, request)
    if query is None or request.session_id not in (UNSET, request.payload.session_id):
        raise Refused.because("scope_mismatch", "envelope and payload name different sessions")
    return await _asked(hub, query, request)


async def _asked(hub: Hub, query: Query, request: Envelope[Any]) -> Envelope[Wire]:
    response = await query(hub, request)
    served = response.capability_revision
    if served is UNSET and request.capability_revision is not UNSET:  # a pin is judged and repeated, whatever is asked
        served = (await hub.probe(hub.session(request.payload.session_id).adapter_name)).revision
        response = msgspec.structs.replace(response, capability_revision=served)
    if served is not UNSET:
        verify_revision(request, served)
    return msgspec.structs.replace(response, in_reply_to=request.id)


def _allowed(request: Envelope[Any]) -> tuple[str, ...]:
    return request.payload.allow_degraded_features or ()
