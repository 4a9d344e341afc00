"""What the operations answer, as plain JSON with what a reader needs first (spec section 16.2; SCH-344 to SCH-349).

Outcomes are `held`, `confirmed`, `requested`, `cancelled`, `moved`; no result says that something was not booked.
Times come twice: as the host's local RFC 3339, and in words. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant, write_local
from sayso.core.money import MoneyText, read_money, write_money
from sayso.core.zones import find_zone
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptBooking, KeptHold
from sayso.scheduling.terms.availability import AvailabilityAnswer, Slot
from sayso.scheduling.terms.consent_text import Identity, verified_identity
from sayso.scheduling.terms.discovery import Discovery, SelectableResource, Service, ServiceArea
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.quoted import named, quoted
from sayso.scheduling.terms.reconfirm import ReconfirmPolicy
from sayso.scheduling.terms.spoken import either, spoken_money, spoken_period, spoken_span
from sayso.scheduling.tools.moments import said_until
from sayso.scheduling.tools.standing import is_over, standing_words
from sayso.scheduling.tools.wanted import all_in

__all__ = ("booking_result", "hold_result", "host_result", "hosts_result", "no_notes", "slots_result")

Result = Mapping[str, Any]

_USER_SIGNED = {
    "offer": "this exact offer",
    "limits": "only the limits: service, time window, price ceiling",
}


def hosts_result(hosts: Sequence[Result], unreachable: Sequence[str]) -> Result:
    """Every host that could be read, and in words which could not."""
    found: dict[str, Any] = {"hosts": list(hosts)}
    if unreachable:
        found["could_not_be_read"] = list(unreachable)
    if not hosts and not unreachable:
        found["note"] = "No host is known yet. The person adds one with `sayso guest add URL`."
    return found


def host_result(document: Discovery, now: datetime) -> Result:
    """A host in words: what it offers, what it costs, how it confirms, what it keeps, how to reach it."""
    zone, policies = find_zone(document.timezone), document.policies
    answer: dict[str, Any] = {
        "host": document.host,
        "name": document.title,
        "identity": verified_identity(document).said,
        "timezone": document.timezone,
        "local_time_now": write_local(now.replace(microsecond=0), zone),
        "services": [_service(document, service) for service in document.services],
    }
    if document.taxes:
        answer["taxes"] = [tax.title for tax in document.taxes]
    if policies.confirmation.mode == "instant":
        answer["confirmation"] = "A booking is confirmed at once."
    else:
        wait = spoken_period(policies.confirmation.answer_within or "PT0S")
        host = named(document.title)
        answer["confirmation"] = f"{host} answers each request within {wait}; without an answer it lapses."
        if document.kind == "person":
            answer["confirmation"] += " A rule they signed may say yes for them; you can ask for their own answer."
    if policies.reconfirm is not None:
        answer["reconfirming"] = _reconfirming(named(document.title), policies.reconfirm)
    answer["approval"] = (
        "The person approves the exact offer."
        if policies.closed_mandate == "always"
        else "The person's signed limits are enough; approving the exact offer is stronger."
    )
    answer["cancelling"] = "Free at any time before the start."
    answer["records"] = (
        f"{named(document.title)} keeps booking details for {spoken_period(policies.retention)} after a booking."
    )
    answer["notes"] = "Notes for the host are accepted." if policies.notes.accepted else no_notes(document)
    answer["bookable_for"] = f"{spoken_period(policies.horizon)} ahead"
    if policies.release is not None:
        ahead = spoken_period(f"P{policies.release.days_ahead}D")
        answer["days_open"] = f"Each day opens for booking {ahead} before it, at {policies.release.at} there."
    answer["without_an_agent"] = msgspec.to_builtins(document.contact)
    return answer


def no_notes(document: Discovery) -> str:
    """That a host takes no notes, and in its own words what to do instead (SCH-207)."""
    instead = document.policies.notes.instead
    return f"No notes. {named(document.title)} says: {quoted(instead)}" if instead else "No notes."


def _reconfirming(title: str, policy: ReconfirmPolicy) -> str:
    due = "the start" if not parse_duration(policy.due) else f"{spoken_period(policy.due)} before the start"
    then = "ends" if policy.silence == "lapses" else "stands all the same"
    return (
        f"{title} asks to reconfirm from {spoken_period(policy.opens)} before the start until {due}; "
        f"without an answer the booking {then}."
    )


def _service(document: Discovery, service: Service) -> Result:
    answer: dict[str, Any] = {"service_id": service.id, "title": service.title}
    if service.duration == "open":
        answer["takes"] = "as long as it takes; the start is agreed, the end is not"
    else:
        answer["takes"] = spoken_period(service.duration)
        answer["duration_minutes"] = int(parse_duration(service.duration).total_seconds() // 60)
    total = all_in(service, document.taxes)
    if service.price is not None and total is not None:
        answer["list_price"] = msgspec.to_builtins(service.price)
        answer["total"] = msgspec.to_builtins(write_money(total))
        added = either([named(tax.title) for tax in document.taxes], "and")
        answer["price_in_words"] = f"{spoken_money(total)} in total" + (f", {added} included" if added else "")
    if service.choose_from:
        titles = {resource.id: resource.title for resource in document.resources}
        answer["choose_from"] = [titles[each] for each in service.choose_from]
    if service.guests == "returning":
        answer["for"] = "guests who have kept an appointment there before"
    if service.areas:
        answer["comes_to"] = [_area(area) for area in service.areas]
    if service.description:
        answer["description"] = service.description
    return answer


def _area(area: ServiceArea) -> str:
    codes = either(area.postal_codes, "and")
    return f"{area.country}, postal codes that begin with {codes}" if codes else area.country


def slots_result(
    document: Discovery,
    service: Service,
    window: tuple[datetime, datetime],
    found: AvailabilityAnswer,
    chosen: SelectableResource | None = None,
) -> Result:
    """The free starts, with what each costs in all."""
    zone = find_zone(document.timezone)
    answer: dict[str, Any] = {
        "free": len(found.slots),
        "host": document.host,
        "service_id": service.id,
        "service": service.title,
        "window": spoken_span(*window, zone, joint=("between", "and")),
        "slots": [_slot(slot) for slot in found.slots],
        "as_of": found.as_of,
    }
    if chosen is not None:
        answer["with"] = chosen.title
    if found.slots:
        answer["note"] = "Nothing is reserved yet: hold_slot keeps one of these."
    else:
        answer["note"] = "Nothing is free then. Try a wider range or another day."
    if found.more_from is not None:
        answer["more_from"] = found.more_from
    return answer


def _slot(slot: Slot) -> Result:
    return msgspec.to_builtins(slot)  # type: ignore[no-any-return]


def terms_result(claims: OfferClaims, identity: Identity, *, paid_by_reader: bool = True) -> dict[str, Any]:
    """What an offer says, in the order people ask; of a price, whether it is whoever reads this that pays it."""
    zone = find_zone(claims.timezone)
    start = parse_instant(claims.start)
    end = None if claims.end is None else parse_instant(claims.end)
    person = f" with {named(claims.resource_name)}" if claims.resource_name else ""
    answer: dict[str, Any] = {
        "what": f"{named(claims.service.title)}{person} at {identity.said}",
        "when": spoken_span(start, end, zone),
        "start": claims.start,
    }
    if claims.end is not None:
        answer["end"] = claims.end
    if claims.total is not None:
        lines = ", ".join(f"{named(line.title)} {_amount(line.amount)}" for line in claims.lines or ())
        answer["total"] = msgspec.to_builtins(claims.total)
        who = "" if paid_by_reader else "by whoever made the booking "
        answer["price"] = f"{_amount(claims.total)} in total, paid {who}to {identity.called} directly: {lines}"
    return answer


def _amount(text: MoneyText) -> str:
    return spoken_money(read_money(text))


def hold_result(
    hold: KeptHold, claims: OfferClaims, identity: Identity, differs: Sequence[str], now: datetime
) -> Result:
    """A held slot. What differs from the request stands at the top: the person should hear it before they approve."""
    zone = find_zone(claims.timezone)
    return {
        "outcome": "held",
        "hold_id": hold.hold_id,
        "differs_from_request": list(differs),
        **terms_result(claims, identity),
        "held_until": said_until(hold.expires, zone, now),
        "expires_at": hold.view.expires_at,
        "offer_sha256": hold.offer_sha256,
        "next": "Call approve_and_book with this hold_id; the person is then asked to approve the offer.",
    }


def booking_result(
    booking: KeptBooking, claims: OfferClaims, identity: Identity, outcome: str, *, managed: bool
) -> dict[str, Any]:
    """A booking as it stands, how the person agreed to it, and what can be done with it."""
    answer: dict[str, Any] = {
        "outcome": outcome,
        "booking_id": booking.booking_id,
        **terms_result(claims, identity),
        "host": booking.host,
        "service_id": claims.service.id,
        "status": booking.state,
        "user_signed": _USER_SIGNED[booking.approved],
        "offer_sha256": sha256_b64u(booking.offer),
        "receipt_sha256": sha256_b64u(booking.receipt),
    }
    if booking.state == "cancelled":
        answer["note"] = "It is cancelled, and cancelling cost nothing."
    answer |= standing_words(booking, claims, identity)
    if booking.state == "cancelled" or is_over(booking.state):
        return answer
    period = spoken_period(claims.retention)
    answer["records"] = f"{identity.called} keeps the booking details for {period} after the booking."
    signed = "" if managed else "; the person is asked to sign for it then"
    answer["cancelling"] = f"Cancelling is free until it starts{signed}."
    answer["next"] = "cancel_booking calls it off, change_booking moves it."
    return answer
