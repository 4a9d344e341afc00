"""Telling: what happened is written down with it, delivered until it is heard, and heard once. Over real sockets."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from sayso.proof.jws import read_jws, sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.hearing import EventBook, Heard, callback_app, hear
from sayso.scheduling.host.events import topic
from sayso.scheduling.host.telling import ATTEMPTS, keeping_told, tell_due
from sayso.scheduling.host.tidying import tidy
from sayso.scheduling.terms.events import EVENT_TYP
from sayso.store import outbox
from sayso.store.statements import statement
from sayso.store.tables.store import outbox as outbox_table
from tests.scheduling.host.test_waitlist import join, waiting_room
from tests.scheduling.host.town import DOMAIN, HOST_KEY, one_bay, open_town, open_town_on_file, read
from tests.scheduling.tools.household import SAM, open_household

pytestmark = pytest.mark.anyio

AGENT = "assistant.example"
CALLBACK = f"https://{AGENT}/heard"


@dataclass
class Ear:
    """A callback that answers as it is told to, and remembers what came."""

    answers: list[int] = field(default_factory=list)
    heard: list[tuple[str, str]] = field(default_factory=list)

    async def __call__(self, scope, receive, send):
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        kind = dict(scope["headers"])[b"content-type"].decode()
        self.heard.append((kind, body.decode()))
        status = self.answers.pop(0) if self.answers else 204
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    @property
    def claims(self):
        return [strictjson.parse(read_jws(token).payload) for _, token in self.heard]


@asynccontextmanager
async def listening(app):
    """A fetcher of the host's that reaches the agent's name at a real socket."""
    async with serving(app) as address, Fetcher({AGENT: f"127.0.0.1:{address.port}"}) as fetcher:
        yield fetcher


def waiting(town):
    """What the outbox still owes: state and attempts of each event."""
    rows = statement(outbox_table.select().with_only_columns(outbox_table.c.state, outbox_table.c.attempts))
    return town.store.reading(lambda view: sorted(view.all(rows)))


@pytest.mark.req("SCH-026", "SCH-320", "SCH-321", "SCH-326")
async def test_what_became_of_a_hold_is_told_signed_with_its_version_and_receipt(store, clock):
    """Run out, booked, cancelled: one event each, whole in one token that the published key verifies."""
    ear = Ear()
    async with open_town(store, clock, one_bay()) as town, listening(ear) as fetcher:
        guest = town.guest()
        mandate = guest.mandate(constraints={"max_bookings": 2})
        lost = read(await guest.hold(mandate, callback_url=CALLBACK), 201)
        clock.advance(timedelta(minutes=5))
        booking = await guest.book(mandate, callback_url=CALLBACK)
        settled = read(await guest.cancel(booking["booking_id"], mandate), 200)
        assert ear.heard == []
        assert await tell_due(town.store, town.desk, fetcher) == 3
        told = {each["event"]: each for each in ear.claims}
        assert set(told) == {"hold.expired", "booking.confirmed", "booking.cancelled"}
        assert told["hold.expired"]["subject"] == {"hold_id": lost["hold_id"]}
        cancelled = told["booking.cancelled"]
        assert cancelled == {
            "iss": town.desk.host,
            "aud": guest.principal,
            "agent": guest.agent.public.thumbprint,
            "iat": cancelled["iat"],
            "jti": cancelled["jti"],
            "event": "booking.cancelled",
            "subject": {"booking_id": booking["booking_id"]},
            "status": "cancelled",
            "version": 2,
            "sequence": 0,
            "at": "2026-10-13T13:05:00Z",
            "receipt": settled["receipt"],
        }
        assert {kind for kind, _ in ear.heard} == {"application/schcp-event+jwt"}
        assert {state for state, _ in await waiting(town)} == {"done"}


@pytest.mark.req("SCH-239", "SCH-321")
async def test_a_waiter_is_told_of_the_offer(store, clock):
    """Whoever named a callback when joining hears that time is held, and what became of it."""
    ear = Ear()
    async with open_town(store, clock, waiting_room()) as town, listening(ear) as fetcher:
        kim, priya = town.guest(), town.guest()
        mandate = kim.mandate()
        booking = await kim.book(mandate)
        entry = read(await join(priya, callback_url=CALLBACK), 201)
        read(await kim.cancel(booking["booking_id"], mandate), 200)
        await tell_due(town.store, town.desk, fetcher)
        [offered] = ear.claims
        assert (offered["event"], offered["subject"], offered["status"], offered["version"]) == (
            "waitlist.offered",
            {"entry_id": entry["entry_id"]},
            "offered",
            2,
        )


@pytest.mark.req("SCH-323", "SCH-326")
async def test_an_event_is_told_again_with_backoff_until_it_is_heard_and_then_no_more(store, clock):
    """Refused, unheard, then taken: the same bytes each time, and the booking never notices."""
    ear = Ear(answers=[500, 302])
    async with open_town(store, clock, one_bay()) as town, listening(ear) as fetcher:
        guest = town.guest()
        await guest.book(guest.mandate(), callback_url=CALLBACK)
        before = await town.rows()
        for wait in (0, 30, 60):
            clock.advance(timedelta(seconds=wait) - timedelta(microseconds=1) if wait else timedelta(0))
            assert await tell_due(town.store, town.desk, fetcher) == (0 if wait else 1)
            if wait:
                clock.advance(timedelta(microseconds=1))
                assert await tell_due(town.store, town.desk, fetcher) == 1
        assert len(ear.heard) == 3
        assert len(set(ear.heard)) == 1
        clock.advance(timedelta(days=1))
        assert await tell_due(town.store, town.desk, fetcher) == 0
        assert (await waiting(town), await town.rows()) == ([("done", 3)], before)


@pytest.mark.req("SCH-323")
async def test_an_agent_that_never_answers_is_given_up_and_loses_nothing(store, clock):
    """After the last attempt the host stops; the booking stands as it did, for whoever asks."""
    async with open_town(store, clock, one_bay()) as town, Fetcher({}) as nowhere:
        guest = town.guest()
        booking = await guest.book(guest.mandate(), callback_url="https://127.0.0.1/heard")
        for _ in range(ATTEMPTS + 2):
            await tell_due(town.store, town.desk, nowhere)
            clock.advance(timedelta(hours=1))
        assert await waiting(town) == [("given_up", ATTEMPTS)]
        settled = read(await guest.send("GET", f"/bookings/{booking['booking_id']}"), 200)
        assert settled["booking"]["status"] == "confirmed"


@pytest.mark.req("SCH-324", "SCH-325")
@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/x", "https://169.254.169.254/latest", "https://[::1]/x", "https://localhost/x"]
)
async def test_a_callback_never_reaches_inside(tmp_path, clock, url):
    """The URL is a stranger's: what it resolves to is judged when connecting, and nothing private is spoken to."""
    async with open_town_on_file(tmp_path, clock, one_bay()) as town, Fetcher({}) as fetcher:
        guest = town.guest()
        await guest.book(guest.mandate(), callback_url=url)
        await tell_due(town.store, town.desk, fetcher)
        [(error,)] = await town.store.reading(
            lambda view: view.all(statement(outbox_table.select().with_only_columns(outbox_table.c.error)))
        )
        assert "not" in error or "could not be reached" in error
        assert await waiting(town) == [("due", 1)]


