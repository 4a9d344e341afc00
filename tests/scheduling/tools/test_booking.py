"""The main job over the tools: a real shop, a real key app, one person who answers."""

from __future__ import annotations

import socket
from datetime import timedelta

import pytest

from sayso.governance.kernel import Asks
from sayso.net.fetch import Fetcher
from tests.scheduling.host.town import open_town_on_file
from tests.scheduling.tools.household import DOMAIN, HOLD, HOST, household, open_household

pytestmark = pytest.mark.anyio

WINDOW = {
    "host": DOMAIN,
    "service_id": "oil-change",
    "earliest_start": "2026-10-15T11:00",
    "latest_start": "2026-10-15T15:00",
}
WHAT = "Synthetic oil change at Maple Street Auto (maplestreetauto.example)"
WHEN = "Thursday 15 October 2026 from 1:00 p.m. to 1:45 p.m. Eastern time"


@pytest.mark.req("SCH-377", "SCH-110", "SCH-111")
async def test_the_walkthroughs_slots(home):
    """17 of them, each CAD 89.27 all-in, and nothing asked of anybody."""
    done = await home.call("find_slots", WINDOW)
    assert (done.result["free"], done.result["as_of"], home.questions) == (17, "2026-10-13T13:00:00Z", [])
    assert {slot["total"]["amount"] for slot in done.result["slots"]} == {"89.27"}
    assert done.result["window"] == "Thursday 15 October 2026 between 11:00 a.m. and 3:45 p.m. Eastern time"


@pytest.mark.req("SCH-377", "SCH-345", "SCH-347", "SCH-348", "SCH-189")
async def test_the_walkthrough_books_with_two_signatures_and_a_third_to_manage(home, town):
    """Limits, this exact offer, and the care of the booking; figures as in the paper."""
    held = await home.held()
    assert {name: held[name] for name in ("outcome", "differs_from_request", "what", "when", "expires_at")} == {
        "outcome": "held",
        "differs_from_request": [],
        "what": WHAT,
        "when": WHEN,
        "expires_at": "2026-10-13T13:05:00Z",
    }
    assert held["held_until"] == ("Tuesday 13 October 2026 at 9:05 a.m. Eastern time, about 5 minutes from now")
    done = await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    assert not done.is_error
    assert {name: done.result[name] for name in ("outcome", "status", "what", "when", "user_signed", "total")} == {
        "outcome": "confirmed",
        "status": "confirmed",
        "what": WHAT,
        "when": WHEN,
        "user_signed": "this exact offer",
        "total": {"amount": "89.27", "currency": "CAD"},
    }
    assert [question.kind for question, _ in home.questions] == ["limits", "offer", "management"]
    assert all(question.text == shown.text for question, shown in home.questions)
    assert "booked" not in done.result
    assert await town.kinds() == ["hold.placed", "booking.confirmed"]


@pytest.mark.req("SCH-347", "SCH-189")
async def test_a_person_who_wants_to_be_asked_once_signs_the_limits_only(tmp_path, clock, town):
    """Where the host allows it; the result says what was signed."""
    async with open_household(tmp_path / "g", clock, town.fetcher, limits_only=True) as home:
        booked = await home.booked()
        assert [question.kind for question, _ in home.questions] == ["limits", "management"]
        assert booked["user_signed"] == "only the limits: service, time window, price ceiling"


@pytest.mark.req("SCH-213", "SCH-214", "SCH-377")
async def test_cancelling_a_day_later_is_free_and_asks_nobody(home, clock, town):
    """Under the management mandate; the buying mandate is long over."""
    booked = await home.booked()
    clock.advance(timedelta(days=1))
    asked = len(home.questions)
    done = await home.call("cancel_booking", {"booking_id": booked["booking_id"]})
    assert (done.is_error, done.result["outcome"], done.result["status"]) == (False, "cancelled", "cancelled")
    assert done.result["note"] == "It is cancelled, and cancelling cost nothing."
    assert len(home.questions) == asked
    again = await home.call("cancel_booking", {"booking_id": booked["booking_id"]})
    assert (again.is_error, again.result["outcome"]) == (False, "cancelled")
    assert (await town.kinds()).count("booking.cancelled") == 1


@pytest.mark.req("SCH-221", "SCH-222", "SCH-223")
async def test_moving_asks_for_the_change_offer_and_keeps_the_booking(home, town):
    """Two steps at the host, one call here; the sequence goes up by one."""
    booked = await home.booked()
    done = await home.call("change_booking", {"booking_id": booked["booking_id"], "start": "2026-10-15T14:00"})
    assert (done.is_error, done.result["outcome"]) == (False, "moved")
    assert done.result["when"] == "Thursday 15 October 2026 from 2:00 p.m. to 2:45 p.m. Eastern time"
    assert [question.kind for question, _ in home.questions[3:]] == ["offer", "management"]
    kept = await home.guest.book.booking(booked["booking_id"])
    assert (kept.sequence, kept.approved) == (1, "offer")
    assert await town.kinds() == ["hold.placed", "booking.confirmed", "change.offered", "booking.moved"]


