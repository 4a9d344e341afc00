"""Booking in one act, as an outside agent asks for it: a person approves limits, and hours later it is booked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sayso.governance.acts import ActClass, Registry, Repeats
from sayso.governance.consent import Answer, Evidence
from sayso.governance.kernel import Asks, Kernel
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.tools.assistant import Assistant
from sayso.scheduling.tools.at_doors import ACTS_AT_DOORS, register_at_doors
from tests.scheduling.host.town import one_bay, open_town_on_file
from tests.scheduling.tools.household import HOLD, SAM, Household, open_household

pytestmark = pytest.mark.anyio

LIMITS = "only the limits: service, time window, price ceiling"


def at_doors(home: Household) -> Household:
    """The same household, as outside agents meet it."""
    registry = Registry()
    person = principal_urn(SAM.public)
    sources = register_at_doors(registry, lambda: Assistant(guest=home.guest, principal=person))
    return replace(home, kernel=Kernel(registry, sources, home.ledger), questions=[])


@pytest.fixture
async def outside(home: Household) -> Household:
    return at_doors(home)


@pytest.fixture
async def strict_home(tmp_path, clock) -> AsyncIterator[Household]:
    """At a shop that always wants the person's signature over its exact offer."""
    async with (
        open_town_on_file(tmp_path, clock, one_bay(closed_mandate="always")) as town,
        open_household(tmp_path / "guest", clock, town.fetcher) as opened,
    ):
        yield at_doors(opened)


def slot(**changed: Any) -> dict[str, Any]:
    return {**HOLD, **changed}


@pytest.mark.req("GTW-030", "GTW-032", "SCH-347")
async def test_one_signature_over_limits_books(outside, town):
    """Nothing is held before the person has answered, and nothing is asked after."""
    step = await outside.start("book_slot", slot())
    assert isinstance(step, Asks)
    assert (step.question.kind, await town.kinds()) == ("limits", [])
    done = await outside.call("book_slot", slot())
    assert (done.is_error, done.result["outcome"], done.result["user_signed"]) == (False, "confirmed", LIMITS)
    assert [question.kind for question, _ in outside.questions] == ["limits"]
    assert await town.kinds() == ["hold.placed", "booking.confirmed"]


@pytest.mark.req("GTW-032")
async def test_hours_between_the_question_and_the_answer_do_no_harm(outside, clock):
    """The limits are asked for anew when the person comes; their hour begins when they sign."""
    assert isinstance(await outside.start("book_slot", slot()), Asks)
    clock.advance(timedelta(hours=30))
    done = await outside.call("book_slot", slot())
    assert (done.is_error, done.result["status"]) == (False, "confirmed")


@pytest.mark.req("GTW-033")
async def test_the_same_request_run_again_books_once(outside, town):
    """With the answers it had: as after a crash, before or after the confirmation was heard."""
    step = await outside.start("book_slot", slot())
    answers = [await outside.answer(step.question)]
    first = await outside.start("book_slot", slot(), answers)
    again = await outside.start("book_slot", slot(), answers)
    assert (first.is_error, again.is_error, again.result["booking_id"]) == (False, False, first.result["booking_id"])
    assert (await town.kinds()).count("booking.confirmed") == 1


@pytest.mark.req("GTW-033")
async def test_run_again_after_its_time_has_passed_it_still_tells_the_booking(outside, clock):
    """The start lies behind: nothing could be booked any more, and nothing needs to be."""
    step = await outside.start("book_slot", slot())
    answers = [await outside.answer(step.question)]
    first = await outside.start("book_slot", slot(), answers)
    clock.advance(timedelta(days=9))
    again = await outside.start("book_slot", slot(), answers)
    assert (again.is_error, again.result.get("booking_id")) == (False, first.result["booking_id"])


@pytest.mark.req("GTW-032")
async def test_limits_of_one_request_serve_no_other(outside):
    """The second asks again, although what was signed for the first would cover it."""
    assert not (await outside.call("book_slot", slot())).is_error
    later = slot(start="2026-10-15T14:00", asked_start="2026-10-15T14:00")
    assert isinstance(await outside.start("book_slot", later), Asks)