@pytest.mark.req("SCH-323")
async def test_nothing_is_sent_inside_a_transaction(store, clock):
    """While the agent takes its time to answer, the shop goes on placing holds."""
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(scope, receive, send):
        asked.set()
        await go_on.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with open_town(store, clock, one_bay()) as town, listening(slow) as fetcher:
        guest = town.guest()
        await guest.book(guest.mandate(), callback_url=CALLBACK)
        telling = asyncio.create_task(tell_due(town.store, town.desk, fetcher))
        await asked.wait()
        read(await guest.hold(guest.mandate(), start="2026-10-15T15:00:00-04:00"), 201)
        go_on.set()
        assert await telling == 1


@pytest.mark.req("SCH-320")
async def test_the_host_process_tells_by_itself(store, clock):
    """Woken by the commit, not by a timer: the clock of this test never moves."""
    ear = Ear()
    async with open_town(store, clock, one_bay()) as town, listening(ear) as fetcher:
        async with keeping_told(town.store, clock, town.desk, fetcher):
            guest = town.guest()
            await guest.book(guest.mandate(), callback_url=CALLBACK)
            while not ear.heard:
                await asyncio.sleep(0.01)
        assert ear.claims[0]["event"] == "booking.confirmed"


@pytest.mark.req("SCH-398", "SCH-323")
async def test_a_delivery_whose_worker_died_is_due_again(store, clock):
    """Claimed and never settled, as after SIGKILL in between: once the lease is over it goes out again."""
    ear = Ear()
    async with open_town(store, clock, one_bay()) as town, listening(ear) as fetcher:
        guest = town.guest()
        await guest.book(guest.mandate(), callback_url=CALLBACK)
        name = topic(town.desk.host)
        [gone] = await town.store.unit(lambda unit: outbox.claim(unit, name, "dead", timedelta(minutes=1), limit=1))
        assert await tell_due(town.store, town.desk, fetcher) == 0
        clock.advance(timedelta(minutes=1))
        assert await tell_due(town.store, town.desk, fetcher) == 1
        assert gone.key == ear.claims[0]["jti"]


