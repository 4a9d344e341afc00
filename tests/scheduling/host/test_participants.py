"""People who come along: asked on stated terms, answering for themselves, and nobody for them."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from sayso.scheduling.host.telling import tell_due
from sayso.scheduling.terms.receipt_checks import verify_receipt
from tests.scheduling.host.company import (
    TWO_HOURS_NO,
    TWO_HOURS_YES,
    answer,
    asked,
    asked_along,
    coming,
    look,
    not_coming,
    people,
    reading,
    shown,
)
from tests.scheduling.host.frontdesk import approving, claims, front_desk, with_staff
from tests.scheduling.host.test_events import CALLBACK, Ear, listening
from tests.scheduling.host.test_waitlist import join, waiting_room
from tests.scheduling.host.town import ONE, WINDOW, one_bay, open_town, read, reason

pytestmark = pytest.mark.anyio

TWO = "2026-10-15T14:00:00-04:00"
DEADLINE = timedelta(hours=2, minutes=5)


@pytest.mark.req("SCH-176", "SCH-201", "SCH-243", "SCH-244", "SCH-251")
async def test_a_booking_is_tentative_until_each_required_participant_has_said_yes(store, clock):
    """The terms stand in the signed offer; two yeses make it final, and the receipts say whose they were."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee, kim = people(town, 3)
        held, settled = await asked_along(dana, asked("Lee", lee), asked("Kim", kim))
        terms = claims(held["offer"])
        assert terms["invitation"] == {**TWO_HOURS_NO, "answer_by": "2026-10-13T11:05:00-04:00"}
        assert [each["name"] for each in terms["participants"]] == ["Lee", "Kim"]
        booking = settled["booking"]
        assert (booking["status"], booking["event"]["status"]) == ("tentative", "tentative")
        assert claims(settled["receipt"])["act"] == "requested"
        assert [each.get("answer") for each in booking["participants"]] == [None, None]
        first = read(await answer(lee, booking["booking_id"], "yes", held["offer"]), 200)
        assert first["status"] == "tentative"
        waiting = await shown(dana, booking["booking_id"])
        assert claims(waiting["receipt"])["act"] == "answered"
        last = read(await answer(kim, booking["booking_id"], "yes", held["offer"]), 200)
        assert last["status"] == "confirmed"
        final = await shown(dana, booking["booking_id"])
        verify_receipt(final["receipt"], await town.document())
        assert claims(final["receipt"])["act"] == "confirmed"
        said = {"said": "yes", "at": "2026-10-13T13:00:00Z"}
        assert [each["answer"] for each in final["booking"]["participants"]] == [said, said]
        clock.advance(timedelta(days=1))
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"


