"""Rosie's Nails: a salon in Toronto with nothing but a shared calendar, which answers each request (SCH-368).

Because people are written into that calendar by hand as well, nothing is booked there before Rosie has seen it: she
takes up to two hours, for a move as for a booking. What the paper does not say is chosen here (SCH-383): Chairly lists
her, since she has no domain; two stations; Tuesday to Saturday from ten to seven; the services' lengths and prices.
"""

from __future__ import annotations

from sayso.core.money import MoneyText
from sayso.scheduling.host.config import HostConfig, UnitConfig, Weekday
from sayso.scheduling.terms.discovery import Confirmation, Contact, HoldLimits, Notes, Policies, Service, Tax, Trust
from sayso.world.chairly import CHAIRLY
from sayso.world.phonecheck import PHONECHECK

__all__ = ("rosies_nails",)

_DAY = ("10:00-19:00",)


def rosies_nails() -> HostConfig:
    """A fresh copy of the salon's settings."""
    return HostConfig(
        id="rosies-nails",
        domain=CHAIRLY.domain,
        operator=CHAIRLY.domain,
        title="Rosie's Nails",
        timezone="America/Toronto",
        contact=Contact(phone="+1 416 555 0158", words="Call Rosie, or look in: 92 Ossington Avenue, Toronto."),
        services=(
            _service("pedicure", "Pedicure", "PT1H", "55.00"),
            _service("manicure", "Manicure", "PT45M", "35.00"),
        ),
        units=(
            UnitConfig(id="station-1", type="station", hours=_five_days()),
            UnitConfig(id="station-2", type="station", hours=_five_days()),
        ),
        policies=Policies(
            holds=HoldLimits(ttl_max="PT10M", ttl_min="PT1M", max_active_per_agent=3, max_active_unproven=6),
            confirmation=Confirmation(mode="approval", answer_within="PT2H"),
            access="anyone",
            closed_mandate="never",
            retention="P365D",
            horizon="P60D",
            slot_step="PT15M",
            notes=Notes(accepted=True),
            replay_window="P1D",
        ),
        taxes=(Tax(title="HST 13%", basis_points=1300),),
        trust=Trust(attesters=(PHONECHECK,)),
    )


def _service(id_: str, title: str, duration: str, price: str) -> Service:
    return Service(
        id=id_,
        title=title,
        duration=duration,
        needs=("station",),
        price=MoneyText(amount=price, currency="CAD"),
    )


def _five_days() -> dict[Weekday, tuple[str, ...]]:
    return {"tue": _DAY, "wed": _DAY, "thu": _DAY, "fri": _DAY, "sat": _DAY}
