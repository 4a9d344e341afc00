"""The fake sign-in flows of the memory adapter, as decisions: no credential exists, none is asked for (OAP-076..078).

Theory. A provider stands with or without a credential. A *flow* belongs to one provider and to no session; it is
*waiting* once its first events were told, and *settled* by its terminal, which takes its last number. Four providers
show the ways a flow can go: one whose browser step succeeds at once, one that waits until it is cancelled, one that
needs something typed and fails because no host prompt is here, and one that needs no credential at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from sayso.control.protocol.closing import Telling
from sayso.control.protocol.payloads.auth import (
    AuthKind,
    AuthLoginCancelResponse,
    AuthLoginCompleted,
    AuthLoginEvent,
    AuthLoginStartResponse,
    AuthProvider,
    AuthProvidersResponse,
    AuthStatus,
    LoginStatus,
)
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.core.refusal import Refused

__all__ = (
    "LOGIN_PROVIDERS",
    "TABLE",
    "Flow",
    "FlowState",
    "LoginDecision",
    "Logins",
    "cancel",
    "providers_of",
    "start",
)


class FlowState(Enum):
    """Where a flow stands."""

    ABSENT = "absent"
    WAITING = "waiting"
    """The person was shown an address; the flow waits for what happens there."""
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class LoginProvider:
    """One provider, and how its flow goes."""

    name: str
    kinds: tuple[AuthKind, ...]
    goes: str


LOGIN_PROVIDERS: Mapping[str, LoginProvider] = {
    "memory-browser": LoginProvider("Signs in at once", ("oauth",), "succeeds"),
    "memory-code": LoginProvider("Needs a key typed in", ("api_key",), "needs input"),
    "memory-open": LoginProvider("Needs no credential", ("none",), "succeeds"),
    "memory-patient": LoginProvider("Waits until it is cancelled", ("oauth", "api_key"), "waits"),
}


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow; `told` is the number of its last event."""

    provider_id: str
    state: FlowState = FlowState.ABSENT
    told: int = 0


@dataclass(frozen=True, slots=True)
class Logins:
    """All flows, and the providers that have a credential."""

    flows: Mapping[str, Flow] = field(default_factory=dict)
    signed_in: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LoginDecision:
    """What one request changes: the new state, the answer, and the flow's tellings."""

    logins: Logins
    reply: AuthLoginStartResponse | AuthLoginCancelResponse
    flow_id: str
    tellings: tuple[Telling, ...] = ()


def start(logins: Logins, provider_id: str) -> LoginDecision:
    """A new flow. Raises `Refused` `unknown_provider`."""
    provider = LOGIN_PROVIDERS.get(provider_id)
    if provider is None:
        raise Refused.because("unknown_provider", "no provider has this id", details={"provider_id": provider_id})
    flow_id = f"flow{len(logins.flows) + 1}"
    flow = Flow(provider_id)
    act = TABLE[FlowState.ABSENT, provider.goes]
    logins, tellings = act(logins, flow_id, flow)
    return LoginDecision(logins, AuthLoginStartResponse(flow_id=flow_id), flow_id, tellings)


def cancel(logins: Logins, flow_id: str) -> LoginDecision:
    """The wish to end a flow; one that has settled is left as it is. Raises `Refused` `unknown_login`."""
    flow = logins.flows.get(flow_id)
    if flow is None:
        raise Refused.because("unknown_login", "no login has this id")
    act = TABLE.get((flow.state, "cancel"))
    tellings: tuple[Telling, ...] = ()
    if act is not None:
        logins, tellings = act(logins, flow_id, flow)
    return LoginDecision(logins, AuthLoginCancelResponse(flow_id=flow_id, accepted=act is not None), flow_id, tellings)


def providers_of(logins: Logins) -> AuthProvidersResponse:
    """How every provider stands now."""
    waiting = {flow.provider_id for flow in logins.flows.values() if flow.state is FlowState.WAITING}
    return AuthProvidersResponse(
        providers=tuple(
            AuthProvider(
                id=name, name=row.name, auth_kinds=row.kinds, auth_status=_status(name, row, logins.signed_in, waiting)
            )
            for name, row in LOGIN_PROVIDERS.items()
        )
    )


def _status(name: str, row: LoginProvider, signed_in: frozenset[str], waiting: set[str]) -> AuthStatus:
    if "none" in row.kinds or name in signed_in:
        return "authenticated"
    return "login_in_progress" if name in waiting else "login_required"


Act = Callable[[Logins, str, Flow], tuple[Logins, tuple[Telling, ...]]]


def _succeed(logins: Logins, flow_id: str, flow: Flow) -> tuple[Logins, tuple[Telling, ...]]:
    """An address, progress, then success."""
    logins = replace(logins, signed_in=logins.signed_in | {flow.provider_id})
    progress = AuthLoginEvent(
        flow_id=flow_id, provider_id=flow.provider_id, kind="progress", message="The browser step is done"
    )
    told = (_address(flow_id, flow), Telling("auth.login.event", progress), _settled(flow_id, flow, "success"))
    return _after(logins, flow_id, flow, FlowState.SETTLED, told)


def _wait(logins: Logins, flow_id: str, flow: Flow) -> tuple[Logins, tuple[Telling, ...]]:
    """An address; the flow waits."""
    return _after(logins, flow_id, flow, FlowState.WAITING, (_address(flow_id, flow),))


def _need_input(logins: Logins, flow_id: str, flow: Flow) -> tuple[Logins, tuple[Telling, ...]]:
    """Fails `auth_input_unavailable`."""
    error = ProtocolError(
        code="auth_input_unavailable", message="this flow needs a key typed in, and no prompt is here"
    )
    return _after(logins, flow_id, flow, FlowState.SETTLED, (_settled(flow_id, flow, "failed", error),))


def _stop(logins: Logins, flow_id: str, flow: Flow) -> tuple[Logins, tuple[Telling, ...]]:
    """Ends cancelled"""
    return _after(logins, flow_id, flow, FlowState.SETTLED, (_settled(flow_id, flow, "cancelled"),))


def _after(
    logins: Logins, flow_id: str, flow: Flow, state: FlowState, told: tuple[Telling, ...]
) -> tuple[Logins, tuple[Telling, ...]]:
    flow = replace(flow, state=state, told=flow.told + len(told))
    return replace(logins, flows={**logins.flows, flow_id: flow}), told


def _address(flow_id: str, flow: Flow) -> Telling:
    url = f"https://sayso.example/login/{flow_id}"
    event = AuthLoginEvent(flow_id=flow_id, provider_id=flow.provider_id, kind="url", url=url)
    return Telling("auth.login.event", event)


def _settled(flow_id: str, flow: Flow, status: LoginStatus, error: Maybe[ProtocolError] = UNSET) -> Telling:
    completed = AuthLoginCompleted(flow_id=flow_id, provider_id=flow.provider_id, status=status, error=error)
    return Telling("auth.login.completed", completed)


TABLE: Mapping[tuple[FlowState, str], Act] = {
    (FlowState.ABSENT, "succeeds"): _succeed,
    (FlowState.ABSENT, "waits"): _wait,
    (FlowState.ABSENT, "needs input"): _need_input,
    (FlowState.WAITING, "cancel"): _stop,
}
"""What a start or a cancel does; a pair that is not here changes nothing."""
