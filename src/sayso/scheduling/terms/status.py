"""What a mandate's status URL answers (spec section 6.9; SCH-094, SCH-098, SCH-099).

Signed by the key that the mandate names beside the URL. The principal's own key signs no answers: it signs what the
person said, and nobody asks the person here (SCH-025).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.scheduling.terms.wire import Digest, OpaqueId, PrincipalUrn, Seconds, Token

__all__ = ("STATUS_TYP", "Standing", "StatusAnswer", "StatusClaims")

STATUS_TYP = "schcp-status+jwt"

Standing = Literal["unread", "not_asked", "active", "revoked"]
"""What is known of a mandate's status: `unread` could not be asked, `not_asked` need not be, as for a read."""


class StatusClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`iss` and `jti` are the mandate's or link's own, `mandate` the hash of its compact token."""

    iss: PrincipalUrn
    jti: OpaqueId
    mandate: Digest
    state: Literal["active", "revoked"]
    iat: Seconds


class StatusAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole body of the answer to `GET <status>`."""

    status: Token
