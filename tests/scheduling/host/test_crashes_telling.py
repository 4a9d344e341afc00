"""SIGKILL around the delivery of an event: the agent hears it at least once, always in the same bytes.

A real process is killed before its delivery is claimed, between that and the request, while the agent reads it, and
around the COMMIT that settles it; another process opens the same files. The receiver is a real one.
"""

import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import pytest

from sayso.net.listen import serving
from sayso.store.open import open_store
from sayso.store.statements import statement
from sayso.store.tables.store import outbox
from tests.scheduling.host.test_crashes import left, somebody, speaking
from tests.scheduling.host.test_events import CALLBACK, Ear

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("telling_server.py")


@contextmanager
def telling(location, port, minutes=0):
    """A host process on a location that delivers to a loopback port; ended with its block, however it ends before."""
    process = subprocess.Popen(
        [sys.executable, str(SERVER), location, str(port), str(minutes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
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


async def said(process, line):
    """What the process answers to a line; nothing when it was killed over it."""
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    # Off the loop, because the agent that the process talks to is served here.
    return (await anyio.to_thread.run_sync(process.stdout.readline)).strip()


class Assassin(Ear):
    """An agent that reads the event whole and kills whoever sent it instead of answering."""

    victim = None

    async def __call__(self, scope, receive, send):
        async def answer(message):
            if self.victim is not None:
                os.kill(self.victim, signal.SIGKILL)
                self.victim = None
            await send(message)

        await super().__call__(scope, receive, answer)


@asynccontextmanager
async def agent():
    ear = Assassin()
    async with serving(ear) as address:
        yield ear, address.port


POINTS = {
    "before the claim is committed": ("before 1", 0, 1),
    "after it, before the request": ("after 1", 0, 1),
    "while the agent reads it": ("tell", 1, 2),
    "before it is settled": ("before 2", 1, 2),
    "after it was settled": ("after 2", 1, 1),
}


@pytest.mark.req("SCH-398", "SCH-323", "SCH-320")
@pytest.mark.parametrize(("line", "first", "in_all"), POINTS.values(), ids=POINTS.keys())
async def test_a_delivery_killed_anywhere_is_heard_at_least_once(location, clock, line, first, in_all):
    """Never not at all; a second time only where the host cannot know of the first. Nothing else changes."""
    who = somebody()
    async with agent() as (ear, port):
        with telling(location, port) as one:
            async with speaking(who, one, clock) as guest:
                booking = await guest.book(guest.mandate(), callback_url=CALLBACK)
                ear.victim = one.pid if line == "tell" else None
                assert await said(one, line) == ""
                assert one.wait() == -signal.SIGKILL
        assert len(ear.heard) == first
        before = await left(location, clock)
        with telling(location, port, minutes=2) as two:
            assert await said(two, "tell") == str(in_all - first)
            assert await said(two, "tell") == "0"
    assert (len(ear.heard), len(set(ear.heard)), {each["event"] for each in ear.claims}) == (
        in_all,
        1,
        {"booking.confirmed"},
    )
    assert {each["subject"]["booking_id"] for each in ear.claims} == {booking["booking_id"]}
    assert await left(location, clock) == before
    with open_store(location, clock) as store:
        states = statement(outbox.select().with_only_columns(outbox.c.state))
        assert await store.reading(lambda view: view.all(states)) == [("done",)]
