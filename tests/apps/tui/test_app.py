"""The screen as a person uses it: keys in, a real hub behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from textual import events
from textual.widgets import Static

from sayso.apps.tui.app import SaysoApp
from sayso.apps.tui.composer import Composer
from sayso.apps.tui.queueing import QueueStrip
from sayso.apps.tui.seat import Seat, Wanted
from sayso.apps.tui.talk import Talk
from sayso.apps.tui.view.blocks import EndBlock, QuestionBlock, SaidBlock
from sayso.apps.tui.view.questions import QuestionPanel
from sayso.core.refusal import Refused
from tests.apps.tui.seating import enter, memory_hub, opens, running, screen, told, until

pytestmark = pytest.mark.anyio


def _talk(app: SaysoApp) -> Talk:
    assert app.talk is not None
    return app.talk


def _composer(app: SaysoApp) -> Composer:
    return app.query_one(Composer)


def _queued(app: SaysoApp) -> list[str]:
    return [each.text for each in _talk(app).queue]


@pytest.mark.req("OAP-208", "OAP-209")
async def test_a_turn_is_said_and_told(tmp_path: Path) -> None:
    """What is typed is sent by Enter, and the answer stands in the story."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: plain hello")
        await until(pilot, lambda: "Done: script: plain hello" in told(app))
        await until(pilot, lambda: _talk(app).running is None)
        assert _composer(app).text == ""


@pytest.mark.req("OAP-209")
async def test_a_permission_is_answered_by_one_key(tmp_path: Path) -> None:
    """The panel stands in the composer's place, `y` grants, and the composer comes back."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: tools write this")
        await until(pilot, lambda: not _composer(app).display)
        await pilot.press("y")
        await until(pilot, lambda: _composer(app).display and _composer(app).has_focus)
        outcomes = [each.question.outcome for each in app._story.blocks if isinstance(each, QuestionBlock)]
        assert outcomes == ["yes"]


@pytest.mark.req("OAP-209")
async def test_what_is_said_meanwhile_waits_and_comes_in_its_order(tmp_path: Path) -> None:
    """The hub reserves what it takes; what it does not take waits here, and nothing overtakes."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: hold")
        await until(pilot, lambda: _talk(app).running)
        for text in ("script: plain two", "script: plain three", "script: plain four"):
            await enter(pilot, text)
            await until(pilot, lambda text=text: text in _queued(app))
        assert _queued(app) == ["script: plain two", "script: plain three", "script: plain four"]
        assert [each.run_id is None for each in _talk(app).waiting] == [False, True, True]
        await pilot.press("escape")
        await until(pilot, lambda: "Done: script: plain four" in told(app))
        text = told(app)
        assert text.index("Done: script: plain two") < text.index("Done: script: plain three")
        assert text.index("Done: script: plain three") < text.index("Done: script: plain four")
        assert _queued(app) == []


@pytest.mark.req("OAP-209")
async def test_one_that_waits_is_taken_out_and_another_taken_back_to_edit(tmp_path: Path) -> None:
    """Up goes into the queue; `d` cancels a reservation, `e` cancels it and puts its text into the composer."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: hold")
        await until(pilot, lambda: _talk(app).running)
        await enter(pilot, "first")
        await until(pilot, lambda: _queued(app) == ["first"])
        await enter(pilot, "second")
        await until(pilot, lambda: len(_queued(app)) == 2 and app.query_one(QueueStrip).display)
        await pilot.press("up")
        await until(pilot, lambda: app.query_one(QueueStrip).has_focus)
        await pilot.press("d")
        await until(pilot, lambda: _queued(app) == ["first"])
        await until(pilot, lambda: len(app.query_one(QueueStrip)._waiting) == 1)
        await pilot.press("e")
        await until(pilot, lambda: _queued(app) == [] and _composer(app).text == "first")
        state = await _talk(app).client.state(_talk(app).session_id)
        assert [run.status for run in state.active_runs or ()] == ["running"]


@pytest.mark.req("OAP-209")
async def test_escape_ends_the_run_and_the_next_message_is_taken(tmp_path: Path) -> None:
    """The session stays."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: hold")
        await until(pilot, lambda: _talk(app).running)
        await pilot.press("escape")
        await until(pilot, lambda: [b.kind for b in app._story.blocks if isinstance(b, EndBlock)] == ["cancelled"])
        await enter(pilot, "script: plain again")
        await until(pilot, lambda: "Done: script: plain again" in told(app))


