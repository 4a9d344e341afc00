"""The host-signed offer, which is the contract (spec section 9; SCH-158 to SCH-170).

`schcp-offer+jwt`. Self-contained: no binding term stands outside its bytes. Its hash is SHA-256 over the compact
token's ASCII bytes. Judging one is `offer_checks`; its words are `consent_text`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.core.money import MoneyText
from sayso.scheduling.terms.participant import Answers, OfferedInvitation, Participants
from sayso.scheduling.terms.place import Place
from sayso.scheduling.terms.reconfirm import Reconfirmation
from sayso.scheduling.terms.wire import (
    Digest,
    DurationText,
    HostName,
    Instant,
    OpaqueId,
    PrincipalUrn,
    Seconds,
    Thumbprint,
    Words,
    ZoneName,
)

__all__ = ("OFFER_TYP", "Change", "Line", "OfferClaims", "OfferedService")

OFFER_TYP = "schcp-offer+jwt"


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One part of an all-in total (SCH-270). There is no kind for cancelling, not coming or coming late (SCH-165)."""

    kind: Literal["service", "fee", "surcharge", "person", "tax"]
    title: Words
    amount: MoneyText


class OfferedService(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The service as it was named when the offer was signed."""

    id: OpaqueId
    title: Words


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a change offer replaces: which booking, and the hash of the contract it stands on (SCH-164)."""

    booking_id: OpaqueId
    replaces: Digest


class OfferClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The terms. `iss` the host, `aud` the guest, `agent` the key that placed the hold, `exp` the hold's expiry.

    Either `end` or `open_end`; `total` and `lines` stand together or not at all (SCH-166). `hold_id` names the hold of
    a first offer, `change` what a change offer replaces: exactly one of the two.
    """

    iss: HostName
    aud: PrincipalUrn
    iat: Seconds
    exp: Seconds
    jti: OpaqueId
    agent: Thumbprint
    title: Words
    service: OfferedService
    start: Instant
    timezone: ZoneName
    place: Place
    retention: DurationText
    hold_id: OpaqueId | None = None
    change: Change | None = None
    end: Instant | None = None
    open_end: Literal[True] | None = None
    resource_name: Words | None = None
    total: MoneyText | None = None
    lines: Annotated[tuple[Line, ...], Meta(min_length=1, max_length=50)] | None = None
    answer_by: Instant | None = None
    owner: PrincipalUrn | None = None
    participants: Participants = ()
    invitation: OfferedInvitation | None = None
    answers: Answers | None = None
    reconfirm: Reconfirmation | None = None
