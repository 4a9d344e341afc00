"""A host that asks whether its guest is still coming: the window, the yes, the no, the silence. Over real sockets."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from sayso.core.instants import epoch
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.host import reputation
from sayso.scheduling.host.telling import tell_due
from sayso.scheduling.host.tidying import tidy
from sayso.scheduling.terms.receipt_checks import verify_receipt
from sayso.scheduling.terms.reconfirm import ReconfirmPolicy
from tests.scheduling.host.company import answer as answer_invitation
from tests.scheduling.host.company import asked, coming
from tests.scheduling.host.frontdesk import approving, claims, front_desk
from tests.scheduling.host.test_events import CALLBACK, Ear, listening
from tests.scheduling.host.test_waitlist import join, look, waiting_room
from tests.scheduling.host.town import ONE, one_bay, open_town, read, reason

pytestmark = pytest.mark.anyio

THE_DAY_BEFORE = ReconfirmPolicy(opens="PT36H", due="P1D", silence="lapses")
OPENS, BY = "2026-10-14T01:00:00-04:00", "2026-10-14T13:00:00-04:00"
UNTIL_OPEN, UNTIL_DUE = timedelta(hours=16), timedelta(hours=28)
TICK = timedelta(microseconds=1)
LONG = 5 * 86_400


def asking(**policies):
    """One bay with a waitlist, whose bookers reconfirm the day before."""
    return waiting_room(**{"reconfirm": THE_DAY_BEFORE, **policies})


async def booked(guest, **changed):
    """Booked under limits that live long enough to answer with: the mandate, the hold and the booking."""
    mandate = guest.mandate(exp=epoch(guest.clock.now()) + LONG, **changed)
    hold = read(await guest.hold(mandate, callback_url=CALLBACK), 201)
    return mandate, hold, read(await guest.confirm(hold, mandate), 201)["booking"]


async def answer(guest, booking, hold, mandate, said="yes", **changed):
    body = {
        "idempotency_key": guest.ids.new("i"),
        "offer_sha256": sha256_b64u(hold["offer"]),
        "answer": said,
        **changed,
    }
    return await guest.send("POST", f"/bookings/{booking['booking_id']}/reconfirm", body, mandate)


async def tally(town, guest):
    whose = f"principal {guest.principal}"
    return (await town.store.reading(lambda view: reputation.read(view, town.desk.host, whose)))[0]


async def shown(guest, booking):
    return read(await guest.send("GET", f"/bookings/{booking['booking_id']}"), 200)


@pytest.mark.req("SCH-248", "SCH-252", "SCH-032", "SCH-159")
async def test_a_booking_that_is_not_reconfirmed_ends_and_its_time_goes_to_whoever_waits(store, clock):
    """The offer says until when and what silence does; at that very instant the time is the next one's."""
    async with open_town(store, clock, asking()) as town:
        sam, priya, kim = town.guest(), town.guest(), town.guest()
        _, hold, booking = await booked(sam)
        terms = {"opens": OPENS, "by": BY, "silence": "lapses"}
        assert (claims(hold["offer"])["reconfirm"], booking["reconfirm"]) == (terms, terms)
        assert (await town.document()).policies.reconfirm == THE_DAY_BEFORE
        entry = read(await join(priya, priya.mandate(exp=epoch(clock.now()) + LONG)), 201)
        clock.advance(UNTIL_DUE - TICK)
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"
        clock.advance(TICK)
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"
        assert (await look(priya, entry))["status"] == "offered"
        ended = await shown(sam, booking)
        assert (ended["booking"]["status"], ended["booking"]["unreconfirmed"]) == ("expired", True)
        assert (claims(ended["receipt"])["act"], ended["booking"]["event"]["status"]) == ("expired", "cancelled")
        verify_receipt(ended["receipt"], await town.document())
        assert (await town.kinds())[-3:] == ["booking.unreconfirmed", "hold.placed", "waitlist.offered"]


@pytest.mark.req("SCH-248", "SCH-252")
async def test_silence_counts_against_the_booker_like_a_hold_that_ran_out(store, clock):
    """Kept and lost: one abandoned outcome more for the person than for one who said no."""
    async with open_town(store, clock, asking()) as town:
        sam, kim = town.guest(), town.guest()
        await booked(sam)
        before = await tally(town, sam)
        clock.advance(UNTIL_DUE)
        free = read(await kim.hold(kim.mandate()), 201)
        after = await tally(town, sam)
        assert (before.abandoned, after.abandoned > 900_000) == (0, True)
        assert free["start"] == ONE


