from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest

from sayso.core.refusal import Refused
from sayso.scheduling.host.config import build_profile
from sayso.scheduling.rules.availability import AvailabilityAsk, availability
from sayso.scheduling.rules.opening import day_span
from sayso.scheduling.rules.placing import check_bookable
from sayso.scheduling.rules.premises import ReleaseSchedule
from sayso.scheduling.rules.release import released_until
from sayso.world.fades_on_queen import fades_on_queen
from tests.scheduling.rules.shop import NOW, OIL, at, day_picture, premises, window

THIRTY_AT_TEN = ReleaseSchedule(days_ahead=30, minute=600)


def moment(text):
    return datetime.fromisoformat(text)


@pytest.mark.req("SCH-147", "SCH-366")
@pytest.mark.parametrize(
    ("now", "last"),
    [
        ("2026-10-13T09:59:59-04:00", date(2026, 11, 11)),
        ("2026-10-13T10:00:00-04:00", date(2026, 11, 12)),
        ("2026-10-13T23:59:59-04:00", date(2026, 11, 12)),
        ("2026-10-14T00:00:00-04:00", date(2026, 11, 12)),
    ],
)
def test_a_day_opens_thirty_days_ahead_at_ten(now, last):
    """To the second, and the whole day at once, over the end of summer time between the two."""
    shop = build_profile(fades_on_queen()).premises
    assert released_until(shop, moment(now)) == day_span(last, shop.zone).end


@pytest.mark.req("SCH-112", "SCH-147")
def test_nothing_on_an_unreleased_day_is_seen():
    """The last open day has its slots, the next one none."""
    shop = premises(release=replace(THIRTY_AT_TEN, days_ahead=2))
    ask = AvailabilityAsk(OIL, window("2026-10-15T00:00:00-04:00", "2026-10-17T00:00:00-04:00"))
    picture = replace(day_picture("2026-10-15", of=shop), covers=ask.window)
    for now, days in (("2026-10-13T09:59:00-04:00", set()), ("2026-10-13T10:00:00-04:00", {15})):
        starts = availability(picture, ask, moment(now))
        assert {datetime.fromtimestamp(slot.start / 1e6, shop.zone).day for slot in starts} == days


@pytest.mark.req("SCH-147")
def test_nothing_on_an_unreleased_day_is_held():
    """It is refused with a reason of its own until the moment it opens."""
    profile = build_profile(fades_on_queen())
    start = moment("2026-11-12T13:00:00-05:00")
    with pytest.raises(Refused) as refused:
        check_bookable(profile, start, moment("2026-10-13T09:59:59-04:00"))
    assert refused.value.refusal.reason == "not_released"
    check_bookable(profile, start, moment("2026-10-13T10:00:00-04:00"))


def test_without_a_schedule_every_day_to_the_horizon_is_open():
    """Most hosts open no days one by one."""
    assert released_until(premises(), NOW) > at("2126-01-01T00:00:00Z")
    assert NOW + timedelta(days=60) < moment("2126-01-01T00:00:00+00:00")
