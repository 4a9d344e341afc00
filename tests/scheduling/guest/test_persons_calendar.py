"""A guest of a person's calendar: a yes is believed only with the person's signature, or the rule it was given by."""

from __future__ import annotations

import pytest

from sayso.scheduling.host import bookings
from sayso.scheduling.host.contacts import add_contact
from sayso.scheduling.terms.identity import principal_urn
from tests.scheduling.guest.hostile import HostileFetcher, edited, offering, resigned
from tests.scheduling.host.daybook import at_desk, keep, open_calendar_on_file, signed_answer, signed_rule
from tests.scheduling.host.town import HOST, read
from tests.scheduling.tools.household import SAM, open_household

pytestmark = pytest.mark.anyio

PLAYDATE = {
    "host": HOST,
    "service_id": "playdate",
    "start": "2026-10-17T12:00",
    "earliest_start": "2026-10-17T09:00",
    "latest_start": "2026-10-18T16:00",
    "max_price": None,
    "asked_start": "2026-10-17T12:00",
}


@pytest.fixture
async def scene(tmp_path, clock):
    async with open_calendar_on_file(tmp_path, clock) as noor, HostileFetcher(noor.port) as fetcher:
        await noor.store.unit(lambda unit: add_contact(unit, HOST, principal_urn(SAM.public), "Sam"))
        async with open_household(tmp_path / "guest", clock, fetcher) as home:
            yield noor, home, fetcher


async def booked(home):
    hold = await home.held(**PLAYDATE)
    return await home.call("approve_and_book", {"hold_id": hold["hold_id"]})


@pytest.mark.req("SCH-266", "SCH-264", "SCH-181")
async def test_the_guest_hears_that_a_rule_said_yes_and_the_person_may_not_have_seen_it(scene, clock):
    """At once, in the rule's own words."""
    noor, home, _ = scene
    read(await keep(noor, signed_rule(clock)), 201)
    done = await booked(home)
    assert (done.result["status"], done.result["outcome"]) == ("confirmed", "confirmed")
    assert done.result["answered"] == (
        'A rule that Noor Haddad signed said yes: "Weekend playdates with my contacts". Noor Haddad may not have seen '
        "it yet."
    )


@pytest.mark.req("SCH-180", "SCH-182")
async def test_the_guest_hears_beforehand_who_answers(scene):
    """The person, or a rule they signed; and that their own answer can be asked for."""
    _, home, _ = scene
    (found,) = (await home.call("discover_host", {"host": HOST})).result["hosts"]
    assert found["confirmation"] == (
        "Noor Haddad answers each request within 2 hours; without an answer it lapses. A rule they signed may say yes "
        "for them; you can ask for their own answer."
    )


@pytest.mark.req("SCH-187", "SCH-180")
async def test_the_guest_waits_for_the_person_and_hears_their_yes(scene, clock):
    """Requested first; confirmed once Noor signed."""
    noor, home, _ = scene
    done = await booked(home)
    assert (done.result["status"], done.result["outcome"]) == ("pending_host", "requested")
    settled = await noor.store.reading(lambda view: _offer(view, done.result["booking_id"]))
    signed = signed_answer(clock, settled)
    read(await at_desk(noor).act("approve", done.result["booking_id"], acceptance=signed), 200)
    later = await home.call("booking_status", {"booking_id": done.result["booking_id"]})
    (found,) = later.result["bookings"]
    assert found["status"] == "confirmed"
    assert found["answered"] == "Noor Haddad said yes in person."


def _offer(view, booking_id):
    return bookings.find(view, HOST, booking_id).offer.token


@pytest.mark.req("SCH-264", "SCH-181", "SCH-187", "SCH-266")
@pytest.mark.parametrize(
    "lie",
    [
        {"by": "host"},
        {"by": "person"},
        {"by": "person", "at": None},
        {"may_be_unseen": None},
        {"acceptance": None, "at": None},
        {"at": "2026-10-14T13:00:00Z"},
        {"by": "host", "at": None, "acceptance": None, "may_be_unseen": None},
        {"by": "person", "at": None, "acceptance": None, "may_be_unseen": None},
    ],
)
async def test_a_calendar_that_says_yes_without_its_person_is_not_believed(scene, clock, lie):
    """Whatever the host signs of who answered, the proof of it has to stand inside; the booking is called off again."""
    noor, home, fetcher = scene
    read(await keep(noor, signed_rule(clock, exp=1791896400 + 3600)), 201)

    def swap(answer):
        answer["booking"]["answered"] = _lied(answer["booking"]["answered"], lie)
        answer["receipt"] = resigned(
            answer["receipt"],
            lambda claims: claims["booking"].update(answered=_lied(claims["booking"]["answered"], lie)),
        )

    fetcher.rules["/confirm"] = edited(swap)
    done = await booked(home)
    assert done.is_error
    assert done.result["refused"]["reason"] == "receipt_invalid"


def _lied(answered, lie):
    return {name: value for name, value in {**answered, **lie}.items() if value is not None}


@pytest.mark.req("SCH-021", "SCH-187")
@pytest.mark.parametrize(
    "edit",
    [
        lambda claims: claims.pop("owner"),
        lambda claims: claims.pop("answer_by"),
    ],
)
async def test_an_offer_of_a_person_that_asks_nobody_is_not_shown(scene, edit):
    """It names its owner, and by when they answer."""
    _, home, fetcher = scene
    fetcher.rules["/holds"] = offering(edit)
    done = await home.call("hold_slot", PLAYDATE)
    assert done.result["refused"]["reason"] == "offer_invalid"
