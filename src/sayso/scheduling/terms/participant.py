"""Who comes along to a booking, on which terms they were asked, and what each of them answered (spec section 23).

SCH-182, SCH-186, SCH-243 to SCH-247, SCH-251. A participant is a principal of their own: they answer under their own
mandate, by the contract's hash, and nobody can answer for them. The terms of the invitation stand in the signed offer.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.scheduling.terms.wire import (
    Digest,
    DurationText,
    HostName,
    IdempotencyKey,
    Instant,
    OpaqueId,
    PrincipalUrn,
    Token,
    Words,
)

__all__ = (
    "ALONE",
    "MOST_PARTICIPANTS",
    "AnswerInvitationRequest",
    "Answers",
    "BookedParticipant",
    "Company",
    "InvitationTerms",
    "InvitationView",
    "OfferedInvitation",
    "Participant",
    "ParticipantAnswer",
    "Participants",
)

MOST_PARTICIPANTS = 16

Answers = Literal["person"]
"""How the guest wants to be answered: `person` leaves it to nobody's rule (SCH-182, SCH-186)."""


class Participant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Somebody who is asked along. `name` is the booker's word for them; `principal` who they are, and signs.

    `attendee` is who comes where that is not the one who signs: a child, somebody they decide for (SCH-247). Without
    the yes of everybody `required` nothing is booked; of the others, each may answer and nothing waits for them.
    """

    principal: PrincipalUrn
    name: Words
    required: bool
    attendee: Words | None = None


Participants = Annotated[tuple[Participant, ...], Meta(max_length=MOST_PARTICIPANTS)]


class InvitationTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the booker asks for: how long they have to answer, and what it means when a required one does not."""

    answer_within: DurationText
    silence: Literal["yes", "no"]


class Company(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked along on which terms, and whether the guest insists on a person's answer: the members of a request
    that its offer repeats.
    """

    participants: Participants = ()
    invitation: InvitationTerms | None = None
    answers: Answers | None = None


ALONE = Company()
"""Nobody is asked along, and anybody may answer."""


class OfferedInvitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The same as the host signed it. `answer_by` is the deadline, never past the start (SCH-245, SCH-246)."""

    answer_within: DurationText
    answer_by: Instant
    silence: Literal["yes", "no"]


class ParticipantAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A yes or a no, and when. `by_default` marks one that was not given: silence, taken as the terms say (SCH-192)."""

    said: Literal["yes", "no"]
    at: Instant
    by_default: Literal[True] | None = None


class BookedParticipant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A participant of the contract in force, with their answer to it once there is one."""

    principal: PrincipalUrn
    name: Words
    required: bool
    attendee: Words | None = None
    answer: ParticipantAnswer | None = None


class AnswerInvitationRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /bookings/{booking_id}/answer`: a participant's yes or no to exactly this contract (SCH-162, SCH-244)."""

    idempotency_key: IdempotencyKey
    offer_sha256: Digest
    answer: Literal["yes", "no"]


class InvitationView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a participant reads: the contract as it was signed, how the booking stands, and who answered what.

    Nothing of the booker's own is in it: no mandate, no receipt, no words to the host (SCH-194).
    """

    booking_id: OpaqueId
    status: Literal[
        "pending_host", "tentative", "confirmed", "declined", "expired", "cancelled", "completed", "no_show"
    ]
    sequence: int
    version: int
    host: HostName
    offer: Token
    participants: Annotated[tuple[BookedParticipant, ...], Meta(min_length=1, max_length=MOST_PARTICIPANTS)]