async def test_a_no_to_the_change_offer_leaves_the_booking_where_it_was(home, town):
    """And gives the other time back."""
    booked = await home.booked()
    done = await home.call(
        "change_booking", {"booking_id": booked["booking_id"], "start": "2026-10-15T14:00"}, lambda *_: False
    )
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_refused")
    status = await home.call("booking_status", {"booking_id": booked["booking_id"]})
    assert (status.result["upcoming"], status.result["bookings"][0]["when"]) == (1, WHEN)
    assert (await town.kinds())[-1] == "change.ended"


@pytest.mark.req("SCH-007")
async def test_status_shows_what_the_host_has_now(home, clock):
    """One upcoming booking, and none once it is cancelled."""
    empty = await home.call("booking_status", {})
    assert empty.result == {"upcoming": 0, "bookings": []}
    booked = await home.booked()
    found = await home.call("booking_status", {})
    assert (found.result["upcoming"], found.result["bookings"][0]["status"]) == (1, "confirmed")
    await home.call("cancel_booking", {"booking_id": booked["booking_id"]})
    found = await home.call("booking_status", {})
    assert (found.result["upcoming"], found.result["bookings"][0]["status"]) == (0, "cancelled")


@pytest.mark.req("SCH-345")
async def test_what_differs_from_the_request_stands_first(home):
    """Another time than was named, and a price nobody mentioned."""
    held = await home.held(start="2026-10-15T13:15", max_price=None)
    assert held["differs_from_request"] == [
        "It starts on Thursday 15 October 2026 at 1:15 p.m., and not on Thursday 15 October 2026 at 1:00 p.m. "
        "as asked.",
        "It costs CAD 89.27 in total, and no price was mentioned.",
    ]
    assert "for at most CAD 89.27 in total" in home.questions[0][1].text


@pytest.mark.req("SCH-347", "SCH-132")
async def test_a_no_to_the_limits_holds_nothing(home, town):
    """Nothing reaches the shop."""
    done = await home.call("hold_slot", HOLD, lambda *_: False)
    assert (done.is_error, done.result["refused"]["code"]) == (True, "CONSENT_REFUSED")
    assert (await town.rows())["host_hold"] == []


async def test_a_no_to_the_offer_releases_the_hold_and_books_nothing(home, town):
    """The time is free again at once, and the log says so."""
    held = await home.held()
    done = await home.call("approve_and_book", {"hold_id": held["hold_id"]}, lambda *_: False)
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_refused")
    assert await town.kinds() == ["hold.placed", "hold.released"]
    assert "guest.hold_released" in await home.kinds()
    again = await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    assert (again.is_error, again.result["refused"]["reason"]) == (True, "no_hold")


async def test_a_no_to_the_management_leaves_the_booking_and_asks_before_cancelling(home):
    """The booking stands; the question comes back when it is needed, and only then."""
    held = await home.held()
    done = await home.call(
        "approve_and_book", {"hold_id": held["hold_id"]}, lambda question, _: question.kind != "management"
    )
    assert (done.is_error, done.result["outcome"]) == (False, "confirmed")
    home.clock.advance(timedelta(hours=2))
    asked = len(home.questions)
    cancelled = await home.call("cancel_booking", {"booking_id": done.result["booking_id"]})
    assert (cancelled.is_error, cancelled.result["outcome"]) == (False, "cancelled")
    assert [question.kind for question, _ in home.questions[asked:]] == ["management"]


@pytest.mark.req("SCH-080")
async def test_limits_once_signed_cover_the_next_hold_but_not_a_second_booking(home):
    """A released hold frees the unit; a booking uses it up, and then the person is asked again."""
    held = await home.held()
    await home.operations.release_open_holds()
    other = await home.held(start="2026-10-15T14:00")
    assert [question.kind for question, _ in home.questions] == ["limits"]
    assert other["hold_id"] != held["hold_id"]
    await home.call("approve_and_book", {"hold_id": other["hold_id"]})
    step = await home.start("hold_slot", {**HOLD, "start": "2026-10-15T12:00"})
    assert isinstance(step, Asks)
    assert step.question.kind == "limits"


@pytest.mark.req("SCH-340")
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"service_id": "haircut"}, "unknown_service"),
        ({"max_price": {"amount": "80"}}, "above_price"),
        ({"max_price": {"amount": "100", "currency": "USD"}}, "wrong_currency"),
        ({"start": "2026-10-13T08:00", "earliest_start": "2026-10-13T08:00"}, "in_the_past"),
        ({"start": "2026-10-15T16:00"}, "outside_request"),
        ({"start": "2026-10-15T13:07"}, "slot_taken"),
        ({"host": "fades-on-queen@chairly.example"}, "host_unknown"),
        ({"start": "2026-02-30T13:00"}, "outside_request"),
        ({"max_price": {"amount": "100.005"}}, "outside_request"),
    ],
)
async def test_what_cannot_be_is_refused_before_anybody_is_asked(home, changed, reason):
    """Unknown service, too dear, over already, outside the range, not free, unknown host."""
    done = await home.call("hold_slot", {**HOLD, **changed})
    assert (done.is_error, done.result["refused"]["reason"]) == (True, reason)
    assert home.questions == []


