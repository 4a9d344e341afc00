"""An assistant whose person is asked whether they are still coming: told of it, answered without a second signature."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from sayso.world.maple_street import maple_street_auto
from tests.scheduling.host.test_reconfirming import THE_DAY_BEFORE, UNTIL_DUE, UNTIL_OPEN
from tests.scheduling.host.town import open_town_on_file
from tests.scheduling.tools.household import open_household
from tests.scheduling.tools.test_host_answers import status

pytestmark = pytest.mark.anyio


@pytest.fixture
async def home(tmp_path, clock):
    """Sam's household, and the shop that asks the day before."""
    config = maple_street_auto()
    asking = replace(config, policies=replace(config.policies, reconfirm=THE_DAY_BEFORE))
    async with (
        open_town_on_file(tmp_path, clock, asking) as town,
        open_household(tmp_path / "guest", clock, town.fetcher) as home,
    ):
        yield home


async def reconfirm(home, booking, **changed):
    done = await home.call("reconfirm_booking", {"booking_id": booking["booking_id"], **changed})
    return done.result, done.is_error


@pytest.mark.req("SCH-248", "SCH-100", "SCH-169")
async def test_the_person_signs_the_question_with_the_offer_and_the_answer_with_the_care(home):
    """Told when it is due and what silence does; a day later the yes goes out with no further question."""
    booking = await home.booked()
    texts = [shown.text for _, shown in home.questions]
    assert "asks me to reconfirm on Wednesday 14 October 2026 between 1:00 a.m. and 1:00 p.m." in texts[1]
    assert "cancel, move or reconfirm this one booking" in texts[2]
    told = await status(home, booking)
    assert told["reconfirm"].startswith("Maple Street Auto asks you to reconfirm from Wednesday 14 October 2026 at")
    assert told["reconfirm_by"] == "2026-10-14T13:00:00-04:00"
    early, is_refused = await reconfirm(home, booking)
    assert (is_refused, early["refused"]["reason"]) == (True, "reconfirm_early")
    home.clock.advance(UNTIL_OPEN)
    asked = len(home.questions)
    for _ in range(2):
        done, is_refused = await reconfirm(home, booking)
        assert (is_refused, done["outcome"], done["status"]) == (False, "reconfirmed", "confirmed"), done
    assert (len(home.questions), "guest.booking_reconfirmed" in await home.kinds()) == (asked, True)
    home.clock.advance(timedelta(days=1))
    told = await status(home, booking)
    assert (told["status"], told["reconfirm"]) == (
        "confirmed",
        "You reconfirmed on Wednesday 14 October 2026 at 1:00 a.m.",
    )


@pytest.mark.req("SCH-249")
async def test_a_no_ends_it_for_free(home):
    """And is told as a cancellation that cost nothing."""
    booking = await home.booked()
    home.clock.advance(UNTIL_OPEN)
    done, is_refused = await reconfirm(home, booking, decline=True)
    assert (is_refused, done["status"], done["note"]) == (
        False,
        "cancelled",
        "It is cancelled, and cancelling cost nothing.",
    )


@pytest.mark.req("SCH-252")
async def test_what_silence_did_is_told_as_the_persons_own_silence(home):
    """Not as the host's: nobody there failed to answer."""
    booking = await home.booked()
    home.clock.advance(UNTIL_DUE)
    await home.held(start="2026-10-15T14:00", asked_start="2026-10-15T14:00")
    told = await status(home, booking)
    assert (told["status"], told["note"].startswith("You did not reconfirm in time")) == ("expired", True)
    done, is_refused = await reconfirm(home, booking)
    assert (is_refused, done["refused"]["reason"]) == (True, "nothing_to_reconfirm")


@pytest.mark.req("SCH-086", "SCH-248")
async def test_without_the_care_of_the_booking_the_person_is_asked_for_it_then(home):
    """A no to managing it leaves the buying mandate, and once that is over the answer needs a signature of its own."""
    hold = await home.held()
    done = await home.call(
        "approve_and_book", {"hold_id": hold["hold_id"]}, says=lambda question, _: question.kind != "management"
    )
    home.clock.advance(UNTIL_OPEN)
    asked = len(home.questions)
    told, is_refused = await reconfirm(home, done.result)
    assert (is_refused, told["outcome"]) == (False, "reconfirmed"), told
    assert [question.kind for question, _ in home.questions[asked:]] == ["management"]
