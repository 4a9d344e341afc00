"""An assistant waits for somebody: what is signed, what comes free, and what a host cannot slip in."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from sayso.core import strictjson
from sayso.scheduling.terms.discovery import WaitlistLimits
from tests.scheduling.host.test_waitlist import booked as taken
from tests.scheduling.host.town import one_bay, open_town_on_file
from tests.scheduling.tools.household import HOST, open_household

pytestmark = pytest.mark.anyio

WAIT = {
    "host": HOST,
    "service_id": "oil-change",
    "earliest_start": "2026-10-15T13:00",
    "latest_start": "2026-10-15T13:00",
    "max_price": {"amount": "100"},
}


@pytest.fixture
async def town(tmp_path, clock):
    config = msgspec.structs.replace(one_bay(), waitlist=WaitlistLimits(max_entries_per_agent=2))
    async with open_town_on_file(tmp_path, clock, config) as opened:
        yield opened


@pytest.fixture
async def home(tmp_path, clock, town):
    async with open_household(tmp_path / "guest", clock, town.fetcher) as opened:
        yield opened


async def done(home, name, arguments=None):
    outcome = await home.call(name, arguments or {})
    assert not outcome.is_error, outcome.result
    return dict(outcome.result)


@pytest.mark.req("SCH-241", "SCH-102")
async def test_a_wait_is_signed_for_once_and_what_comes_free_is_booked(town, home, clock):
    """The limits last until the window is over, the offered hold is seen, and booking it is booking any hold."""
    _, cancel = await taken(town)
    entry = await done(home, "join_waitlist", WAIT)
    assert (entry["outcome"], len(home.questions)) == ("waiting", 1)
    assert home.questions[0][1].text == (
        "I allow my assistant to hold and book one appointment at Maple Street Auto (maplestreetauto.example): "
        "Synthetic oil change, on Thursday 15 October 2026 between 1:00 p.m. and 1:45 p.m. Eastern time, for at most "
        "CAD 100.00 in total. Within these limits it may also cancel or move that booking. My permission lasts 3 days "
        "from when I sign. I cannot take it back sooner, only wait until it ends: this key app has no address where "
        "Maple Street Auto could ask."
    )
    assert (await done(home, "waitlist_status"))["entries"][0]["status"] == "waiting"
    await cancel()
    [seen] = (await done(home, "waitlist_status"))["entries"]
    assert (seen["status"], seen["offered"]["start"]) == ("offered", "2026-10-15T13:00:00-04:00")
    assert seen["offered"]["held_until"].endswith("about 10 minutes from now")
    booked = await done(home, "approve_and_book", {"hold_id": seen["offered"]["hold_id"]})
    assert booked["outcome"] == "confirmed"
    [after] = (await done(home, "waitlist_status", {"entry_id": entry["entry_id"]}))["entries"]
    assert after["status"] == "taken"
    kinds = await home.kinds()
    assert (kinds.count("guest.waitlist_joined"), kinds.count("guest.waitlist_ended")) == (1, 1)


async def test_joining_again_with_the_same_words_is_the_same_entry(town, home):
    """An assistant that repeats itself asks nobody again and takes no second unit."""
    await taken(town)
    first = await done(home, "join_waitlist", WAIT)
    assert await done(home, "join_waitlist", WAIT) == first
    assert len(home.questions) == 1


@pytest.mark.req("SCH-241")
async def test_leaving_gives_the_place_up_without_a_question(town, home):
    """Nothing is taken by leaving, so nobody is asked; a second time is answered as it stands."""
    await taken(town)
    entry = await done(home, "join_waitlist", WAIT)
    left = await done(home, "leave_waitlist", {"entry_id": entry["entry_id"]})
    assert (left["status"], len(home.questions)) == ("left", 1)
    assert await done(home, "leave_waitlist", {"entry_id": entry["entry_id"]}) == left


async def test_nobody_is_asked_to_wait_for_what_is_free(town, home):
    """The free time is named instead, before anything is signed."""
    outcome = await home.call("join_waitlist", WAIT)
    assert (outcome.is_error, outcome.result["refused"]["reason"], home.questions) == (True, "slot_free", [])
    assert outcome.result["refused"]["details"]["alternatives"][0]["start"] == "2026-10-15T13:00:00-04:00"


async def test_a_no_waits_for_nothing(town, home):
    """The person reads the limits and says no: there is no entry."""
    await taken(town)
    outcome = await home.call("join_waitlist", WAIT, says=lambda _question, _shown: False)
    assert (outcome.is_error, outcome.result["refused"]["reason"]) == (True, "consent_refused")
    assert (await done(home, "waitlist_status"))["entries"] == []


@pytest.mark.req("SCH-240")
async def test_an_offer_that_ran_out_is_said_to_have(town, home, clock):
    """The next look tells it; the hold cannot be booked any more."""
    _, cancel = await taken(town)
    await done(home, "join_waitlist", WAIT)
    await cancel()
    [seen] = (await done(home, "waitlist_status"))["entries"]
    clock.advance(timedelta(minutes=10))
    [lapsed] = (await done(home, "waitlist_status"))["entries"]
    assert lapsed["status"] == "lapsed"
    late = await home.call("approve_and_book", {"hold_id": seen["offered"]["hold_id"]})
    assert late.is_error
    assert strictjson.encode(late.result)


@pytest.mark.req("SCH-240", "SCH-158")
async def test_an_offer_outside_the_window_is_not_believed(town, home, clock):
    """A host that offers a waiter another time than they wait for is not believed, however well it signs."""
    _, cancel = await taken(town)
    entry = await done(home, "join_waitlist", WAIT)
    await cancel()
    kept = await home.guest.entries.find(entry["entry_id"])
    shorter = msgspec.structs.replace(kept.view.window, end="2026-10-15T13:30:00-04:00")
    view = msgspec.structs.replace(kept.view, window=shorter)
    await home.guest.entries.keep(replace(kept, view=view))
    [seen] = (await done(home, "waitlist_status"))["entries"]
    assert "outside the window" in seen["warning"]
    assert "offered" not in seen
