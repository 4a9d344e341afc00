"""Harbourview Dental: a practice in Vancouver with a domain of its own, booked through Chairly (SCH-367).

Nobody books there without approving the exact offer, and no free text travels: the practice has its own intake form.
What the paper does not say is chosen here: hours, services and prices, which carry no sales tax (SCH-383).
"""

from __future__ import annotations

from sayso.core.money import MoneyText
from sayso.scheduling.host.config import HostConfig, UnitConfig, Weekday
from sayso.scheduling.terms.discovery import Confirmation, Contact, HoldLimits, Notes, Policies, Service, Trust
from sayso.world.chairly import CHAIRLY
from sayso.world.phonecheck import PHONECHECK

__all__ = ("harbourview_dental",)

_DAY = ("08:00-12:00", "13:00-17:00")


def harbourview_dental() -> HostConfig:
    """A fresh copy of the practice's settings."""
    return HostConfig(
        id="harbourview-dental",
        domain="harbourviewdental.example",
        operator=CHAIRLY.domain,
        title="Harbourview Dental",
        timezone="America/Vancouver",
        contact=Contact(phone="+1 604 555 0142", words="Call the front desk: 1050 West Hastings Street, Vancouver."),
        services=_services(),
        units=(
            UnitConfig(id="room-1", type="room", hours=_weekdays()),
            UnitConfig(id="room-2", type="room", hours=_weekdays()),
            UnitConfig(id="dr-okafor", type="dentist", title="Dr. Okafor", hours=_weekdays()),
            UnitConfig(id="june", type="hygienist", title="June", hours=_weekdays()),
        ),
        policies=Policies(
            holds=HoldLimits(ttl_max="PT10M", ttl_min="PT1M", max_active_per_agent=3, max_active_unproven=6),
            confirmation=Confirmation(mode="instant"),
            access="anyone",
            closed_mandate="always",
            retention="P730D",
            horizon="P90D",
            slot_step="PT15M",
            notes=Notes(accepted=False, instead="Fill in our own intake form when you arrive."),
            replay_window="P1D",
        ),
        trust=Trust(attesters=(PHONECHECK,)),
    )


def _services() -> tuple[Service, ...]:
    return (
        Service(
            id="dental-cleaning",
            title="Dental cleaning",
            duration="PT1H",
            needs=("room", "hygienist"),
            price=_cad("165.00"),
        ),
        Service(
            id="dental-exam",
            title="Dental exam",
            duration="PT30M",
            buffer="PT15M",
            needs=("room", "dentist"),
            price=_cad("95.00"),
        ),
    )


def _cad(amount: str) -> MoneyText:
    return MoneyText(amount=amount, currency="CAD")


def _weekdays() -> dict[Weekday, tuple[str, ...]]:
    return {"mon": _DAY, "tue": _DAY, "wed": _DAY, "thu": _DAY, "fri": _DAY}