@pytest.mark.req("OAP-209")
async def test_a_steer_joins_the_run(tmp_path: Path) -> None:
    """Ctrl+S sends what stands in the composer into the run under way."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: hold")
        await until(pilot, lambda: _talk(app).running)
        _composer(app).put("more like this")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Steered: more like this" in told(app))
        said = [(each.text, each.state) for each in app._story.blocks if isinstance(each, SaidBlock)]
        assert said == [("script: hold", "sent"), ("more like this", "sent")]


async def test_a_steer_without_a_run_stays_in_the_composer(tmp_path: Path) -> None:
    """Nothing that was typed is lost."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        _composer(app).put("more like this")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "nothing to steer" in told(app))
        assert _composer(app).text == "more like this"


@pytest.mark.req("OAP-209")
async def test_questions_of_every_kind_are_answered(tmp_path: Path) -> None:
    """A choice and a text, by keys alone."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: gates")
        await until(pilot, lambda: not _composer(app).display)
        await pilot.press("y")
        await until(pilot, lambda: app._story.question is not None and app._story.question.kind == "input")
        for key in ("1", "enter", "enter", "enter"):
            if _talk(app).running is not None:
                await pilot.press(key)
                await pilot.pause()
        await until(pilot, lambda: _talk(app).running is None)
        outcomes = [each.question.outcome for each in app._story.blocks if isinstance(each, QuestionBlock)]
        assert outcomes == ["yes", "answered"]


# --- leaving, and coming back ----------------------------------------------------------------------------------------


@pytest.mark.req("OAP-211")
async def test_what_was_typed_and_not_sent_is_there_again(tmp_path: Path) -> None:
    """Leaving keeps the draft; so does a moment of not typing, for whoever is killed."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await pilot.press(*"half a th")
        await until(pilot, lambda: (tmp_path / "home" / "tui" / "draft.txt").exists())
        await pilot.press("o", "ctrl+c", "ctrl+c")
        await until(pilot, lambda: app._is_leaving)
    assert "had typed is kept" in app.farewell
    again = screen(tmp_path)
    async with running(again):
        assert _composer(again).text == "half a tho"


@pytest.mark.req("OAP-209", "OAP-211")
async def test_what_waits_is_kept_with_the_draft(tmp_path: Path) -> None:
    """Leaving in the middle of a run loses no text: neither the hub's reservation nor what waits here."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: hold")
        await until(pilot, lambda: _talk(app).running)
        for text in ("first", "second"):
            await enter(pilot, text)
            await until(pilot, lambda text=text: text in _queued(app))
        await pilot.press(*"half")
        app.action_leave()
        await until(pilot, lambda: app.farewell)
    assert (tmp_path / "home" / "tui" / "draft.txt").read_text() == "first\nsecond\nhalf"
    assert "first" not in told(app)


@pytest.mark.req("OAP-211")
async def test_a_theme_that_was_chosen_is_there_the_next_time(tmp_path: Path) -> None:
    """In this home; `as the terminal` forgets it."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "/theme nord")
        await until(pilot, lambda: app.theme == "nord")
    again = screen(tmp_path)
    async with running(again) as pilot:
        assert again.theme == "nord"
        await enter(pilot, "/theme as the terminal")
        await until(pilot, lambda: again.theme == "textual-dark")
    assert screen(tmp_path).theme == "textual-dark"


@pytest.mark.req("OAP-211")
async def test_control_d_leaves_only_an_empty_line(tmp_path: Path) -> None:
    """On a text it deletes, as everywhere."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await pilot.press("a", "b", "home", "ctrl+d")
        assert (_composer(app).text, app._is_leaving) == ("b", False)
        await pilot.press("delete", "ctrl+d")
        await until(pilot, lambda: app._is_leaving)


async def test_one_control_c_does_not_leave(tmp_path: Path) -> None:
    """A second one within two seconds does."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await pilot.press("ctrl+c")
        assert not app._is_leaving


