"""For whom a service is, and where (spec section 7.5; SCH-148, SCH-157).

Both rules stand in the discovery document, so a refusal tells nothing that was not published. They are judged on the
path of every hold and never in availability, which does not know for whom it is asked.
"""

from __future__ import annotations

from sayso.scheduling.rules.premises import BookableService
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.place import AtGuest, Place

__all__ = ("check_area", "check_eligible")


def check_eligible(service: BookableService, *, is_proven: bool) -> None:
    """Refused: not_eligible, for a service of returning guests and a principal without a kept appointment here."""
    if service.returning_only and not is_proven:
        raise refused("not_eligible", place="$.service_id")


def check_area(service: BookableService, place: Place) -> None:
    """Refused: outside_area, where the host lists the areas it goes to and the guest's address is in none."""
    if not service.areas or not isinstance(place, AtGuest):
        return
    code = place.postal_code.replace(" ", "").replace("-", "")
    for area in service.areas:
        if area.country == place.country and (not area.postal_codes or code.startswith(area.postal_codes)):
            return
    raise refused("outside_area", place="$.place")
