"""The question panel on a real screen: one key answers, and only a key typed by somebody who saw the question."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from textual import events
from textual.containers import Vertical
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Input

from sayso.apps.tui.view.answers import Declined, Given, PanelAnswer, Permitted
from sayso.apps.tui.view.blocks import Question
from sayso.apps.tui.view.questions import QuestionPanel, Regenerate
from sayso.control.protocol.payloads.interaction import UserAnswer, UserOption, UserQuestion
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.core.refusal import Refused
from tests.apps.tui.view.stage import Stage, composer

pytestmark = pytest.mark.anyio
COLOURS = (UserOption(id="r", label="Red", description="warm"), UserOption(id="g", label="Green"))
LONG = "\n".join(f"line {n} of what is agreed" for n in range(60))


async def same_words(question: Question) -> str:
    return "Up to $100 at Maple Street Auto."


def panel_stage(
    regenerate: Regenerate = same_words, is_locked: Callable[[], bool] = lambda: False, grace: float = 0.0
) -> Stage:
    return Stage(
        lambda story: [composer(), QuestionPanel(story, regenerate=regenerate, is_locked=is_locked, grace=grace)]
    )


async def put(stage: Stage, pilot: Pilot[None]) -> None:
    """What the program does after each event; the question is on the screen afterwards."""
    await stage.panel.refresh_story()
    await pilot.pause()
    await pilot.pause()


def said(stage: Stage) -> list[PanelAnswer]:
    return [each.answer for each in stage.answers]


@pytest.mark.req("OAP-209")
@pytest.mark.parametrize(("key", "granted"), [("y", True), ("Y", True), ("n", False), ("N", False)])
async def test_one_key_answers_a_permission(key: str, granted: bool) -> None:
    """y or n, once; a second key says nothing more."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("May Shell run?", "make test")
        await put(stage, pilot)
        assert "? May Shell run?" in stage.picture
        assert "make test" in stage.picture
        await pilot.press(key, "y", "n")
        assert said(stage) == [Permitted(granted=granted)]
        assert stage.pressed == []


@pytest.mark.req("OAP-209")
async def test_enter_and_space_decide_nothing() -> None:
    """Neither does any other key; Escape goes on to the program, which stops the run by it."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("May Shell run?", "make test")
        await put(stage, pilot)
        await pilot.press("enter", "space", "a", "1", "escape")
        assert (said(stage), stage.pressed) == ([], ["escape"])
        assert stage.query_one("#composer", Input).value == ""


@pytest.mark.req("OAP-209")
async def test_what_was_typed_before_the_question_answers_nothing() -> None:
    """Keys that were typed before it was painted, though they are only read afterwards, are thrown away."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        typed_ahead = [events.Key("y", "y"), events.Key("enter", "\r")]
        stage.tale.start()
        stage.tale.ask("May Shell run?", "rm -rf .")
        await put(stage, pilot)
        for event in typed_ahead:
            stage.panel.post_message(event)
        await pilot.pause()
        assert said(stage) == []
        await pilot.press("y")
        assert said(stage) == [Permitted(granted=True)]


@pytest.mark.req("OAP-209")
async def test_a_hand_that_is_typing_does_not_answer() -> None:
    """Within the grace a key counts for nothing and puts the moment off; after a pause it counts."""
    stage = panel_stage(grace=5.0)
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("May Shell run?", "make")
        await put(stage, pilot)
        now = Message().time
        for after in (1.0, 5.5, 10.0):
            stage.panel.post_message(key_at("y", now + after))
        await pilot.pause()
        assert said(stage) == []
        stage.panel.post_message(key_at("y", now + 15.5))
        await pilot.pause()
        assert said(stage) == [Permitted(granted=True)]


def key_at(key: str, time: float) -> events.Key:
    event = events.Key(key, key)
    event.time = time
    return event


@pytest.mark.req("OAP-209")
async def test_the_next_question_wants_its_own_key() -> None:
    """A key that was on its way when the first was settled is no answer to the second."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("First?", "one", "q1")
        stage.tale.ask("Second?", "two", "q2")
        await put(stage, pilot)
        assert "First?" in stage.picture
        stage.tale.answer(granted=True, question="q1")
        await stage.panel.refresh_story()
        stage.panel.post_message(events.Key("y", "y"))
        await pilot.pause()
        assert said(stage) == []
        await pilot.pause()
        assert "Second?" in stage.picture


@pytest.mark.req("OAP-209")
async def test_a_question_settled_elsewhere_goes_away_at_once() -> None:
    """Answered from another window, withdrawn, or over with its run: the composer is free again."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("First?", "one", "q1")
        await put(stage, pilot)
        stage.tale.answer(granted=False, question="q1")
        await put(stage, pilot)
        assert "First?" not in stage.picture
        stage.tale.ask("Second?", "two", "q2")
        await put(stage, pilot)
        stage.tale.cancel()
        await put(stage, pilot)
        assert [each.question is None for each in stage.changes] == [False, True, False, True]
        assert not stage.panel.display