@pytest.mark.req("SCH-244", "SCH-201")
async def test_one_required_no_declines_it_and_frees_the_time_at_once(store, clock):
    """Whatever the others said; the booker reads whose no it was, and somebody else holds the time."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee, kim, jo = people(town, 4)
        held, settled = await asked_along(dana, asked("Lee", lee), asked("Kim", kim))
        booking_id = settled["booking"]["booking_id"]
        read(await answer(kim, booking_id, "yes", held["offer"]), 200)
        assert reason(await jo.hold(jo.mandate()), 409) == "slot_taken"
        view = read(await answer(lee, booking_id, "no", held["offer"]), 200)
        assert view["status"] == "declined"
        read(await jo.hold(jo.mandate()), 201)
        final = await shown(dana, booking_id)
        verify_receipt(final["receipt"], await town.document())
        assert final["booking"]["declined"] == {"by": "participant", "at": "2026-10-13T13:00:00Z"}
        assert claims(final["receipt"])["act"] == "declined"
        assert [each["answer"]["said"] for each in final["booking"]["participants"]] == ["no", "yes"]
        assert reason(await answer(lee, booking_id, "yes", held["offer"]), 409) == "nothing_to_accept"
        assert "booking.participant_declined" in await town.kinds()


@pytest.mark.req("SCH-192", "SCH-245", "SCH-201")
async def test_silence_that_means_yes_settles_it_at_the_deadline_and_the_receipt_says_so(store, clock):
    """The time is never free in between, not even for a look, whether or not anything has settled it yet."""
    async with open_town(store, clock, one_bay()) as town:
        mira, tom, ines, jo = people(town, 4)
        held, settled = await asked_along(mira, asked("Tom", tom), asked("Ines", ines), terms=TWO_HOURS_YES)
        booking_id = settled["booking"]["booking_id"]
        read(await answer(tom, booking_id, "yes", held["offer"]), 200)
        clock.advance(DEADLINE)
        window = {"start": ONE, "end": "2026-10-15T13:45:00-04:00"}
        ask = {"service_id": "oil-change", "window": window}
        assert read(await jo.send("POST", "/availability", ask), 200)["slots"] == []
        assert read(await look(ines, booking_id), 200)["status"] == "confirmed"
        final = await shown(mira, booking_id)
        verify_receipt(final["receipt"], await town.document())
        assert (final["booking"]["status"], claims(final["receipt"])["act"]) == ("confirmed", "confirmed")
        default = {"said": "yes", "at": "2026-10-13T11:05:00-04:00", "by_default": True}
        assert final["booking"]["participants"][1]["answer"] == default
        assert "by_default" not in final["booking"]["participants"][0]["answer"]
        assert reason(await answer(ines, booking_id, "no", held["offer"]), 409) == "nothing_to_accept"
        assert reason(await jo.hold(jo.mandate()), 409) == "slot_taken"


@pytest.mark.req("SCH-245", "SCH-201")
async def test_silence_that_means_no_lapses_it_at_the_deadline_and_not_before(store, clock):
    """At that very instant: nobody can answer any more, and the time is somebody else's."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee, jo = people(town, 3)
        held, settled = await asked_along(dana, asked("Lee", lee))
        booking_id = settled["booking"]["booking_id"]
        clock.advance(DEADLINE - timedelta(microseconds=1))
        assert reason(await jo.hold(jo.mandate()), 409) == "slot_taken"
        assert (await shown(dana, booking_id))["booking"]["status"] == "tentative"
        clock.advance(timedelta(microseconds=1))
        assert reason(await answer(lee, booking_id, "yes", held["offer"]), 409) == "nothing_to_accept"
        final = await shown(dana, booking_id)
        verify_receipt(final["receipt"], await town.document())
        assert (final["booking"]["status"], claims(final["receipt"])["act"]) == ("expired", "expired")
        assert final["booking"]["participants"][0]["answer"]["by_default"] is True
        read(await jo.hold(jo.mandate()), 201)


@pytest.mark.req("SCH-243")
async def test_nobody_answers_for_a_participant(store, clock):
    """Not the booker's agent under the booker's mandates, nor under one stolen from the participant, nor a stranger."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee, jo = people(town, 3)
        held, settled = await asked_along(dana, asked("Lee", lee))
        booking_id = settled["booking"]["booking_id"]
        before = await town.rows()
        for mandate in (dana.mandate(), coming(dana, held["offer"]), coming(jo, held["offer"])):
            assert reason(await answer(dana, booking_id, "yes", held["offer"], mandate), 404) == "no_such_booking"
        stolen = coming(lee, held["offer"])
        assert reason(await answer(dana, booking_id, "yes", held["offer"], stolen), 403) == "agent_mismatch"
        assert reason(await answer(jo, booking_id, "yes", held["offer"]), 404) == "no_such_booking"
        assert reason(await dana.send("POST", f"/bookings/{booking_id}/answer", b"{}"), 400) == "schema_invalid"
        assert await town.rows() == before


@pytest.mark.req("SCH-100", "SCH-244", "SCH-162")
async def test_an_answer_needs_its_own_right_and_names_the_contract(store, clock):
    """Reading allows no yes, a no allows no yes, another contract is none, and an open mandate has to cover it."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee = people(town, 2)
        held, settled = await asked_along(dana, asked("Lee", lee))
        offer, booking_id = held["offer"], settled["booking"]["booking_id"]
        assert reason(await answer(lee, booking_id, "yes", offer, reading(lee, booking_id)), 403) == "management_only"
        assert reason(await answer(lee, booking_id, "yes", offer, not_coming(lee, offer)), 403) == "scope_missing"
        other = coming(lee, f"{offer}x")
        assert reason(await answer(lee, booking_id, "yes", offer, other), 403) == "closed_elsewhere"
        wrong = await answer(lee, booking_id, "yes", offer, offer_sha256="A" * 43)
        assert reason(wrong, 409) == "contract_mismatch"
        early = {"not_before": WINDOW["not_before"], "not_after": "2026-10-15T13:30:00-04:00"}
        outside = lee.mandate(constraints={"window": early}, scope=["book"])
        assert reason(await answer(lee, booking_id, "yes", offer, outside), 403) == "outside_window"
        hold_only = lee.mandate(scope=["hold"])
        assert reason(await answer(lee, booking_id, "yes", offer, hold_only), 403) == "scope_missing"
        poor = lee.mandate(constraints={"max_price": {"amount": "1.00", "currency": "CAD"}}, scope=["book"])
        assert read(await answer(lee, booking_id, "yes", offer, poor), 200)["status"] == "confirmed"