@pytest.mark.req("SCH-248")
async def test_time_that_silence_frees_is_free_for_whoever_only_looks(store, clock):
    """Nothing has run in between: a read alone shows the hour from the very instant on."""
    async with open_town(store, clock, one_bay(reconfirm=THE_DAY_BEFORE)) as town:
        sam, kim = town.guest(), town.guest()
        _, _, booking = await booked(sam)
        for wait, count in ((UNTIL_DUE - TICK, 0), (TICK, 1)):
            clock.advance(wait)
            window = {"start": ONE, "end": "2026-10-15T13:45:00-04:00"}
            looked = await kim.send("POST", "/availability", {"service_id": "oil-change", "window": window})
            assert len(read(looked, 200)["slots"]) == count
        assert (await shown(sam, booking))["booking"]["status"] == "expired"


@pytest.mark.req("SCH-100", "SCH-248")
async def test_a_yes_in_time_keeps_the_booking_and_is_proved(store, clock):
    """Too early is told so; then once and no more; past the deadline the booking stands."""
    async with open_town(store, clock, asking()) as town:
        sam, kim = town.guest(), town.guest()
        mandate, hold, booking = await booked(sam)
        clock.advance(UNTIL_OPEN - TICK)
        assert reason(await answer(sam, booking, hold, mandate), 409) == "reconfirm_early"
        clock.advance(TICK)
        other = await answer(sam, booking, hold, mandate, offer_sha256="A" * 43)
        assert reason(other, 409) == "contract_mismatch"
        yes = read(await answer(sam, booking, hold, mandate), 200)
        assert (yes["booking"]["status"], yes["booking"]["reconfirmed"]) == ("confirmed", OPENS)
        assert (yes["booking"]["sequence"], yes["booking"]["version"]) == (0, 2)
        assert verify_receipt(yes["receipt"], await town.document()).claims.act == "reconfirmed"
        assert reason(await answer(sam, booking, hold, mandate), 409) == "nothing_to_reconfirm"
        clock.advance(timedelta(days=1))
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"
        assert await shown(sam, booking) == yes


@pytest.mark.req("SCH-063", "SCH-064", "SCH-248")
@pytest.mark.parametrize("said", ["yes", "no"])
async def test_an_answer_sent_again_is_answered_again_and_done_once(store, clock, said):
    """The same key and bytes bring the same answer back, also when the lost one was the last word."""
    async with open_town(store, clock, asking()) as town:
        sam = town.guest()
        mandate, hold, booking = await booked(sam)
        clock.advance(UNTIL_OPEN)
        once = await answer(sam, booking, hold, mandate, said, idempotency_key="again-0001")
        again = await answer(sam, booking, hold, mandate, said, idempotency_key="again-0001")
        assert (once.status, again.body) == (200, once.body)
        other = "no" if said == "yes" else "yes"
        assert (
            reason(await answer(sam, booking, hold, mandate, other, idempotency_key="again-0001"), 409) == "key_reused"
        )


@pytest.mark.req("SCH-249", "SCH-214")
async def test_a_no_frees_the_time_and_is_held_against_nobody(store, clock):
    """The booker's own no is a cancellation: free, proved, and the next in line has the hour in the same breath."""
    async with open_town(store, clock, asking()) as town:
        sam, priya = town.guest(), town.guest()
        mandate, hold, booking = await booked(sam)
        entry = read(await join(priya, priya.mandate(exp=epoch(clock.now()) + LONG)), 201)
        clock.advance(UNTIL_OPEN)
        before = await tally(town, sam)
        no = read(await answer(sam, booking, hold, mandate, "no"), 200)
        assert (no["booking"]["status"], no["booking"]["cancelled"]["by"]) == ("cancelled", "guest")
        assert (claims(no["receipt"])["act"], await tally(town, sam)) == ("cancelled", before)
        assert (await town.kinds())[-3:] == ["booking.cancelled", "hold.placed", "waitlist.offered"]
        assert (await look(priya, entry))["status"] == "offered"
        assert reason(await answer(sam, booking, hold, mandate), 409) == "already_cancelled"


@pytest.mark.req("SCH-248")
async def test_what_silence_does_is_what_the_contract_says(store, clock):
    """A host that only wants to know lets the booking stand; an answer past the moment is one too late."""
    config = asking(reconfirm=replace(THE_DAY_BEFORE, silence="stands"))
    async with open_town(store, clock, config) as town:
        sam, kim = town.guest(), town.guest()
        mandate, hold, booking = await booked(sam)
        clock.advance(UNTIL_DUE)
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"
        assert (await shown(sam, booking))["booking"]["status"] == "confirmed"
        assert reason(await answer(sam, booking, hold, mandate), 409) == "nothing_to_reconfirm"