@pytest.mark.req("OAP-211")
async def test_what_is_signed_is_the_documents_own_words() -> None:
    """Not the description beside it; whole, however long, and y signs only once its end was on the screen."""

    async def words(question: Question) -> str:
        assert question.consent is not None
        return f"{LONG}\n{question.consent.document_bytes.decode()}\x1b[2J"

    stage = panel_stage(words)
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("Sign?", "a lie", document=b"the truth")
        await put(stage, pilot)
        assert "line 0 of" in stage.picture
        await pilot.press("y")
        assert (said(stage), "PgDn" in stage.picture) == ([], True)
        seen = stage.picture
        for _ in range(8):
            await pilot.press("pagedown")
            await pilot.pause()
            seen += stage.picture
        assert all(f"line {n} of" in seen for n in range(60))
        assert "the truth␛" in stage.picture
        assert "a lie" not in seen
        await pilot.press("y")
        assert said(stage) == [Permitted(granted=True)]


@pytest.mark.req("OAP-211")
async def test_an_offer_of_three_thousand_characters_is_shown_to_its_end() -> None:
    """At 80 by 24 no letter of it is left out, whatever a line holds."""
    offer = " ".join(f"w{n:04}" for n in range(400)) + " " + "x" * 590 + " END"

    async def words(question: Question) -> str:
        return offer

    stage = panel_stage(words)
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("Sign?", "x", document=b"y")
        await put(stage, pilot)
        seen: list[str] = []
        while "END" not in stage.picture:
            await pilot.press("y")
            assert said(stage) == []
            seen += stage.screen_lines
            await pilot.press("pagedown")
            await pilot.pause()
        seen += stage.screen_lines
        assert all(f"w{n:04}" in "\n".join(seen) for n in range(400))
        assert sum(line.count("x") for line in dict.fromkeys(seen) if "xxxx" in line) >= 71
        await pilot.press("y")
        assert said(stage) == [Permitted(granted=True)]


@pytest.mark.req("OAP-211")
async def test_words_that_changed_are_shown_anew_and_read_anew() -> None:
    """Put again, the question tells what the document says now, from its beginning; and signs only after its end."""
    told = ["Up to $100."]

    async def words(question: Question) -> str:
        return told[-1]

    stage = panel_stage(words)
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("Sign?", "x", document=b"y")
        await put(stage, pilot)
        await pilot.press("y")
        assert said(stage) == [Permitted(granted=True)]
        told.append(f"Up to $900.\n{LONG}")
        question = stage.panel.question
        assert question is not None
        stage.panel.again(question, "The text has changed")
        await put(stage, pilot)
        assert "Up to $900." in stage.picture
        assert "The text has changed" in stage.picture
        await pilot.press("y")
        assert len(said(stage)) == 1
        await pilot.press("end")
        await pilot.pause()
        await pilot.press("y")
        assert len(said(stage)) == 2


@pytest.mark.req("OAP-211")
@pytest.mark.parametrize("height", [3, 5, 8])
async def test_an_end_that_something_covers_was_not_on_the_screen(height: int) -> None:
    """Where the panel has too little room, as in a tiny window, `y` signs nothing; with room again it does."""

    async def words(question: Question) -> str:
        return "\n".join(f"line {n}" for n in range(10))

    stage = Stage(lambda story: [Vertical(QuestionPanel(story, regenerate=words, grace=0.0), id="room"), composer()])
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.query_one("#room").styles.height = height
        stage.tale.start()
        stage.tale.ask("Sign?", "x", document=b"y")
        await put(stage, pilot)
        assert "line 9" not in stage.picture
        await pilot.press("y")
        assert said(stage) == []
        stage.query_one("#room").styles.height = 20
        await pilot.pause()
        assert "line 9" in stage.picture
        await pilot.press("y")
        assert said(stage) == [Permitted(granted=True)]


