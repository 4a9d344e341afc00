"""Fades on Queen: a barbershop in Toronto without a domain of its own, found through Chairly (SCH-366).

Two barbers and two chairs, from ten to seven except on Sunday and Monday: thirty-six half hours on a Thursday. A day
opens thirty days ahead at ten; on Saturdays one chair is kept for people who walk in. What the paper does not say is
chosen here: the second barber, the hours, the price (SCH-383).
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
    Release,
    Service,
    Tax,
    Trust,
    WalkIns,
)
from sayso.world.chairly import CHAIRLY
from sayso.world.phonecheck import PHONECHECK

__all__ = ("fades_on_queen",)

_DAY = ("10:00-19:00",)


def fades_on_queen() -> HostConfig:
    """A fresh copy of the shop's settings."""
    return HostConfig(
        id="fades-on-queen",
        domain=CHAIRLY.domain,
        operator=CHAIRLY.domain,
        title="Fades on Queen",
        timezone="America/Toronto",
        contact=Contact(phone="+1 416 555 0177", words="Walk in: 611 Queen Street West, Toronto."),
        services=(
            Service(
                id="haircut",
                title="Haircut",
                duration="PT30M",
                needs=("barber", "chair"),
                price=MoneyText(amount="35.00", currency="CAD"),
                choose_from=("marcus", "dev"),
            ),
        ),
        units=(
            UnitConfig(id="marcus", type="barber", title="Marcus", hours=_five_days()),
            UnitConfig(id="dev", type="barber", title="Dev", hours=_five_days()),
            UnitConfig(id="chairs", type="chair", hours=_five_days(), capacity=2),
        ),
        policies=Policies(
            holds=HoldLimits(ttl_max="PT10M", ttl_min="PT1M", max_active_per_agent=3, max_active_unproven=6),
            confirmation=Confirmation(mode="instant"),
            access="anyone",
            closed_mandate="never",
            retention="P365D",
            horizon="P60D",
            slot_step="PT30M",
            notes=Notes(accepted=False, instead="Tell your barber when you sit down."),
            replay_window="P1D",
            release=Release(days_ahead=30, at="10:00"),
            walk_ins=(WalkIns(type="chair", keep=1, days=("sat",)),),
        ),
        taxes=(Tax(title="HST 13%", basis_points=1300),),
        trust=Trust(attesters=(PHONECHECK,)),
    )


def _five_days() -> dict[Weekday, tuple[str, ...]]:
    return {"tue": _DAY, "wed": _DAY, "thu": _DAY, "fri": _DAY, "sat": _DAY}