@pytest.mark.req("SCH-194")
async def test_a_participant_reads_the_contract_and_nothing_of_the_bookers(store, clock):
    """The offer, the status, the answers; no mandate, receipt or message. Others read nothing, the rest stays shut."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee, jo = people(town, 3)
        held, settled = await asked_along(dana, asked("Lee", lee, attendee="Theo"))
        booking_id = settled["booking"]["booking_id"]
        view = read(await look(lee, booking_id), 200)
        assert view == {
            "booking_id": booking_id,
            "status": "tentative",
            "sequence": 0,
            "version": 1,
            "host": settled["booking"]["host"],
            "offer": held["offer"],
            "participants": [{"principal": lee.principal, "name": "Lee", "required": True, "attendee": "Theo"}],
        }
        assert reason(await look(jo, booking_id), 404) == "no_such_booking"
        assert reason(await look(dana, booking_id), 404) == "no_such_booking"
        assert reason(await look(lee, booking_id, lee.mandate()), 403) == "booking_not_covered"
        assert reason(await look(lee, booking_id, reading(lee, booking_id, aud="x@y.example")), 403) == "wrong_audience"
        lees = reading(lee, booking_id)
        whole = await lee.send("GET", f"/bookings/{booking_id}", b"", lees)
        assert reason(whole, 404) == "no_such_booking"
        assert reason(await lee.cancel(booking_id, lee.managing(booking_id)), 404) == "no_such_booking"


@pytest.mark.req("SCH-185", "SCH-200")
async def test_participants_answer_first_and_then_the_host_is_asked(store, clock):
    """The offer states both deadlines; before the participants have settled there is nothing for the host to answer."""
    async with open_town(store, clock, approving()) as town:
        dana, lee, desk = town.guest(), town.guest(), front_desk(town)
        held, settled = await asked_along(dana, asked("Lee", lee))
        terms, booking_id = claims(held["offer"]), settled["booking"]["booking_id"]
        assert terms["invitation"]["answer_by"] == "2026-10-13T11:05:00-04:00"
        assert terms["answer_by"] == "2026-10-13T13:05:00-04:00"
        assert (settled["booking"]["status"], settled["booking"].get("answered")) == ("tentative", None)
        assert reason(await desk.act("approve", booking_id), 409) == "nothing_to_answer"
        clock.advance(timedelta(hours=2))
        view = read(await answer(lee, booking_id, "yes", held["offer"]), 200)
        assert view["status"] == "pending_host"
        asked_host = await shown(dana, booking_id)
        assert claims(asked_host["receipt"])["act"] == "answered"
        clock.advance(timedelta(hours=1))
        final = read(await desk.act("approve", booking_id), 200)
        verify_receipt(final["receipt"], await town.document())
        assert (final["booking"]["status"], final["booking"]["answered"]) == ("confirmed", {"by": "host"})


@pytest.mark.req("SCH-185", "SCH-145")
async def test_after_a_default_yes_the_host_has_its_own_time_and_its_silence_counts_for_nobody(store, clock):
    """Until the second deadline the time is kept; then it is free, and nobody's reputation knows of it."""
    async with open_town(store, clock, approving()) as town:
        dana, lee, jo = people(town, 3)
        held, settled = await asked_along(dana, asked("Lee", lee), terms=TWO_HOURS_YES)
        booking_id = settled["booking"]["booking_id"]
        clock.advance(DEADLINE)
        assert (await shown(dana, booking_id))["booking"]["status"] == "pending_host"
        clock.advance(timedelta(hours=2) - timedelta(microseconds=1))
        assert reason(await jo.hold(jo.mandate()), 409) == "slot_taken"
        clock.advance(timedelta(microseconds=1))
        read(await jo.hold(jo.mandate()), 201)
        assert (await shown(dana, booking_id))["booking"]["status"] == "expired"
        assert held["offer"]


