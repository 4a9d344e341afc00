"""Ten guests, one bay: one gets it. In one process, in several on one database, and where the store alone says no."""

import asyncio
import subprocess
import sys
from collections import Counter
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

import pytest

from sayso.core.ids import SystemIds
from sayso.net.fetch import Fetcher
from sayso.net.signing import SignedClient
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host import allocations
from sayso.scheduling.rules.allocate import Granted
from sayso.scheduling.rules.premises import Seat
from sayso.scheduling.rules.spans import instant
from sayso.store.failures import Taken
from sayso.store.open import open_store
from tests.scheduling.host.town import DOMAIN, Guest, one_bay, open_town, read, reason
from tests.scheduling.rules.shop import UNITS, at

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("server.py")


def outcomes(answers):
    """How the holds ended; every loser has to be told what is free instead."""
    bodies = [read(answer, answer.status) for answer in answers]
    for body in bodies:
        assert "hold_id" in body or body["refusal"]["alternatives"]
    return Counter(body.get("status") or body["refusal"]["reason"] for body in bodies)


@pytest.mark.req("SCH-121", "SCH-127", "SCH-134", "SCH-388")
async def test_ten_holds_at_once_have_one_winner_and_nine_alternatives(store, clock):
    """Whoever comes first has the bay; nobody waits and nobody errs."""
    async with open_town(store, clock, one_bay()) as town:
        guests = [town.guest() for _ in range(10)]
        answers = await asyncio.gather(*(guest.hold(guest.mandate()) for guest in guests))
        assert outcomes(answers) == {"held": 1, "slot_taken": 9}
        rows = await town.rows()
        assert (len(rows["host_hold"]), len(rows["host_allocation"])) == (1, 2)


@contextmanager
def servers(location, count):
    """Several processes serving the same shop from the same database; their ports."""
    started = [
        subprocess.Popen(
            [sys.executable, str(SERVER), location], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(count)
    ]
    try:
        yield [int(process.stdout.readline()) for process in started]
    finally:
        for process in started:
            process.communicate("")
        assert [process.returncode for process in started] == [0] * count


@pytest.mark.req("SCH-122", "SCH-388")
async def test_the_same_across_processes_on_one_database(location, clock):
    """Ten processes on one SQLite file, three on one Postgres; ten guests spread over them, the same one winner."""
    with servers(location, 3 if location.startswith("postgresql://") else 10) as ports:
        async with AsyncExitStack() as stack:
            fetchers = [await stack.enter_async_context(Fetcher({DOMAIN: f"127.0.0.1:{port}"})) for port in ports]
            guests = []
            for fetcher in islice(cycle(fetchers), 10):
                agent = PrivateKey.generate()
                signed = SignedClient(fetcher, agent, clock, SystemIds())
                guests.append(Guest(signed, PrivateKey.generate(), agent, clock))
            answers = await asyncio.gather(*(guest.hold(guest.mandate()) for guest in guests))
    assert outcomes(answers) == {"held": 1, "slot_taken": 9}


@pytest.mark.req("SCH-120", "SCH-127", "SCH-388")
async def test_with_the_allocator_blind_postgres_still_keeps_the_second_hold_out(postgres, clock, monkeypatch):
    """The first line is switched off: every picture is empty. The second hold is refused whole, and nothing is half
    written; with the first line back, the same guest is told what is free.
    """
    seeing = allocations.read_picture

    def blind(view, host, premises, span):
        return replace(seeing(view, host, premises, span), busy=())

    with open_store(postgres.url, clock) as store:
        async with open_town(store, clock, one_bay()) as town:
            read(await (first := town.guest()).hold(first.mandate()), 201)
            before = await town.rows()
            monkeypatch.setattr(allocations, "read_picture", blind)
            second = town.guest()
            mandate, key = second.mandate(), {"idempotency_key": "hold-0001"}
            assert reason(await second.hold(mandate, **key), 503) == "unavailable"
            assert await town.rows() == before
            monkeypatch.setattr(allocations, "read_picture", seeing)
            assert reason(await second.hold(mandate, **key), 409) == "slot_taken"


@pytest.mark.req("SCH-120", "SCH-127")
def test_postgres_refuses_a_seat_taken_twice_whatever_the_allocator_believed(postgres, clock):
    """The second line of I-07: another family cannot overlap, the same family can, and touching is not overlapping."""

    def granted(start, end):
        return Granted(
            seats=(Seat("bay-1", UNITS[0]),),
            start=at(f"2026-10-15T{start}:00-04:00"),
            until=at(f"2026-10-15T{end}:00-04:00"),
            open_end=False,
            occupied_until=at(f"2026-10-15T{end}:00-04:00"),
        )

    with open_store(postgres.url, clock) as store:

        def take(start, end, owner, family, host="maple"):
            expires = instant(at("2026-10-15T08:00:00-04:00"))
            store.run(
                lambda unit: allocations.take(
                    unit, host, granted(start, end), owner=owner, family=family, expires_at=expires
                )
            )

        take("13:00", "14:00", "h_1", "h_1")
        with pytest.raises(Taken):
            take("13:30", "14:30", "h_2", "h_2")
        take("14:00", "15:00", "h_3", "h_3")
        take("13:30", "14:00", "o_1", "h_1")
        take("13:30", "14:30", "h_2", "h_2", host="elsewhere")
