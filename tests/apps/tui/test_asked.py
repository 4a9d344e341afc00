"""Questions that come while a person does something else: nothing they type is lost, and nothing of it is an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from sayso.apps.tui.app import SaysoApp
from sayso.apps.tui.composer import Composer
from sayso.apps.tui.pickers import Picker
from sayso.apps.tui.view.blocks import QuestionBlock
from sayso.apps.tui.view.questions import QuestionPanel
from tests.apps.tui.seating import enter, running, screen, until

pytestmark = pytest.mark.anyio


def _panel(app: SaysoApp) -> QuestionPanel:
    return app.query_one(QuestionPanel)


def _outcomes(app: SaysoApp) -> list[str | None]:
    assert app._story is not None
    return [each.question.outcome for each in app._story.blocks if isinstance(each, QuestionBlock)]


@pytest.mark.req("OAP-209", "OAP-211")
async def test_a_question_behind_a_list_is_asked_once_the_list_is_gone(tmp_path: Path) -> None:
    """It has the keys then, and not the composer that it took the place of."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        app.act("/model")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await app.say("script: tools write this")
        await until(pilot, lambda: _panel(app).question is not None)
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is _panel(app))
        await pilot.pause()
        await pilot.press("y")
        await until(pilot, lambda: _outcomes(app) == ["yes"])
        assert app.query_one(Composer).text == ""


@pytest.mark.req("OAP-209")
async def test_a_list_that_goes_away_leaves_no_key_to_the_question_behind_it(tmp_path: Path) -> None:
    """Its last keys were not typed by somebody who saw the question: a pause is due again."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: tools write this")
        await until(pilot, lambda: _panel(app).question is not None)
        app.act("/model")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        _panel(app)._attention._grace = 1000
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is _panel(app))
        await pilot.press("y", "n")
        assert _outcomes(app) == [None]


@pytest.mark.req("OAP-209")
async def test_what_is_typed_while_a_question_comes_goes_on_in_the_composer(tmp_path: Path) -> None:
    """Also a text that is pasted; and none of its letters answers."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: tools write this")
        await until(pilot, lambda: _panel(app).question is not None)
        _panel(app)._attention._grace = _panel(app)._attention._pause = 1000
        for key in (*"x any ", "backspace"):
            await pilot.press("space" if key == " " else key)
        _panel(app).post_message(events.Paste(" and\nmore"))
        await pilot.pause()
        assert (_outcomes(app), app.query_one(Composer).text) == ([None], "")
        await pilot.press("escape")
        await until(pilot, lambda: app.query_one(Composer).display)
        assert app.query_one(Composer).text == "x any and\nmore"


@pytest.mark.req("OAP-209")
async def test_an_answer_that_came_too_soon_is_no_text(tmp_path: Path) -> None:
    """`y` pressed again and again is not what somebody was going to say."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: tools write this")
        await until(pilot, lambda: _panel(app).question is not None)
        _panel(app)._attention._since = float("inf")
        await pilot.press("y", "y")
        await pilot.press("escape")
        await until(pilot, lambda: app.query_one(Composer).display)
        assert app.query_one(Composer).text == ""
