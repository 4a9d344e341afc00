"""SIGKILL around every commit: a real process dies, another opens the same files, and the guest's retry completes.

The points of SCH-398 that this version has: hold, confirm, approval, change acceptance, and a cancellation with the
waitlist offer it brings (a delivery whose process died is in `test_crashes_telling`). What
must hold at each: nothing is lost that was promised, nothing exists twice, no time is kept for nobody.
"""

import signal
import subprocess
import sys
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerUnreachable
from sayso.ledger.reading import read_records
from sayso.net.fetch import Fetcher
from sayso.net.signing import SignedClient
from sayso.proof.keys import PrivateKey
from sayso.store.open import open_store
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_allocation, host_booking, host_change, host_hold
from tests.scheduling.host.frontdesk import DESK, FrontDesk
from tests.scheduling.host.test_waitlist import join, look
from tests.scheduling.host.town import DOMAIN, HOST, Guest, read

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("crashing_server.py")
LATER = "2026-10-15T14:30:00-04:00"


@contextmanager
def running(location, kind="instant"):
    """A host process on a location; ended with its block, however it ends before."""
    process = subprocess.Popen(
        [sys.executable, str(SERVER), location, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        process.port = int(process.stdout.readline())
        yield process
    finally:
        if process.poll() is None:
            process.communicate("")
        process.stdin.close()
        process.stdout.close()
        process.wait()


@asynccontextmanager
async def speaking(guest_of, process, clock):
    """A guest that speaks to this process."""
    async with Fetcher({DOMAIN: f"127.0.0.1:{process.port}"}) as fetcher:
        key, agent = guest_of
        yield Guest(SignedClient(fetcher, agent, clock, SystemIds()), key, agent, clock)


@asynccontextmanager
async def at_the_desk(process, clock):
    """The program at the shop's front desk, speaking to this process."""
    async with Fetcher({DOMAIN: f"127.0.0.1:{process.port}"}) as fetcher:
        yield FrontDesk(SignedClient(fetcher, DESK, clock, SystemIds()))


def somebody():
    return PrivateKey.generate(), PrivateKey.generate()


def arm(process, when):
    process.stdin.write(f"{when} 1\n")
    process.stdin.flush()
    assert process.stdout.readline() == "armed\n"


async def dies(process, request):
    """The request has no answer, because the process was killed under it."""
    with pytest.raises(PeerUnreachable):
        await request
    assert process.wait() == -signal.SIGKILL


async def left(location, clock):
    """What stands in the files: states of holds, bookings and changes, owners of time, and the kinds of the log."""
    with open_store(location, clock) as store:

        def look(view):
            states = {
                name: sorted(row[0] for row in view.all(statement(table.select().with_only_columns(table.c.state))))
                for name, table in (("holds", host_hold), ("bookings", host_booking), ("changes", host_change))
            }
            owners = {row[0] for row in view.all(statement(host_allocation.select().with_only_columns(_a.owner)))}
            return states, owners, Counter(record.kind for record in read_records(view, HOST, 0, 1000))

        return await store.reading(look)


_a = host_allocation.c
POINTS = pytest.mark.parametrize("when", ["before", "after"])


@POINTS
@pytest.mark.req("SCH-389", "SCH-398", "SCH-069")
async def test_a_hold_killed_around_its_commit_is_placed_once(location, clock, when):
    """Before: nothing was kept, the retry places it. After: it was, and the retry is told the same hold."""
    who, key = somebody(), {"idempotency_key": "hold-0001"}
    with running(location) as first:
        async with speaking(who, first, clock) as guest:
            mandate = guest.mandate()
            arm(first, when)
            await dies(first, guest.hold(mandate, **key))
    states, owners, kinds = await left(location, clock)
    kept = 0 if when == "before" else 1
    assert (len(states["holds"]), len(owners), kinds["hold.placed"]) == (kept, kept, kept)
    with running(location) as second:
        async with speaking(who, second, clock) as guest:
            hold = read(await guest.hold(mandate, **key), 201)
            done = read(await guest.confirm(hold, mandate), 201)
            assert done["booking"]["status"] == "confirmed"
    states, owners, kinds = await left(location, clock)
    assert states == {"holds": ["confirmed"], "bookings": ["confirmed"], "changes": []}
    assert (owners, kinds["hold.placed"]) == ({hold["hold_id"]}, 1)


@POINTS
@pytest.mark.req("SCH-389", "SCH-398", "SCH-069", "SCH-124")
async def test_a_confirm_killed_around_its_commit_books_once(location, clock, when):
    """Never half: a hold that is confirmed has its booking, its receipt and its record, or it is still held."""
    who, key = somebody(), {"idempotency_key": "confirm-0001"}
    with running(location) as first:
        async with speaking(who, first, clock) as guest:
            mandate = guest.mandate()
            hold = read(await guest.hold(mandate), 201)
            arm(first, when)
            await dies(first, guest.confirm(hold, mandate, **key))
    states, owners, kinds = await left(location, clock)
    booked = when == "after"
    assert states["holds"] == (["confirmed"] if booked else ["held"])
    assert (len(states["bookings"]), kinds["booking.confirmed"], owners) == (booked, booked, {hold["hold_id"]})
    with running(location) as second:
        async with speaking(who, second, clock) as guest:
            answer = await guest.confirm(hold, mandate, **key)
            assert answer.header("idempotent-replayed") == ("true" if booked else None)
            booking = read(answer, 201)["booking"]
            assert (
                read(await guest.send("GET", f"/holds/{hold['hold_id']}"), 200)["booking_id"] == booking["booking_id"]
            )
    states, _, kinds = await left(location, clock)
    assert (states["bookings"], kinds["booking.confirmed"]) == (["confirmed"], 1)


@POINTS
@pytest.mark.req("SCH-389", "SCH-398", "SCH-124", "SCH-126")
async def test_an_accepted_change_killed_around_its_commit_moves_once(location, clock, when):
    """The booking stands at the old time or at the new one, on exactly one stretch of time, and moves once."""
    who, key = somebody(), {"idempotency_key": "accept-0001"}
    with running(location) as first:
        async with speaking(who, first, clock) as guest:
            mandate = guest.mandate()
            booking = await guest.book(mandate)
            change = read(await guest.ask_change(booking["booking_id"], LATER, mandate), 201)
            arm(first, when)
            await dies(first, guest.accept(change, mandate, **key))
    states, owners, _ = await left(location, clock)
    moved = when == "after"
    assert (states["changes"], len(owners)) == (["made"], 1) if moved else (["offered"], 2)
    with running(location) as second:
        async with speaking(who, second, clock) as guest:
            after = read(await guest.accept(change, mandate, **key), 200)["booking"]
            assert (after["sequence"], after["start"]) == (1, LATER)
    states, owners, kinds = await left(location, clock)
    assert (states["changes"], owners, kinds["booking.moved"]) == (["made"], {change["offer_id"]}, 1)


@POINTS
@pytest.mark.req("SCH-389", "SCH-239")
async def test_a_cancellation_killed_around_its_commit_offers_the_time_once(location, clock, when):
    """Cancelled and offered to the waiter, or neither: freed time is never nobody's while somebody waits for it."""
    kim, priya, key = somebody(), somebody(), {"idempotency_key": "cancel-0001"}
    with running(location) as first:
        async with speaking(kim, first, clock) as guest, speaking(priya, first, clock) as waiter:
            mandate, wanted = guest.mandate(), waiter.mandate()
            booking = await guest.book(mandate)
            entry = read(await join(waiter, wanted), 201)
            arm(first, when)
            await dies(first, guest.cancel(booking["booking_id"], mandate, **key))
    states, owners, _ = await left(location, clock)
    gone = when == "after"
    assert (states["bookings"], "held" in states["holds"], len(owners)) == (
        (["cancelled"], True, 1) if gone else (["confirmed"], False, 1)
    )
    with running(location) as second:
        async with speaking(kim, second, clock) as guest, speaking(priya, second, clock) as waiter:
            read(await guest.cancel(booking["booking_id"], mandate, **key), 200)
            offered = await look(waiter, entry)
            assert read(await waiter.confirm(offered["hold"], wanted), 201)["booking"]["status"] == "confirmed"
    states, owners, kinds = await left(location, clock)
    assert (states["bookings"], kinds["waitlist.offered"]) == (["cancelled", "confirmed"], 1)
    assert owners == {offered["hold"]["hold_id"]}


@POINTS
@pytest.mark.req("SCH-389", "SCH-398", "SCH-124")
async def test_an_approval_killed_around_its_commit_confirms_once(location, clock, when):
    """The request still waits, or it is confirmed with its receipt; the desk says yes again and nothing doubles."""
    who, yes = somebody(), {"idempotency_key": "approve-0001"}
    with running(location, "approving") as first:
        async with speaking(who, first, clock) as guest:
            booking = await guest.book(guest.mandate())
            assert booking["status"] == "pending_host"
            async with at_the_desk(first, clock) as desk:
                arm(first, when)
                await dies(first, desk.act("approve", booking["booking_id"], **yes))
    states, owners, kinds = await left(location, clock)
    said = when == "after"
    assert states["bookings"] == (["confirmed"] if said else ["pending_host"])
    assert (len(owners), kinds["booking.approved"]) == (1, said)
    with running(location, "approving") as second:
        async with speaking(who, second, clock) as guest, at_the_desk(second, clock) as desk:
            read(await desk.act("approve", booking["booking_id"], **yes), 200)
            seen = read(await guest.send("GET", f"/bookings/{booking['booking_id']}"), 200)["booking"]
            assert (seen["status"], seen["version"]) == ("confirmed", 2)
    _, _, kinds = await left(location, clock)
    assert kinds["booking.approved"] == 1