async def test_a_price_above_the_limit_is_said_with_its_taxes(home):
    """All-in, not the sticker price."""
    done = await home.call("hold_slot", {**HOLD, "max_price": {"amount": "80"}})
    assert done.result["refused"]["message"] == (
        "Synthetic oil change at Maple Street Auto costs CAD 89.27 in total, HST 13% included, above the limit of "
        "CAD 80.00."
    )


@pytest.mark.req("SCH-134")
async def test_a_taken_slot_comes_with_alternatives(home, town):
    """Both bays gone at one o'clock: the nearest others, inside what was asked."""
    for _ in range(2):
        other = town.guest()
        await other.book(other.mandate())
    done = await home.call("hold_slot", HOLD)
    refusal = done.result["refused"]
    assert refusal["reason"] == "slot_taken"
    assert [slot["start"] for slot in refusal["details"]["alternatives"]][:2] == [
        "2026-10-15T12:00:00-04:00",
        "2026-10-15T14:00:00-04:00",
    ]


async def test_a_host_that_is_down_is_said_to_be(tmp_path, clock):
    """No question, no hold, one plain sentence naming the host."""
    async with open_town_on_file(tmp_path, clock) as town, open_household(tmp_path / "g", clock, town.fetcher) as home:
        nowhere = Fetcher({DOMAIN: f"127.0.0.1:{free_port()}"})
        lonely = household(home.store, clock, nowhere)
        done = await lonely.call("hold_slot", HOLD)
        await nowhere.aclose()
    refusal = done.result["refused"]
    assert (refusal["reason"], lonely.questions) == ("host_unreachable", [])
    assert refusal["message"] == "maplestreetauto.example could not be reached: the connection failed."


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def test_the_receipts_of_the_main_job(home):
    """Each step once, in order, with the signed documents beside it."""
    await home.booked()
    assert await home.kinds() == [
        "consent.asked",
        "guest.mandate_signed",
        "act.started",
        "guest.hold_placed",
        "act.done",
        "consent.asked",
        "guest.mandate_signed",
        "act.started",
        "guest.booking_confirmed",
        "guest.booking_receipt",
        "consent.asked",
        "guest.mandate_signed",
        "act.started",
        "act.done",
    ]


async def test_ctrl_c_gives_back_what_this_session_holds_and_nothing_else(home, town):
    """A hold of an earlier session of the same home is left alone."""
    first = await home.held()
    later = household(home.store, home.clock, home.fetcher)
    second = await later.held(start="2026-10-15T14:30")
    assert await later.operations.release_open_holds() == [second["hold_id"]]
    assert (await home.guest.book.hold(first["hold_id"])).state == "held"
    assert await later.operations.release_open_holds() == []
    assert (await town.kinds()).count("hold.released") == 1


async def test_a_restart_in_the_middle_goes_on_and_never_books_twice(home, town):
    """New processes on the same database, at each question."""
    held = await home.held()
    again = household(home.store, home.clock, home.fetcher)
    same = await again.held()
    assert same["hold_id"] == held["hold_id"]
    asked = await again.start("approve_and_book", {"hold_id": held["hold_id"]})
    answers = [await again.answer(asked.question)]
    second = await again.start("approve_and_book", {"hold_id": held["hold_id"]}, answers)
    assert second.question.kind == "management"
    third = household(home.store, home.clock, home.fetcher)
    done = await third.call("approve_and_book", {"hold_id": held["hold_id"]})
    assert (done.is_error, done.result["outcome"], done.result["user_signed"]) == (
        False,
        "confirmed",
        "this exact offer",
    )
    assert [question.kind for question, _ in third.questions] == ["management"]
    assert (await town.kinds()).count("booking.confirmed") == 1


async def test_a_hold_that_ran_out_is_not_booked(home, clock):
    """The person answered too late."""
    held = await home.held()
    asked = await home.start("approve_and_book", {"hold_id": held["hold_id"]})
    answer = await home.answer(asked.question)
    clock.advance(timedelta(minutes=5))
    done = await home.start("approve_and_book", {"hold_id": held["hold_id"]}, [answer])
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "no_hold")


async def test_discovery_of_every_host_tells_what_an_assistant_needs(home):
    """Services with totals, the zone, the local time, how it is confirmed and what is kept."""
    done = await home.call("discover_host", {})
    (host,) = done.result["hosts"]
    assert (host["host"], host["timezone"], host["local_time_now"]) == (
        HOST,
        "America/Toronto",
        "2026-10-13T09:00:00-04:00",
    )
    assert host["services"][0]["price_in_words"] == "CAD 89.27 in total, HST 13% included"
    assert host["records"] == "Maple Street Auto keeps booking details for 1 year after a booking."
    assert await home.call("discover_host", {"host": DOMAIN}) == done
