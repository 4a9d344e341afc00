"""The faults of one envelope, gathered while it is stepped over."""

from __future__ import annotations

from sayso.control.protocol.conversation import Diagnostic
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire

__all__ = ("Faults",)


class Faults:
    """A fault is noted, never raised: the step goes on behind it."""

    def __init__(self, envelope: Envelope[Wire]) -> None:
        self._at = envelope.id
        self._found: list[Diagnostic] = []

    def add(self, code: str, message: str) -> None:
        """One fault more of this envelope."""
        self._found.append(Diagnostic(code, self._at, message))

    def found(self) -> tuple[Diagnostic, ...]:
        """All of them, in the order they were found."""
        return tuple(self._found)
