"""Free slots in the host's own spelling: local offsets, the list price and the all-in total.

SCH-111, SCH-273, SCH-275.
"""

from collections.abc import Iterable

from sayso.core.instants import write_local
from sayso.core.money import write_money
from sayso.core.refusal import Refused
from sayso.scheduling.rules.allocate import NotFree
from sayso.scheduling.rules.availability import FreeSlot
from sayso.scheduling.rules.premises import BookableService
from sayso.scheduling.rules.profile import HostProfile
from sayso.scheduling.rules.spans import instant
from sayso.scheduling.terms.availability import Slot
from sayso.scheduling.terms.codes import refused

__all__ = ("not_free", "write_slots")


def write_slots(profile: HostProfile, service: BookableService, free: Iterable[FreeSlot]) -> tuple[Slot, ...]:
    """The slots as they travel; every slot of one service costs the same."""
    zone = profile.premises.zone
    stated = profile.quotes[service.id]
    price = None if stated is None else write_money(stated.price)
    total = None if stated is None else write_money(stated.total)
    return tuple(
        Slot(
            start=write_local(instant(slot.start), zone),
            end=None if slot.end is None else write_local(instant(slot.end), zone),
            open_end=True if slot.end is None else None,
            price=price,
            total=total,
        )
        for slot in free
    )


def not_free(profile: HostProfile, service: BookableService, answer: NotFree) -> Refused:
    """The refusal of a start that is not free, naming what is (SCH-134), or of one that is never given at all."""
    if not answer.is_offered:
        return refused("not_bookable", place="$.start")
    return refused(
        "slot_taken", place="$.start", details={"alternatives": write_slots(profile, service, answer.alternatives)}
    )
