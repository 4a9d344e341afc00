"""What a host publishes about itself at `/.well-known/scheduling.json` (spec section 4).

SCH-029 to SCH-032, SCH-041 to SCH-043, SCH-048, SCH-050. The document is closed; the version it serves says what may
stand in it. Fetching it, and judging whether its endpoint is authorised, is `guest.discovery`'s work.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.core.money import MoneyText
from sayso.scheduling.terms.identity import Jwk
from sayso.scheduling.terms.reconfirm import ReconfirmPolicy
from sayso.scheduling.terms.wire import (
    DomainName,
    DurationText,
    HostName,
    OpaqueId,
    Sentence,
    UrlText,
    VersionName,
    Words,
    ZoneName,
    whole,
)

__all__ = (
    "WELL_KNOWN",
    "Attester",
    "Confirmation",
    "Contact",
    "Discovery",
    "HoldLimits",
    "Notes",
    "Policies",
    "PublishedKey",
    "Release",
    "SelectableResource",
    "Service",
    "ServiceArea",
    "Tax",
    "Trust",
    "WaitlistLimits",
    "WalkIns",
    "Weekday",
    "find_service",
)

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

WELL_KNOWN = "/.well-known/scheduling.json"
"""Where a host with a domain publishes its document."""


class Contact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """How to reach the host without an agent; every refusal repeats it (SCH-042). At least one way is stated."""

    phone: Annotated[str, Meta(pattern=whole("[+]?[0-9][0-9 .()-]{3,30}"))] | None = None
    email: Annotated[str, Meta(pattern=whole("[!-?A-~]{1,64}@[!-?A-~]{1,190}"))] | None = None
    url: UrlText | None = None
    words: Words | None = None


class PublishedKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A signing key by the name documents give it; `verify` marks a retired one (SCH-027)."""

    kid: OpaqueId
    use: Literal["sign", "verify"]
    jwk: Jwk


class Tax(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tax added to every stated price, in hundredths of a percent; `HST 13%` is 1300."""

    title: Words
    basis_points: Annotated[int, Meta(ge=1, le=10000)]


class ServiceArea(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Where a host goes: a country, or the postal codes of it that begin like this, spaces left out (SCH-148)."""

    country: Annotated[str, Meta(pattern=whole("[A-Z]{2}"))]
    postal_codes: Annotated[
        tuple[Annotated[str, Meta(pattern=whole("[A-Z0-9]{1,10}"))], ...], Meta(max_length=200)
    ] = ()


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One thing that can be booked (SCH-030). `duration` is exact or the word `open`; `buffer` follows the service.

    `guests` says for whom: `returning` is for principals who have kept an appointment here. `areas` stands with
    `location` `guest`, and lists where the host goes; without it, anywhere.
    """

    id: OpaqueId
    title: Words
    duration: Annotated[str, Meta(pattern=whole("(open|P[0-9WDTHMS]+)"), max_length=32)]
    needs: Annotated[tuple[OpaqueId, ...], Meta(min_length=1, max_length=16)]
    buffer: DurationText | None = None
    price: MoneyText | None = None
    location: Literal["host", "guest", "elsewhere"] = "host"
    set_aside: DurationText | None = None
    choose_from: Annotated[tuple[OpaqueId, ...], Meta(max_length=200)] = ()
    description: Sentence | None = None
    guests: Literal["anyone", "returning"] = "anyone"
    areas: Annotated[tuple[ServiceArea, ...], Meta(max_length=50)] = ()


class SelectableResource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A member of staff or a resource that a guest may ask for by name (SCH-032)."""

    id: OpaqueId
    type: OpaqueId
    title: Words


class HoldLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The host's ceilings on holds (SCH-133, SCH-135, SCH-136, SCH-153)."""

    ttl_max: DurationText
    ttl_min: DurationText
    max_active_per_agent: Annotated[int, Meta(ge=1, le=1000)]
    max_active_unproven: Annotated[int, Meta(ge=1, le=100000)]
    max_active_per_attester: Annotated[int, Meta(ge=1, le=100000)] = 4


class WaitlistLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A waitlist is kept, and how many entries one agent may have waiting in it (SCH-153, SCH-237)."""

    max_entries_per_agent: Annotated[int, Meta(ge=1, le=1000)]


class Confirmation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Whether a confirm is final at once, or the host answers within `answer_within` (SCH-031, SCH-176)."""

    mode: Literal["instant", "approval"]
    answer_within: DurationText | None = None


class Notes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Whether free text for the host is accepted, and what to use where it is not (SCH-031)."""

    accepted: bool
    instead: Words | None = None


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole day opens at once: `days_ahead` days before it, at `at` on the host's clock (SCH-147)."""

    days_ahead: Annotated[int, Meta(ge=1, le=366)]
    at: Annotated[str, Meta(pattern=whole("([01][0-9]|2[0-3]):[0-5][0-9]"))]


class WalkIns(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Of one type of resource, `keep` are out of agents' reach on these weekdays (SCH-146)."""

    type: OpaqueId
    keep: Annotated[int, Meta(ge=1, le=1000)]
    days: Annotated[tuple[Weekday, ...], Meta(min_length=1, max_length=7)]


class Policies(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The rules that hold for every service of this host (SCH-031)."""

    holds: HoldLimits
    confirmation: Confirmation
    access: Literal["anyone", "contacts"]
    closed_mandate: Literal["never", "always"]
    retention: DurationText
    horizon: DurationText
    slot_step: DurationText
    notes: Notes
    replay_window: DurationText
    release: Release | None = None
    walk_ins: Annotated[tuple[WalkIns, ...], Meta(max_length=20)] = ()
    reconfirm: ReconfirmPolicy | None = None


class Attester(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Somebody whose statements about guests this host counts, and the keys they sign with (SCH-283)."""

    iss: DomainName
    title: Words
    keys: Annotated[tuple[PublishedKey, ...], Meta(min_length=1, max_length=8)]


class Trust(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The attesters a host listens to (SCH-283)."""

    attesters: Annotated[tuple[Attester, ...], Meta(max_length=50)] = ()


class Discovery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The whole document."""

    versions: Annotated[tuple[VersionName, ...], Meta(min_length=1, max_length=8)]
    host: HostName
    title: Words
    kind: Literal["business", "person"]
    endpoint: UrlText
    timezone: ZoneName
    keys: Annotated[tuple[PublishedKey, ...], Meta(min_length=1, max_length=32)]
    contact: Contact
    services: Annotated[tuple[Service, ...], Meta(max_length=500)]
    policies: Policies
    resources: Annotated[tuple[SelectableResource, ...], Meta(max_length=500)] = ()
    taxes: Annotated[tuple[Tax, ...], Meta(max_length=8)] = ()
    trust: Trust = Trust()
    meetings: bool = False
    operator: DomainName | None = None
    waitlist: WaitlistLimits | None = None


def find_service(document: Discovery, service_id: str) -> Service | None:
    """The service with that exact id, or None."""
    return next((service for service in document.services if service.id == service_id), None)