async def test_what_was_sent_is_recalled_by_up_and_down(tmp_path: Path) -> None:
    """The one before, and back to what was being typed."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        for text in ("script: plain one", "script: plain two"):
            await enter(pilot, text)
            await until(pilot, lambda: _talk(app).running is None)
        await pilot.press("n", "up")
        await until(pilot, lambda: _composer(app).text == "script: plain two")
        await pilot.press("up")
        await until(pilot, lambda: _composer(app).text == "script: plain one")
        await pilot.press("down")
        await until(pilot, lambda: _composer(app).text == "script: plain two")
        await pilot.press("down")
        await until(pilot, lambda: _composer(app).text == "n")


# --- before and without an agent -------------------------------------------------------------------------------------


async def test_keys_typed_before_the_agent_is_there_reach_it(tmp_path: Path) -> None:
    """The composer takes keys at once; what is sent meanwhile is sent when the agent is there."""
    gate = anyio.Event()

    @asynccontextmanager
    async def late(wanted: Wanted) -> AsyncIterator[Seat]:
        await gate.wait()
        async with opens()(wanted) as seat:
            yield seat

    app = screen(tmp_path, late)
    async with app.run_test() as pilot:
        await pilot.press(*"hi there", "enter")
        await until(pilot, lambda: "Waiting for the agent" in told(app))
        assert app.talk is None
        gate.set()
        await until(pilot, lambda: "Done: hi there" in told(app) or (app._story.question is not None))
        assert [each.text for each in app._story.blocks if isinstance(each, SaidBlock)] == ["hi there"]


async def test_an_agent_that_cannot_be_opened_is_a_sentence(tmp_path: Path) -> None:
    """And one can leave."""

    @asynccontextmanager
    async def shut(wanted: Wanted) -> AsyncIterator[Seat]:
        raise Refused.because("home_not_private", "the home can be read by others", help="Close it first.")
        yield

    app = screen(tmp_path, shut)
    async with app.run_test() as pilot:
        await until(pilot, lambda: "The agent could not be opened: the home can be read by others" in told(app))
        await enter(pilot, "/quit")
        await until(pilot, lambda: app._is_leaving)
    assert app.failure is None


@pytest.mark.req("OAP-211")
async def test_a_failure_inside_ends_the_screen_without_showing_itself(tmp_path: Path) -> None:
    """The launcher says one sentence and where the log is; nothing is drawn over the terminal."""

    @asynccontextmanager
    async def broken(wanted: Wanted) -> AsyncIterator[Seat]:
        raise ZeroDivisionError("a bug")
        yield

    app = screen(tmp_path, broken)
    with pytest.raises(Exception, match="a bug"):
        async with app.run_test() as pilot:
            await until(pilot, lambda: app.failure is not None)
    assert app._exit_renderables == []
    assert app.failure is not None


# --- commands --------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-211")
async def test_an_unknown_command_says_which_there_are(tmp_path: Path) -> None:
    """And nothing is sent to the agent."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "/frobnicate")
        await until(pilot, lambda: "no command is called /frobnicate" in told(app))
        assert "/resume" in told(app)
        assert _talk(app).running is None


async def test_a_path_is_no_command(tmp_path: Path) -> None:
    """What begins with a folder is said."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "/etc/hosts is what?")
        await until(pilot, lambda: _talk(app).has_spoken)


@pytest.mark.req("OAP-209")
async def test_a_model_is_picked_by_a_few_letters(tmp_path: Path) -> None:
    """Keys alone: type, Enter; later runs use it."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "/model")
        await until(pilot, lambda: len(app.screen_stack) == 2 and app.screen.query("#picker"))
        await pilot.press(*"larg")
        await pilot.press("enter")
        await until(pilot, lambda: "Model: memory-large" in told(app))
        assert (await _talk(app).client.state(_talk(app).session_id)).current_model_id == "memory-large"


async def test_status_says_where_one_is(tmp_path: Path) -> None:
    """Session, model, permissions."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "/status")
        await until(pilot, lambda: f"session      {_talk(app).session_id}" in told(app))
        assert "memory-small" in told(app)


async def test_clear_begins_another_conversation(tmp_path: Path) -> None:
    """A new session; the old story is gone from the screen."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        before = _talk(app)
        await enter(pilot, "script: plain one")
        await until(pilot, lambda: _talk(app).running is None and "Done" in told(app))
        await enter(pilot, "/clear")
        await until(pilot, lambda: app.talk is not None and app.talk is not before)
        assert (_talk(app).session_id != before.session_id, told(app)) == (True, "")
        await enter(pilot, "script: plain two")
        await until(pilot, lambda: "Done: script: plain two" in told(app))


async def test_a_conversation_under_way_is_not_left_by_mistake(tmp_path: Path) -> None:
    """`/clear` says that something runs."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        before = _talk(app)
        await enter(pilot, "script: hold")
        await until(pilot, lambda: _talk(app).running)
        await enter(pilot, "/clear")
        await until(pilot, lambda: "something is running" in told(app))
        assert _talk(app) is before


async def test_the_history_is_made_shorter_on_request(tmp_path: Path) -> None:
    """`/compact` is a run of its own."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: plain one")
        await until(pilot, lambda: _talk(app).running is None and "Done" in told(app))
        await enter(pilot, "/compact the plan")
        await until(pilot, lambda: any(type(each).__name__ == "CompactionBlock" for each in app._story.blocks))
        await until(pilot, lambda: _talk(app).running is None)


