"""Whom the host expects: its staff see name, contact and note; nobody else does, nothing signed repeats them."""

from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.scheduling.host import bookings
from sayso.scheduling.host.telling import tell_due
from sayso.scheduling.host.tidying import tidy
from sayso.scheduling.terms.discovery import Confirmation, Notes
from sayso.store.statements import statement
from sayso.store.tables import every_table
from sayso.store.tables.scheduling import host_guest
from sayso.world.harbourview_dental import harbourview_dental
from tests.scheduling.host.company import TWO_HOURS_NO, asked, look
from tests.scheduling.host.frontdesk import TWO_HOURS, front_desk, with_staff
from tests.scheduling.host.test_events import CALLBACK, Ear, listening
from tests.scheduling.host.town import ONE, one_bay, open_town, read, reason

pytestmark = pytest.mark.anyio

WHO = {"name": "Sam Rivera", "contact": "sam.rivera@home.example", "attendee": "Maya"}
NOTE = "The left door sticks; please lift it."


def garage(**policies):
    """One bay, a front desk, and notes welcome."""
    return with_staff(one_bay(**{"notes": Notes(accepted=True), **policies}))


async def booked(person, **told):
    mandate = person.mandate()
    hold = read(await person.hold(mandate, callback_url=CALLBACK), 201)
    return mandate, hold, read(await person.confirm(hold, mandate, **told), 201)


async def everything(town):
    """Each stored row of each table, as text."""
    return {
        table.name: repr(await town.store.reading(lambda view, table=table: view.all(statement(table.select()))))
        for table in every_table().sorted_tables
    }


@pytest.mark.req("SCH-207", "SCH-208", "SCH-210")
async def test_the_staff_see_whom_they_expect(store, clock):
    """Name, contact, who comes and the note, in the list and by itself; without any nothing stands there."""
    async with open_town(store, clock, garage()) as town:
        sam, desk = town.guest(), front_desk(town)
        _, _, settled = await booked(sam, guest=WHO, note=NOTE)
        seen = read(await desk.read(), 200)["bookings"][0]
        assert (seen["details"], seen["note"]) == (WHO, NOTE)
        assert read(await desk.read(f"/{settled['booking']['booking_id']}"), 200) == seen
        kim = town.guest()
        other = await kim.book(kim.mandate(), start="2026-10-15T14:00:00-04:00")
        bare = read(await desk.read(f"/{other['booking_id']}"), 200)
        assert ("details" in bare, "note" in bare) == (False, False)


@pytest.mark.req("SCH-194", "SCH-207", "SCH-208")
async def test_no_contact_stands_in_anything_signed_logged_told_or_answered(store, clock):
    """Every answer to guest and participant, every event, every row but one table's: none has name, contact or note."""
    ear = Ear()
    async with open_town(store, clock, garage()) as town, listening(ear) as fetcher:
        sam, lee, desk = town.guest(), town.guest(), front_desk(town)
        company = {"participants": [asked("Lee", lee, required=False)], "invitation": TWO_HOURS_NO}
        hold = read(await sam.hold(mandate := sam.mandate(), callback_url=CALLBACK, **company), 201)
        settled = read(await sam.confirm(hold, mandate, guest=WHO, note=NOTE), 201)
        booking_id = settled["booking"]["booking_id"]
        shown = read(await sam.send("GET", f"/bookings/{booking_id}"), 200)
        invited = read(await look(lee, booking_id), 200)
        gone = read(await desk.act("cancel", booking_id, reason="Flooded."), 200)
        await tell_due(town.store, town.desk, fetcher)
        told = repr([strictjson.encode(each) for each in (hold, settled, shown, invited, gone, *ear.claims)])
        rows = await everything(town)
        mine = rows.pop("host_guest")
        assert ("Sam Rivera" in mine, len(ear.claims)) == (True, 2)
        for word in ("Rivera", "home.example", "Maya", "sticks"):
            assert word not in told
            assert [name for name, text in rows.items() if word in text] == []


@pytest.mark.req("SCH-207", "SCH-367")
async def test_a_note_where_the_host_takes_none_is_refused_with_what_to_do_instead(store, clock):
    """Nothing is booked, the hold stays; without the note the same key books."""
    instead = harbourview_dental().policies.notes
    async with open_town(store, clock, garage(notes=instead)) as town:
        sam = town.guest()
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        before = await town.rows()
        no = await sam.confirm(hold, mandate, note=NOTE, guest=WHO, idempotency_key="confirm-1")
        assert reason(no, 409) == "notes_not_accepted"
        refusal = read(no, 409)["refusal"]
        assert (refusal["place"], refusal["message"]) == (
            "$.note",
            "This host takes no notes from agents. Fill in our own intake form when you arrive.",
        )
        assert await town.rows() == before
        read(await sam.confirm(hold, mandate, guest=WHO, idempotency_key="confirm-1"), 201)


