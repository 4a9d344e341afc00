"""What every wire's reducer answers to: server-sent events in, parts out, and how the stream concluded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sayso.control.protocol.payloads.content import Usage
from sayso.control.protocol.payloads.inference import StopReason
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.control.provider.parts import PartEvent
from sayso.core.frames import SseEvent
from sayso.core.refusal import Refused

__all__ = ("Concluded", "Counted", "NameCall", "Reducer", "broken_off")

NameCall = Callable[[str | None], str]
"""A call's id, given the vendor's own if it gave one."""


@dataclass(frozen=True, slots=True)
class Concluded:
    """The vendor's own terminal came. `stop_reason` None is a turn that ended by itself: read it off the parts."""

    events: list[PartEvent]
    stop_reason: StopReason | None = None


@dataclass(slots=True)
class Counted:
    """Token figures as they come in; a later figure replaces an earlier one, and none is ever made up (B23)."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None

    @property
    def usage(self) -> Maybe[Usage]:
        """UNSET where the vendor counted nothing."""
        figures = (self.input_tokens, self.output_tokens, self.total_tokens)
        if figures == (None, None, None):
            return UNSET
        first, second, third = (UNSET if figure is None else figure for figure in figures)
        return Usage(input_tokens=first, output_tokens=second, total_tokens=third)


class Reducer(Protocol):
    """One vendor stream, read. Pure; the driver feeds it and writes what it says."""

    @property
    def usage(self) -> Maybe[Usage]:
        """What was counted so far."""
        ...

    @property
    def is_over(self) -> bool:
        """The vendor will say nothing that matters any more: the driver may stop reading."""
        ...

    def feed(self, event: SseEvent) -> list[PartEvent]:
        """One event. Refused with a code of the profile's closed set: the vendor failed inside its stream, or said
        what its format does not allow.
        """
        ...

    def conclude(self) -> Concluded:
        """The stream is at its end. Refused `provider_unavailable` unless the vendor's own terminal came (B19)."""
        ...


def broken_off() -> Refused:
    """A stream that ended in the middle."""
    return Refused.because(
        "provider_unavailable", "the stream ended before the vendor said that it was done", reason="no_terminal"
    )
