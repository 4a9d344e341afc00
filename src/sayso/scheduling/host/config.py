"""A host's settings as data, and the profile that decisions are made by.

The members that travel are the discovery document's own Structs, so that what is declared and what is enforced cannot
differ. What is refused here is refused before a host serves anything: `config_invalid`, with the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.core.durations import parse_duration
from sayso.core.money import read_money
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone
from sayso.scheduling.rules.limits import Ceilings
from sayso.scheduling.rules.premises import BookableService, BookableUnit, DayHours, Premises, Week
from sayso.scheduling.rules.profile import HostProfile
from sayso.scheduling.rules.spans import DAY, length
from sayso.scheduling.terms.discovery import Contact, Policies, Service, Tax
from sayso.scheduling.terms.wire import HostId, OpaqueId, Words

__all__ = ("ENDPOINT_PATH", "HostConfig", "UnitConfig", "build_profile", "host_name", "public_origin")

ENDPOINT_PATH = "/schcp/v0"

_OPENING = re.compile(r"(\d\d):([0-5]\d)-(\d\d):([0-5]\d)")

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_DAYS: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class UnitConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A bay, chair, room or person. `hours` are wall-clock openings such as `08:00-18:00`; a day left out is closed."""

    id: OpaqueId
    type: OpaqueId
    hours: dict[Weekday, tuple[str, ...]]
    title: Words | None = None
    capacity: Annotated[int, Meta(ge=1, le=1000)] = 1


class HostConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything a host declares. `domain` vouches for it and is the origin its endpoint is signed for."""

    id: HostId
    domain: str
    title: Words
    timezone: str
    contact: Contact
    services: tuple[Service, ...]
    units: tuple[UnitConfig, ...]
    policies: Policies
    taxes: tuple[Tax, ...] = ()
    kind: Literal["business", "person"] = "business"


def host_name(config: HostConfig) -> str:
    """The global name, `<host id>@<domain>` (SCH-028, SCH-046)."""
    return f"{config.id}@{config.domain}"


def public_origin(config: HostConfig) -> str:
    """What clients sign for, whatever port this process listens on (SCH-055)."""
    return f"https://{config.domain}"


def build_profile(config: HostConfig) -> HostProfile:
    """The profile of a host whose settings make sense together.

    Refused: `config_invalid` (an unknown zone, hours that overlap, a service whose units do not exist, a policy this
    version does not serve), with the place.
    """
    try:
        return _build(config)
    except Refused as refused:
        inner = refused.refusal
        if inner.code == "config_invalid":
            raise
        raise _invalid(inner.message, inner.place or "$") from None


def _build(config: HostConfig) -> HostProfile:
    _check_served(config)
    units = tuple(_unit(unit) for unit in config.units)
    _check_unique((unit.id for unit in units), "$.units")
    _check_unique((service.id for service in config.services), "$.services")
    services = {service.id: _service(service, units) for service in config.services}
    policies, holds = config.policies, config.policies.holds
    return HostProfile(
        host=host_name(config),
        title=config.title,
        premises=Premises(
            zone=find_zone(config.timezone),
            units=units,
            services=services,
            slot_step=parse_duration(policies.slot_step),
            horizon=parse_duration(policies.horizon),
            taxes=config.taxes,
        ),
        ceilings=Ceilings(
            ttl_min=parse_duration(holds.ttl_min),
            ttl_max=parse_duration(holds.ttl_max),
            per_agent=holds.max_active_per_agent,
            unproven=holds.max_active_unproven,
        ),
        retention=policies.retention,
        closed_mandate=policies.closed_mandate,
    )


def _check_served(config: HostConfig) -> None:
    """What the document can say and this version does not do is refused, not ignored."""
    policies = config.policies
    if config.kind != "business":
        raise _invalid("a person's calendar is not served yet", "$.kind")
    if policies.confirmation.mode != "instant":
        raise _invalid("a host that approves each booking is not served yet", "$.policies.confirmation")
    if policies.access != "anyone":
        raise _invalid("a calendar for contacts alone is not served yet", "$.policies.access")
    if parse_duration(policies.slot_step).total_seconds() < 60:
        raise _invalid("a slot step is at least a minute", "$.policies.slot_step")
    parse_duration(policies.retention)
    parse_duration(policies.replay_window)


def _unit(unit: UnitConfig) -> BookableUnit:
    place = f"$.units[{unit.id}].hours"
    hours = [_day(unit.hours.get(day, ()), f"{place}.{day}") for day in _DAYS]
    week: Week = (hours[0], hours[1], hours[2], hours[3], hours[4], hours[5], hours[6])
    return BookableUnit(id=unit.id, kind=unit.type, week=week, name=unit.title, capacity=unit.capacity)


def _day(texts: Iterable[str], place: str) -> DayHours:
    openings = tuple(_opening(text, place) for text in texts)
    ends = [0, *(minute for opening in openings for minute in opening)]
    if ends != sorted(ends):
        raise _invalid("openings stand in order and do not overlap", place)
    return openings


def _opening(text: str, place: str) -> tuple[int, int]:
    found = _OPENING.fullmatch(text)
    if found is None:
        raise _invalid("an opening is written like 08:00-18:00", place)
    hour, minute, end_hour, end_minute = map(int, found.groups())
    opens, closes = hour * 60 + minute, end_hour * 60 + end_minute
    if not opens < closes <= 1440:
        raise _invalid("an opening ends after it starts, by 24:00", place)
    return opens, closes


def _service(service: Service, units: tuple[BookableUnit, ...]) -> BookableService:
    place = f"$.services[{service.id}]"
    for kind in service.needs:
        if sum(unit.capacity for unit in units if unit.kind == kind) < service.needs.count(kind):
            raise _invalid(f"there are not enough units of the type {kind}", place)
    named = {unit.id for unit in units if unit.name is not None and unit.kind in service.needs}
    if not named.issuperset(service.choose_from):
        raise _invalid("choose_from names units that have a title and a type the service needs", place)
    made = BookableService(
        id=service.id,
        title=service.title,
        duration=None if service.duration == "open" else parse_duration(service.duration),
        needs=service.needs,
        buffer=parse_duration(service.buffer or "PT0S"),
        set_aside=None if service.set_aside is None else parse_duration(service.set_aside),
        price=None if service.price is None else read_money(service.price),
        location=service.location,
        choose_from=service.choose_from,
    )
    _check_lengths(made, place)
    return made


def _check_lengths(service: BookableService, place: str) -> None:
    kept = service.duration if service.duration is not None else service.set_aside
    if kept is not None and not 0 < length(kept) <= DAY:
        raise _invalid("a service takes some time, at most a day", place)
    if length(service.buffer) > DAY:
        raise _invalid("a buffer is at most a day", place)
    if service.duration is not None and service.set_aside is not None:
        raise _invalid("set_aside is for services without an agreed end", place)


def _check_unique(names: Iterable[str], place: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise _invalid(f"{name} stands there twice", place)
        seen.add(name)


def _invalid(message: str, place: str) -> Refused:
    return Refused.because("config_invalid", f"The host's settings do not hold: {message}.", place=place)