@pytest.mark.req("SCH-208", "SCH-023")
@pytest.mark.parametrize(
    "told",
    [
        {"guest": {"contact": "sam@home.example"}},
        {"guest": {**WHO, "contact": "call me at sam@home.example after five"}},
        {"guest": {**WHO, "contact": "12"}},
        {"guest": {**WHO, "name": "x" * 201}},
        {"guest": {**WHO, "name": "two\nlines"}},
        {"guest": {**WHO, "card": "4111"}},
        {"note": "x" * 501},
        {"note": ""},
        {"contact": "sam@home.example"},
    ],
)
async def test_what_is_no_name_and_no_contact_is_refused_before_anything_is_booked(store, clock, told):
    """One name, one number or address, nothing else; and a hold takes none of it."""
    async with open_town(store, clock, garage()) as town:
        sam = town.guest()
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        assert reason(await sam.confirm(hold, mandate, **told), 400) == "schema_invalid"
        assert reason(await sam.hold(mandate, **told), 400) == "schema_invalid"
        assert (await town.rows())["host_booking"] == []


@pytest.mark.req("SCH-191", "SCH-207")
async def test_what_the_host_was_told_is_forgotten_when_the_retention_is_over(store, clock):
    """Ten days after the end, to the round of tidying; a booking that was moved counts from its new end."""
    async with open_town(store, clock, garage(retention="P10D")) as town:
        sam = town.guest()
        _, _, settled = await booked(sam, guest=WHO)
        care = sam.managing(
            settled["booking"]["booking_id"],
            window={"not_before": ONE, "not_after": "2026-10-17T13:00:00-04:00"},
        )
        change = read(await sam.ask_change(settled["booking"]["booking_id"], "2026-10-16T13:00:00-04:00", care), 201)
        read(await sam.accept(change, care), 200)

        async def kept_after(wait):
            clock.advance(wait)
            await town.store.unit(lambda unit: tidy(unit, town.desk))
            return len(await town.store.reading(lambda view: view.all(statement(host_guest.select()))))

        # Until the first end and ten days; then until the end it was moved to and ten days, to the tick.
        assert await kept_after(timedelta(days=12, hours=4, minutes=45)) == 1
        assert await kept_after(timedelta(days=1) - timedelta(microseconds=1)) == 1
        assert await kept_after(timedelta(microseconds=1)) == 0


@pytest.mark.req("SCH-191", "SCH-207")
@pytest.mark.parametrize("confirmation", [Confirmation(mode="instant"), TWO_HOURS], ids=["instant", "approving"])
async def test_a_booking_that_was_moved_to_an_earlier_day_is_forgotten_earlier(store, clock, confirmation):
    """What the contract in force promises, no longer: ten days after the end that was agreed last."""
    async with open_town(store, clock, garage(retention="P10D", confirmation=confirmation)) as town:
        sam, desk = town.guest(), front_desk(town)
        wide = {"not_before": ONE, "not_after": "2026-10-17T13:00:00-04:00"}
        mandate = sam.mandate(constraints={"window": wide})
        hold = read(await sam.hold(mandate, start="2026-10-16T13:00:00-04:00"), 201)
        booking_id = read(await sam.confirm(hold, mandate, guest=WHO), 201)["booking"]["booking_id"]
        if confirmation is TWO_HOURS:
            read(await desk.act("approve", booking_id), 200)
        change = read(await sam.ask_change(booking_id, ONE, mandate), 201)
        read(await sam.accept(change, mandate), 200)
        if confirmation is TWO_HOURS:
            assert read(await desk.act("approve", booking_id), 200)["booking"]["start"] == ONE
        clock.advance(timedelta(days=12, hours=4, minutes=45))
        await town.store.unit(lambda unit: tidy(unit, town.desk))
        assert await town.store.reading(lambda view: view.all(statement(host_guest.select()))) == []


@pytest.mark.req("SCH-191", "SCH-220")
@pytest.mark.parametrize("told", [{}, {"guest": WHO}], ids=["nothing told", "a name told"])
async def test_the_words_of_a_cancellation_are_forgotten_when_the_retention_is_over(store, clock, told):
    """To the tick, as what was told with the booking; the booking and its receipt stay."""
    async with open_town(store, clock, garage(retention="P10D")) as town:
        sam = town.guest()
        mandate, _, settled = await booked(sam, **told)
        booking_id = settled["booking"]["booking_id"]
        read(await sam.cancel(booking_id, mandate, message="Sorry, my knee."), 200)

        async def words_after(wait):
            clock.advance(wait)
            await town.store.unit(lambda unit: tidy(unit, town.desk))
            made = await town.store.reading(lambda view: bookings.find(view, town.desk.host, booking_id))
            return made.message

        tick = timedelta(microseconds=1)
        assert await words_after(timedelta(days=12, hours=4, minutes=45) - tick) == "Sorry, my knee."
        assert await words_after(tick) is None
        assert await town.store.reading(lambda view: view.all(statement(host_guest.select()))) == []
