"""The guest's memory, on both engines."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.core.ids import CountingIds
from sayso.scheduling.guest.book import GuestBook
from sayso.scheduling.guest.kept import KeptBooking, KeptChange, KeptHold, KeptMandate, KnownHost
from sayso.scheduling.terms.change import ChangeView
from sayso.scheduling.terms.hold import HoldView
from sayso.testing.store import START

pytestmark = pytest.mark.anyio
TOKEN = "e30.e30.c2ln"
HOST = "maple-street-auto@maplestreetauto.example"
MANDATE = KeptMandate(
    jti="m_1", host=HOST, kind="buying", subject="draft", token=TOKEN, expires=START + timedelta(hours=1)
)


def quiet(_unit):
    """A note that writes nothing."""


def view(type_, **changed):
    found = {
        "status": "held",
        "version": 1,
        "start": "2026-10-15T13:00:00-04:00",
        "end": "2026-10-15T13:45:00-04:00",
        "expires_at": "2026-10-13T13:05:00Z",
        "offer": TOKEN,
        **changed,
    }
    return strictjson.decode(strictjson.encode(found), type_)


HOLD = KeptHold(
    hold_id="h_1",
    host=HOST,
    state="held",
    mandate="m_1",
    view=view(HoldView, hold_id="h_1", service_id="oil-change"),
    asked=b"{}",
    offer=TOKEN,
    offer_sha256="A" * 43,
    expires=START + timedelta(minutes=5),
)
BOOKING = KeptBooking(
    booking_id="b_1",
    host=HOST,
    hold_id="h_1",
    state="confirmed",
    sequence=0,
    version=1,
    limits="m_1",
    approved="offer",
    agreed="m_2",
    offer=TOKEN,
    receipt=TOKEN,
    start=START + timedelta(days=2),
)
CHANGE = KeptChange(
    offer_id="o_1",
    booking_id="b_1",
    state="offered",
    view=view(ChangeView, offer_id="o_1", booking_id="b_1", status="offered"),
    offer=TOKEN,
    offer_sha256="B" * 43,
    expires=START + timedelta(minutes=5),
)


@pytest.fixture
def book(store):
    return GuestBook(store, "agent-1", CountingIds())


async def test_hosts_mandates_holds_bookings_and_changes_come_back_as_they_were_kept(book):
    """Each document whole."""
    await book.keep_host(KnownHost(domain="maplestreetauto.example", host=HOST))
    await book.keep_host(KnownHost(domain="maplestreetauto.example", host=HOST))
    await book.keep_mandate(MANDATE, quiet)
    await book.keep_hold(HOLD, quiet, intent="x")
    await book.keep_change(CHANGE, quiet, intent="x")
    await book.keep_booking(BOOKING, quiet)
    assert await book.hosts() == [KnownHost(domain="maplestreetauto.example", host=HOST)]
    assert (await book.mandate("m_1"), await book.mandates("buying", HOST)) == (MANDATE, [MANDATE])
    assert (await book.hold("h_1"), await book.open_holds()) == (HOLD, [HOLD])
    assert (await book.booking("b_1"), await book.bookings()) == (BOOKING, [BOOKING])
    assert await book.open_changes("b_1") == [CHANGE]


async def test_what_is_not_there_is_none(book):
    """Not an error."""
    assert [await book.mandate("x"), await book.hold("x"), await book.booking("x")] == [None, None, None]
    assert (await book.hosts(), await book.open_holds(), await book.bookings()) == ([], [], [])


@pytest.mark.req("SCH-020")
async def test_one_agents_rows_are_not_anothers(book, store):
    """The same ids under another key are other rows."""
    await book.keep_hold(HOLD, quiet, intent="x")
    other = GuestBook(store, "agent-2", CountingIds())
    assert await other.hold("h_1") is None
    await other.keep_hold(replace(HOLD, state="released"), quiet, intent="x")
    assert (await book.hold("h_1")).state == "held"


async def test_expired_mandates_and_holds_are_not_offered_for_use(book, clock):
    """By the clock, at the very instant."""
    await book.keep_mandate(MANDATE, quiet)
    await book.keep_hold(HOLD, quiet, intent="x")
    clock.advance(timedelta(minutes=5))
    assert await book.open_holds() == []
    clock.advance(timedelta(minutes=55))
    assert await book.mandates("buying", HOST) == []
    assert await book.mandate("m_1") == MANDATE


@pytest.mark.req("SCH-080")
async def test_what_counts_under_a_mandate_is_live_holds_and_bookings(book, clock):
    """A hold that became its booking counts once; cancelling gives the unit back."""
    await book.keep_hold(HOLD, quiet, intent="x")
    assert await book.used_under("m_1") == 1
    await book.keep_booking(BOOKING, quiet, hold=replace(HOLD, state="confirmed", booking_id="b_1"))
    assert await book.used_under("m_1") == 1
    await book.keep_booking(replace(BOOKING, state="cancelled"), quiet)
    assert await book.used_under("m_1") == 0


@pytest.mark.req("SCH-063", "SCH-070")
async def test_an_intent_keeps_its_key_until_its_answer_is_kept(book, clock):
    """The same key on every attempt, a new one for a new intent, and after the replay window."""
    first = await book.intent("hold:x")
    assert await book.intent("hold:x") == first
    assert await book.intent("hold:y") != first
    await book.keep_hold(HOLD, quiet, intent="hold:x")
    second = await book.intent("hold:x")
    assert second != first
    clock.advance(timedelta(hours=24))
    third = await book.intent("hold:x")
    assert third != second
    await book.forget_intent("hold:x")
    assert await book.intent("hold:x") != third


async def test_a_receipt_that_cannot_be_written_keeps_nothing(book):
    """State and receipt are one unit of work."""

    def broken(_unit):
        raise ValueError("no room")

    key = await book.intent("hold:x")
    with pytest.raises(ValueError, match="no room"):
        await book.keep_hold(HOLD, broken, intent="hold:x")
    assert await book.hold("h_1") is None
    assert await book.intent("hold:x") == key


async def test_a_released_hold_and_a_dropped_change_are_no_longer_open(book):
    """And stay readable."""
    await book.keep_hold(HOLD, quiet, intent="x")
    await book.keep_change(CHANGE, quiet, intent="x")
    await book.mark_released("h_1", quiet)
    await book.mark_dropped("o_1", quiet)
    assert (await book.open_holds(), await book.open_changes("b_1")) == ([], [])
    assert (await book.hold("h_1")).state == "released"
