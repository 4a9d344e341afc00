"""Northwind: a software vendor whose demos cost nothing and are reconfirmed the day before (SCH-371).

Half an hour with Ana or Ben, the two account executives, on weekdays from nine to five in Toronto. Nothing about money
stands in anything it signs. Whoever booked is asked from two days before until a day before; silence frees the time.
What the paper does not say is chosen here: the hours, the window, that notes are welcome (SCH-383).
"""

from __future__ import annotations

from sayso.scheduling.host.config import HostConfig, UnitConfig, Weekday
from sayso.scheduling.terms.discovery import (
    Confirmation,
    Contact,
    HoldLimits,
    Notes,
    Policies,
    Service,
    Trust,
    WaitlistLimits,
)
from sayso.scheduling.terms.reconfirm import ReconfirmPolicy
from sayso.world.phonecheck import PHONECHECK

__all__ = ("northwind",)

_DAY = ("09:00-17:00",)


def northwind() -> HostConfig:
    """A fresh copy of the vendor's settings."""
    return HostConfig(
        id="northwind",
        domain="northwind.example",
        title="Northwind",
        timezone="America/Toronto",
        contact=Contact(email="sales@northwind.example", words="Write to us, and somebody calls you back."),
        services=(
            Service(
                id="demo",
                title="Product demo",
                duration="PT30M",
                needs=("account-executive",),
                choose_from=("ana", "ben"),
                description="Half an hour on a call. It costs nothing; the link comes from whoever you meet.",
            ),
        ),
        units=(
            UnitConfig(id="ana", type="account-executive", title="Ana", hours=_weekdays()),
            UnitConfig(id="ben", type="account-executive", title="Ben", hours=_weekdays()),
        ),
        policies=Policies(
            holds=HoldLimits(ttl_max="PT10M", ttl_min="PT1M", max_active_per_agent=3, max_active_unproven=6),
            confirmation=Confirmation(mode="instant"),
            access="anyone",
            closed_mandate="never",
            retention="P365D",
            horizon="P60D",
            slot_step="PT30M",
            notes=Notes(accepted=True),
            replay_window="P1D",
            reconfirm=ReconfirmPolicy(opens="P2D", due="P1D", silence="lapses"),
        ),
        waitlist=WaitlistLimits(max_entries_per_agent=5),
        trust=Trust(attesters=(PHONECHECK,)),
    )


def _weekdays() -> dict[Weekday, tuple[str, ...]]:
    return {"mon": _DAY, "tue": _DAY, "wed": _DAY, "thu": _DAY, "fri": _DAY}
