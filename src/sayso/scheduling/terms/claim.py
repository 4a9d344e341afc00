"""A unit of a limit that several hosts share (spec section 6.11; SCH-026, SCH-092, SCH-099).

A host asks the key app for a unit before it confirms, and gives it back when the booking is over before its time. Both
sides sign: the host with its published key, the key app with the key the mandate names beside its status URL.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.scheduling.terms.wire import Digest, HostName, OpaqueId, PrincipalUrn, Seconds, Token

__all__ = (
    "CLAIM_PATH",
    "CLAIM_REQUEST_TYP",
    "CLAIM_TYP",
    "ClaimAnswer",
    "ClaimAsk",
    "ClaimClaims",
    "ClaimRequestClaims",
)

CLAIM_REQUEST_TYP = "schcp-claim-request+jwt"
CLAIM_TYP = "schcp-claim+jwt"
CLAIM_PATH = "/claims"
"""Where a unit is asked for, below the mandate's status URL."""


class ClaimRequestClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a host asks. `unit` is its own id for what it confirms: asking again for the same one takes no second."""

    iss: HostName
    mandate: Digest
    unit: OpaqueId
    act: Literal["take", "return"]
    iat: Seconds


class ClaimAsk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST <status>/claims`."""

    request: Token


class ClaimClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the key app says of that unit: `refused` where none is left or the mandate was taken back."""

    iss: PrincipalUrn
    jti: OpaqueId
    mandate: Digest
    host: HostName
    unit: OpaqueId
    state: Literal["taken", "returned", "refused"]
    iat: Seconds


class ClaimAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole body of the answer."""

    claim: Token