@asynccontextmanager
async def a_listener(tmp_path, clock, config=None):
    """A shop that tells, and a household that listens at a real callback."""
    async with (
        open_town_on_file(tmp_path, clock, config or one_bay()) as town,
        open_household(tmp_path / "guest", clock, town.fetcher) as home,
    ):
        home.guest.callback_url = CALLBACK
        events = EventBook(home.store, home.guest.agent)
        async with listening(callback_app(home.guest, events, AGENT)) as fetcher:
            yield town, home, events, fetcher


async def cancelled_by_another_agent(town, home, booking_id):
    """Sam's other assistant calls the booking off, so this one has not heard of it."""
    other = town.guest(key=SAM)
    return read(await other.cancel(booking_id, other.managing(booking_id)), 200)


@pytest.mark.req("SCH-320", "SCH-322", "SCH-006", "SCH-007")
async def test_a_guest_hears_once_what_it_could_have_read_and_drops_the_rest(tmp_path, clock):
    """Delivered, delivered again, delivered out of order: the booking is read once, and is as new as it can be."""
    async with a_listener(tmp_path, clock) as (town, home, events, fetcher):
        booked = await home.booked()
        rows = statement(outbox_table.select().with_only_columns(outbox_table.c.payload))
        await tell_due(town.store, town.desk, fetcher)
        await cancelled_by_another_agent(town, home, booked["booking_id"])
        assert (await home.guest.book.booking(booked["booking_id"])).state == "confirmed"
        await tell_due(town.store, town.desk, fetcher)
        heard = await home.guest.book.booking(booked["booking_id"])
        assert (heard.state, heard.version) == ("cancelled", 2)
        tokens = [strictjson.parse(row[0])["token"] for row in await town.store.reading(lambda view: view.all(rows))]
        before = await home.kinds()
        assert {await hear(home.guest, events, token) for token in tokens} == {Heard.AGAIN}
        fresh = EventBook(home.store, "somebody who forgot")
        assert {await hear(home.guest, fresh, token) for token in tokens} == {Heard.STALE}
        assert await home.kinds() == before
        assert {state for state, _ in await waiting(town)} == {"done"}


