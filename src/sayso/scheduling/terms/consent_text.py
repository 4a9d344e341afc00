"""The sentences a person says yes to, written from authenticated bytes and nothing else (spec section 15.5).

SCH-104, SCH-106, SCH-161, SCH-168, SCH-169. Everyday language from the reader's side: what, where, with whom, when and
in which zone, what is paid to whom, until when the host answers, how long it keeps records, and for how long a
permission lasts. Nothing an agent wrote goes in. Verifying the documents is the key app's work; what it could not
verify comes in as an `Identity` that says so, and the text repeats it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from sayso.core.instants import parse_instant
from sayso.core.money import read_money
from sayso.core.zones import find_zone
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.company_text import company_sentences
from sayso.scheduling.terms.discovery import Discovery, find_service
from sayso.scheduling.terms.draft import LimitsDraft, Telling
from sayso.scheduling.terms.identity import vouching_domain
from sayso.scheduling.terms.mandate import Constraints, Scope, TimeWindow
from sayso.scheduling.terms.offer import Line, OfferClaims
from sayso.scheduling.terms.operator import is_listed_only
from sayso.scheduling.terms.place import AtGuest, Elsewhere, Place
from sayso.scheduling.terms.quoted import named, quoted
from sayso.scheduling.terms.reconfirm import Reconfirmation
from sayso.scheduling.terms.spoken import either, spoken_clock, spoken_day, spoken_money, spoken_period, spoken_span

__all__ = (
    "Identity",
    "limits_text",
    "management_text",
    "offer_text",
    "tells_sentence",
    "unverified_identity",
    "verified_identity",
)

_TELLINGS: dict[Telling, str] = {"name": "my name", "contact": "how to reach me", "attendee": "who comes in my place"}
_DOINGS: dict[Scope, str] = {"hold": "hold", "book": "book", "cancel": "cancel", "reschedule": "move"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who the other side is. `title` is what it calls itself; `domain` what vouches for it, if that was verified.

    `is_listed`: the domain is that of its operator, and it has none of its own (SCH-109).
    """

    title: str
    domain: str
    is_verified: bool
    is_listed: bool = False

    @property
    def called(self) -> str:
        """What it calls itself, as it stands in our sentences."""
        return named(self.title)

    @property
    def said(self) -> str:
        """`Maple Street Auto (maplestreetauto.example)`, or what is claimed and not verified (SCH-106, SCH-109)."""
        if self.is_verified and self.is_listed:
            return f"{self.called}, listed by {self.domain}"
        if self.is_verified:
            return f"{self.called} ({self.domain})"
        return f"{quoted(self.title)} (claims to be {self.domain}, not verified)"


def verified_identity(document: Discovery) -> Identity:
    """The identity of a document that `verify_discovery` accepted."""
    listed = is_listed_only(document.host, document.operator)
    return Identity(title=document.title, domain=vouching_domain(document.host), is_verified=True, is_listed=listed)


def unverified_identity(host: str, title: str | None = None) -> Identity:
    """The identity a document claims when nobody could be asked."""
    return Identity(title=title or host, domain=vouching_domain(host), is_verified=False)


def limits_text(draft: LimitsDraft, document: Discovery | None, *, revocable: bool = False) -> str:
    """What a buying mandate allows, from the draft and the host's own document, or only from what the draft claims.

    `revocable` tells that the key app has an address where hosts ask.
    """
    identity = verified_identity(document) if document else unverified_identity(draft.host)
    found = [find_service(document, each) if document else None for each in draft.services]
    services = [
        named(service.title) if service else quoted(id_) for service, id_ in zip(found, draft.services, strict=True)
    ]
    zone_name = document.timezone if document else "UTC"
    count = "one appointment" if draft.max_bookings == 1 else f"up to {draft.max_bookings} appointments"
    verbs = either([_DOINGS[each] for each in draft.scope if each in ("hold", "book")], "and") or "look for"
    after = [_DOINGS[each] for each in draft.scope if each in ("cancel", "reschedule")]
    sentences = [
        f"I allow my assistant to {verbs} {count} at {identity.said}: {either(services)}, "
        f"{_window(draft.window, zone_name)}, {_ceiling(draft)}."
    ]
    if after:
        what = "that booking" if draft.max_bookings == 1 else "those bookings"
        sentences.append(f"Within these limits it may also {either(after, 'or')} {what}.")
    if draft.tells:
        sentences.append(tells_sentence(draft.tells, identity.title))
    lifetime = spoken_period(draft.lifetime)
    sentences.append(f"My permission lasts {lifetime} from when I sign.")
    sentences.append(revocation(identity, revocable=revocable))
    return " ".join(sentences)


