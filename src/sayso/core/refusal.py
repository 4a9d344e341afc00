"""How sayso says no.

Four kinds of failure, told apart by who can act on them: `Refused` (the answer is no, and the caller may see why),
`PeerRefused` and `PeerUnreachable` (the other side said no, or said nothing), `Corrupt` (our own stored bytes or a
verified chain contradict themselves) and `Misuse` (our code called in the wrong order; never caught, a test fails).
Each protocol keeps its own registry of codes; this module only fixes the shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ("Corrupt", "Misuse", "PeerRefused", "PeerUnreachable", "Refusal", "Refused")


class Refusal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A no that a person or a program can act on.

    `code` is registered by the protocol that answers; `reason` refines it; `place` names the offending member
    (`$.window.start`), header or position (`line 1 column 7`); `help` says what to do next.
    """

    code: str
    message: str
    reason: str | None = None
    place: str | None = None
    help: str | None = None
    details: Mapping[str, Any] = {}

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        said = f"{self.message.removesuffix('.')}{where}."
        return f"{said} {self.help}" if self.help else said


class Refused(Exception):
    """The answer is no. Carries the whole refusal; rendered by whoever faces the caller."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal

    @classmethod
    def because(
        cls,
        code: str,
        message: str,
        *,
        reason: str | None = None,
        place: str | None = None,
        help: str | None = None,  # noqa: A002 - the member's name on the wire
        details: Mapping[str, Any] | None = None,
    ) -> Refused:
        """Builds the refusal in place, so that raising one stays a single readable line."""
        return cls(Refusal(code=code, message=message, reason=reason, place=place, help=help, details=details or {}))


class PeerRefused(Exception):
    """The other side answered no. `peer` is the name our user knows it by."""

    def __init__(self, peer: str, refusal: Refusal) -> None:
        super().__init__(f"{peer}: {refusal}")
        self.peer = peer
        self.refusal = refusal


class PeerUnreachable(Exception):
    """The other side gave no usable answer; trying again may help."""

    def __init__(self, peer: str, why: str) -> None:
        super().__init__(f"{peer} could not be reached: {why}")
        self.peer = peer
        self.why = why


class Corrupt(Exception):
    """Stored bytes contradict themselves. The operator sees `what` and `place`, a caller only an internal error."""

    def __init__(self, what: str, place: str) -> None:
        super().__init__(f"{what} at {place}")
        self.what = what
        self.place = place


class Misuse(RuntimeError):
    """Our own code broke a calling rule; a bug, never an answer."""
