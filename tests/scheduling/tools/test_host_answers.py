"""An assistant at a host that answers each request: what it hears, what the person signs, what it tells them."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from sayso.world.maple_street import maple_street_auto
from tests.scheduling.host.frontdesk import TWO_HOURS, front_desk, with_staff
from tests.scheduling.host.town import ONE, open_town_on_file, read
from tests.scheduling.tools.household import open_household

pytestmark = pytest.mark.anyio

HALF_PAST_TWO = "2026-10-15T14:30"


@pytest.fixture
async def street(tmp_path, clock):
    """The shop with its front desk, and Sam's household beside it."""
    config = maple_street_auto()
    asking = with_staff(replace(config, policies=replace(config.policies, confirmation=TWO_HOURS)))
    async with (
        open_town_on_file(tmp_path, clock, asking) as town,
        open_household(tmp_path / "guest", clock, town.fetcher) as home,
    ):
        yield town, front_desk(town), home


async def status(home, booking):
    done = await home.call("booking_status", {"booking_id": booking["booking_id"]})
    assert not done.is_error, done.result
    assert "warning" not in done.result["bookings"][0], done.result
    return done.result["bookings"][0]


@pytest.mark.req("SCH-009", "SCH-161", "SCH-176", "SCH-344")
async def test_a_request_is_told_as_one_and_its_yes_is_learned_by_asking(street):
    """The text the person signs states the deadline; the outcome is requested; later it is confirmed."""
    _, desk, home = street
    booking = await home.booked()
    texts = [shown.text for _, shown in home.questions]
    deadline = "Maple Street Auto answers by Tuesday 13 October 2026 at 11:05 a.m.; if it does not, nothing is booked."
    assert deadline in texts[1]
    assert (booking["outcome"], booking["status"]) == ("requested", "pending_host")
    assert booking["waits"].startswith("Maple Street Auto answers by Tuesday 13 October 2026 at 11:05 a.m.")
    read(await desk.act("approve", booking["booking_id"]), 200)
    told = await status(home, booking)
    assert (told["status"], "waits" in told) == ("confirmed", False)


@pytest.mark.req("SCH-179", "SCH-195")
async def test_a_no_is_told_with_the_hosts_words_and_other_times(street):
    """And nothing is offered to cancel or move."""
    _, desk, home = street
    booking = await home.booked()
    read(await desk.act("decline", booking["booking_id"], message="Lift broken.", alternatives=True), 200)
    told = await status(home, booking)
    assert told["note"] == 'Maple Street Auto said no, so nothing is booked. It says: "Lift broken."'
    assert (told["status"], len(told["free_instead"]), "cancelling" in told) == ("declined", 5, False)
    assert ONE not in [slot["start"] for slot in told["free_instead"]]


@pytest.mark.req("SCH-177")
async def test_silence_is_told_as_silence(street):
    """Nothing is booked, and it counts against nobody."""
    town, _, home = street
    booking = await home.booked()
    home.clock.advance(timedelta(hours=3))
    guest = town.guest()
    await guest.hold(guest.mandate())
    told = await status(home, booking)
    assert (told["status"], "counts against nobody" in told["note"]) == ("expired", True)


@pytest.mark.req("SCH-224", "SCH-226", "SCH-227", "SCH-230")
@pytest.mark.parametrize("answer", ["approve", "decline"])
async def test_a_move_waits_for_the_host_and_its_answer_is_learned(street, answer):
    """Asked again while it waits, nothing is sent twice; then the booking is moved, or stands with the reason."""
    _, desk, home = street
    booking = await home.booked()
    read(await desk.act("approve", booking["booking_id"]), 200)
    await status(home, booking)
    ask = {"booking_id": booking["booking_id"], "start": HALF_PAST_TWO}
    for _ in range(2):
        done = await home.call("change_booking", ask)
        assert (done.is_error, done.result["outcome"], done.result["start"]) == (False, "requested", ONE), done.result
        assert "is asked to move it to Thursday 15 October 2026 at 2:30 p.m." in done.result["waits"]
    other = await home.call("change_booking", {**ask, "start": "2026-10-15T15:00"})
    assert other.result["refused"]["reason"] == "move_awaits_host"
    read(await desk.act(answer, booking["booking_id"]), 200)
    told = await status(home, booking)
    if answer == "approve":
        assert (told["start"], told["user_signed"]) == ("2026-10-15T14:30:00-04:00", "this exact offer")
    else:
        assert told["start"] == ONE
        assert told["move_declined"].startswith("Maple Street Auto said no to the move to Thursday 15 October 2026")
    assert "waits" not in told


@pytest.mark.req("SCH-234", "SCH-253")
async def test_a_proposal_of_the_host_is_accepted_like_any_change_by_the_persons_signature(street):
    """Its text is shown, its hash is signed, and then the booking is at the other time."""
    _, desk, home = street
    booking = await home.booked()
    read(await desk.act("approve", booking["booking_id"]), 200)
    read(await desk.act("propose", booking["booking_id"], start="2026-10-15T14:30:00-04:00", message="Sorry."), 200)
    told = await status(home, booking)
    assert told["proposed_start"] == "2026-10-15T14:30:00-04:00"
    asked = len(home.questions)
    done = await home.call("change_booking", {"booking_id": booking["booking_id"], "start": HALF_PAST_TWO})
    assert (done.result["outcome"], done.result["start"]) == ("moved", "2026-10-15T14:30:00-04:00"), done.result
    assert any("I approve this change to my booking" in shown.text for _, shown in home.questions[asked:])


@pytest.mark.req("SCH-205", "SCH-217", "SCH-256")
async def test_what_the_host_did_by_itself_is_told_in_words(street):
    """Called off with its reason; and a mark after the end, corrected later."""
    _, desk, home = street
    first = await home.booked()
    read(await desk.act("approve", first["booking_id"]), 200)
    read(await desk.act("cancel", first["booking_id"], reason="Flooded."), 200)
    told = await status(home, first)
    assert (told["status"], told["called_off"]) == ("cancelled", 'Maple Street Auto called it off: "Flooded."')
    hold = await home.held(start="2026-10-15T14:00", asked_start="2026-10-15T14:00")
    second = dict((await home.call("approve_and_book", {"hold_id": hold["hold_id"]})).result)
    read(await desk.act("approve", second["booking_id"]), 200)
    home.clock.advance(timedelta(days=3))
    read(await desk.act("no-show", second["booking_id"]), 200)
    assert "nobody came" in (await status(home, second))["note"]
    read(await desk.act("attended", second["booking_id"]), 200)
    assert (await status(home, second))["note"] == "It is over."
