"""Maple Street Auto: a garage in Toronto with its own domain and endpoint (SCH-365).

Two bays and two technicians on weekdays from 8:00 to 18:00, one of each on Saturday from 9:00 to 16:00, closed on
Sunday. Holds for ten minutes at most, records kept for a year, confirmed at once. What the paper does not say is chosen
here: when Saturday ends, what the other services cost, the second technician's name (SCH-383).
"""

from __future__ import annotations

from sayso.core.money import MoneyText
from sayso.scheduling.host.config import HostConfig, UnitConfig, Weekday
from sayso.scheduling.terms.discovery import (
    Confirmation,
    Contact,
    HoldLimits,
    Notes,
    Policies,
    Service,
    Tax,
    Trust,
    WaitlistLimits,
)
from sayso.world.phonecheck import PHONECHECK

__all__ = ("maple_street_auto",)

_DAY = ("08:00-18:00",)


def maple_street_auto() -> HostConfig:
    """A fresh copy of the garage's settings: nobody else sees what a test changes in them (SCH-374)."""
    return HostConfig(
        id="maple-street-auto",
        domain="maplestreetauto.example",
        title="Maple Street Auto",
        timezone="America/Toronto",
        contact=Contact(phone="+1 416 555 0134", words="Call us, or come by: 128 Maple Street, Toronto."),
        services=_services(),
        units=(
            UnitConfig(id="bay-1", type="bay", hours=_six_days()),
            UnitConfig(id="bay-2", type="bay", hours=_weekdays()),
            UnitConfig(id="alex", type="technician", title="Alex", hours=_six_days()),
            UnitConfig(id="robin", type="technician", title="Robin", hours=_weekdays()),
        ),
        policies=Policies(
            holds=HoldLimits(ttl_max="PT10M", ttl_min="PT1M", max_active_per_agent=3, max_active_unproven=6),
            confirmation=Confirmation(mode="instant"),
            access="anyone",
            closed_mandate="never",
            retention="P365D",
            horizon="P60D",
            slot_step="PT15M",
            notes=Notes(accepted=False, instead="Call us about anything we should know."),
            replay_window="P1D",
        ),
        taxes=(Tax(title="HST 13%", basis_points=1300),),
        waitlist=WaitlistLimits(max_entries_per_agent=5),
        trust=Trust(attesters=(PHONECHECK,)),
    )


def _services() -> tuple[Service, ...]:
    both = ("bay", "technician")
    return (
        Service(
            id="oil-change",
            title="Synthetic oil change",
            duration="PT45M",
            buffer="PT15M",
            needs=both,
            price=_cad("79.00"),
        ),
        Service(
            id="winter-tires",
            title="Winter tires",
            duration="PT1H",
            needs=both,
            price=_cad("120.00"),
            description="Seasonal change of four wheels you bring or store with us.",
        ),
        Service(
            id="detailing",
            title="Interior and exterior detailing",
            duration="PT3H",
            needs=both,
            price=_cad("240.00"),
            choose_from=("alex", "robin"),
        ),
        Service(
            id="brake-diagnosis",
            title="Brake diagnosis",
            duration="open",
            needs=("bay",),
            description="Drop the car off; we keep a bay for it until we close. Repairs are quoted separately.",
        ),
    )


def _cad(amount: str) -> MoneyText:
    return MoneyText(amount=amount, currency="CAD")


def _weekdays() -> dict[Weekday, tuple[str, ...]]:
    return {"mon": _DAY, "tue": _DAY, "wed": _DAY, "thu": _DAY, "fri": _DAY}


def _six_days() -> dict[Weekday, tuple[str, ...]]:
    return {**_weekdays(), "sat": ("09:00-16:00",)}
