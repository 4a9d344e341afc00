"""Fades on Queen as a host on a domain of its own, and people who want a haircut on Thursday."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from sayso.core.instants import write_local
from sayso.core.zones import find_zone
from sayso.net.fetch import Response
from sayso.scheduling.host.config import HostConfig
from sayso.world.fades_on_queen import fades_on_queen
from tests.scheduling.host.town import DOMAIN, Guest, read

THURSDAY = "2026-10-15"
BARBERS = ("dev", "marcus")
_EVER = {"not_before": "2026-10-13T00:00:00-04:00", "not_after": "2027-01-13T00:00:00-04:00"}


def barbershop(**holds: Any) -> HostConfig:
    """The shop's own settings but for where it is served; its id is the one the guests' mandates name."""
    config = fades_on_queen()
    limits = msgspec.structs.replace(config.policies.holds, **holds)
    policies = msgspec.structs.replace(config.policies, holds=limits)
    return msgspec.structs.replace(config, id="maple-street-auto", domain=DOMAIN, operator=None, policies=policies)


def may_cut(guest: Guest, *attestations: str, **constraints: Any) -> str:
    """A mandate for one haircut at any time."""
    more = {"attestations": list(attestations)} if attestations else {}
    wide = {"services": ["haircut"], "window": _EVER, **constraints}
    return guest.mandate(constraints=wide, **more)


def half_hours(day: str = THURSDAY) -> list[str]:
    """The eighteen starts of one barber's day."""
    zone = find_zone("America/Toronto")
    first = datetime.fromisoformat(f"{day}T10:00:00").replace(tzinfo=zone)
    return [write_local(first + n * timedelta(minutes=30), zone) for n in range(18)]


def chairs(day: str = THURSDAY) -> list[dict[str, str]]:
    """The thirty-six half hours of the shop's Thursday."""
    return [{"start": start, "resource_id": barber} for start in half_hours(day) for barber in BARBERS]


async def cut(guest: Guest, mandate: str, **asked: Any) -> Response:
    """Asks to hold a haircut."""
    return await guest.hold(mandate, service_id="haircut", **asked)


async def have_cut(guest: Guest, **asked: Any) -> dict[str, Any]:
    """Holds and confirms a haircut; the booking."""
    mandate = may_cut(guest)
    hold = read(await cut(guest, mandate, **asked), 201)
    return read(await guest.confirm(hold, mandate), 201)["booking"]


def why_not(response: Response) -> str | None:
    """The reason of a refusal, None for a yes."""
    body = msgspec.json.decode(response.body)
    return None if response.status < 300 else body["refusal"]["reason"]


__all__ = ("BARBERS", "THURSDAY", "barbershop", "chairs", "cut", "half_hours", "have_cut", "may_cut", "why_not")