@pytest.mark.parametrize("arguments", [UNSET, {}])
async def test_a_question_without_words_is_its_title(arguments: object) -> None:
    """Nothing is left to read: `y` counts."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        asked = stage.tale.ask("May it?", "x", "q0")
        stage.tale.cancel()
        payload = msgspec.structs.replace(asked.payload, description=UNSET, arguments_json=arguments, run_id="r2")
        stage.story.hear(msgspec.structs.replace(asked, payload=payload, run_id="r2"))
        await put(stage, pilot)
        await pilot.press("y")
        assert said(stage) == [Permitted(granted=True)]


@pytest.mark.req("OAP-209", "OAP-211")
async def test_a_command_below_the_edge_is_read_before_it_is_allowed() -> None:
    """Empty lines hide nothing: `y` counts for nothing until the last line was there."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("Run a command", "$ echo fine" + "\n" * 50 + "rm -rf everything")
        await put(stage, pilot)
        await pilot.press("y")
        assert (said(stage), "rm -rf" in stage.picture, "End shows it" in stage.picture) == ([], False, True)
        await pilot.press("end")
        await pilot.pause()
        assert "rm -rf everything" in stage.picture
        await pilot.press("y")
        assert said(stage) == [Permitted(granted=True)]


@pytest.mark.req("OAP-211")
async def test_what_cannot_be_put_into_words_is_not_signed() -> None:
    """A document the key app refuses, and a consent nobody can read: n is the only answer."""

    async def refuses(question: Question) -> str:
        raise Refused.because("unknown_document", "this is no document of ours")

    stage = panel_stage(refuses)
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("Sign?", "x", document=b"y")
        await put(stage, pilot)
        assert "this is no document of ours" in stage.picture
        await pilot.press("y", "enter")
        assert said(stage) == []
        await pilot.press("n")
        assert said(stage) == [Permitted(granted=False)]
        asked = stage.tale.ask("Sign this too?", "x", "q2")
        broken = msgspec.structs.replace(asked, extensions={"dev.sayso.consent": {"kind": 1}}, run_id="r2")
        stage.tale.cancel()
        stage.story.hear(broken)
        await put(stage, pilot)
        await pilot.press("y")
        assert len(said(stage)) == 1
        await pilot.press("n")
        assert said(stage)[1:] == [Permitted(granted=False)]


async def test_nothing_is_answered_while_the_words_are_made() -> None:
    """The key app may take its time; the run can be stopped meanwhile."""
    ready = asyncio.Event()

    async def slow(question: Question) -> str:
        await ready.wait()
        return "the words"

    stage = panel_stage(slow)
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("Sign?", "x", document=b"y")
        await put(stage, pilot)
        await pilot.press("y", "escape")
        assert stage.pressed == ["escape"]
        ready.set()
        await put(stage, pilot)
        assert (said(stage), "the words" in stage.picture) == ([], True)


@pytest.mark.req("OAP-209")
async def test_locked_keys_ask_for_the_passphrase_masked() -> None:
    """It is never on the screen nor in a repr; Escape goes back, a wrong one is asked for again."""
    stage = panel_stage(is_locked=lambda: True)
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("Sign?", "x", document=b"y")
        await put(stage, pilot)
        await pilot.press("y", *"abc")
        await pilot.press("escape")
        await pilot.pause()
        await pilot.press("y", "enter", *"s3cret")
        assert "s3cret" not in stage.picture
        await pilot.press("enter")
        (answer,) = said(stage)
        assert isinstance(answer, Permitted)
        assert (answer.granted, answer.passphrase) == (True, "s3cret")
        assert "s3cret" not in repr(answer)
        assert stage.query_one("#question-line", Input).value == ""
        assert stage.panel.question is not None
        stage.panel.again(stage.panel.question, "That passphrase does not open your keys.")
        await pilot.pause()
        await pilot.pause()
        assert "does not open your keys" in stage.picture
        await pilot.press("n")
        assert said(stage)[1:] == [Permitted(granted=False)]