@pytest.mark.req("GTW-032")
async def test_two_requests_in_the_same_words_are_two_bookings(outside, town):
    """Each under what was signed for it, where the shop has room for both."""
    first = await outside.call("book_slot", slot())
    second = await outside.call("book_slot", slot())
    assert (first.is_error, second.is_error) == (False, False)
    assert first.result["booking_id"] != second.result["booking_id"]


@pytest.mark.req("GTW-032", "SCH-189")
async def test_where_the_host_insists_the_person_signs_its_offer_too(strict_home, clock):
    """The second question says until when it can be answered: as long as the hold lasts."""
    first = await strict_home.start("book_slot", slot())
    limits = await strict_home.answer(first.question)
    second = await strict_home.start("book_slot", slot(), [limits])
    assert isinstance(second, Asks)
    assert (second.question.kind, second.question.expires) == ("offer", clock.now() + timedelta(minutes=5))
    offer = await strict_home.answer(second.question)
    done = await strict_home.start("book_slot", slot(), [limits, offer])
    assert (done.is_error, done.result["user_signed"]) == (False, "this exact offer")


@pytest.mark.req("GTW-032")
async def test_a_no_to_the_offer_gives_the_time_back(strict_home):
    """And books nothing."""
    first = await strict_home.start("book_slot", slot())
    limits = await strict_home.answer(first.question)
    await strict_home.start("book_slot", slot(), [limits])
    done = await strict_home.start("book_slot", slot(), [limits, Answer(granted=False)])
    assert (done.is_error, done.result["refused"]["code"]) == (True, "CONSENT_REFUSED")
    assert await strict_home.guest.book.open_holds() == []


@pytest.mark.req("GTW-032")
async def test_an_offer_signed_too_late_books_nothing(strict_home, clock):
    """What was signed is over one offer, and that one is gone."""
    first = await strict_home.start("book_slot", slot())
    limits = await strict_home.answer(first.question)
    second = await strict_home.start("book_slot", slot(), [limits])
    offer = await strict_home.answer(second.question)
    clock.advance(timedelta(minutes=6))
    done = await strict_home.start("book_slot", slot(), [limits, offer])
    assert done.is_error
    assert await strict_home.guest.book.bookings() == []


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(granted=True), "consent_unsigned"),
        (Answer(granted=False), "consent_refused"),
        (Answer(granted=True, document="a.b.c"), "consent_mismatch"),
    ],
)
@pytest.mark.req("GTW-032")
async def test_without_the_persons_signature_nothing_is_held(outside, town, answer, code):
    """A bare yes is a message, whoever sends it."""
    done = await outside.start("book_slot", slot(), [answer])
    assert (done.is_error, done.result["refused"]["reason"], await town.kinds()) == (True, code, [])


@pytest.mark.req("GTW-032")
async def test_what_was_signed_for_other_limits_is_refused(outside):
    """A signature over one range of times says nothing of another."""
    step = await outside.start("book_slot", slot())
    signed = await outside.answer(step.question)
    other = slot(latest_start="2026-10-15T16:00")
    done = await outside.start("book_slot", other, [signed])
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_mismatch")
    assert not (await outside.start("book_slot", slot(), [signed])).is_error
    again = await outside.start("book_slot", other, [signed])
    assert (again.is_error, again.result["refused"]["reason"]) == (True, "consent_mismatch")


@pytest.mark.req("GTW-030")
async def test_a_booking_is_shown_to_whoever_names_it_and_to_nobody_else(outside):
    """All of a person's bookings are no agent's to see."""
    booked = await outside.call("book_slot", slot())
    shown = await outside.start("booking_status", {"booking_id": booked.result["booking_id"]})
    everything = await outside.start("booking_status", {})
    assert (shown.is_error, shown.result["upcoming"]) == (False, 1)
    assert (everything.is_error, everything.result["refused"]["code"]) == (True, "schema_invalid")


@pytest.mark.req("GTW-030", "GTW-033")
async def test_every_act_at_the_doors_has_a_class_and_each_execution_says_how_it_repeats():
    """Without either it would not run."""
    executions = [act for act in ACTS_AT_DOORS if act.act_class is ActClass.EXECUTION]
    assert {act.name for act in executions} == {
        "book_slot", "hold_slot", "approve_and_book", "cancel_booking", "change_booking",
    }  # fmt: skip
    assert all(act.repeats is Repeats.IDEMPOTENT and act.touches_others for act in executions)
    assert Evidence.GATE_DECISION > Evidence.SIGNED_LIMITS
