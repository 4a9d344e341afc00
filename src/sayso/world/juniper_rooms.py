"""Juniper Rooms: the meeting rooms of the company where Mira, Tom and Ines work (SCH-371, SCH-380).

Two rooms, by the half hour, on weekdays from eight to six in Toronto; nothing is sold. Whoever books one asks the
others along on terms of their own. The paper names neither the company nor its rooms: both are chosen here (SCH-383).
"""

from __future__ import annotations

from sayso.scheduling.host.config import HostConfig, UnitConfig, Weekday
from sayso.scheduling.terms.discovery import Confirmation, Contact, HoldLimits, Notes, Policies, Service

__all__ = ("juniper_rooms",)

_DAY = ("08:00-18:00",)


def juniper_rooms() -> HostConfig:
    """A fresh copy of the rooms' settings."""
    return HostConfig(
        id="juniper-rooms",
        domain="juniper.example",
        title="Juniper Rooms",
        timezone="America/Toronto",
        contact=Contact(email="reception@juniper.example", words="Reception on the second floor knows every room."),
        services=(
            Service(
                id="room",
                title="Room for half an hour",
                duration="PT30M",
                needs=("room",),
                choose_from=("oak", "fir"),
                description="A table, a screen, seats for six.",
            ),
        ),
        units=(
            UnitConfig(id="fir", type="room", title="Fir", hours=_weekdays()),
            UnitConfig(id="oak", type="room", title="Oak", hours=_weekdays()),
        ),
        policies=Policies(
            holds=HoldLimits(ttl_max="PT10M", ttl_min="PT1M", max_active_per_agent=3, max_active_unproven=6),
            confirmation=Confirmation(mode="instant"),
            access="anyone",
            closed_mandate="never",
            retention="P90D",
            horizon="P60D",
            slot_step="PT30M",
            notes=Notes(accepted=False),
            replay_window="P1D",
        ),
    )


def _weekdays() -> dict[Weekday, tuple[str, ...]]:
    return {"mon": _DAY, "tue": _DAY, "wed": _DAY, "thu": _DAY, "fri": _DAY}