@pytest.mark.req("OAP-209")
async def test_every_kind_of_question_is_answered() -> None:
    """A text by Enter, one choice by its number, several by Space and Enter; one after the other."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask_input("About you", [
            UserQuestion(id="name", prompt="Your name?", kind="text", required=True),
            UserQuestion(id="one", prompt="Which?", kind="single_choice", options=COLOURS),
            UserQuestion(id="many", prompt="Which ones?", kind="multi_choice", options=COLOURS),
            UserQuestion(id="why", prompt="Why?", kind="text"),
        ])  # fmt: skip
        await put(stage, pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert "needs an answer" in stage.picture
        await pilot.press(*"Ada", "enter")
        await pilot.pause()
        await pilot.press("2")
        await pilot.pause()
        await pilot.press("space", "down", "space", "enter")
        await pilot.pause()
        await pilot.press("tab")
        assert said(stage) == [Given((
            UserAnswer(question_id="name", text="Ada"),
            UserAnswer(question_id="one", selected_option_ids=("g",)),
            UserAnswer(question_id="many", selected_option_ids=("r", "g")),
        ))]  # fmt: skip


@pytest.mark.req("OAP-209")
async def test_escape_declines_where_that_is_allowed() -> None:
    """Where it is not, the key goes on to the program."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        text = UserQuestion(id="name", prompt="Your name?", kind="text")
        stage.tale.ask_input("About you", [text], allow_cancel=False)
        await put(stage, pilot)
        await pilot.press("escape")
        assert (said(stage), stage.pressed) == ([], ["escape"])
        stage.tale.withdraw()
        stage.tale.ask_input("About you", [text], "q2")
        await put(stage, pilot)
        await pilot.press("escape")
        assert said(stage) == [Declined()]


async def test_a_pasted_text_typed_ahead_is_thrown_away_too() -> None:
    """A paste before the question is no answer to it."""
    stage = panel_stage(grace=5.0)
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask_input("About you", [UserQuestion(id="name", prompt="Your name?", kind="text")])
        await put(stage, pilot)
        stage.query_one("#question-line", Input).post_message(events.Paste("pasted"))
        await pilot.pause()
        assert stage.query_one("#question-line", Input).value == ""


@pytest.mark.req("OAP-211")
async def test_untrusted_words_in_a_question_are_plain() -> None:
    """Neither markup nor control characters nor hidden letters in titles, texts, prompts and options."""
    evil = "[bold]x[/] \x1b]52;c;A\x07 r\u200bm"
    shown = "[bold]x[/] ␛ r[U+200B]m"
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask(evil, evil, "q1")
        await put(stage, pilot)
        assert stage.picture.count(shown) == 2
        stage.tale.answer(granted=True)
        option = UserOption(id="a", label=evil, description=evil)
        asked = UserQuestion(id="w", prompt=evil, kind="single_choice", options=(option,))
        stage.tale.ask_input(evil, [asked], "q2")
        await put(stage, pilot)
        assert stage.picture.count(shown) == 4


@pytest.mark.parametrize("size", [(80, 24), (140, 40), (40, 10)])
@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light"])
async def test_keys_and_words_are_both_in_sight(theme: str, size: tuple[int, int]) -> None:
    """On every screen the question's first words and the keys that answer it are there."""
    stage = panel_stage()
    async with stage.run_test(size=size) as pilot:
        stage.theme = theme
        stage.tale.start()
        stage.tale.ask("May Shell run?", LONG)
        await put(stage, pilot)
        assert "line 0 of" in stage.picture
        assert "y allows it" in stage.picture


@pytest.mark.req("OAP-209")
async def test_page_keys_are_the_programs_where_all_is_in_view() -> None:
    """So the person can read what was said before the question; a long text takes them itself."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("May it?", "short", "q1")
        await put(stage, pilot)
        await pilot.press("pageup")
        assert stage.pressed == ["pageup"]
        stage.tale.answer(granted=True, question="q1")
        stage.tale.ask("May it?", LONG, "q2")
        await put(stage, pilot)
        await pilot.press("pagedown")
        await pilot.pause()
        assert (stage.pressed, "line 0 of" in stage.picture) == (["pageup"], False)


@pytest.mark.req("OAP-211")
async def test_what_a_permission_is_about_is_never_cut() -> None:
    """The end of a very long command can be read before it is allowed."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        asked = stage.tale.ask("May Shell run?", "x", "q0")
        stage.tale.cancel()
        command = "\n".join(f"echo {n}" for n in range(12_000))
        payload = msgspec.structs.replace(
            asked.payload, description=" ", arguments_json={"command": command}, run_id="r2"
        )
        stage.story.hear(msgspec.structs.replace(asked, payload=payload, run_id="r2"))
        await put(stage, pilot)
        await pilot.press("end")
        await pilot.pause()
        assert "echo 11999" in stage.picture


async def test_uncovered_again_only_new_keys_count() -> None:
    """After a dialog stood before it, what was typed into that is no answer."""
    stage = panel_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask("May it?", "x")
        await put(stage, pilot)
        old = events.Key("y", "y")
        stage.panel.uncovered()
        await pilot.pause()
        stage.panel.post_message(old)
        await pilot.pause()
        assert said(stage) == []
