"""The calendar event that both sides derive from the contract."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.scheduling.terms.event import event_of
from sayso.scheduling.terms.offer import OfferClaims
from tests.scheduling.terms.samples import NOW, offer


def event(status="confirmed", **changed):
    terms = strictjson.decode(strictjson.encode(offer(**changed)), OfferClaims)
    found = event_of(booking_id="b_1", terms=terms, sequence=2, status=status, updated=NOW)
    return strictjson.parse(strictjson.encode(found))


@pytest.mark.req("SCH-197", "SCH-211", "SCH-004")
def test_the_walkthroughs_event():
    """Local start and zone, duration, our uid, no scheduling members."""
    assert event() == {
        "@type": "Event",
        "uid": "b_1@maple-street-auto.schcp",
        "updated": "2026-10-13T13:00:00Z",
        "title": "Synthetic oil change — Maple Street Auto",
        "start": "2026-10-15T13:00:00",
        "timeZone": "America/Toronto",
        "sequence": 2,
        "status": "confirmed",
        "duration": "PT45M",
    }


@pytest.mark.req("SCH-211")
def test_an_open_end_has_no_duration_and_a_place_becomes_the_location():
    """A missing duration would mean no length at all, so it is said that there is a time."""
    found = event(end=None, open_end=True, place={"at": "elsewhere", "name": "Trinity Park"})
    assert "duration" not in found
    assert (found["showWithoutTime"], found["locations"]) == (
        False,
        {"1": {"@type": "Location", "name": "Trinity Park"}},
    )
    at_home = event(place={"at": "guest", "postal_code": "M6J 1H4", "country": "CA"})
    assert at_home["locations"]["1"]["name"] == "M6J 1H4, CA"


@pytest.mark.req("SCH-211", "SCH-197")
@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("pending_host", "tentative"),
        ("tentative", "tentative"),
        ("completed", "confirmed"),
        ("no_show", "confirmed"),
        ("declined", "cancelled"),
        ("expired", "cancelled"),
        ("cancelled", "cancelled"),
    ],
)
def test_statuses_are_said_in_the_calendars_three_words(status, said):
    """Confirmed, tentative, cancelled."""
    assert event(status)["status"] == said


@pytest.mark.req("SCH-278")
def test_elapsed_time_over_a_clock_change_is_what_passes():
    """From 0:30 to 2:30 on the night the clocks go back is three hours."""
    found = event(start="2026-11-01T00:30:00-04:00", end="2026-11-01T02:30:00-05:00")
    assert (found["start"], found["duration"]) == ("2026-11-01T00:30:00", "PT3H")
