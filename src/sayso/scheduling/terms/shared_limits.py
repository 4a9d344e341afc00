"""One limit over several hosts: what an agent asks for, and the words of it (spec section 6.12; SCH-092).

`application/schcp-shared-limits+json`. `services` is one list for all the hosts, as in the mandate that it becomes; the
text names at each host every service of the list that it offers, because the mandate would allow it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.core.instants import parse_instant
from sayso.core.money import MoneyText, read_money
from sayso.core.zones import find_zone
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.mandate import Constraints, Scope, TimeWindow
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.spoken import either, spoken_money, spoken_period, spoken_span
from sayso.scheduling.terms.wire import DurationText, HostName, OpaqueId, Thumbprint

__all__ = ("SHARED_MEDIA_TYPE", "SharedLimitsDraft", "shared_constraints", "shared_limits_text")

SHARED_MEDIA_TYPE = "application/schcp-shared-limits+json"


class SharedLimitsDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Limits over whichever of several hosts; there is no member for prose (SCH-105)."""

    hosts: Annotated[tuple[HostName, ...], Meta(min_length=2, max_length=8)]
    agent: Thumbprint
    scope: Annotated[tuple[Scope, ...], Meta(min_length=1, max_length=4)]
    services: Annotated[tuple[OpaqueId, ...], Meta(min_length=1, max_length=50)]
    window: TimeWindow
    max_bookings: Annotated[int, Meta(ge=1, le=100)]
    lifetime: DurationText
    max_price: MoneyText | None = None


def shared_constraints(draft: SharedLimitsDraft) -> Constraints:
    """The limits that its mandate states."""
    return Constraints(
        services=draft.services,
        window=draft.window,
        max_price=draft.max_price,
        max_bookings=draft.max_bookings,
        shared_limit=True,
    )


def shared_limits_text(draft: SharedLimitsDraft, documents: Sequence[Discovery]) -> str:
    """What signing it allows, from the draft and the hosts' own documents; times are those of the first one's zone."""
    zone = find_zone(documents[0].timezone)
    opens, closes = parse_instant(draft.window.not_before), parse_instant(draft.window.not_after)
    span = spoken_span(opens, closes, zone, joint=("between", "and"))
    when = span if span.startswith("between") else f"on {span}"
    count = "one appointment" if draft.max_bookings == 1 else f"up to {draft.max_bookings} appointments in all"
    places = either([f"{verified_identity(each).said} ({_services(each, draft)})" for each in documents])
    ceiling = (
        "only where no price is stated"
        if draft.max_price is None
        else f"for at most {spoken_money(read_money(draft.max_price))} in total each"
        if draft.max_bookings > 1
        else f"for at most {spoken_money(read_money(draft.max_price))} in total"
    )
    what = "it" if draft.max_bookings == 1 else "them"
    return (
        f"I allow my assistant to hold and book {count}, at {places}, {when}, {ceiling}. "
        f"Within these limits it may also cancel or move {what}. "
        "It is one limit over all of these: my key app counts it, and each of them asks before it confirms. "
        f"My permission lasts {spoken_period(draft.lifetime)} from when I sign. "
        "I can take it back sooner. What is booked by then stays booked until somebody cancels it."
    )


def _services(document: Discovery, draft: SharedLimitsDraft) -> str:
    return either([named(each.title) for each in document.services if each.id in draft.services])
