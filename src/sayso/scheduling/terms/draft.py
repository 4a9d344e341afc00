"""What an agent asks its person to sign, before there is anything to sign (spec sections 6.7 and 15).

A draft of limits for the buying mandate, and the pair of documents from which a management mandate follows. Neither is
signed: the key app reads them, fetches the host's own document, writes the text, and builds the mandate itself.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.core.money import MoneyText
from sayso.scheduling.terms.mandate import Scope, TimeWindow
from sayso.scheduling.terms.wire import DurationText, HostName, OpaqueId, Thumbprint, Token

__all__ = (
    "DRAFT_MEDIA_TYPE",
    "INVITATION_MEDIA_TYPE",
    "MANAGEMENT_MEDIA_TYPE",
    "OFFER_MEDIA_TYPE",
    "InvitationDraft",
    "LimitsDraft",
    "ManagementDraft",
    "Telling",
)

DRAFT_MEDIA_TYPE = "application/schcp-limits+json"
OFFER_MEDIA_TYPE = "application/schcp-offer+jwt"
MANAGEMENT_MEDIA_TYPE = "application/schcp-management+json"
INVITATION_MEDIA_TYPE = "application/schcp-invitation+json"


Telling = Literal["name", "contact", "attendee"]
"""A kind of thing that a host may be told of the person."""


class LimitsDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The limits of a buying mandate in the agent's drafting; there is no member for prose (SCH-105).

    `tells` is what of the person the agent may give the host with a booking, never the words themselves: a mandate is
    evidence, and a contact stands in none (SCH-208).
    """

    host: HostName
    agent: Thumbprint
    scope: Annotated[tuple[Scope, ...], Meta(min_length=1, max_length=4)]
    services: Annotated[tuple[OpaqueId, ...], Meta(min_length=1, max_length=50)]
    window: TimeWindow
    max_bookings: Annotated[int, Meta(ge=1, le=100)]
    lifetime: DurationText
    max_price: MoneyText | None = None
    tells: Annotated[tuple[Telling, ...], Meta(max_length=3)] = ()


class InvitationDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which invitation the agent wants to read; the mandate that follows from it can do nothing else (SCH-243)."""

    host: HostName
    agent: Thumbprint
    booking_id: OpaqueId


class ManagementDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The host's receipt, and the person's own buying mandate whose window and ceiling bound later moves (SCH-253)."""

    receipt: Token
    mandate: Token