async def test_autocompact_takes_effect_in_the_conversation_it_begins(tmp_path: Path) -> None:
    """A policy is chosen when a session opens."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        before = _talk(app)
        await enter(pilot, "/autocompact 50%")
        await until(pilot, lambda: app.talk is not None and app.talk is not before)
        policy: Any = _talk(app).state.compaction_policy if _talk(app).state else None
        assert (policy.kind, policy.share_percent) == ("share", 50)


# --- completions, pastes ---------------------------------------------------------------------------------------------


async def test_a_file_is_picked_by_a_few_letters(tmp_path: Path) -> None:
    """`@` offers the workspace's files, Tab puts the path in."""
    workspace = tmp_path / "work"
    (workspace / "deep").mkdir(parents=True)
    (workspace / "deep" / "notes.md").write_text("x")
    (workspace / "other.txt").write_text("x")
    app = screen(tmp_path, workspace=workspace)
    async with running(app) as pilot:
        await pilot.press(*"see @no")
        await until(pilot, lambda: _composer(app).is_completing)
        assert "deep/notes.md" in str(app.query_one("#choices", Static).content)
        await pilot.press("tab")
        await until(pilot, lambda: _composer(app).text == "see @deep/notes.md " or "notes" in _composer(app).text)
        assert _composer(app).text == "see deep/notes.md "


@pytest.mark.req("OAP-211")
async def test_a_file_is_offered_however_quickly_it_is_typed(tmp_path: Path) -> None:
    """An `@` and its letters may come in one go."""
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "notes.md").write_text("x")
    app = screen(tmp_path, workspace=workspace)
    async with running(app) as pilot:
        _composer(app).insert("see @no")
        await until(pilot, lambda: _composer(app).is_completing)


async def test_commands_are_completed(tmp_path: Path) -> None:
    """The choices go with the letters and away with Escape, which then stops nothing."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await pilot.press("/", "r", "e")
        await until(pilot, lambda: _composer(app).is_completing)
        await pilot.press("tab")
        await until(pilot, lambda: _composer(app).text == "/resume ")
        await until(pilot, lambda: not app.query_one("#choices").display)


@pytest.mark.req("OAP-211")
async def test_a_paste_comes_in_as_text_and_sends_nothing(tmp_path: Path) -> None:
    """Lines stay lines; control characters do not come in."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        _composer(app).post_message(events.Paste("one\r\ntwo\rthree\x1b[31m\x07\tend"))
        await until(pilot, lambda: _composer(app).text)
        assert _composer(app).text == "one\ntwo\nthree[31m\tend"
        assert not _talk(app).has_spoken


@pytest.mark.parametrize("keys", [("shift+enter",), ("ctrl+j",), ("alt+enter",), ("\\", "enter")])
async def test_a_line_is_broken_without_sending(tmp_path: Path, keys: tuple[str, ...]) -> None:
    """By Shift+Enter where there is one, and by keys that every terminal has."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await pilot.press("a", *("backslash" if key == "\\" else key for key in keys), "b")
        assert _composer(app).text == "a\nb"


async def test_the_screen_holds_at_any_size(tmp_path: Path) -> None:
    """Resized while it talks."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "script: stream")
        for size in ((20, 8), (140, 40), (80, 24)):
            await pilot.resize_terminal(*size)
        await until(pilot, lambda: "Done" in told(app))
        assert app.query_one(QuestionPanel).parent is not None


@pytest.mark.req("OAP-210")
async def test_two_screens_at_one_hub_see_the_same(tmp_path: Path) -> None:
    """A run that somebody else began is read too."""
    async with memory_hub() as hub:
        one = screen(tmp_path, opens(hub), attach="http://127.0.0.1:1", look_every=1000)
        async with running(one) as pilot:
            other = Talk(_talk(one).client, "memory", changed=lambda: None, tell=lambda _: None)
            await other.open({"session_id": _talk(one).session_id}, attach=True)
            await until(pilot, lambda: hub.session(_talk(one).session_id)._readers)  # it listens
            await other.say("script: plain from elsewhere")
            await until(pilot, lambda: "Done: script: plain from elsewhere" in told(one))


@pytest.mark.req("OAP-208", "OAP-211")
async def test_a_key_is_typed_unseen_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`/login`: the key is on no screen and in no story; it is in the home, for its owner alone."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    (tmp_path / "home").mkdir(mode=0o700)
    app = screen(tmp_path)
    async with running(app) as pilot:
        await enter(pilot, "/login deepseek")
        await until(pilot, lambda: app.screen.query("#asked-line"))
        for key in "sk-very-secret":
            await pilot.press(key if key != "-" else "minus")
        assert "very" not in "\n".join(str(line) for line in app.screen._compositor.render_strips())
        await pilot.press("enter")
        await until(pilot, lambda: "Kept the key for deepseek" in told(app))
    assert "secret" not in told(app)
    kept = tmp_path / "home" / "auth.json"
    assert "sk-very-secret" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
