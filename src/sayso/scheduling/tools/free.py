"""Is the slot still free, and within the limits? Asked of the host before a person is asked anything (spec 16.2)."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from sayso.core.instants import parse_instant, write_local
from sayso.core.money import read_money
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.terms.availability import AvailabilityAnswer, AvailabilityRequest, Slot, Window
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.spoken import spoken_clock, spoken_day, spoken_money
from sayso.scheduling.tools.wanted import Wanted

__all__ = ("check_free", "read_slots")

_OFFERED = 5


async def read_slots(
    guest: Guest, document: Discovery, service_id: str, window: Window, resource_id: str | None = None
) -> AvailabilityAnswer:
    """The free starts in a window. PeerRefused, PeerUnreachable; Refused: answer_invalid, not_introduced."""
    request = AvailabilityRequest(service_id=service_id, window=window, resource_id=resource_id)
    found = await guest.client(document).availability(request, await _introduction(guest, document))
    try:
        _check_slots(found, window)
    except Refused as error:
        said = error.refusal.message
        host = named(document.title)
        raise refused("answer_invalid", f"{host} answered with slots that make no sense: {said}") from None
    return found


async def _introduction(guest: Guest, document: Discovery) -> str | None:
    """The mandate that shows who is asking, where only contacts may ask (SCH-040): the newest the person signed."""
    if document.policies.access != "contacts":
        return None
    signed = await guest.book.mandates("buying", document.host)
    if not signed:
        raise refused("not_introduced", f"{named(document.title)} tells its contacts alone when it is free.")
    return signed[0].token


def _check_slots(found: AvailabilityAnswer, window: Window) -> None:
    opens, closes = parse_instant(window.start), parse_instant(window.end)
    for slot in found.slots:
        if (slot.end is None) == (slot.open_end is None) or not opens <= parse_instant(slot.start) < closes:
            raise refused("answer_invalid", "one was not asked for.")
        if slot.end is not None:
            parse_instant(slot.end)
        if slot.total is not None:
            read_money(slot.total)
    parse_instant(found.as_of)


async def check_free(guest: Guest, document: Discovery, wanted: Wanted) -> None:
    """Refused: slot_taken with the nearest alternatives inside the limits, above_price, wrong_currency.

    Where only contacts may ask and the person has signed nothing yet, only holding tells.
    """
    if document.policies.access == "contacts" and not await guest.book.mandates("buying", document.host):
        return
    zone = find_zone(document.timezone)
    end = wanted.end or wanted.start + timedelta(minutes=1)
    exact = Window(start=write_local(wanted.start, zone), end=write_local(end, zone))
    resource = None if wanted.resource is None else wanted.resource.id
    for slot in (await read_slots(guest, document, wanted.service.id, exact, resource)).slots:
        if parse_instant(slot.start) == wanted.start:
            _check_price(document, wanted, slot)
            return
    limits = Window(start=wanted.draft.window.not_before, end=wanted.draft.window.not_after)
    others = (await read_slots(guest, document, wanted.service.id, limits, resource)).slots
    nearest = sorted(others, key=lambda slot: abs(parse_instant(slot.start) - wanted.start))
    person = f" with {named(wanted.resource.title)}" if wanted.resource else ""
    raise refused(
        "slot_taken",
        f"On {spoken_day(wanted.start, zone)} at {spoken_clock(wanted.start, zone)} {named(document.title)} "
        f"is not free for {named(wanted.service.title)}{person}.",
        details={"alternatives": msgspec.to_builtins(nearest[:_OFFERED])},
    )


def _check_price(document: Discovery, wanted: Wanted, slot: Slot) -> None:
    if slot.total is None:
        return
    total, ceiling = read_money(slot.total), wanted.ceiling
    if ceiling is None or ceiling.currency != total.currency:
        raise refused("wrong_currency", f"{named(document.title)} charges {spoken_money(total)}, in another currency.")
    if total.minor > ceiling.minor:
        taxes = ", ".join(named(tax.title) for tax in document.taxes)
        raise refused(
            "above_price",
            f"{named(wanted.service.title)} at {named(document.title)} costs {spoken_money(total)} in total"
            f"{f', {taxes} included' if taxes else ''}, above the limit of {spoken_money(ceiling)}.",
        )
