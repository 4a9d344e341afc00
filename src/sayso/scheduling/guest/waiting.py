"""Waiting for time to come free: joining, looking, leaving, each believed only as far as it can be checked.

Spec section 20. What a host holds for us is checked like any hold's offer before it is kept, and it has to lie in the
window that was waited for. One that does not stand up is not kept, so nobody can be asked about it and it runs out.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from sayso.core.instants import parse_instant
from sayso.core.refusal import Corrupt, PeerRefused, Refused
from sayso.ledger.rules.kinds import declare
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptEntry, KeptHold, KeptMandate
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.terms.availability import Window
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.hold import HoldView
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.offer_checks import ExpectedOffer, check_offer_matches, verify_offer
from sayso.scheduling.terms.waitlist import JoinRequest, LeaveRequest, WaitlistEntry

__all__ = ("JoinAsk", "join_waitlist", "leave_waitlist", "look_at_entry")

JOINED = declare("guest.waitlist_joined", "We wait at a host for time to come free, under a signed mandate.")
ENDED = declare("guest.waitlist_ended", "We no longer wait at a host; what became of the entry.")


class JoinAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What to wait for. `asked` is kept beside the entry, word for word."""

    service_id: str
    window: Window
    asked: bytes


async def join_waitlist(guest: Guest, document: Discovery, ask: JoinAsk, mandate: KeptMandate) -> KeptEntry:
    """An entry, last in line. PeerRefused, PeerUnreachable; Refused: answer_invalid."""
    subject = f"join:{mandate.jti}:{sha256_b64u(ask.asked)}"
    request = JoinRequest(
        idempotency_key=await guest.book.intent(subject),
        service_id=ask.service_id,
        window=ask.window,
        callback_url=guest.callback_url,
    )
    try:
        view = await guest.client(document).join_waitlist(request, mandate.token)
    except PeerRefused as error:
        await guest.book.forget_intent(subject, guest.notes.refusal(document.host, "join", error))
        raise
    _check_view(view, ask, document)
    entry = KeptEntry(
        entry_id=view.entry_id,
        host=document.host,
        mandate=mandate.jti,
        view=view,
        asked=ask.asked,
        joined=guest.clock.now(),
    )
    await guest.entries.keep(entry, guest.notes.entry(JOINED, entry))
    await guest.book.forget_intent(subject)
    return entry


def _check_view(view: WaitlistEntry, ask: JoinAsk, document: Discovery) -> None:
    window = (parse_instant(view.window.start), parse_instant(view.window.end))
    if view.service_id != ask.service_id or window != (parse_instant(ask.window.start), parse_instant(ask.window.end)):
        raise refused("answer_invalid", f"{document.title} answered with another wait than was asked for.")


async def look_at_entry(guest: Guest, document: Discovery, entry: KeptEntry) -> tuple[KeptEntry, KeptHold | None]:
    """The entry as its host has it now, and the hold placed for it, checked and kept.

    An older answer than the one kept is dropped (SCH-007). Errors as `join_waitlist`; Refused also: offer_invalid.
    """
    view = await guest.client(document).read_entry(entry.entry_id)
    if view.entry_id != entry.entry_id or view.service_id != entry.view.service_id:
        raise refused("answer_invalid", f"{document.title} answered with another entry.")
    if view.version < entry.view.version:
        view = entry.view
    hold = None if view.hold is None else await _offered(guest, document, entry, view.hold)
    now = replace(entry, view=view)
    ended = entry.is_open and not now.is_open
    await guest.entries.keep(now, guest.notes.entry(ENDED, now) if ended else None)
    return now, hold


async def _offered(guest: Guest, document: Discovery, entry: KeptEntry, view: HoldView) -> KeptHold:
    """The hold a host placed for us, kept once its offer stands up to checking."""
    kept = await guest.book.hold(view.hold_id)
    if kept is not None:
        return kept
    mandate = await guest.book.mandate(entry.mandate)
    if mandate is None:
        raise Corrupt("a waitlist entry without the mandate it waits under", entry.entry_id)
    offer = await guest.documents.checked(document.host, lambda found: verify_offer(view.offer, found))
    start = parse_instant(view.start)
    expected = ExpectedOffer(
        principal=verify_mandate(mandate.token).principal,
        agent=guest.agent,
        service_id=entry.view.service_id,
        start=start,
    )
    check_offer_matches(offer, view, expected)
    opens, closes = parse_instant(entry.view.window.start), parse_instant(entry.view.window.end)
    if start < opens or (offer.end or start) > closes:
        raise refused("offer_invalid", f"{document.title} offers a time outside the window that was waited for.")
    hold = KeptHold(
        hold_id=view.hold_id,
        host=document.host,
        state="held",
        mandate=mandate.jti,
        view=view,
        asked=entry.asked,
        offer=view.offer,
        offer_sha256=offer.sha256,
        expires=parse_instant(view.expires_at),
    )
    await guest.book.keep_hold(hold, guest.notes.hold(document, hold), intent=f"offered:{view.hold_id}")
    return hold


async def leave_waitlist(guest: Guest, document: Discovery, entry: KeptEntry) -> KeptEntry:
    """Leaves, and gives back what is on offer. PeerRefused (entry_taken), PeerUnreachable; Refused: answer_invalid."""
    subject = f"leave:{entry.entry_id}"
    ask = LeaveRequest(idempotency_key=await guest.book.intent(subject))
    try:
        view = await guest.client(document).leave_waitlist(entry.entry_id, ask)
    except (PeerRefused, Refused):
        await guest.book.forget_intent(subject)
        raise
    if view.entry_id != entry.entry_id:
        raise refused("answer_invalid", f"{document.title} answered with another entry.")
    left = replace(entry, view=view)
    await guest.entries.keep(left, guest.notes.entry(ENDED, left))
    if view.hold is not None and (held := await guest.book.hold(view.hold.hold_id)) is not None:
        await guest.book.mark_released(held.hold_id, guest.notes.released(entry.host, held.hold_id, "released"))
    await guest.book.forget_intent(subject)
    return left
