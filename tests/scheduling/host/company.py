"""Participants: people with keys of their own whom somebody asks along, and what they say."""

from __future__ import annotations

from typing import Any

from sayso.net.fetch import Response
from sayso.proof.hashes import sha256_b64u
from tests.scheduling.host.town import Guest, Town, read

NOTHING = {"services": None, "window": None, "max_price": None, "max_bookings": None}
TWO_HOURS_YES = {"answer_within": "PT2H", "silence": "yes"}
TWO_HOURS_NO = {"answer_within": "PT2H", "silence": "no"}


def asked(name: str, guest: Guest, **changed: Any) -> dict[str, Any]:
    """An entry for somebody, required unless told."""
    return {"principal": guest.principal, "name": name, "required": True, **changed}


def reading(guest: Guest, booking_id: str, **changed: Any) -> str:
    """A mandate that can do nothing but show who reads one invitation."""
    return guest.mandate(constraints={**NOTHING, "bookings": [booking_id]}, **{"scope": ["book"], **changed})


def coming(guest: Guest, offer: str, *bookings: str) -> str:
    """A yes to exactly this offer, as the participant's key app signs it."""
    return guest.closed(offer, **({"bookings": list(bookings)} if bookings else {}))


def not_coming(guest: Guest, offer: str) -> str:
    """A no to exactly this offer: it can be turned into nothing else."""
    return guest.mandate(constraints={**NOTHING, "offer_sha256": sha256_b64u(offer)}, scope=["cancel"])


async def answer(
    guest: Guest, booking_id: str, said: str, offer: str, mandate: str | None = None, **changed: Any
) -> Response:
    """One answer, under the mandate their key app would sign for it."""
    signed = mandate or (coming(guest, offer) if said == "yes" else not_coming(guest, offer))
    body = {"idempotency_key": guest.ids.new("i"), "offer_sha256": sha256_b64u(offer), "answer": said, **changed}
    return await guest.send("POST", f"/bookings/{booking_id}/answer", body, signed)


async def look(guest: Guest, booking_id: str, mandate: str | None = None) -> Response:
    """The invitation as a participant reads it."""
    return await guest.send("GET", f"/bookings/{booking_id}/invitation", b"", mandate or reading(guest, booking_id))


async def shown(guest: Guest, booking_id: str) -> dict[str, Any]:
    """The booking as its booker reads it."""
    return read(await guest.send("GET", f"/bookings/{booking_id}"), 200)


async def asked_along(
    booker: Guest, *entries: dict[str, Any], terms: dict[str, str] | None = None, **hold: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A hold that asks people along, confirmed: the hold and what settling it answered."""
    mandate = booker.mandate(constraints={"max_bookings": 3})
    wish = {"participants": list(entries), "invitation": terms or TWO_HOURS_NO, **hold}
    held = read(await booker.hold(mandate, **wish), 201)
    return held, read(await booker.confirm(held, mandate), 201)


def people(town: Town, count: int) -> list[Guest]:
    """Some guests, each with their own keys."""
    return [town.guest() for _ in range(count)]