@pytest.mark.req("SCH-322", "SCH-241")
async def test_whoever_hears_nothing_learns_the_same_by_asking(tmp_path, clock):
    """No callback was named, so nothing is in the outbox; the status tells it all."""
    async with (
        open_town_on_file(tmp_path, clock, one_bay()) as town,
        open_household(tmp_path / "guest", clock, town.fetcher) as home,
    ):
        booked = await home.booked()
        await cancelled_by_another_agent(town, home, booked["booking_id"])
        assert await waiting(town) == []
        status = await home.call("booking_status", {"booking_id": booked["booking_id"]})
        assert status.result["bookings"][0]["status"] == "cancelled"


def forged(token, key=HOST_KEY, typ=EVENT_TYP, **changed):
    read_token = read_jws(token)
    claims = {**strictjson.parse(read_token.payload), **changed}
    return sign_jws(claims, key, typ=typ, kid=read_token.header.kid)


@pytest.mark.req("SCH-320", "SCH-324")
@pytest.mark.parametrize(
    "forge",
    [
        lambda token: forged(token, key=PrivateKey.generate()),
        lambda token: forged(token, typ="schcp-receipt+jwt"),
        lambda token: forged(token, agent="A" * 43),
        lambda token: forged(token, iss=f"somebody-else@{DOMAIN}"),
        lambda token: forged(token, subject={}),
        lambda token: forged(token, subject={"hold_id": "h_1", "booking_id": "b_1"}),
        lambda token: forged(token, fee="5.00"),
        lambda token: token[:-4] + "AAAA",
        lambda token: "no.token.atall",
    ],
)
async def test_what_is_no_event_of_that_host_is_refused_and_changes_nothing(tmp_path, clock, forge):
    """Anybody can post to a callback: only the host's own key, to this agent, about one thing, is heard."""
    async with a_listener(tmp_path, clock) as (town, home, _, fetcher):
        booked = await home.booked()
        await cancelled_by_another_agent(town, home, booked["booking_id"])
        rows = statement(outbox_table.select().with_only_columns(outbox_table.c.payload))
        tokens = [strictjson.parse(row[0])["token"] for row in await town.store.reading(lambda view: view.all(rows))]
        newest = next(each for each in tokens if strictjson.parse(read_jws(each).payload)["version"] == 2)
        headers = (("Content-Type", "application/schcp-event+jwt"),)
        answer = await fetcher.request("POST", CALLBACK, headers=headers, body=forge(newest).encode())
        assert answer.status == 400
        assert (await home.guest.book.booking(booked["booking_id"])).state == "confirmed"
        assert (await fetcher.request("POST", CALLBACK, headers=headers, body=newest.encode())).status == 204
        assert (await home.guest.book.booking(booked["booking_id"])).state == "cancelled"


@pytest.mark.req("SCH-320", "SCH-241")
async def test_a_waiter_hears_of_the_offer_and_a_holder_of_the_end(tmp_path, clock):
    """The offered hold is checked and kept without anybody asking; once it has run out, that is known too."""
    async with a_listener(tmp_path, clock, waiting_room()) as (town, home, _, fetcher):
        kim = town.guest()
        mandate = kim.mandate()
        booking = await kim.book(mandate)
        wait = {
            "host": town.desk.host,
            "service_id": "oil-change",
            "earliest_start": "2026-10-15T13:00",
            "latest_start": "2026-10-15T13:00",
        }
        joined = await home.call("join_waitlist", wait)
        read(await kim.cancel(booking["booking_id"], mandate), 200)
        await tell_due(town.store, town.desk, fetcher)
        entry = await home.guest.entries.find(joined.result["entry_id"])
        assert entry.view.status == "offered"
        [held] = await home.guest.book.open_holds()
        assert held.hold_id == entry.view.hold.hold_id
        clock.advance(timedelta(minutes=10))
        await town.store.unit(lambda unit: tidy(unit, town.desk))
        await tell_due(town.store, town.desk, fetcher)
        assert (await home.guest.entries.find(entry.entry_id)).view.status == "lapsed"
        assert (await home.guest.book.hold(held.hold_id)).state == "released"
        assert {state for state, _ in await waiting(town)} == {"done"}
