"""Placing a hold: from a request to time kept and an offer signed (SCH-131..134, SCH-150, SCH-158..166).

The steps, and why in this order: the request is read against what the host offers (`read_wish`); the mandate is judged
on the start, the end and the all-in total that follow from it (`ask_of`), before anything is allocated (SCH-082);
limits are counted; and only then the picture is looked at (`decide`). Nothing here writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant, write_instant
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft, Link
from sayso.scheduling.rules.allocate import AllocationAsk, Granted, NotFree, allocate
from sayso.scheduling.rules.asking_along import check_not_booker, read_company, with_company
from sayso.scheduling.rules.decision import Decision
from sayso.scheduling.rules.drafting import draw_offer, ends, list_price
from sayso.scheduling.rules.eligibility import check_area
from sayso.scheduling.rules.hold import Hold, HoldState, is_good
from sayso.scheduling.rules.opening import is_on_grid
from sayso.scheduling.rules.picture import Picture
from sayso.scheduling.rules.premises import BookableService
from sayso.scheduling.rules.profile import HostPen, HostProfile, Signed
from sayso.scheduling.rules.release import released_until
from sayso.scheduling.rules.slots import not_free
from sayso.scheduling.rules.spans import instant, micros
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import HoldRequest, HoldView
from sayso.scheduling.terms.mandate_checks import Action, Ask, Mandate
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant import ALONE, Company
from sayso.scheduling.terms.place import AtGuest, AtHost, Elsewhere, Place

__all__ = (
    "HoldWish",
    "PlaceHold",
    "PlacedHold",
    "StoredHold",
    "ask_of",
    "check_bookable",
    "decide",
    "hold_view",
    "read_wish",
)

HOLD_PLACED = declare("hold.placed", "The host kept time for a guest and signed an offer for it.")

_PLACES: dict[str, type[AtGuest | Elsewhere]] = {"guest": AtGuest, "elsewhere": Elsewhere}


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldWish:
    """A hold request in values: every member read, the service and the unit known."""

    service: BookableService
    start: datetime
    ttl: timedelta
    place: Place
    named: str | None
    callback_url: str | None
    company: Company = ALONE


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHold:
    """A hold as it is kept. `principal` and `mandate` together name what it counts under; `proven` tells whether the
    principal had kept an appointment here, and `attester` in whose lane it stands if not; `until` is the end of the
    service or of the time set aside.
    """

    hold_id: str
    machine: Hold
    service_id: str
    agent: str
    principal: str
    mandate: str
    proven: bool
    until: datetime
    offer: Signed
    callback_url: str | None = None
    booking_id: str | None = None
    attester: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedHold:
    """What a placed hold adds to the store: itself, and the time it keeps."""

    hold: StoredHold
    granted: Granted


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceHold:
    """The command. The ids were minted by the driver; `proven` and `mandate` were judged before. `prefer` names the
    units to take where they fit.
    """

    wish: HoldWish
    hold_id: str
    offer_id: str
    agent: str
    mandate: Mandate
    proven: bool
    ttl: timedelta
    prefer: tuple[str, ...] = ()
    attester: str | None = None


def read_wish(profile: HostProfile, request: HoldRequest) -> HoldWish:
    """Refused: unknown_service, unknown_resource, place_required, outside_area, malformed instants and durations."""
    service = profile.service(request.service_id)
    if request.resource_id is not None and request.resource_id not in service.choose_from:
        raise refused("unknown_resource", place="$.resource_id")
    return HoldWish(
        service=service,
        start=parse_instant(request.start),
        ttl=parse_duration(request.ttl),
        place=_place(service, request.place),
        named=request.resource_id,
        callback_url=request.callback_url,
        company=read_company(profile, request),
    )


def _place(service: BookableService, place: Place | None) -> Place:
    """SCH-259, SCH-260: at the host unless the service happens where the guest says."""
    if place is None:
        if service.location == "host":
            return AtHost()
        raise refused("place_required", place="$.place")
    if service.location != "host" and isinstance(place, _PLACES[service.location]):
        check_area(service, place)
        return place
    raise refused("schema_invalid", "This service does not happen at such a place.", place="$.place")


def ask_of(profile: HostProfile, service: BookableService, start: datetime, agent: str) -> Ask:
    """What the mandate is asked to allow, in the host's own facts."""
    price = profile.quotes[service.id]
    return Ask(
        action=Action.HOLD,
        host=profile.host,
        agent=agent,
        service_id=service.id,
        start=start,
        end=ends(service, start),
        total=None if price is None else price.total,
        closed_mandate=profile.closed_mandate,
    )


