"""A login flow: started by its response, told in its own sequence, ended once (OAP-076, OAP-077).

It belongs to no session and no run. The start's answer comes before every event; the terminal takes the last number.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from sayso.control.protocol.conversation import Asked, Conversation, Login, LoginState
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.machine.runs import number
from sayso.control.protocol.payloads.scalars import Wire

__all__ = ("LOGIN_TABLE", "LoginMove", "cancel_login", "login_event", "start_login")


class LoginMove(Enum):
    """What an answer or an event does to its flow."""

    START = "auth.login.start.response"
    TELL = "auth.login.event"
    END = "auth.login.completed"


LOGIN_TABLE: Mapping[tuple[LoginState, LoginMove], LoginState] = {
    (LoginState.ABSENT, LoginMove.START): LoginState.STARTED,
    (LoginState.STARTED, LoginMove.TELL): LoginState.STARTED,
    (LoginState.STARTED, LoginMove.END): LoginState.ENDED,
}


def start_login(state: Conversation, flow_id: str, asked: Asked | None, faults: Faults) -> Conversation:
    """The conversation after a flow's start was answered."""
    if flow_id in state.logins:
        faults.add("auth_flow_order", "a flow is started once")
        return state
    provider = str(getattr(asked.envelope.payload, "provider_id", "")) if asked else ""
    return msgspec.structs.replace(state, logins=state.logins.set(flow_id, Login(provider)))


def cancel_login(state: Conversation, flow_id: str, faults: Faults) -> None:
    """An accepted cancel speaks of a flow that was started."""
    if flow_id not in state.logins and not state.is_partial:
        faults.add("auth_flow_order", "a cancel of an unknown flow cannot be accepted")


def login_event(state: Conversation, envelope: Envelope[Wire], faults: Faults) -> Conversation:
    """The conversation after one event of a flow."""
    payload: Any = envelope.payload
    login = state.logins.get(payload.flow_id)
    if login is None and state.is_partial:
        login = Login(payload.provider_id)
    before = LoginState.ABSENT if login is None else login.state
    after = LOGIN_TABLE.get((before, LoginMove(envelope.type)))
    if login is None or after is None:
        faults.add("auth_flow_order", f"`{envelope.type}` cannot come while the flow is {before.value}")
        return state
    if login.provider_id not in ("", payload.provider_id):
        faults.add("scope_mismatch", "the flow was started for another provider")
    domain = f"login {payload.flow_id}"
    last = number(state.domains.get(domain, 0), envelope, faults, is_joined=state.is_partial)
    return msgspec.structs.replace(
        state,
        logins=state.logins.set(payload.flow_id, msgspec.structs.replace(login, state=after)),
        domains=state.domains.set(domain, last),
    )
