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
from sayso.scheduling.rules.premises import (
    BookableService,
    BookableUnit,
    DayHours,
    Premises,
    ReleaseSchedule,
    WalkInReserve,
    Week,
)
from sayso.scheduling.rules.profile import HostProfile
from sayso.scheduling.rules.spans import DAY, length
from sayso.scheduling.terms.discovery import Contact, Policies, Service, Tax, Trust, WaitlistLimits, Weekday
from sayso.scheduling.terms.identity import is_principal
from sayso.scheduling.terms.operator import listed_endpoint_path
from sayso.scheduling.terms.wire import DomainName, HostId, OpaqueId, PrincipalUrn, Thumbprint, Words

__all__ = (
    "ENDPOINT_PATH",
    "HostConfig",
    "StaffConfig",
    "UnitConfig",
    "Weekday",
    "build_profile",
    "endpoint_path",
    "host_name",
    "public_origin",
)

ENDPOINT_PATH = "/schcp/v0"

_OPENING = re.compile(r"(\d\d):([0-5]\d)-(\d\d):([0-5]\d)")

_DAYS: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


Capacity = Annotated[int, Meta(ge=1, le=1000)]


class UnitConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A bay, chair, room or person. `hours` are wall-clock openings such as `08:00-18:00`; a day left out is closed.

    `capacity` is how many appointments it takes at once: one number, or one for each weekday (a day left out: 1).
    """

    id: OpaqueId
    type: OpaqueId
    hours: dict[Weekday, tuple[str, ...]]
    title: Words | None = None
    capacity: Capacity | dict[Weekday, Capacity] = 1


class StaffConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Somebody who answers for the host over HTTP: the thumbprint of the key their program signs with (SCH-184)."""

    id: OpaqueId
    key: Thumbprint


class HostConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything a host declares. `domain` vouches for it and is the origin its endpoint is signed for.

    With `operator` the endpoint is on that domain's origin instead; where the two are the same, the host has no domain
    of its own and the operator alone vouches for it. `owner` is the person whose calendar it is, named in its offers:
    it stands with the kind `person` and only there.
    """

    id: HostId
    domain: str
    title: Words
    timezone: str
    contact: Contact
    services: tuple[Service, ...]
    units: tuple[UnitConfig, ...]
    policies: Policies
    taxes: tuple[Tax, ...] = ()
    trust: Trust = Trust()
    kind: Literal["business", "person"] = "business"
    staff: tuple[StaffConfig, ...] = ()
    operator: DomainName | None = None
    owner: PrincipalUrn | None = None
    waitlist: WaitlistLimits | None = None


def host_name(config: HostConfig) -> str:
    """The global name, `<host id>@<domain>` (SCH-028, SCH-046)."""
    return f"{config.id}@{config.domain}"


def public_origin(config: HostConfig) -> str:
    """What clients sign for, whatever port this process listens on (SCH-055)."""
    return f"https://{config.operator or config.domain}"


def endpoint_path(config: HostConfig) -> str:
    """Where its routes begin on that origin: an operator serves several hosts on one (SCH-047)."""
    return ENDPOINT_PATH if config.operator is None else listed_endpoint_path(config.id)


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
    _check_unique((attester.iss for attester in config.trust.attesters), "$.trust.attesters")
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
            release=_release(policies),
            reserves=_reserves(policies, units),
        ),
        ceilings=Ceilings(
            ttl_min=parse_duration(holds.ttl_min),
            ttl_max=parse_duration(holds.ttl_max),
            per_agent=holds.max_active_per_agent,
            unproven=holds.max_active_unproven,
            per_attester=holds.max_active_per_attester,
        ),
        retention=policies.retention,
        closed_mandate=policies.closed_mandate,
        access=policies.access,
        owner=config.owner,
        answer_within=None
        if policies.confirmation.answer_within is None
        else parse_duration(policies.confirmation.answer_within),
        waitlist_entries=None if config.waitlist is None else config.waitlist.max_entries_per_agent,
        reconfirming=policies.reconfirm,
        notes=policies.notes,
    )


def _check_served(config: HostConfig) -> None:
    """What the document can say and this version does not do is refused, not ignored."""
    policies = config.policies
    _check_kind(config)
    if (policies.confirmation.mode == "approval") != (policies.confirmation.answer_within is not None):
        raise _invalid("answer_within stands with approval and only there", "$.policies.confirmation")
    if parse_duration(policies.confirmation.answer_within or "PT1M").total_seconds() < 60:
        raise _invalid("a host takes at least a minute to answer", "$.policies.confirmation")
    _check_unique((member.id for member in config.staff), "$.staff")
    if parse_duration(policies.slot_step).total_seconds() < 60:
        raise _invalid("a slot step is at least a minute", "$.policies.slot_step")
    parse_duration(policies.retention)
    parse_duration(policies.replay_window)


def _check_kind(config: HostConfig) -> None:
    """A person's calendar has an owner who answers every request, from contacts alone (SCH-187, SCH-262)."""
    if config.kind == "business":
        if config.owner is not None:
            raise _invalid('an owner stands with kind = "person"', "$.owner")
        return
    if config.owner is None:
        raise _invalid("a person's calendar names its owner, as `sayso keyapp show` tells it", "$.kind")
    if not is_principal(config.owner):
        raise _invalid("no key has this owner's thumbprint: copy the first line of `sayso keyapp show`", "$.owner")
    if config.policies.access != "contacts":
        raise _invalid('a person\'s calendar is open to contacts only: access = "contacts"', "$.policies.access")
    if config.policies.confirmation.mode != "approval":
        raise _invalid(
            'a person\'s calendar confirms nothing by itself: mode = "approval"', "$.policies.confirmation.mode"
        )


def _unit(unit: UnitConfig) -> BookableUnit:
    place = f"$.units[{unit.id}].hours"
    hours = [_day(unit.hours.get(day, ()), f"{place}.{day}") for day in _DAYS]
    week: Week = (hours[0], hours[1], hours[2], hours[3], hours[4], hours[5], hours[6])
    if isinstance(unit.capacity, int):
        return BookableUnit(id=unit.id, kind=unit.type, week=week, name=unit.title, capacity=unit.capacity)
    seats_on = tuple(unit.capacity.get(day, 1) for day in _DAYS)
    return BookableUnit(
        id=unit.id, kind=unit.type, week=week, name=unit.title, capacity=max(seats_on), seats_on=seats_on
    )


def _release(policies: Policies) -> ReleaseSchedule | None:
    release = policies.release
    if release is None:
        return None
    hour, minute = map(int, release.at.split(":"))
    return ReleaseSchedule(days_ahead=release.days_ahead, minute=hour * 60 + minute)


def _reserves(policies: Policies, units: tuple[BookableUnit, ...]) -> tuple[WalkInReserve, ...]:
    known = {unit.kind for unit in units}
    for reserve in policies.walk_ins:
        if reserve.type not in known:
            raise _invalid(f"no unit is of the type {reserve.type}", "$.policies.walk_ins")
    return tuple(
        WalkInReserve(kind=each.type, keep=each.keep, weekdays=frozenset(_DAYS.index(day) for day in each.days))
        for each in policies.walk_ins
    )


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
    if service.areas and service.location != "guest":
        raise _invalid("areas stand with the location guest", place)
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
        returning_only=service.guests == "returning",
        areas=service.areas,
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
