"""The narrow string types that documents of this protocol are built from (spec section 2).

Only shapes are judged here; whether an instant exists, a zone is known or a duration is exact is decided by
`sayso.core` when the value is read. Every struct of the protocol is closed: an unknown member is refused at any depth.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

__all__ = (
    "VERSION",
    "Digest",
    "DomainName",
    "DurationText",
    "HostId",
    "HostName",
    "IdempotencyKey",
    "Instant",
    "LocalInstant",
    "OpaqueId",
    "PrincipalUrn",
    "Prose",
    "Seconds",
    "Sentence",
    "Thumbprint",
    "Token",
    "UrlText",
    "UtcInstant",
    "VersionName",
    "Words",
    "ZoneName",
    "whole",
)

VERSION = "0.4"
"""The one version of the protocol spoken here (SCH-013)."""


def whole(pattern: str) -> str:
    """A pattern for the whole text. Python's `$` would let one more newline pass, which ECMA's does not."""
    return rf"^{pattern}$(?!\n)"


_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
# No control characters, no line or paragraph separators, nothing that turns text round or is invisible: these words
# stand in sentences that a person signs.
_PLAIN = "[^\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]"

HostId = Annotated[str, Meta(pattern=whole(_LABEL))]
"""The bare id of a host, unique at the domain that vouches for it."""

DomainName = Annotated[str, Meta(pattern=whole(f"{_LABEL}([.]{_LABEL})+"), max_length=253)]
"""A DNS name in lower case, A-labels only."""

HostName = Annotated[str, Meta(pattern=whole(f"{_LABEL}@{_LABEL}([.]{_LABEL})+"), max_length=317)]
"""A host's global name, `<host id>@<domain that vouches for it>` (SCH-028, SCH-046)."""

PrincipalUrn = Annotated[str, Meta(pattern=whole("urn:schcp:principal:jwk-thumbprint:[A-Za-z0-9_-]{43}"))]
"""Who a person is: the RFC 7638 thumbprint of their key (SCH-016)."""

Thumbprint = Annotated[str, Meta(pattern=whole("[A-Za-z0-9_-]{43}"))]
"""RFC 7638 SHA-256 thumbprint of a public key."""

Digest = Annotated[str, Meta(pattern=whole("[A-Za-z0-9_-]{43}"))]
"""SHA-256 as unpadded base64url, 43 characters (SCH-163)."""

Token = Annotated[str, Meta(pattern=whole("[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+"), max_length=32768)]
"""A compact JWS. A receipt may hold a signed answer and all participants; an event holds a receipt."""

Instant = Annotated[
    str,
    Meta(
        pattern=whole("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})"),
        max_length=40,
    ),
]
"""RFC 3339 with an offset (SCH-275)."""

UtcInstant = Annotated[str, Meta(pattern=whole("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"))]
"""A JSCalendar UTCDateTime without a fraction."""

LocalInstant = Annotated[str, Meta(pattern=whole("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"))]
"""A JSCalendar LocalDateTime: wall-clock time in the zone named beside it."""

DurationText = Annotated[str, Meta(pattern=whole("P[0-9WDTHMS]+"), max_length=32)]
"""An exact ISO 8601 duration: weeks, days, hours, minutes and seconds only (SCH-274)."""

ZoneName = Annotated[str, Meta(pattern=whole("[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*"), max_length=64)]
"""An IANA zone name."""

OpaqueId = Annotated[str, Meta(pattern=whole("[A-Za-z0-9_-]{1,64}"))]
"""An id somebody minted; never a lookup key by itself when a caller picked it (SCH-020)."""

IdempotencyKey = Annotated[str, Meta(pattern=whole("[A-Za-z0-9_-]{8,64}"))]
"""One intent's key, the same on every retry of it (SCH-063)."""

VersionName = Annotated[str, Meta(pattern=whole("[0-9]+[.][0-9]+"), max_length=16)]
"""A version of the protocol, `0.4`."""

Words = Annotated[str, Meta(pattern=whole(f"(?! ){_PLAIN}+(?<! )"), min_length=1, max_length=200)]
"""One line of everyday words, nothing invisible in it, no space at either end."""

Sentence = Annotated[str, Meta(pattern=whole(f"{_PLAIN}+"), min_length=1, max_length=500)]
"""A sentence or two of somebody's own words."""

Prose = Annotated[str, Meta(pattern=whole(f"{_PLAIN}+"), min_length=1, max_length=2000)]
"""One paragraph of words."""

UrlText = Annotated[str, Meta(pattern=whole("https://[!-~]+"), max_length=2048)]
"""An https URL in printable ASCII."""

Seconds = Annotated[int, Meta(ge=0, le=253402300799)]
"""A NumericDate: whole seconds since the epoch, up to the year 9999."""
