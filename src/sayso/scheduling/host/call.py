"""One signed request as the units of work see it: who calls, what for, and with whose mandate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

import msgspec

from sayso.core.refusal import Refused
from sayso.scheduling.terms.mandate_checks import Mandate

__all__ = ("Answer", "Call", "ClaimState", "NoBody")

ClaimState = Literal["none", "taken", "refused", "unavailable"]
"""What a key app said of the unit of a shared limit that a confirmation needs; `none` where nobody was asked."""

Q_co = TypeVar("Q_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Q_co]):
    """A request whose signature holds and whose body is read.

    `agent` is the thumbprint of the key that signed it. The nonce is spent in the unit of work, until `nonce_until`.
    `presented` is the mandate whose signature holds, or the refusal that reading it ended in: whether that matters is
    the operation's to say, after it has looked whether what the path names exists for this caller.
    """

    agent: str
    nonce: str
    nonce_until: datetime
    operation: str
    body_sha256: bytes
    mandate_sha256: bytes
    named: Mapping[str, str]
    request: Q_co
    presented: Mandate | Refused
    claim: ClaimState = "none"

    @property
    def mandate(self) -> Mandate:
        """The mandate, where the operation needs one. Refused as reading it was."""
        if isinstance(self.presented, Refused):
            raise self.presented
        return self.presented


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer: what is stored for a replay is exactly what is sent."""

    status: int
    body: bytes
    is_replay: bool = False
    retry_after: int | None = None


class NoBody(msgspec.Struct, frozen=True):
    """What a `GET` asks besides its path: nothing."""