@pytest.mark.req("SCH-159", "SCH-248")
@pytest.mark.parametrize(("asked", "later", "status"), [(True, False, "expired"), (False, True, "confirmed")])
async def test_a_policy_of_later_neither_asks_nor_spares_who_booked_before(store, clock, asked, later, status):
    """What was signed without the question is never asked it; what was signed with it still ends by silence."""
    async with open_town(store, clock, asking() if asked else one_bay()) as town:
        sam = town.guest()
        _, _, booking = await booked(sam)
    async with open_town(store, clock, asking() if later else one_bay()) as town:
        again = town.guest(sam.key, sam.agent)
        clock.advance(UNTIL_DUE)
        await town.store.unit(lambda unit: tidy(unit, town.desk))
        assert (await shown(again, booking))["booking"]["status"] == status


@pytest.mark.req("SCH-248")
async def test_who_books_when_it_would_be_asked_already_has_said_yes(store, clock):
    """A booking made inside the window states no second question."""
    async with open_town(store, clock, asking()) as town:
        clock.advance(UNTIL_OPEN - timedelta(minutes=5))
        late = town.guest()
        assert "reconfirm" not in claims(read(await late.hold(late.mandate()), 201)["offer"])
        read(await late.release(read(await late.hold(late.mandate(), start="2026-10-15T14:00:00-04:00"), 201)), 200)
        tomorrow = read(await late.hold(late.mandate(), start="2026-10-15T15:00:00-04:00"), 201)
        assert claims(tomorrow["offer"])["reconfirm"]["by"] == "2026-10-14T15:00:00-04:00"


@pytest.mark.req("SCH-100")
async def test_answering_needs_the_scope_by_which_the_contract_was_accepted(store, clock):
    """`book` on a hold's offer, `reschedule` on a change offer; a management mandate may carry either, for its own."""
    async with open_town(store, clock, asking()) as town:
        sam, kim = town.guest(), town.guest()
        mandate, hold, booking = await booked(sam)
        clock.advance(UNTIL_OPEN)
        assert reason(await answer(sam, booking, hold, sam.managing(booking["booking_id"])), 403) == "scope_missing"
        assert reason(await answer(kim, booking, hold, kim.mandate()), 404) == "no_such_booking"
        assert reason(await answer(sam, booking, hold, sam.closed(hold["offer"])), 403) == "booking_not_covered"
        change = read(await sam.ask_change(booking["booking_id"], "2026-10-15T14:00:00-04:00", mandate), 201)
        read(await sam.accept(change, mandate), 200)
        clock.advance(timedelta(hours=1))
        named = {"services": None, "max_bookings": None, "bookings": [booking["booking_id"]]}
        for scope, said in ((["book"], "scope_missing"), (["reschedule"], None)):
            care = sam.mandate(constraints=named, scope=scope)
            told = await answer(sam, booking, change, care)
            assert (reason(told, 403) if said else read(told, 200)["booking"]["status"]) == (said or "confirmed")


@pytest.mark.req("SCH-100")
async def test_a_management_mandate_with_book_answers_and_books_nothing(store, clock):
    """Its `book` reaches the booking it names; as a yes to a hold it is refused."""
    async with open_town(store, clock, asking()) as town:
        sam = town.guest()
        _, hold, booking = await booked(sam, constraints={"max_bookings": 2})
        clock.advance(UNTIL_OPEN)
        named = {"services": None, "max_bookings": None, "bookings": [booking["booking_id"]]}
        care = sam.mandate(constraints=named, scope=["book", "cancel", "reschedule"])
        other = read(await sam.hold(sam.mandate(), start="2026-10-15T14:00:00-04:00"), 201)
        assert reason(await sam.confirm(other, care), 403) == "management_only"
        assert read(await answer(sam, booking, hold, care), 200)["booking"]["reconfirmed"] == OPENS


@pytest.mark.req("SCH-248")
async def test_a_move_asks_again_for_its_own_day(store, clock):
    """The new contract has its own window, and a yes to the old one does not count for it."""
    async with open_town(store, clock, asking()) as town:
        sam, kim = town.guest(), town.guest()
        mandate, hold, booking = await booked(sam)
        clock.advance(UNTIL_OPEN)
        read(await answer(sam, booking, hold, mandate), 200)
        wide = {"not_before": ONE, "not_after": "2026-10-17T13:00:00-04:00"}
        care = sam.managing(booking["booking_id"], window=wide)
        change = read(await sam.ask_change(booking["booking_id"], "2026-10-16T13:00:00-04:00", care), 201)
        moved = read(await sam.accept(change, care), 200)["booking"]
        assert (moved["reconfirm"]["by"], "reconfirmed" in moved) == ("2026-10-15T13:00:00-04:00", False)
        clock.advance(timedelta(hours=36))
        read(await kim.hold(kim.mandate(), start="2026-10-15T14:00:00-04:00"), 201)
        assert (await shown(sam, booking))["booking"]["status"] == "expired"


