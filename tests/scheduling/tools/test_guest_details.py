"""What an assistant tells a host of its person: what the limits they signed say, and not a word of it is signed."""

import pytest
from msgspec.structs import replace

from sayso.proof.jws import read_jws
from sayso.scheduling.terms.discovery import Notes
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.store.statements import statement
from sayso.store.tables import every_table
from sayso.world.maple_street import maple_street_auto
from tests.scheduling.host.frontdesk import front_desk, with_staff
from tests.scheduling.host.town import open_town_on_file, read
from tests.scheduling.tools.household import household, open_household

pytestmark = pytest.mark.anyio

SAM = GuestDetails(name="Sam Rivera", contact="sam.rivera@home.example")
TOLD = "It may tell Maple Street Auto my name and how to reach me, for the appointment."
KEPT_FOR_ITSELF = ("guest_hold",)


@pytest.fixture
async def town(tmp_path, clock):
    """The shop with a front desk, and notes welcome."""
    config = maple_street_auto()
    welcome = replace(config, policies=replace(config.policies, notes=Notes(accepted=True)))
    async with open_town_on_file(tmp_path, clock, with_staff(welcome)) as town:
        yield town


@pytest.fixture
def at_home(tmp_path, clock, town):
    """Opens Sam's household with what hosts may be told of Sam."""
    return lambda **wishes: open_household(tmp_path / "guest", clock, town.fetcher, **wishes)


async def seen(town, booking):
    return read(await front_desk(town).read(f"/{booking['booking_id']}"), 200)


@pytest.mark.req("SCH-207", "SCH-208", "SCH-168")
async def test_the_limits_say_what_is_told_and_the_host_is_told_that(town, at_home):
    """The sentence is signed, the words are not: no mandate, offer, receipt or record of either side has them."""
    async with at_home(details=SAM) as home:
        booking = await home.booked()
        texts = [shown.text for _, shown in home.questions]
        assert ([TOLD in text for text in texts], (await seen(town, booking))["details"]) == (
            [True, False, False],
            {"name": "Sam Rivera", "contact": "sam.rivera@home.example"},
        )
        for mandate in await home.guest.book.mandates("buying", booking["host"]):
            assert TOLD.encode() in read_jws(mandate.token).payload
        for table in every_table().sorted_tables:
            rows = repr(await home.store.reading(lambda view, table=table: view.all(statement(table.select()))))
            assert ("Rivera" in rows or "home.example" in rows) == (table.name in KEPT_FOR_ITSELF), table.name


@pytest.mark.req("SCH-208")
async def test_who_set_nothing_is_not_spoken_of(town, at_home):
    """Neither in the sentence nor to the host."""
    async with at_home() as home:
        booking = await home.booked()
        assert all("It may tell" not in shown.text for _, shown in home.questions)
        assert "details" not in await seen(town, booking)


@pytest.mark.req("SCH-208")
async def test_what_is_told_is_what_the_limits_of_that_hold_said(town, at_home):
    """A name alone is said as a name alone; settings that change afterwards reach no hold placed before."""
    async with at_home(details=GuestDetails(name="Sam Rivera")) as home:
        hold = await home.held()
        assert "It may tell Maple Street Auto my name, for the appointment." in home.questions[0][1].text
        later = household(home.store, home.clock, home.fetcher, details=SAM)
        done = await later.call("approve_and_book", {"hold_id": hold["hold_id"]})
        assert (await seen(town, done.result))["details"] == {"name": "Sam Rivera"}


@pytest.mark.req("SCH-208")
async def test_what_the_person_types_with_their_own_confirm_is_told(town, at_home):
    """It is their word and stands in no limits; who comes in their place goes with it."""
    async with at_home(said=replace(SAM, attendee="Maya")) as home:
        booking = await home.booked()
        assert (await seen(town, booking))["details"]["attendee"] == "Maya"


@pytest.mark.req("SCH-207")
async def test_a_dictated_note_reaches_the_staff(town, at_home):
    """Word for word, and it is in nothing that the guest gets back."""
    async with at_home() as home:
        hold = await home.held()
        done = await home.call("approve_and_book", {"hold_id": hold["hold_id"], "note": "The left door sticks."})
        assert (await seen(town, done.result))["note"] == "The left door sticks."
        assert "sticks" not in repr(done.result)


@pytest.mark.req("SCH-207")
async def test_a_note_a_host_does_not_take_is_not_even_sent(tmp_path, clock):
    """The person hears what to use instead; nothing was booked, and without the note it is."""
    async with (
        open_town_on_file(tmp_path, clock, with_staff(maple_street_auto())) as town,
        open_household(tmp_path / "guest", clock, town.fetcher) as home,
    ):
        hold = await home.held()
        no = await home.call("approve_and_book", {"hold_id": hold["hold_id"], "note": "The left door sticks."})
        assert (no.is_error, no.result["refused"]["reason"]) == (True, "notes_not_accepted")
        assert [question.kind for question, _ in home.questions] == ["limits"]
        assert no.result["refused"]["message"] == (
            'No notes. Maple Street Auto says: "Call us about anything we should know."'
        )
        assert (await town.rows())["host_booking"] == []
        done = await home.call("approve_and_book", {"hold_id": hold["hold_id"]})
        assert done.result["outcome"] == "confirmed"
