"""One model behind one vendor's wire: where it is, how it is asked, and whose credential goes there.

A value that an operator's settings or the catalog make; no request changes any of it. The credential is a callable and
never a text, so a value that is printed, logged or compared holds no secret.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from sayso.control.protocol.payloads.provider import WireCompatibility
from sayso.core.refusal import Refused

__all__ = (
    "Auth",
    "Credential",
    "Limits",
    "Offering",
    "Renewal",
    "Thinking",
    "WireName",
    "origin_of",
    "verify_offering",
)

WireName = Literal[
    "openai-chat-completions",
    "openai-responses",
    "openai-codex-responses",
    "anthropic-messages",
    "google-generate-content",
]
Auth = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key"]
Thinking = Literal["effort", "budget"]
Credential = Callable[[], Awaitable[str | None]]
"""Asked before every attempt, so that a refreshed token is used at once; None is: there is none now."""
Renewal = Callable[[str], Awaitable[str | None]]
"""Told a credential that the vendor answered 401 or 403 to, once an inference; another one, or None."""

_SCHEMES = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one inference may cost in attempts, time and bytes. Times are seconds."""

    attempts: int = 4
    """How often the request is sent at most."""
    first_wait: float = 0.5
    """The wait before the second attempt; it doubles. A vendor's Retry-After is a floor under it."""
    longest_wait: float = 30.0
    """A vendor that asks for more than this is not waited for; the caller is told what it asked."""
    total_wait: float = 60.0
    """All waits together."""
    connect_seconds: float = 15.0
    idle_seconds: float = 300.0
    """How long a stream may be silent."""
    answer_bytes: int = 64 * 1024 * 1024
    error_bytes: int = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering:
    """`id` is the provider's name, `model` the vendor's name for the model. `auth` None takes the wire's own way;
    `credential` None asks anonymously. `max_output_tokens` is sent where a wire must have one and the request names
    none. `thinking` says whether the model takes reasoning as a level or as a number of tokens. `caches_prompts` is for
    Anthropic's wire alone: whether what stays is marked for the vendor's cache; the others need no marks.
    `keeps_thoughts` is for OpenAI's responses: whether reasoning is asked for encrypted, to go back with the next turn.
    """

    id: str
    wire: WireName
    base_url: str
    model: str
    model_ref: str | None = None
    credential: Credential | None = field(default=None, repr=False)
    renew: Renewal | None = field(default=None, repr=False)
    auth: Auth | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: Limits = field(default_factory=Limits)
    compatibility: WireCompatibility = field(default_factory=WireCompatibility)
    max_output_tokens: int | None = None
    thinking: Thinking = "effort"
    caches_prompts: bool = True
    keeps_thoughts: bool = True

    @property
    def refs(self) -> frozenset[str]:
        """What a request may call the model."""
        return frozenset(filter(None, (self.model_ref, self.model, f"{self.id}/{self.model}")))


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an http or https URL. Refused `config_invalid`."""
    parts = _split(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or _SCHEMES[scheme]


def verify_offering(offering: Offering) -> None:
    """Refused `config_invalid`: a base URL that is no plain http or https address, or one that would carry a
    credential in the clear beyond this machine. Refused `credential_in_headers` and `header_not_allowed` for headers.
    """
    parts = _split(offering.base_url)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise Refused.because("config_invalid", "a base URL has no user, query or fragment", place="$.base_url")
    if parts.scheme.lower() == "http" and offering.credential is not None and not _is_loopback(parts.hostname or ""):
        raise Refused.because(
            "config_invalid",
            "a credential goes over plain HTTP to this machine only",
            reason="insecure",
            place="$.base_url",
            help="Use an https URL.",
        )


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise Refused.because("config_invalid", "this is no URL", place="$.base_url") from None
    if parts.scheme.lower() not in _SCHEMES or not parts.hostname or not url.isascii() or not url.isprintable():
        raise Refused.because("config_invalid", "a base URL is http or https with a host", place="$.base_url")
    return parts


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
