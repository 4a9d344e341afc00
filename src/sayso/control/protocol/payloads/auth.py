"""Signing in to model providers from agent control: rows, flows and their events (auth.schema.json).

No key, token, code or answer has a member here: what a person types stays with the host that asks for it (OAP-078).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, OpaqueId, Text, Wire, refuse_repeats

__all__ = (
    "AuthKind",
    "AuthLoginCancelRequest",
    "AuthLoginCancelResponse",
    "AuthLoginCompleted",
    "AuthLoginEvent",
    "AuthLoginStartRequest",
    "AuthLoginStartResponse",
    "AuthProvider",
    "AuthProvidersRequest",
    "AuthProvidersResponse",
    "AuthStatus",
    "LoginStatus",
)

AuthKind = Literal["api_key", "oauth", "none"]
AuthStatus = Literal[
    "authenticated", "login_required", "expired", "refreshing", "login_in_progress", "failed", "unknown"
]
LoginStatus = Literal["success", "failed", "cancelled"]


class AuthProvider(Wire, frozen=True, kw_only=True):
    """One provider: how it takes a credential, best way first, and how it stands with one now."""

    id: Text
    name: Text
    auth_kinds: Annotated[tuple[AuthKind, ...], Meta(min_length=1)]
    auth_status: AuthStatus
    last_error: Maybe[str] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "auth_kinds")


class AuthProvidersRequest(Wire, frozen=True, kw_only=True):
    """`auth.providers.request`."""


class AuthProvidersResponse(Wire, frozen=True, kw_only=True):
    """`auth.providers.response`."""

    providers: tuple[AuthProvider, ...]


class AuthLoginStartRequest(Wire, frozen=True, kw_only=True):
    """`auth.login.start.request`."""

    provider_id: Text


class AuthLoginStartResponse(Wire, frozen=True, kw_only=True):
    """`auth.login.start.response`: comes before any event of its flow."""

    flow_id: OpaqueId


class AuthLoginEvent(Wire, frozen=True, kw_only=True):
    """`auth.login.event`: an address to open, or how far the flow has come."""

    flow_id: OpaqueId
    provider_id: Text
    kind: Literal["url", "progress"]
    url: Maybe[Text] = UNSET
    instructions: Maybe[str] = UNSET
    message: Maybe[Text] = UNSET

    def __post_init__(self) -> None:
        if (self.url if self.kind == "url" else self.message) is UNSET:
            raise ValueError("`url` has `url`, `progress` has `message`")


class AuthLoginCancelRequest(Wire, frozen=True, kw_only=True):
    """`auth.login.cancel.request`."""

    flow_id: OpaqueId


class AuthLoginCancelResponse(Wire, frozen=True, kw_only=True):
    """`auth.login.cancel.response`: intent only."""

    flow_id: OpaqueId
    accepted: bool


class AuthLoginCompleted(Wire, frozen=True, kw_only=True):
    """`auth.login.completed`: takes the last number of its flow."""

    flow_id: OpaqueId
    provider_id: Text
    status: LoginStatus
    error: Maybe[ProtocolError] = UNSET