@pytest.mark.req("SCH-248", "SCH-176")
async def test_an_approving_host_is_asked_first_and_the_guest_again_later(store, clock):
    """The host's yes starts the guest's own deadline; its time is kept until then, and no longer."""
    async with open_town(store, clock, approving(reconfirm=THE_DAY_BEFORE)) as town:
        sam, kim, desk = town.guest(), town.guest(), front_desk(town)
        _, _, booking = await booked(sam)
        assert booking["status"] == "pending_host"
        read(await desk.act("approve", booking["booking_id"]), 200)
        clock.advance(UNTIL_DUE - TICK)
        assert reason(await kim.hold(kim.mandate()), 409) == "slot_taken"
        clock.advance(TICK)
        read(await kim.hold(kim.mandate()), 201)
        assert (await shown(sam, booking))["booking"]["status"] == "expired"


@pytest.mark.req("SCH-248", "SCH-321")
async def test_a_yes_and_a_silence_are_told_as_events(store, clock):
    """Two bookings: of one the callback hears that it was reconfirmed, of the other that it expired."""
    ear = Ear()
    async with open_town(store, clock, asking()) as town, listening(ear) as fetcher:
        sam, kim = town.guest(), town.guest()
        mandate, hold, booking = await booked(sam)
        clock.advance(UNTIL_OPEN)
        read(await answer(sam, booking, hold, mandate), 200)
        clock.advance(timedelta(hours=1))
        window = {"not_before": ONE, "not_after": "2026-10-17T13:00:00-04:00"}
        await kim.book(
            kim.mandate(constraints={"window": window}), start="2026-10-16T13:00:00-04:00", callback_url=CALLBACK
        )
        clock.advance(timedelta(hours=35))
        await town.store.unit(lambda unit: tidy(unit, town.desk))
        await tell_due(town.store, town.desk, fetcher)
        told = [(each["event"], each["status"]) for each in ear.claims]
    assert told == [
        ("booking.confirmed", "confirmed"),
        ("booking.reconfirmed", "confirmed"),
        ("booking.confirmed", "confirmed"),
        ("booking.expired", "expired"),
    ]


@pytest.mark.req("SCH-201", "SCH-203", "SCH-248")
async def test_a_yes_while_participants_are_still_asked_keeps_the_time_for_them(store, clock):
    """Moved to an earlier day, both deadlines are of the new contract; answering one loses nothing of the other."""
    async with open_town(store, clock, asking()) as town:
        dana, tom, kim = town.guest(), town.guest(), town.guest()
        window = {"not_before": ONE, "not_after": "2026-10-22T13:45:00-04:00"}
        mandate = dana.mandate(exp=epoch(clock.now()) + 4 * LONG, constraints={"window": window, "max_bookings": 2})
        wish = {"participants": [asked("Tom", tom)], "invitation": {"answer_within": "P20D", "silence": "no"}}
        hold = read(await dana.hold(mandate, start="2026-10-22T13:00:00-04:00", **wish), 201)
        booking = read(await dana.confirm(hold, mandate), 201)["booking"]
        read(await answer_invitation(tom, booking["booking_id"], "yes", hold["offer"]), 200)
        change = read(await dana.ask_change(booking["booking_id"], "2026-10-20T13:00:00-04:00", mandate), 201)
        moved = read(await dana.accept(change, mandate), 200)["booking"]
        assert (moved["status"], moved["reconfirm"]["by"]) == ("tentative", "2026-10-19T13:00:00-04:00")
        clock.advance(timedelta(days=5, hours=17))
        yes = read(await answer(dana, booking, change, mandate), 200)["booking"]
        assert (yes["status"], yes["reconfirmed"]) == ("tentative", "2026-10-19T02:00:00-04:00")
        clock.advance(timedelta(days=1))
        late = kim.mandate(constraints={"window": window})
        assert reason(await kim.hold(late, start="2026-10-20T13:00:00-04:00"), 409) == "slot_taken"
        agreed = coming(tom, change["offer"], booking["booking_id"])
        last = read(await answer_invitation(tom, booking["booking_id"], "yes", change["offer"], agreed), 200)
        assert last["status"] == "confirmed"
