"""What a host tells an agent unasked: one signed event for each thing that became of a hold, booking or entry.

Spec section 22; SCH-026, SCH-320 to SCH-322, SCH-326. The token is the whole body of the delivery. It asserts that
something changed and which version is now the newest; what it is, the agent reads and proves as it always does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from sayso.core.refusal import Refused
from sayso.proof.jws import verify_jws
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.discovery_checks import published_key
from sayso.scheduling.terms.wire import HostName, Instant, OpaqueId, PrincipalUrn, Seconds, Thumbprint, Token

__all__ = ("EVENT_MEDIA_TYPE", "EVENT_TYP", "NAMES", "EventClaims", "EventName", "EventSubject", "verify_event")

EVENT_TYP = "schcp-event+jwt"
EVENT_MEDIA_TYPE = "application/schcp-event+jwt"

EventName = Literal[
    "hold.expired",
    "booking.confirmed",
    "booking.declined",
    "booking.expired",
    "booking.cancelled",
    "booking.change_approved",
    "booking.change_declined",
    "booking.proposed",
    "booking.proposal_over",
    "booking.ended",
    "booking.completed",
    "booking.no_show",
    "booking.attended",
    "booking.answered",
    "booking.reconfirmed",
    "waitlist.offered",
    "waitlist.ended",
]

NAMES: Mapping[str, EventName] = {
    "hold.expired": "hold.expired",
    "booking.confirmed": "booking.confirmed",
    "booking.approved": "booking.confirmed",
    "booking.declined": "booking.declined",
    "booking.expired": "booking.expired",
    "booking.cancelled": "booking.cancelled",
    "booking.cancelled_by_host": "booking.cancelled",
    "booking.moved": "booking.change_approved",
    "booking.move_declined": "booking.change_declined",
    "booking.time_proposed": "booking.proposed",
    "booking.proposal_over": "booking.proposal_over",
    "booking.ended": "booking.ended",
    "booking.completed": "booking.completed",
    "booking.no_show": "booking.no_show",
    "booking.attended": "booking.attended",
    "booking.participant_answered": "booking.answered",
    "booking.participants_agreed": "booking.confirmed",
    "booking.participant_declined": "booking.declined",
    "booking.reconfirmed": "booking.reconfirmed",
    "booking.unreconfirmed": "booking.expired",
    "waitlist.offered": "waitlist.offered",
    "waitlist.ended": "waitlist.ended",
}
"""What the host writes into its own log, by kind, and the event that tells of it: nothing else is told."""


class EventSubject(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What the event is about: exactly one of the three."""

    hold_id: OpaqueId | None = None
    booking_id: OpaqueId | None = None
    entry_id: OpaqueId | None = None


class EventClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`jti` is the event's id, the same on every attempt. `agent` is whom it is for, `aud` the principal behind it.

    `version` and, for bookings, `sequence` are the subject's after what happened; `receipt` its newest one.
    """

    iss: HostName
    aud: PrincipalUrn
    agent: Thumbprint
    iat: Seconds
    jti: OpaqueId
    event: EventName
    subject: EventSubject
    status: OpaqueId
    version: int
    at: Instant
    sequence: int | None = None
    receipt: Token | None = None


def verify_event(token: str, document: Discovery, agent: str) -> EventClaims:
    """The claims of an event that this host signed for this agent. Refused: event_invalid, unknown_key."""
    try:
        verified = verify_jws(
            token, typ=EVENT_TYP, key=lambda header: published_key(document, header.kid), claims=EventClaims
        )
    except Refused as error:
        if error.refusal.reason == "unknown_key":
            raise
        raise refused("event_invalid", f"What was delivered is no event: {error.refusal.message}") from None
    claims = verified.claims
    named = [each for each in msgspec.structs.astuple(claims.subject) if each is not None]
    if claims.iss != document.host or claims.agent != agent or len(named) != 1:
        raise refused("event_invalid", "The event is another host's, for another agent, or about nothing.")
    return claims
