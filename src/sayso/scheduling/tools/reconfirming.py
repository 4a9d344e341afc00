"""Answering a host's question whether the person is still coming, for the person (spec sections 16.6 and 23)."""

from __future__ import annotations

from typing import Literal

from sayso.core.refusal import PeerRefused
from sayso.scheduling.guest.kept import KeptBooking, KeptMandate
from sayso.scheduling.guest.reading import refresh
from sayso.scheduling.guest.reconfirming import reconfirm
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.mandate_checks import Action
from sayso.scheduling.tools.assistant import Assistant, kept_terms

__all__ = ("action_of", "answer_again", "is_settled")


def action_of(booking: KeptBooking) -> Action:
    """What answering needs of a mandate: the scope by which the contract in force was accepted (SCH-100)."""
    return Action.RECONFIRM if kept_terms(booking.offer).change is None else Action.RECONFIRM_CHANGED


def is_settled(shown: Booking, *, declined: bool) -> bool:
    """Whether the host has this answer already."""
    return shown.status == "cancelled" if declined else shown.reconfirmed is not None


async def answer_again(
    assistant: Assistant, document: Discovery, booking: KeptBooking, mandate: KeptMandate, *, declined: bool
) -> KeptBooking:
    """The booking after the answer. One that was answered without our hearing of it is found so, and not asked twice.

    PeerRefused, PeerUnreachable; Refused as `guest.reconfirming`.
    """
    answer: Literal["yes", "no"] = "no" if declined else "yes"
    try:
        return await reconfirm(assistant.guest, document, booking, mandate, answer)
    except PeerRefused as error:
        if error.refusal.reason not in ("nothing_to_reconfirm", "already_cancelled"):
            raise
        newer = await refresh(assistant.guest, document, booking)
        if newer == booking:
            raise
        return newer
