"""One request from the person's words to its end, with its receipts, however it ends.

A run that is stopped or breaks is cancelled, what is held is given back, and the receipts say so; what the person is
then told is read from what their agent remembers, never assumed: a booking that stood by then still stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import anyio

from sayso.apps.agent_home import Agent
from sayso.apps.asking.conversation import Conversation, Ending, Outcome, Telling
from sayso.apps.asking.person import Person
from sayso.apps.house import House
from sayso.core.instants import parse_instant
from sayso.core.zones import find_zone
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptBooking
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.spoken import spoken_span
from sayso.scheduling.tools.assistant import kept_terms

__all__ = ("converse",)

ASKED = declare("ask.requested", "The person asked for something in their own words; the hash of the words.")
ENDED = declare("ask.ended", "What became of a request, and whether anything was left held.")
_CLEAN_UP_SECONDS = 10

_Standing = Mapping[str, tuple[str, int]]


async def converse(agent: Agent, house: House, words: str, person: Person, telling: Telling) -> Ending:
    """Follows one request to its end, by an agent that has the house's tools.

    A question back is put to the person where there is one to answer.

    Cancelling it ends the run and answers how things stand (outcome `stopped`); any other failure is raised after the
    same clean-up.
    """
    before = _standing(await house.guest.book.bookings())
    await house.ledger.append(
        Draft(kind=ASKED, actor=house.principal, inputs_sha256=sha256_b64u(words.encode()), body={"mode": person.mode})
    )
    async with _conversation(agent, house, person, telling) as conversation:
        try:
            ending = await _talk(conversation, words, person)
        except BaseException as failure:
            ending = await _cut_short(house, conversation, before, failure)
            if not isinstance(failure, asyncio.CancelledError):
                raise
            _take_back_cancelling()
    await _end(house, ending.outcome)
    await house.sign_checkpoint()
    return ending


async def _talk(conversation: Conversation, words: str, person: Person) -> Ending:
    ending = await conversation.say(words)
    while ending.outcome is Outcome.ASKS and (more := await person.reply(ending.text)) is not None:
        ending = await conversation.say(more)
    return ending


async def _cut_short(house: House, conversation: Conversation, before: _Standing, failure: BaseException) -> Ending:
    """Ends the run and says how things stand; what cannot be learned in time is said to be unknown."""
    stopped = isinstance(failure, asyncio.CancelledError)
    text = "Stopped. How things stand could not be learned in time: ask what you have."
    with anyio.CancelScope(shield=True):
        with anyio.move_on_after(_CLEAN_UP_SECONDS):
            await conversation.cancel()
            await house.operations.release_open_holds()
            text = f"Stopped. {await _told(house, before)}"
        if not stopped:
            await _end(house, Outcome.FAILED)
            await house.sign_checkpoint()
    return Ending(outcome=Outcome.STOPPED if stopped else Outcome.FAILED, text=text, steps=())


def _take_back_cancelling() -> None:
    """The request to stop was carried out here: the program goes on to its orderly end."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


async def _told(house: House, before: _Standing) -> str:
    book = house.guest.book
    changed = [each for each in await book.bookings() if before.get(each.booking_id) != (each.state, each.sequence)]
    held = await book.open_holds()
    told = [f"This was already done: {_said(each)}." for each in changed] or ["Nothing was booked, moved or cancelled."]
    told += [f"A time at {hold.host} could not be given back and runs out by itself." for hold in held]
    return " ".join(told if held else [*told, "Nothing is held."])


def _said(booking: KeptBooking) -> str:
    terms = kept_terms(booking.offer)
    end = None if terms.end is None else parse_instant(terms.end)
    when = spoken_span(parse_instant(terms.start), end, find_zone(terms.timezone))
    return f"{named(terms.service.title)} at {named(terms.title)}, {when}, is {booking.state}"


def _standing(bookings: Iterable[KeptBooking]) -> _Standing:
    return {each.booking_id: (each.state, each.sequence) for each in bookings}


async def _end(house: House, outcome: Outcome) -> None:
    """The last receipt of a request: how it ended, and how many holds were left to run out."""
    await house.operations.release_open_holds()
    held = len(await house.guest.book.open_holds())
    await house.ledger.append(Draft(kind=ENDED, actor=house.guest.agent, body={"outcome": outcome.value, "held": held}))


@asynccontextmanager
async def _conversation(agent: Agent, house: House, person: Person, telling: Telling) -> AsyncIterator[Conversation]:
    session = await agent.client.open(agent.adapter)
    yield Conversation(agent.client, session.session_id, house.key_app, person, telling)
