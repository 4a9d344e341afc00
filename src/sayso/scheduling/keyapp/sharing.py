"""From a draft of limits over several hosts to the mandate it would become (spec section 6.12; SCH-092, SCH-104).

Every host has to be who it says it is, and the key app has to have an address where they claim their units: without
either, nothing is prepared, and so nothing can be signed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from sayso.core import strictjson
from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant
from sayso.core.money import read_money
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.scheduling.keyapp.documents import Prepared
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.mandate_checks import LONGEST_BUYING
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.shared_limits import SharedLimitsDraft, shared_constraints, shared_limits_text

__all__ = ("SHARED", "read_shared")

SHARED = "shared_limits"
"""The kind of the question."""

_SCOPE = ("hold", "book", "cancel", "reschedule")


Find = Callable[[str], Awaitable[Discovery]]
"""The verified document of a host, by its name."""


async def read_shared(find: Find, data: bytes, now: datetime, *, revocable: bool) -> Prepared:
    """The mandate of a draft. Refused: document_invalid, unverified, claim_unavailable without a public address."""
    draft, lifetime = _read(data, now)
    if not revocable:
        raise refused("claim_unavailable", "This key app has no address where hosts could claim a unit of the limit.")
    found = [await _document(find, host) for host in draft.hosts]
    _check_services(draft, found)
    return Prepared(
        text=shared_limits_text(draft, found),
        identity=verified_identity(found[0]),
        host=draft.hosts,
        agent=draft.agent,
        scope=draft.scope,
        constraints=shared_constraints(draft),
        expires=lifetime,
    )


def _read(data: bytes, now: datetime) -> tuple[SharedLimitsDraft, timedelta]:
    try:
        draft = strictjson.decode(data, SharedLimitsDraft)
        lifetime = parse_duration(draft.lifetime)
        opens, closes = parse_instant(draft.window.not_before), parse_instant(draft.window.not_after)
        if draft.max_price is not None:
            read_money(draft.max_price)
    except Refused as error:
        raise refused("document_invalid", error.refusal.message, place=error.refusal.place) from None
    if not timedelta(0) < lifetime <= LONGEST_BUYING:
        raise refused("document_invalid", "A permission to book lasts at most 31 days.", place="$.lifetime")
    if opens >= closes or closes <= now:
        raise refused("document_invalid", "The window is over, or ends before it begins.", place="$.window")
    if len(set(draft.hosts)) < len(draft.hosts) or draft.scope != _SCOPE:
        raise refused("document_invalid", "It names a host twice, or asks for another scope than booking.")
    return draft, lifetime


async def _document(find: Find, host: str) -> Discovery:
    try:
        found = await find(host)
    except (PeerUnreachable, PeerRefused):
        raise refused("unverified", f"{host} cannot be asked who it is.") from None
    except Refused as error:
        raise refused("unverified", f"{host} is not verified: {error.refusal.message}") from None
    if found.host != host:
        raise refused("unverified", f"{host} is not verified: it calls itself {found.host}.")
    return found


def _check_services(draft: SharedLimitsDraft, documents: Sequence[Discovery]) -> None:
    """Nobody signs for a host at which nothing could be booked, nor for a service that nobody offers."""
    offered = [{service.id for service in each.services} & set(draft.services) for each in documents]
    for document, services in zip(documents, offered, strict=True):
        if not services:
            raise refused("document_invalid", f"{named(document.title)} offers none of these.", place="$.services")
    if set().union(*offered) != set(draft.services):
        raise refused("document_invalid", "None of these hosts offers one of the services.", place="$.services")
