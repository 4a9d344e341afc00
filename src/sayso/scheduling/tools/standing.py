"""How a booking stands, in words: what the host said, what waits and until when, what it proposes (spec section 16.2).

Everything comes from the newest checked receipt and the contract; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from sayso.core.instants import parse_instant
from sayso.core.zones import find_zone
from sayso.scheduling.guest.kept import KeptBooking
from sayso.scheduling.guest.shown import shown
from sayso.scheduling.terms.acceptance_checks import read_rule_words
from sayso.scheduling.terms.booking import Answered, Booking, Declined, DeclinedChange
from sayso.scheduling.terms.consent_text import Identity
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.quoted import quoted
from sayso.scheduling.terms.spoken import spoken_clock, spoken_day
from sayso.scheduling.tools.company import company_words

__all__ = ("is_over", "standing_words")

_OVER = ("declined", "expired", "completed", "no_show")


def is_over(state: str) -> bool:
    """Whether nothing is left to cancel or to move."""
    return state in _OVER


def standing_words(booking: KeptBooking, claims: OfferClaims, identity: Identity) -> Mapping[str, Any]:
    """What a reader has to know of the booking besides its terms; empty for one that simply stands."""
    inside, zone, host = shown(booking), find_zone(claims.timezone), identity.called
    words: dict[str, Any] = {}
    if inside.status == "pending_host" and claims.answer_by is not None:
        words["waits"] = f"{host} answers by {_moment(claims.answer_by, zone)}; if it does not, nothing is booked."
    if inside.status == "expired":
        words["note"] = f"{host} did not answer in time, so nothing is booked. It counts against nobody."
    if inside.answered is not None and inside.answered.acceptance is not None:
        words["answered"] = _answered(inside.answered, host)
    if inside.declined is not None:
        words |= _declined(inside.declined, host)
    if inside.awaiting_host is not None:
        start, until = _moment(inside.awaiting_host.start, zone), _moment(inside.awaiting_host.answer_by, zone)
        words["waits"] = f"{host} is asked to move it to {start} and answers by {until}; until then it stays as it is."
    if inside.declined_change is not None:
        words["move_declined"] = _refused_move(inside.declined_change, host, zone)
    if inside.proposed is not None:
        said = "" if inside.proposed.message is None else f" It says: {quoted(inside.proposed.message)}"
        start, until = _moment(inside.proposed.start, zone), _moment(inside.proposed.expires_at, zone)
        accepts = "change_booking to that start accepts."
        words["proposed"] = f"{host} proposes {start} instead, until {until}.{said} {accepts}"
        words["proposed_start"] = inside.proposed.start
    if inside.cancelled is not None and inside.cancelled.by == "host":
        words["called_off"] = f"{host} called it off: {quoted(inside.cancelled.reason or 'no reason given')}"
    along = company_words(inside, claims, host, zone)
    return words | along | _past(inside, host, zone) | _second_word(inside, host, zone)


def _answered(said: Answered, host: str) -> str:
    """Whose yes it was at a person's calendar (SCH-266)."""
    if said.by == "person":
        return f"{host} said yes in person."
    rule = read_rule_words(said.acceptance or "") or ""
    return f"A rule that {host} signed said yes: {quoted(rule)}. {host} may not have seen it yet."


def _declined(said: Declined, host: str) -> dict[str, Any]:
    words = "" if said.message is None else f" It says: {quoted(said.message)}"
    found: dict[str, Any] = {"note": f"{host} said no, so nothing is booked.{words}"}
    if said.alternatives:
        found["free_instead"] = [msgspec.to_builtins(slot) for slot in said.alternatives]
    return found


def _refused_move(said: DeclinedChange, host: str, zone: ZoneInfo) -> str:
    words = "" if said.message is None else f" It says: {quoted(said.message)}"
    did = "said no to" if said.reason == "declined_by_host" else "did not answer"
    return f"{host} {did} the move to {_moment(said.start, zone)}; the booking stands as it was.{words}"


def _past(inside: Booking, host: str, zone: ZoneInfo) -> dict[str, Any]:
    if inside.status == "no_show":
        return {"note": f"{host} marked that nobody came. Nothing is owed for it."}
    if inside.status == "completed":
        ended = "" if inside.ended is None else f" {host} ended it at {_moment(inside.ended, zone)}."
        return {"note": f"It is over.{ended}"}
    return {}


def _second_word(inside: Booking, host: str, zone: ZoneInfo) -> dict[str, Any]:
    """Whether, when and with what effect the host asks if the guest is still coming (SCH-248)."""
    asked = inside.reconfirm
    if inside.unreconfirmed:
        return {"note": f"You did not reconfirm in time, so {host} gave the time to others. It counts there."}
    if asked is None or inside.status not in ("confirmed", "tentative", "pending_host"):
        return {}
    if inside.reconfirmed is not None:
        return {"reconfirm": f"You reconfirmed on {_moment(inside.reconfirmed, zone)}"}
    when = f"from {_moment(asked.opens, zone)} on, and before {_moment(asked.by, zone)}"
    then = "it ends and the time is free" if asked.silence == "lapses" else "it stands all the same"
    return {
        "reconfirm": f"{host} asks you to reconfirm {when}; if you do not, {then}.",
        "reconfirm_opens": asked.opens,
        "reconfirm_by": asked.by,
    }


def _moment(text: str, zone: ZoneInfo) -> str:
    at: datetime = parse_instant(text)
    return f"{spoken_day(at, zone)} at {spoken_clock(at, zone)}"
