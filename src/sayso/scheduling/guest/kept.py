"""What a guest remembers, as values: mandates, holds, bookings and change offers as they were received and checked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sayso.scheduling.terms.change import ChangeView
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.hold import HoldView
from sayso.scheduling.terms.waitlist import WaitlistEntry

__all__ = ("HoldState", "KeptBooking", "KeptChange", "KeptEntry", "KeptHold", "KeptMandate", "KnownHost", "MandateKind")

MandateKind = Literal["buying", "closed", "management", "invitation", "answer"]
HoldState = Literal["held", "confirmed", "released"]
ChangeState = Literal["offered", "made", "dropped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHost:
    """A host whose document was verified once; it is verified again on each use. `domain` vouches for it.

    `is_listed` tells that the domain is an operator's and the host has none of its own.
    """

    domain: str
    host: str
    is_listed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMandate:
    """A signed mandate. `subject` is what it was asked for: a draft's hash, an offer's hash or a booking's id."""

    jti: str
    host: str
    kind: MandateKind
    subject: str
    token: str
    expires: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptHold:
    """A hold whose offer was checked. `mandate` is the buying mandate's jti, `asked` the tool's arguments as asked.

    `details` are what the limits it was placed under let the host be told of the person, once it is booked.
    """

    hold_id: str
    host: str
    state: HoldState
    mandate: str
    view: HoldView
    asked: bytes
    offer: str
    offer_sha256: str
    expires: datetime
    booking_id: str | None = None
    details: GuestDetails | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBooking:
    """A booking whose receipt was checked.

    `offer` is the contract in force, `limits` the buying mandate's jti, `agreed` that
    of the mandate by which the contract was agreed.

    `managed` is the hash of the receipt for which the person was asked for a management mandate, whatever they said.
    """

    booking_id: str
    host: str
    hold_id: str
    state: str
    sequence: int
    version: int
    limits: str
    approved: Literal["offer", "limits"]
    agreed: str
    offer: str
    receipt: str
    start: datetime
    managed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptChange:
    """A change offer that was checked, beside the booking it would move."""

    offer_id: str
    booking_id: str
    state: ChangeState
    view: ChangeView
    offer: str
    offer_sha256: str
    expires: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEntry:
    """An entry as its host last told it. `mandate` is the jti it counts under, `asked` the arguments as asked."""

    entry_id: str
    host: str
    mandate: str
    view: WaitlistEntry
    asked: bytes
    joined: datetime

    @property
    def is_open(self) -> bool:
        """Whether it can still bring anything."""
        return self.view.status in ("waiting", "offered")
