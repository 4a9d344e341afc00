"""What a person lets their agent do at a host (spec section 6; SCH-072 to SCH-089).

`schcp-mandate+jwt`, signed by the principal's key. Three shapes share one type: a buying mandate (open limits), a
closed one (`offer_sha256`: this one offer) and a management one (`bookings`: cancel and move these). Judging one is
`mandate_checks`.
"""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from sayso.core.money import MoneyText
from sayso.scheduling.terms.identity import Jwk
from sayso.scheduling.terms.wire import (
    Digest,
    HostName,
    Instant,
    OpaqueId,
    PrincipalUrn,
    Prose,
    Seconds,
    Thumbprint,
    UrlText,
)

__all__ = (
    "MANDATE_HEADER",
    "MANDATE_TYP",
    "Bound",
    "ConsentMode",
    "ConsentRecord",
    "Constraints",
    "MandateClaims",
    "Scope",
    "TimeWindow",
    "audience",
    "management_scope",
)

MANDATE_TYP = "schcp-mandate+jwt"
MANDATE_HEADER = "SchCP-Mandate"

Scope = Literal["hold", "book", "cancel", "reschedule"]
ConsentMode = Literal["human_present", "preapproved"]


class Bound(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The one agent key that may use the mandate (SCH-073)."""

    jkt: Thumbprint


class TimeWindow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A fixed-length appointment starts and ends inside; of an open-ended one the start only (SCH-078)."""

    not_before: Instant
    not_after: Instant


class Constraints(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The closed vocabulary of limits (SCH-076). A limit that is absent allows nothing of its kind."""

    services: Annotated[tuple[OpaqueId, ...], Meta(min_length=1, max_length=50)] | None = None
    window: TimeWindow | None = None
    max_price: MoneyText | None = None
    max_bookings: Annotated[int, Meta(ge=1, le=100)] | None = None
    bookings: Annotated[tuple[OpaqueId, ...], Meta(min_length=1, max_length=50)] | None = None
    offer_sha256: Digest | None = None
    shared_limit: Literal[True] | None = None


class ConsentRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether the person was there, and the exact text the key app showed (SCH-081)."""

    mode: ConsentMode
    statement: Prose


class MandateClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`aud` is one host's name, or an array of two or more; a one-member array is refused.

    `status_jwk` signs what `status` answers; the two stand together.
    """

    iss: PrincipalUrn
    aud: HostName | Annotated[tuple[HostName, ...], Meta(min_length=2, max_length=16)]
    iat: Seconds
    exp: Seconds
    jti: OpaqueId
    cnf: Bound
    principal_jwk: Jwk
    scope: Annotated[tuple[Scope, ...], Meta(min_length=1, max_length=4)]
    constraints: Constraints
    consent: ConsentRecord
    status: UrlText | None = None
    status_jwk: Jwk | None = None
    attestations: Annotated[tuple[Annotated[str, Meta(max_length=4096)], ...], Meta(max_length=4)] = ()


def management_scope(*, reconfirms: bool) -> tuple[Scope, ...]:
    """What a management mandate allows: `book` in it can only answer a reconfirmation, since it names its booking."""
    return ("book", "cancel", "reschedule") if reconfirms else ("cancel", "reschedule")


class Addressed(Protocol):
    """Whatever names its audience as a mandate does."""

    @property
    def aud(self) -> str | tuple[str, ...]: ...


def audience(claims: Addressed) -> tuple[str, ...]:
    """The hosts a mandate names, however it spells them."""
    return (claims.aud,) if isinstance(claims.aud, str) else claims.aud
