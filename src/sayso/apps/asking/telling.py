"""What a person reads while their agent works: one line a step, in plain words, with nothing that only a log wants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from sayso.apps.asking.conversation import Step
from sayso.apps.asking.plain_text import plain
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.governance.kernel import PEER_UNREACHABLE
from sayso.scheduling.keyapp.app import Shown
from sayso.scheduling.terms.quoted import quoted

__all__ = ("TerminalTelling",)

_DOING = {
    "discover_host": "Looking at what your hosts offer …",
    "find_slots": "Looking for free times …",
    "hold_slot": "Holding a time …",
    "approve_and_book": "Booking …",
    "cancel_booking": "Cancelling …",
    "change_booking": "Moving …",
    "reconfirm_booking": "Telling the host …",
    "booking_status": "Looking at your bookings …",
    "join_waitlist": "Joining the waitlist …",
    "leave_waitlist": "Leaving the waitlist …",
    "waitlist_status": "Looking at what you wait for …",
    "answer_invitation": "Reading the invitation …",
    "request_limits": "Asking for limits at several hosts …",
}
_SIGNED = {
    "limits": "Signed: the limits.",
    "shared_limits": "Signed: the limits over these hosts.",
    "offer": "Signed: this exact offer.",
    "invitation": "Signed: that the invitation may be read.",
    "coming": "Signed: your yes.",
    "not_coming": "Signed: your no.",
    "management": "Signed for you, without asking, since it only lets the assistant look after what you booked:",
}


class TerminalTelling:
    """Tells a run on a text stream."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def envelope(self, envelope: Envelope[Wire]) -> None:
        """Envelopes are for the trace, not for people."""

    def calling(self, name: str) -> None:
        self._line(_DOING.get(name, f"{name} …"))

    def called(self, step: Step) -> None:
        for line in _told(step):
            self._line(f"  {line}")

    def signed(self, shown: Shown) -> None:
        self._line(_SIGNED.get(shown.kind, "Signed."))
        if shown.kind == "management":
            # Nobody was asked about this one, so it is shown whole here.
            self._line(f"    {shown.text}")

    def not_signed(self, why: str) -> None:
        self._line(f"Not signed: {why}")

    def _line(self, text: str) -> None:
        self._out.write(f"{plain(text)}\n")
        self._out.flush()


def _told(step: Step) -> list[str]:
    """A tool's answer in a line or two."""
    result = step.result
    if step.failed:
        refused = result.get("refused")
        return [_sentence(refused, result.get("by"))] if isinstance(refused, Mapping) else ["It did not work."]
    match step.name:
        case "discover_host":
            return [str(host.get("identity")) for host in result.get("hosts", [])]
        case "find_slots":
            times = "1 free time" if result.get("free") == 1 else f"{result.get('free')} free times"
            return [f"{times} {result.get('window')}"]
        case "hold_slot":
            return [f"Held until {result.get('held_until')}.", *map(str, result.get("differs_from_request", []))]
        case "approve_and_book" | "change_booking":
            return [f"{str(result.get('outcome')).capitalize()}: {result.get('when')}."]
        case _:
            return []


def _sentence(refused: Mapping[str, Any], by: object) -> str:
    """Our own refusal as it is; another party's as its words, with whose they are."""
    message, hint = str(refused.get("message", "")), refused.get("help")
    said = f"{message} {hint}" if hint else message
    return said if by is None or refused.get("code") == PEER_UNREACHABLE else f"{by}: {quoted(said)}"
