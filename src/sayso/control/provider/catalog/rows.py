"""The catalog as typed values: one row an offering, which is not a vendor (OAP-140, OAP-142, OAP-143).

Every member but `id` may be absent, and absent means unknown: nothing is filled in that nobody said. The same shapes
are printed as `catalog.schema.json`. What has to fit together across members is judged in `coherence`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = (
    "KEY_WIRES",
    "AuthKind",
    "BaseUrlSource",
    "Catalog",
    "CredentialSource",
    "Endpoint",
    "KeyHeader",
    "KnownModel",
    "OAuthFlow",
    "OAuthOrigin",
    "OfferingKind",
    "Preset",
    "Row",
    "Status",
    "WireName",
)

AuthKind = Literal["api_key", "oauth", "none"]
OfferingKind = Literal["coding_plan", "subscription", "api_key"]
Status = Literal["current", "supported", "withheld"]
BaseUrlSource = Literal["static", "credential", "derived", "local_default"]
CredentialSource = Literal["environment", "stored"]
KeyHeader = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key"]
WireName = Literal[
    "openai-chat-completions",
    "openai-responses",
    "openai-codex-responses",
    "anthropic-messages",
    "google-generate-content",
]

KEY_WIRES: dict[WireName, KeyHeader] = {
    "openai-chat-completions": "bearer",
    "openai-responses": "bearer",
    "openai-codex-responses": "bearer",
    "anthropic-messages": "x-api-key",
    "google-generate-content": "x-goog-api-key",
}
"""How a key travels on a wire, unless its row says otherwise."""

Text = Annotated[str, Meta(min_length=1, max_length=500)]
Id = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")]
VariableName = Annotated[str, Meta(pattern=r"^[A-Z][A-Z0-9_]{0,99}$")]
Url = Annotated[str, Meta(pattern=r"^https?://[^\s?#@]+[^\s?#@/]$", max_length=2000)]
Page = Annotated[str, Meta(pattern=r"^https://\S+$", max_length=2000)]
Path = Annotated[str, Meta(pattern=r"^/[^\s?#]+$", max_length=200)]
Origin = Annotated[str, Meta(pattern=r"^https?://[^\s/?#@]+$", max_length=300)]
HeaderName = Annotated[str, Meta(pattern=r"^x-[a-z0-9-]{1,60}$")]
Domain = Annotated[str, Meta(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$", max_length=253)]
Tokens = Annotated[int, Meta(ge=1, le=2**53 - 1)]


class _Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Endpoint(_Member, frozen=True, kw_only=True):
    """`carries_version`: the base URL already ends where the wire's own path begins, so no `/v1` goes between."""

    wire: WireName
    base_url: Url
    region: Text | None = None
    carries_version: bool = False


class OAuthOrigin(_Member, frozen=True, kw_only=True):
    """Where an OAuth token of the row may be sent, beside what the operator allows (OAP-153)."""

    exact: tuple[Origin, ...] = ()
    domain: Domain | None = None
    credential_declares_origin: bool = False


class OAuthFlow(_Member, frozen=True, kw_only=True):
    """How to sign in. The client id is the operator's own, out of `client_id_env`, or, for a custom provider, given.

    With `device_endpoint` a code is typed on another device (RFC 8628); with `authorization_endpoint` a browser comes
    back to loopback (RFC 8252) at `redirect_port` (absent: any free one) and `redirect_path`.
    """

    token_endpoint: Page
    authorization_endpoint: Page | None = None
    device_endpoint: Page | None = None
    client_id: Text | None = None
    client_id_env: VariableName | None = None
    scopes: tuple[Text, ...] = ()
    redirect_host: Literal["127.0.0.1", "localhost"] = "127.0.0.1"
    redirect_port: Annotated[int, Meta(ge=1024, le=65535)] | None = None
    redirect_path: Path = "/callback"


class KnownModel(_Member, frozen=True, kw_only=True):
    """A model the row knows without asking; `id` is the vendor's spelling."""

    id: Text
    name: Text | None = None
    context_window: Tokens | None = None
    max_tokens: Tokens | None = None


class Row(_Member, frozen=True, kw_only=True):
    """One offering. `models_endpoint` is appended to a base URL as text, and never joined to its origin (OAP-144)."""

    id: Id
    display_name: Text | None = None
    auth: tuple[AuthKind, ...] = ()
    offering: OfferingKind | None = None
    status: Status = "supported"
    credential_env: tuple[VariableName, ...] = ()
    bearer_env: tuple[VariableName, ...] = ()
    """Those of `credential_env` that hold a token, which goes as a bearer whatever the wire does with keys."""
    base_url_env: tuple[VariableName, ...] = ()
    region_env: VariableName | None = None
    default_region: Text | None = None
    wires: tuple[WireName, ...] = ()
    base_url_source: BaseUrlSource | None = None
    endpoints: tuple[Endpoint, ...] = ()
    key_header: KeyHeader | None = None
    session_header: HeaderName | None = None
    """A header in which the vendor wants an id of its own for whoever talks, by which it keeps their cache together."""
    models_endpoint: Path | None = None
    models_dev: Text | None = None
    context_window: Tokens | None = None
    max_tokens: Tokens | None = None
    max_context_window: Tokens | None = None
    models: tuple[KnownModel, ...] = ()
    credential_precedence: tuple[CredentialSource, ...] = ()
    oauth_origin: OAuthOrigin | None = None
    oauth: OAuthFlow | None = None
    docs: Page | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.display_name or self.id

    @property
    def is_offered(self) -> bool:
        """Whether it may be used; a withheld row only keeps its id from being taken."""
        return self.status != "withheld"

    @property
    def precedence(self) -> tuple[CredentialSource, ...]:
        """Where its credential is looked for, in order (OAP-152)."""
        return self.credential_precedence or ("environment", "stored")


class Preset(_Member, frozen=True, kw_only=True):
    """A configuration somebody may copy, with how well it is evidenced. No row, and nothing reaches it by itself."""

    id: Id
    group: Id
    wire: WireName
    base_url: Url
    request_path: Path
    model: Text
    evidence: Literal["documented_control", "documented_configuration", "compatibility_candidate"]
    docs: Page


class Catalog(_Member, frozen=True, kw_only=True):
    """The whole document."""

    providers: Annotated[tuple[Row, ...], Meta(min_length=1)]
    presets: tuple[Preset, ...] = ()
    models_dev_url: Page | None = None
    """Where models.dev publishes limits and deprecations as one JSON document."""