def check_bookable(profile: HostProfile, start: datetime, now: datetime) -> None:
    """Refused: not_bookable, for what anyone can know from the discovery document: off the grid, not ahead of now, or
    past the horizon; not_released, for a day that has not opened yet. Hours and other bookings are not told apart
    (SCH-113); they are the allocator's.
    """
    premises = profile.premises
    if not (now < start <= now + premises.horizon and is_on_grid(micros(start), premises.zone, premises.slot_step)):
        raise refused("not_bookable", place="$.start")
    if micros(start) >= released_until(premises, now):
        raise refused("not_released", place="$.start")


def decide(
    profile: HostProfile, pen: HostPen, picture: Picture, command: PlaceHold, now: datetime
) -> Decision[PlacedHold, HoldView]:
    """Keeps the time and signs the offer. Refused: slot_taken, with what is free nearby."""
    wish = command.wish
    check_not_booker(wish.company, command.mandate.principal)
    granted = allocate(AllocationAsk(wish.service, micros(wish.start), wish.named, prefer=command.prefer), picture, now)
    if isinstance(granted, NotFree):
        raise not_free(profile, wish.service, granted)
    placed_at = now.replace(microsecond=0)
    expires_at = placed_at + command.ttl
    terms = draw_offer(
        profile,
        wish.service,
        granted,
        offer_id=command.offer_id,
        guest=command.mandate.principal,
        agent=command.agent,
        place=wish.place,
        now=now,
        expires_at=expires_at,
        hold_id=command.hold_id,
        answer_by=profile.answer_by(expires_at, wish.start, guest=command.mandate.principal),
    )
    terms = with_company(terms, wish.company, profile, expires_at)
    hold = StoredHold(
        hold_id=command.hold_id,
        machine=Hold(HoldState.HELD, 1, expires_at),
        service_id=wish.service.id,
        agent=command.agent,
        principal=command.mandate.principal,
        mandate=command.mandate.claims.jti,
        proven=command.proven,
        until=instant(granted.until),
        offer=pen.sign_offer(terms),
        callback_url=wish.callback_url,
        attester=command.attester,
    )
    return Decision(
        state=PlacedHold(hold=hold, granted=granted),
        records=(_record(hold, terms, command.mandate),),
        reply=hold_view(hold, terms, now),
    )


def _record(hold: StoredHold, terms: OfferClaims, mandate: Mandate) -> Draft:
    return Draft(
        kind=HOLD_PLACED,
        actor=hold.principal,
        links=(
            Link("mandate", mandate.sha256),
            *(Link("delegation", link.sha256) for link in mandate.links),
            Link("offer", hold.offer.sha256),
        ),
        body={
            "hold_id": hold.hold_id,
            "service_id": hold.service_id,
            "start": terms.start,
            "expires_at": write_instant(hold.machine.expires_at),
            "agent": hold.agent,
            "mandate": hold.mandate,
        },
    )


def hold_view(hold: StoredHold, terms: OfferClaims, now: datetime) -> HoldView:
    """The hold as its agent sees it at `now`: a hold whose time is over is expired, marked or not."""
    state = hold.machine.state
    if state is HoldState.HELD and not is_good(hold.machine, now):
        state = HoldState.EXPIRED
    return HoldView(
        hold_id=hold.hold_id,
        status=state.value,
        version=hold.machine.version,
        service_id=hold.service_id,
        start=terms.start,
        expires_at=write_instant(hold.machine.expires_at),
        offer=hold.offer.token,
        end=terms.end,
        open_end=terms.open_end,
        price=list_price(terms),
        total=terms.total,
        booking_id=hold.booking_id,
    )
