from dataclasses import replace

import pytest

from sayso.core.refusal import Refused
from sayso.scheduling.rules.eligibility import check_area, check_eligible
from sayso.scheduling.terms.discovery import ServiceArea
from sayso.scheduling.terms.place import AtGuest
from tests.scheduling.rules.shop import OIL

DOWNTOWN = replace(
    OIL,
    location="guest",
    areas=(ServiceArea(country="CA", postal_codes=("M4", "M5V")), ServiceArea(country="NL")),
)


def reason(check, *args, **more):
    with pytest.raises(Refused) as refused:
        check(*args, **more)
    return refused.value.refusal.reason


@pytest.mark.req("SCH-148", "SCH-157")
def test_a_service_for_returning_guests_is_refused_to_newcomers_by_its_own_reason():
    """Nobody else is asked anything."""
    regulars = replace(OIL, returning_only=True)
    assert reason(check_eligible, regulars, is_proven=False) == "not_eligible"
    check_eligible(regulars, is_proven=True)
    check_eligible(OIL, is_proven=False)


@pytest.mark.req("SCH-148", "SCH-157")
@pytest.mark.parametrize(
    ("code", "country", "inside"),
    [
        ("M4B 1B3", "CA", True),
        ("M5V2T6", "CA", True),
        ("M5A 1A1", "CA", False),
        ("M4B 1B3", "US", False),
        ("1012 AB", "NL", True),
    ],
)
def test_a_host_goes_where_its_areas_say(code, country, inside):
    """By the beginning of the postal code, spaces left out; a country alone is all of it."""
    place = AtGuest(postal_code=code, country=country)
    if inside:
        check_area(DOWNTOWN, place)
    else:
        assert reason(check_area, DOWNTOWN, place) == "outside_area"
    check_area(replace(DOWNTOWN, areas=()), place)
