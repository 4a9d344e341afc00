"""A booking by keys alone: the text on the screen is the text that is signed, and nothing else is."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sayso.apps.agent_home import AgentWishes, open_agent
from sayso.apps.house import House, Wishes
from sayso.apps.place import open_place
from sayso.apps.tui.answering import Again, Answering
from sayso.apps.tui.app import SaysoApp
from sayso.apps.tui.opening import HubSeat
from sayso.apps.tui.seat import OpensSeat, Seat, Wanted
from sayso.apps.tui.view.answers import Permitted
from sayso.apps.tui.view.blocks import QuestionBlock
from tests.apps.tui.seating import enter, running, screen, told, until

pytestmark = pytest.mark.anyio
WISH = "Book my oil change Thursday around 1 PM, under $100"


def _opens(houses: list[House]) -> OpensSeat:
    @asynccontextmanager
    async def open_seat(wanted: Wanted) -> AsyncIterator[Seat]:
        async with open_place(wanted.home, is_world=True, wishes=Wishes(), told=io.StringIO()) as house:
            houses.append(house)
            async with open_agent(house.home, AgentWishes(is_offline=True), house=house) as agent:
                yield HubSeat(client=agent.client, adapter=agent.adapter, house=house)

    return open_seat


def _outcomes(app: SaysoApp) -> list[str | None]:
    assert app._story is not None
    return [each.question.outcome for each in app._story.blocks if isinstance(each, QuestionBlock)]


@pytest.mark.req("OAP-209")
async def test_only_the_text_that_stood_on_the_screen_is_signed(tmp_path: Path) -> None:
    """A text that changed in between is put again and nothing is answered; then limits and offer are signed by a key
    each, as by a person who was there.
    """
    houses: list[House] = []
    app = screen(tmp_path, _opens(houses))
    async with running(app, size=(100, 40)) as pilot:
        await enter(pilot, WISH)
        await until(pilot, lambda: app._story is not None and app._story.question is not None)
        house, answering = houses[0], app._answering
        assert app._story is not None
        question = app._story.question
        assert question is not None
        assert isinstance(answering, Answering)
        text = await answering.regenerate(question)
        assert question.consent is not None
        assert text == (await house.key_app.present(question.consent.kind, question.consent.document_bytes)).text
        answering._shown[question.interaction_id] = f"{text} And something else."
        with pytest.raises(Again, match="has changed"):
            await answering.answer(question, Permitted(granted=True))
        assert question.is_open
        await answering.regenerate(question)
        for asked in range(1, 4):
            await until(pilot, lambda asked=asked: len(_outcomes(app)) >= asked or _idle(app))
            await until(pilot, lambda: _answered(app) or _idle(app))
        await until(pilot, lambda: _idle(app))
        assert set(_outcomes(app)) == {"yes"}
        bookings = await house.guest.book.bookings()
        assert [each.state for each in bookings] == ["confirmed"]
        assert "Signed." in told(app)


def _idle(app: SaysoApp) -> bool:
    return app.talk is not None and app.talk.running is None


def _answered(app: SaysoApp) -> bool:
    """Presses `y` where something is asked."""
    question = app._story.question if app._story is not None else None
    if question is None:
        return True
    app.simulate_key("y")
    return False