@pytest.mark.req("SCH-246")
async def test_participants_have_settled_by_the_start_at_the_latest(store, clock):
    """However long they were given: the deadline in the offer is the start."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee = people(town, 2)
        week = {"answer_within": "P7D", "silence": "no"}
        held, settled = await asked_along(dana, asked("Lee", lee), terms=week)
        assert claims(held["offer"])["invitation"]["answer_by"] == ONE
        clock.advance(timedelta(days=2, hours=4))
        assert (await shown(dana, settled["booking"]["booking_id"]))["booking"]["status"] == "expired"


@pytest.mark.req("SCH-251")
async def test_nothing_waits_for_somebody_optional(store, clock):
    """Confirmed at once; their answer is shown, their no changes nothing, and their silence is no answer."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee, kim = people(town, 3)
        entries = asked("Lee", lee, required=False), asked("Kim", kim, required=False)
        held, settled = await asked_along(dana, *entries)
        booking_id = settled["booking"]["booking_id"]
        assert settled["booking"]["status"] == "confirmed"
        assert read(await answer(lee, booking_id, "no", held["offer"]), 200)["status"] == "confirmed"
        clock.advance(DEADLINE)
        final = await shown(dana, booking_id)
        verify_receipt(final["receipt"], await town.document())
        assert [each.get("answer", {}).get("said") for each in final["booking"]["participants"]] == ["no", None]
        assert reason(await answer(kim, booking_id, "yes", held["offer"]), 409) == "nothing_to_accept"


@pytest.mark.req("SCH-251")
async def test_invitations_that_make_no_sense_are_refused(store, clock):
    """Nobody twice, not the booker, no terms without people nor people without terms, no time to answer."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee = people(town, 2)
        one, terms = asked("Lee", lee), TWO_HOURS_NO
        before = await town.rows()
        for wish in (
            {"participants": [one]},
            {"invitation": terms},
            {"participants": [one, one], "invitation": terms},
            {"participants": [asked("Dana", dana)], "invitation": terms},
            {"participants": [one], "invitation": {**terms, "answer_within": "PT30S"}},
        ):
            assert reason(await dana.hold(dana.mandate(), **wish), 400) == "invitation_invalid"
        many = {"participants": [asked("Lee", lee)] * 17, "invitation": terms}
        assert reason(await dana.hold(dana.mandate(), **many), 400) == "schema_invalid"
        assert await town.rows() == before


@pytest.mark.req("SCH-203", "SCH-236")
async def test_a_change_the_host_proposed_makes_it_tentative_until_they_accept_the_new_offer(store, clock):
    """Lee accepted one o'clock; two o'clock is another contract, and his old yes is worth nothing for it."""
    async with open_town(store, clock, with_staff(one_bay())) as town:
        dana, lee, jo, desk = town.guest(), town.guest(), town.guest(), front_desk(town)
        held, settled = await asked_along(dana, asked("Lee", lee))
        booking_id = settled["booking"]["booking_id"]
        assert reason(await desk.act("propose", booking_id, start=TWO), 409) == "not_changeable"
        read(await answer(lee, booking_id, "yes", held["offer"]), 200)
        proposed = read(await desk.act("propose", booking_id, start=TWO), 200)["booking"]["proposed"]
        change = read(await dana.send("GET", f"/bookings/{booking_id}/changes/{proposed['offer_id']}"), 200)
        terms = claims(change["offer"])
        assert terms["participants"] == claims(held["offer"])["participants"]
        assert terms["invitation"]["answer_by"] == "2026-10-14T11:00:00-04:00"
        moved = read(await dana.accept(change, coming(dana, change["offer"], booking_id)), 200)
        verify_receipt(moved["receipt"], await town.document())
        booking = moved["booking"]
        assert (booking["status"], booking["sequence"], booking["start"]) == ("tentative", 1, TWO)
        assert "answer" not in booking["participants"][0]
        assert reason(await answer(lee, booking_id, "yes", held["offer"]), 403) == "booking_not_covered"
        assert reason(await jo.hold(jo.mandate(), start=TWO), 409) == "slot_taken"
        yes = coming(lee, change["offer"], booking_id)
        assert read(await answer(lee, booking_id, "yes", change["offer"], yes), 200)["status"] == "confirmed"
        final = await shown(dana, booking_id)
        verify_receipt(final["receipt"], await town.document())
        assert (claims(final["receipt"])["act"], final["booking"]["sequence"]) == ("answered", 1)


@pytest.mark.req("SCH-203", "SCH-226")
async def test_at_an_approving_host_a_move_is_the_hosts_first_and_then_the_participants(store, clock):
    """The host's yes makes it a contract; the participants accept that one, and the host is not asked again."""
    async with open_town(store, clock, approving()) as town:
        dana, lee, desk = town.guest(), town.guest(), front_desk(town)
        held, settled = await asked_along(dana, asked("Lee", lee))
        booking_id = settled["booking"]["booking_id"]
        read(await answer(lee, booking_id, "yes", held["offer"]), 200)
        read(await desk.act("approve", booking_id), 200)
        change = read(await dana.ask_change(booking_id, TWO, dana.managing(booking_id)), 201)
        assert claims(change["offer"])["invitation"]["answer_by"] == "2026-10-13T13:05:00-04:00"
        waits = read(await dana.accept(change, coming(dana, change["offer"], booking_id)), 200)["booking"]
        assert (waits["status"], waits["sequence"]) == ("confirmed", 0)
        moved = read(await desk.act("approve", booking_id), 200)["booking"]
        assert (moved["status"], moved["sequence"]) == ("tentative", 1)
        yes = coming(lee, change["offer"], booking_id)
        assert read(await answer(lee, booking_id, "yes", change["offer"], yes), 200)["status"] == "confirmed"


