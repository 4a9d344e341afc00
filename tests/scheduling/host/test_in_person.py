"""Who wants the person's own answer, and what a rule may say after participants have answered. Over real sockets."""

from datetime import timedelta

import pytest

from sayso.core.instants import parse_instant
from sayso.scheduling.host.contacts import remove_contact
from sayso.scheduling.terms.receipt_checks import verify_receipt
from tests.scheduling.host.company import TWO_HOURS_NO, TWO_HOURS_YES, answer, asked, shown
from tests.scheduling.host.daybook import (
    SATURDAY,
    SUNDAY,
    ask,
    at_desk,
    friend,
    keep,
    open_calendar,
    signed_answer,
    signed_rule,
    yes_by_rule,
)
from tests.scheduling.host.frontdesk import claims
from tests.scheduling.host.town import HOST, one_bay, open_town, read, reason

pytestmark = pytest.mark.anyio


@pytest.mark.req("SCH-182", "SCH-186", "SCH-183")
async def test_insisting_on_the_person_is_for_calendars_that_are_somebodys(store, clock):
    """A business answers by its terms or its staff: it refuses what it could not keep, and keeps nothing for it."""
    async with open_town(store, clock, one_bay()) as town:
        dana = town.guest()
        before = await town.rows()
        assert reason(await dana.hold(dana.mandate(), answers="person"), 409) == "no_person_answers"
        assert reason(await dana.hold(dana.mandate(), answers="rule"), 400) == "schema_invalid"
        assert await town.rows() == before
        read(await dana.hold(dana.mandate()), 201)


@pytest.mark.req("SCH-182", "SCH-186")
async def test_who_asks_for_the_person_is_answered_by_no_rule_then_or_later(store, clock):
    """The rule covers both playdates; the one that asks for Noor waits for her, and so does a move of it."""
    async with open_calendar(store, clock) as town:
        kim = await friend(town)
        read(await keep(town, signed_rule(clock)), 201)
        settled, held, mandate = await ask(kim, answers="person")
        booking_id = settled["booking"]["booking_id"]
        assert claims(held["offer"])["answers"] == "person"
        assert (settled["booking"]["status"], settled["booking"].get("answered")) == ("pending_host", None)
        desk = at_desk(town)
        rules_yes = yes_by_rule(clock, held["offer"], signed_rule(clock))
        assert reason(await desk.act("approve", booking_id, acceptance=rules_yes), 403) == "rule_not_covering"
        mine = signed_answer(clock, held["offer"])
        read(await desk.act("approve", booking_id, acceptance=mine), 200)
        change = read(await kim.ask_change(booking_id, SUNDAY, mandate), 201)
        assert claims(change["offer"])["answers"] == "person"
        moved = read(await kim.accept(change, mandate), 200)["booking"]
        assert (moved["sequence"], moved["awaiting_host"]["start"]) == (0, SUNDAY)


@pytest.mark.req("SCH-182", "SCH-185", "SCH-264")
async def test_a_rule_answers_after_the_participants_and_only_where_nobody_asked_for_the_person(store, clock):
    """Lee's yes asks Noor's calendar; her rule says yes at once, or, where Kim asked for her, nobody does."""
    async with open_calendar(store, clock) as town:
        kim, lee = await friend(town), town.guest()
        read(await keep(town, signed_rule(clock)), 201)
        for wish, status in (({}, "confirmed"), ({"answers": "person"}, "pending_host")):
            along = {"participants": [asked("Lee", lee)], "invitation": TWO_HOURS_NO, **wish}
            start = SATURDAY if not wish else SUNDAY
            settled, held, _ = await ask(kim, start, **along)
            booking_id = settled["booking"]["booking_id"]
            assert settled["booking"]["status"] == "tentative"
            assert read(await answer(lee, booking_id, "yes", held["offer"]), 200)["status"] == status
            final = await shown(kim, booking_id)
            verify_receipt(final["receipt"], await town.document())
            assert final["booking"].get("answered", {}).get("by") == ("rule" if not wish else None)


@pytest.mark.req("SCH-182", "SCH-245")
async def test_a_rule_answers_after_a_default_yes_too(store, clock):
    """Nobody said anything: the terms say yes for Lee, the rule says yes for Noor, and the receipt tells both."""
    async with open_calendar(store, clock) as town:
        kim, lee = await friend(town), town.guest()
        read(await keep(town, signed_rule(clock)), 201)
        settled, _, _ = await ask(kim, participants=[asked("Lee", lee)], invitation=TWO_HOURS_YES)
        clock.advance(timedelta(hours=2, minutes=5))
        final = await shown(kim, settled["booking"]["booking_id"])
        verify_receipt(final["receipt"], await town.document())
        assert (final["booking"]["status"], final["booking"]["answered"]["by"]) == ("confirmed", "rule")
        assert final["booking"]["participants"][0]["answer"]["by_default"] is True


@pytest.mark.req("SCH-177", "SCH-182", "SCH-245", "SCH-264")
async def test_no_rule_says_yes_after_the_calendars_own_deadline_whoever_was_down(store, clock):
    """Everybody could read that nothing was booked by then: the time is somebody else's, and stays it."""
    async with open_calendar(store, clock) as town:
        kim, lee, ann = await friend(town), town.guest(), await friend(town)
        read(await keep(town, signed_rule(clock)), 201)
        settled, held, _ = await ask(kim, participants=[asked("Lee", lee)], invitation=TWO_HOURS_YES)
        terms = claims(held["offer"])
        assert terms["invitation"]["answer_by"] < terms["answer_by"]
        clock.set(parse_instant(terms["answer_by"]))
        final = await shown(kim, settled["booking"]["booking_id"])
        verify_receipt(final["receipt"], await town.document())
        assert (final["booking"]["status"], "answered" in final["booking"]) == ("expired", False)
        assert final["booking"]["participants"][0]["answer"]["by_default"] is True
        assert (await ask(ann))[0]["booking"]["answered"]["by"] == "rule"


@pytest.mark.req("SCH-039", "SCH-182", "SCH-264")
@pytest.mark.parametrize("silence", ["yes", "no"])
async def test_no_rule_answers_for_who_is_no_contact_any_more_when_participants_have_answered(store, clock, silence):
    """By word or by silence: Noor took Kim off her list meanwhile, so she is asked; no agent may say yes."""
    async with open_calendar(store, clock) as town:
        kim, lee, rule = await friend(town), town.guest(), signed_rule(clock)
        read(await keep(town, rule), 201)
        terms = {"answer_within": "PT1H", "silence": silence}
        settled, held, _ = await ask(kim, participants=[asked("Lee", lee)], invitation=terms)
        booking_id = settled["booking"]["booking_id"]
        await town.store.unit(lambda unit: remove_contact(unit, HOST, kim.principal))
        if silence == "yes":
            clock.advance(timedelta(hours=1, minutes=10))
        else:
            read(await answer(lee, booking_id, "yes", held["offer"]), 200)
        assert (await shown(kim, booking_id))["booking"]["status"] == "pending_host"
        desk = at_desk(town)
        rules_yes = yes_by_rule(clock, held["offer"], rule)
        assert reason(await desk.act("approve", booking_id, acceptance=rules_yes), 403) == "not_a_contact"
        mine = signed_answer(clock, held["offer"])
        assert read(await desk.act("approve", booking_id, acceptance=mine), 200)["booking"]["status"] == "confirmed"