def tells_sentence(tells: Sequence[Telling], title: str) -> str:
    """What limits say of what a host may be told of the person (SCH-208)."""
    return f"It may tell {named(title)} {either([_TELLINGS[each] for each in tells], 'and')}, for the appointment."


def _window(window: TimeWindow, zone_name: str) -> str:
    span = spoken_span(
        parse_instant(window.not_before), parse_instant(window.not_after), find_zone(zone_name),
        joint=("between", "and"),
    )  # fmt: skip
    return span if span.startswith("between") else f"on {span}"


def _ceiling(draft: LimitsDraft | Constraints) -> str:
    if draft.max_price is None:
        return "only where no price is stated"
    return f"for at most {spoken_money(read_money(draft.max_price))} in total"


def revocation(identity: Identity, *, revocable: bool) -> str:
    """Without a public address of the key app a mandate has no status URL, and its text says so (SCH-094)."""
    if revocable:
        return (
            f"I can take it back sooner: {identity.called} asks my key app before it does anything. "
            "What is booked by then stays booked until somebody cancels it."
        )
    return (
        "I cannot take it back sooner, only wait until it ends: "
        f"this key app has no address where {identity.called} could ask."
    )


def offer_text(claims: OfferClaims, identity: Identity) -> str:
    """What accepting exactly this offer means."""
    zone = find_zone(claims.timezone)
    start = parse_instant(claims.start)
    end = None if claims.end is None else parse_instant(claims.end)
    person = f" with {named(claims.resource_name)}" if claims.resource_name else ""
    opening = "I approve" if claims.change is None else "I approve this change to my booking"
    sentences = [
        f"{opening}: {named(claims.service.title)}{person} at {identity.said}, "
        f"{spoken_span(start, end, zone)}{_place(claims.place)}."
    ]
    if claims.total is not None and claims.lines is not None:
        parts = ", ".join(_line(line) for line in claims.lines)
        total = spoken_money(read_money(claims.total))
        sentences.append(f"I pay {identity.called} {total} directly: {parts}.")
    sentences += company_sentences(claims)
    if claims.answer_by is not None:
        answer_by = parse_instant(claims.answer_by)
        stays = "nothing is booked" if claims.change is None else "my booking stays as it is"
        sentences.append(
            f"{identity.called} answers by {spoken_day(answer_by, zone)} at {spoken_clock(answer_by, zone)}; "
            f"if it does not, {stays}."
        )
    if claims.reconfirm is not None:
        sentences.append(_reconfirm(claims.reconfirm, identity, zone))
    kept = spoken_period(claims.retention)
    sentences.append(f"{identity.called} keeps my booking details for {kept} after the booking.")
    return " ".join(sentences)


def _reconfirm(asked: Reconfirmation, identity: Identity, zone: ZoneInfo) -> str:
    """When the person is asked again, and what their silence does (SCH-169, SCH-248)."""
    when = spoken_span(parse_instant(asked.opens), parse_instant(asked.by), zone, joint=("between", "and"))
    when = when if when.startswith("between") else f"on {when}"
    then = "my booking ends and its time is free" if asked.silence == "lapses" else "my booking stands all the same"
    return f"{identity.called} asks me to reconfirm {when}; if I do not, {then}."


def _line(line: Line) -> str:
    return f"{named(line.title)} {spoken_money(read_money(line.amount))}"


def _place(place: Place) -> str:
    if isinstance(place, Elsewhere):
        return f", at {named(place.name)}"
    if isinstance(place, AtGuest):
        return f", at my address ({named(place.postal_code)}, {place.country})"
    return ""


def management_text(booking: Booking, limits: Constraints, identity: Identity, *, revocable: bool = False) -> str:
    """What a management mandate over this booking allows; `limits` are the buying mandate's."""
    doing = "cancel or move" if booking.reconfirm is None else "cancel, move or reconfirm"
    zone = find_zone(booking.event.time_zone)
    start = parse_instant(booking.start)
    end = None if booking.end is None else parse_instant(booking.end)
    person = f" with {named(booking.resource_name)}" if booking.resource_name else ""
    sentences = [
        f"I allow my assistant to {doing} this one booking until the appointment is over: "
        f"{named(booking.service.title)}{person} at {identity.said}, {spoken_span(start, end, zone)}.",
        "Cancelling is free.",
    ]
    if limits.window is not None:
        sentences.append(
            f"A move has to stay {_window(limits.window, booking.event.time_zone)} and {_ceiling(limits)}, "
            "or I approve the new offer myself."
        )
    else:
        sentences.append("A move needs my approval of the new offer.")
    sentences.append(revocation(identity, revocable=revocable))
    return " ".join(sentences)
