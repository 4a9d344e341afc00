"""Giving held time back, whatever the host answers (SCH-151)."""

from __future__ import annotations

from sayso.core.refusal import PeerUnreachable, Refused
from sayso.scheduling.guest.holding import release_hold
from sayso.scheduling.guest.kept import KeptHold
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.guest.settling import find_confirmed
from sayso.scheduling.terms.discovery import Discovery

__all__ = ("give_back",)


async def give_back(guest: Guest, document: Discovery, hold: KeptHold) -> None:
    """Releases a hold. A host that cannot be reached lets it run out, and the receipt says so.

    A hold that the host confirmed without our hearing of it is no hold any more: its booking is kept, not lost.
    """
    try:
        if await release_hold(guest, document, hold) == "booked":
            await find_confirmed(guest, document, hold)
    except (PeerUnreachable, Refused):
        note = guest.notes.released(hold.host, hold.hold_id, "left_to_expire")
        await guest.book.mark_released(hold.hold_id, note)
