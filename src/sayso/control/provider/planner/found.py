"""What the tools found, as values: hosts with their services, free slots, bookings, refusals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal

from sayso.control.provider.planner.conversation import Fact
from sayso.control.provider.planner.views import (
    amount_in,
    instant_in,
    number_in,
    object_in,
    objects_in,
    text_in,
    texts_in,
)

__all__ = (
    "Catalog",
    "KnownBooking",
    "KnownHost",
    "No",
    "Service",
    "Slot",
    "read_bookings",
    "read_catalog",
    "read_no",
    "read_slots",
)


@dataclass(frozen=True, slots=True)
class Service:
    """A service a host offers; `total` is all-in where a price is stated, `choose_from` whom one may ask for."""

    service_id: str
    title: str
    minutes: int | None
    total: tuple[Decimal, str] | None
    price_in_words: str
    takes: str
    choose_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A business or person whose time can be booked."""

    host: str
    name: str
    services: tuple[Service, ...]

    @property
    def currency(self) -> str | None:
        """The currency of its prices, where they agree on one."""
        currencies = {service.total[1] for service in self.services if service.total}
        return currencies.pop() if len(currencies) == 1 else None


@dataclass(frozen=True, slots=True)
class Catalog:
    """Every host that could be read, what could not, and what the tool says to an empty list."""

    hosts: tuple[KnownHost, ...]
    unread: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A free start; its clock is the host's. `written` is the start as the tool wrote it."""

    start: datetime
    written: str
    total: tuple[Decimal, str] | None

    @property
    def day(self) -> date:
        """The date there."""
        return self.start.date()

    @property
    def clock(self) -> time:
        """The time of day there."""
        return self.start.time()


@dataclass(frozen=True, slots=True)
class KnownBooking:
    """A booking as its host has it."""

    booking_id: str
    host: str
    what: str
    when: str
    start: datetime
    status: str
    price: str
    warning: str
    asked: str = ""
    """What its host asks of the person again, and by when."""

    @property
    def is_live(self) -> bool:
        """Whether there is still something to cancel or move."""
        return self.status not in ("cancelled", "declined", "expired", "completed", "no_show", "lapsed")


@dataclass(frozen=True, slots=True)
class No:
    """Why a tool refused: the registered reason or code, the words, and other times where it names any."""

    reason: str
    message: str
    alternatives: tuple[Slot, ...] = ()


def read_catalog(result: object) -> Catalog:
    """What discover_host answered."""
    hosts = tuple(_host(item) for item in objects_in(result, "hosts") if text_in(item, "host"))
    return Catalog(hosts, texts_in(result, "could_not_be_read"), text_in(result, "note"))


def _host(item: object) -> KnownHost:
    services = tuple(_service(each) for each in objects_in(item, "services") if text_in(each, "service_id"))
    return KnownHost(text_in(item, "host"), text_in(item, "name") or text_in(item, "host"), services)


def _service(item: object) -> Service:
    return Service(
        service_id=text_in(item, "service_id"),
        title=text_in(item, "title") or text_in(item, "service_id"),
        minutes=number_in(item, "duration_minutes"),
        total=amount_in(item, "total"),
        price_in_words=text_in(item, "price_in_words"),
        takes=text_in(item, "takes"),
        choose_from=texts_in(item, "choose_from"),
    )


def read_slots(result: object) -> tuple[tuple[Slot, ...], str]:
    """What find_slots answered: free starts in order, and where to ask on when there are more."""
    slots = sorted(_slots(objects_in(result, "slots")), key=lambda slot: slot.start)
    return tuple(slots), text_in(result, "more_from")


def _slots(items: tuple[object, ...]) -> list[Slot]:
    starts = [(item, instant_in(item, "start")) for item in items]
    return [Slot(start, text_in(item, "start"), amount_in(item, "total")) for item, start in starts if start]


def read_bookings(result: object) -> tuple[KnownBooking, ...]:
    """What booking_status answered, earliest first."""
    found = []
    for item in objects_in(result, "bookings"):
        start = instant_in(item, "start")
        if start and text_in(item, "booking_id"):
            found.append(_booking(item, start))
    return tuple(sorted(found, key=lambda booking: booking.start))


def _booking(item: object, start: datetime) -> KnownBooking:
    return KnownBooking(
        booking_id=text_in(item, "booking_id"),
        host=text_in(item, "host"),
        what=text_in(item, "what"),
        when=text_in(item, "when"),
        start=start,
        status=text_in(item, "status"),
        price=text_in(item, "price"),
        warning=text_in(item, "warning"),
        asked=text_in(item, "reconfirm"),
    )


def read_no(fact: Fact) -> No:
    """Why a call failed; plain words even where the tool gave none."""
    refusal = object_in(fact.result, "refused") or fact.result
    reason = text_in(refusal, "reason") or text_in(refusal, "code") or text_in(refusal, "error")
    message = text_in(refusal, "message") or (fact.result if isinstance(fact.result, str) else "")
    alternatives = tuple(_slots(objects_in(object_in(refusal, "details"), "alternatives")))
    return No(reason, message.strip() or "The tool gave no reason.", alternatives)
