"""The figures that stand in the protocol's text, each from the one place that holds it."""

from datetime import timedelta

import pytest

from sayso.core.durations import parse_duration
from sayso.scheduling.guest.discovery import CACHED_FOR
from sayso.scheduling.host.desk import AVAILABILITY_LIMIT
from sayso.scheduling.rules import reputation
from sayso.scheduling.terms.mandate_checks import LONGEST_BUYING
from sayso.scheduling.terms.status_checks import FRESH_FOR
from sayso.scheduling.tools.operations import HELD_FOR
from sayso.scheduling.tools.wanted import LIFETIME
from sayso.world.fades_on_queen import fades_on_queen
from sayso.world.maple_street import maple_street_auto


@pytest.mark.req("SCH-385")
def test_the_numbers_of_the_text_are_those_of_the_code():
    """Whoever changes one changes the text with it."""
    maple, fades = maple_street_auto().policies, fades_on_queen().policies
    assert {
        "status cache": FRESH_FOR,
        "discovery cache": CACHED_FOR,
        "half-life": reputation.HALF_LIFE,
        "floor": reputation.MIN_SAMPLE,
        "cut-offs": [cut_off for cut_off, _ in reputation.STEPS],
        "Maple's holds": parse_duration(maple.holds.ttl_max),
        "asked for": HELD_FOR,
        "horizon": maple.horizon,
        "Fades's newcomers": fades.holds.max_active_unproven,
        "for each attester": fades.holds.max_active_per_attester,
        "buying mandate": LIFETIME,
        "longest buying mandate": LONGEST_BUYING,
        "availability": (AVAILABILITY_LIMIT.burst, AVAILABILITY_LIMIT.period),
    } == {
        "status cache": timedelta(seconds=30),
        "discovery cache": timedelta(minutes=10),
        "half-life": timedelta(days=7),
        "floor": 5,
        "cut-offs": [0.91, 0.75, 0.51],
        "Maple's holds": timedelta(minutes=10),
        "asked for": timedelta(minutes=5),
        "horizon": "P60D",
        "Fades's newcomers": 6,
        "for each attester": 4,
        "buying mandate": "PT1H",
        "longest buying mandate": timedelta(days=31),
        "availability": (60, timedelta(minutes=1)),
    }