@pytest.mark.req("SCH-201", "SCH-213", "SCH-217")
async def test_either_side_may_call_a_tentative_booking_off(store, clock):
    """For free, its time at once free, and whoever was asked along reads that it is over."""
    async with open_town(store, clock, with_staff(one_bay())) as town:
        dana, lee, desk = town.guest(), town.guest(), front_desk(town)
        for act in ("guest", "host"):
            held, settled = await asked_along(dana, asked("Lee", lee))
            booking_id = settled["booking"]["booking_id"]
            if act == "guest":
                ended = read(await dana.cancel(booking_id, dana.managing(booking_id)), 200)
            else:
                ended = read(await desk.act("cancel", booking_id, reason="The lift is broken."), 200)
            assert ended["booking"]["cancelled"]["by"] == act
            assert read(await look(lee, booking_id), 200)["status"] == "cancelled"
            assert reason(await answer(lee, booking_id, "yes", held["offer"]), 409) == "nothing_to_accept"


@pytest.mark.req("SCH-135", "SCH-136")
async def test_a_tentative_booking_counts_in_its_bookers_cap_and_in_the_pool_of_newcomers(store, clock):
    """As the hold it came of did; once everybody has said yes it counts there no more."""
    config = one_bay()
    limits = replace(config.policies.holds, max_active_per_agent=1, max_active_unproven=1)
    async with open_town(store, clock, replace(config, policies=replace(config.policies, holds=limits))) as town:
        dana, lee, kim = people(town, 3)
        held, settled = await asked_along(dana, asked("Lee", lee))
        booking_id = settled["booking"]["booking_id"]
        assert reason(await dana.hold(dana.mandate(), start=TWO), 409) == "too_many_holds"
        assert reason(await kim.hold(kim.mandate(), start=TWO), 409) == "newcomers_full"
        read(await answer(lee, booking_id, "yes", held["offer"]), 200)
        read(await dana.hold(dana.mandate(), start=TWO), 201)


@pytest.mark.req("SCH-144")
async def test_tentative_bookings_that_lapse_suspend_their_booker_and_those_that_settle_do_not(store, clock):
    """Five times nobody answered, and the silence meant no: like five holds that ran out. A no counts for nobody."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee, mira, tom = people(town, 4)
        for said in ("no", "no", "no", "no", "no"):
            held, settled = await asked_along(mira, asked("Tom", tom))
            read(await answer(tom, settled["booking"]["booking_id"], said, held["offer"]), 200)
        read(await mira.hold(mira.mandate()), 201)
        for _ in range(5):
            await asked_along(dana, asked("Lee", lee), start=TWO)
            clock.advance(DEADLINE)
        assert reason(await dana.hold(dana.mandate(), start=TWO), 429) == "suspended"


@pytest.mark.req("SCH-067", "SCH-244")
async def test_an_answer_sent_twice_is_one_answer(store, clock):
    """The same key and bytes give the same answer; another participant with that key gets their own."""
    async with open_town(store, clock, one_bay()) as town:
        dana, lee, kim = people(town, 3)
        held, settled = await asked_along(dana, asked("Lee", lee), asked("Kim", kim))
        booking_id, yes = settled["booking"]["booking_id"], coming(lee, held["offer"])
        sent = [await answer(lee, booking_id, "yes", held["offer"], yes, idempotency_key="the-same-key") for _ in "ab"]
        assert sent[0].body == sent[1].body
        assert dict(sent[1].headers)["idempotent-replayed"] == "true"
        view = read(await answer(kim, booking_id, "yes", held["offer"], idempotency_key="the-same-key"), 200)
        assert view["status"] == "confirmed"


@pytest.mark.req("SCH-321", "SCH-244", "SCH-245")
async def test_the_booker_hears_of_every_answer_and_of_what_came_of_them(store, clock):
    """One said yes, then all had; one said no; nobody said anything: each told to the address of the hold."""
    ear = Ear()
    async with open_town(store, clock, one_bay()) as town, listening(ear) as fetcher:
        dana, lee, kim = people(town, 3)
        for replies in (("yes", "yes"), ("no",), ()):
            held, settled = await asked_along(dana, asked("Lee", lee), asked("Kim", kim), callback_url=CALLBACK)
            booking_id = settled["booking"]["booking_id"]
            for each, said in zip((lee, kim), replies, strict=False):
                read(await answer(each, booking_id, said, held["offer"]), 200)
            clock.advance(DEADLINE)
            latest = await shown(dana, booking_id)
            await tell_due(town.store, town.desk, fetcher)
            assert ear.claims[-1]["receipt"] == latest["receipt"]
            if latest["booking"]["status"] == "confirmed":
                read(await dana.cancel(booking_id, dana.managing(booking_id)), 200)
                await tell_due(town.store, town.desk, fetcher)
        assert [each["event"] for each in ear.claims] == [
            "booking.answered",
            "booking.confirmed",
            "booking.cancelled",
            "booking.declined",
            "booking.expired",
        ]


@pytest.mark.req("SCH-214", "SCH-239", "SCH-244")
async def test_what_a_participants_no_frees_goes_to_whoever_waits(store, clock):
    """In the same transaction: nobody else sees it in between."""
    async with open_town(store, clock, waiting_room()) as town:
        dana, lee, kim, jo = people(town, 4)
        held, settled = await asked_along(dana, asked("Lee", lee))
        entry = read(await join(kim, kim.mandate()), 201)
        read(await answer(lee, settled["booking"]["booking_id"], "no", held["offer"]), 200)
        assert reason(await jo.hold(jo.mandate()), 409) == "slot_taken"
        seen = read(await kim.send("GET", f"/waitlist/{entry['entry_id']}"), 200)
        assert seen["status"] == "offered"


@pytest.mark.req("SCH-203", "SCH-235")
async def test_a_counter_that_the_guest_accepts_asks_the_participants_anew_and_not_the_host(store, clock):
    """Countering was the host's yes; Lee's was to another time."""
    async with open_town(store, clock, approving()) as town:
        dana, lee, desk = town.guest(), town.guest(), front_desk(town)
        held, settled = await asked_along(dana, asked("Lee", lee))
        booking_id = settled["booking"]["booking_id"]
        read(await answer(lee, booking_id, "yes", held["offer"]), 200)
        proposed = read(await desk.act("counter", booking_id, start=TWO), 200)["booking"]["proposed"]
        change = read(await dana.send("GET", f"/bookings/{booking_id}/changes/{proposed['offer_id']}"), 200)
        moved = read(await dana.accept(change, coming(dana, change["offer"], booking_id)), 200)
        verify_receipt(moved["receipt"], await town.document())
        assert (moved["booking"]["status"], moved["booking"]["sequence"]) == ("tentative", 1)
        yes = coming(lee, change["offer"], booking_id)
        assert read(await answer(lee, booking_id, "yes", change["offer"], yes), 200)["status"] == "confirmed"
