"""A session's story: what really arrives, in any order, folded into what a person reads."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sayso.apps.tui.view.blocks import (
    Block,
    CallBlock,
    CompactionBlock,
    EndBlock,
    ModelBlock,
    NoteBlock,
    QuestionBlock,
    SaidBlock,
    TextBlock,
    ThoughtBlock,
)
from sayso.apps.tui.view.story import Story
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.content import (
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from sayso.control.protocol.payloads.interaction import UserQuestion
from sayso.control.protocol.payloads.models import ModelSwitchResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import ActiveRun, SessionState
from sayso.testing.tales import Tale

DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"


def heard() -> tuple[Story, Tale]:
    story = Story()
    return story, Tale(story.hear)


def lines(story: Story) -> list[str]:
    """The story as a readable transcript."""
    return [line for block in story.blocks if (line := line_of(block))]


def line_of(block: Block) -> str:
    match block:
        case SaidBlock(text=text, state=state):
            return text and f"> {text}" + ("" if state == "sent" else f" ({state})")
        case TextBlock(text=text):
            return text
        case ThoughtBlock(text=text):
            return f"({text})"
        case CallBlock(name=name, summary=summary, state=state, result=result):
            return f"{name} {summary}: {state} {result}".strip()
        case QuestionBlock(title=title, question=question):
            return f"? {title}: {question.outcome}"
        case EndBlock(kind=kind, message=message):
            return f"{kind} {message}".strip()
        case CompactionBlock(before=before, after=after, outcome=outcome):
            return f"{before} to {after} {outcome}"
        case ModelBlock(model_id=model) | NoteBlock(text=model):
            return model
    raise AssertionError(block)


@pytest.mark.req("OAP-209")
def test_a_run_is_told_in_order() -> None:
    """Words, thoughts, calls with their results, and the end; a completed run ends in its words alone."""
    story, tale = heard()
    story.said("Mend it", "r1")
    tale.start()
    tale.think("Where is it")
    tale.text("I look. ")
    tale.ask_call("Read", {"path": "a.py"})
    tale.start_call("Read")
    tale.end_call({"text": "x = 1"})
    for delta in ("It is ", "mended."):
        tale.text(delta)
    tale.complete("It is mended.")
    assert lines(story) == [
        "> Mend it", "(Where is it)", "I look. ", "Read a.py: completed x = 1", "It is mended.",
    ]  # fmt: skip
    call = story.blocks[3]
    assert isinstance(call, CallBlock)
    assert call.duration_ms == 100
    assert story.active_run_id is None


@pytest.mark.req("OAP-209")
def test_every_ending_is_told() -> None:
    """A failure with its code and message, a cancel; calls and questions still open end with the run."""
    story, tale = heard()
    tale.start()
    tale.ask_call("Shell", {"command": "make"})
    tale.ask("May Shell run?", "make")
    tale.fail("provider_error", "529 after \x1b[31mretries")
    tale.start("r2")
    tale.cancel("r2")
    assert lines(story) == [
        "Shell make: failed", "? May Shell run?: withdrawn", "failed 529 after retries", "cancelled",
    ]  # fmt: skip
    assert story.question is None


@pytest.mark.req("OAP-211")
def test_untrusted_text_is_clean_in_every_block() -> None:
    """Names, arguments, results, progress, titles, models and reasons; also where a delta cuts a sequence in two."""
    evil = "a\x1b]52;c;eA==\x07b"
    story, tale = heard()
    story.said(evil, "r1")
    story.note(evil)
    tale.start()
    tale.think(evil)
    tale.text("a\x1b]52;c;")
    tale.text("eA==\x07b")
    tale.ask_call(evil, {"path": evil, evil: evil})
    tale.ask(evil, evil)
    tale.end_call(evil)
    tale.compact(9, 1, evil)
    tale.fail(evil, evil)
    story.hear(
        Envelope(
            type="session.model.switch.response", id="m1", payload=ModelSwitchResponse(session_id="s1", model_id="old")
        )
    )
    story.hear(
        Envelope(
            type="session.model.switch.response", id="m2", payload=ModelSwitchResponse(session_id="s1", model_id=evil)
        )
    )
    shown = "\n".join(
        str(getattr(block, name))
        for block in story.blocks
        for name in ("text", "name", "summary", "arguments", "result", "title", "code", "message", "model_id")
        if hasattr(block, name)
    )
    assert "a␛b" in shown
    assert "\x1b" not in shown
    assert "eA==" not in shown


@pytest.mark.req("OAP-209")
@given(st.data())
def test_replays_and_repeats_change_nothing(data: st.DataObject) -> None:
    """Whatever prefix is heard again, and again: the story is the one of a single hearing."""
    once, tale = heard()
    whole_tale(tale)
    again = Story()
    for at, envelope in enumerate(tale.told, 1):
        again.hear(envelope)
        for old in tale.told[data.draw(st.integers(0, at)) : at]:
            again.hear(old)
    assert lines(again) == lines(once)


@given(st.sets(st.integers(0, 18)))
@example({4, 5, 7, 8, 9, 13, 14, 15})
def test_a_gap_is_mended_by_the_end(missed: set[int]) -> None:
    """Whichever events are missed, nothing breaks, no question stays open, and the final words are there."""
    _, tale = heard()
    whole_tale(tale)
    story = Story()
    for at, envelope in enumerate(tale.told):
        if at not in missed or at == len(tale.told) - 1:
            story.hear(envelope)
    assert story.question is None
    assert story.active_run_id is None
    assert lines(story)[-1].endswith("The whole answer.")


def whole_tale(tale: Tale) -> None:
    tale.start()
    tale.think("hm")
    tale.text("First ")
    tale.text("words.")
    tale.ask_call("Edit", {"path": "a.py"})
    tale.ask("May Edit run?", DIFF)
    tale.answer(granted=True)
    tale.start_call("Edit")
    tale.end_call({"diff": DIFF})
    tale.ask_input("More?", [UserQuestion(id="w", prompt="Why?", kind="text")], question="q2")
    tale.withdraw("q2")
    tale.compact(100, 10, "so far")
    for delta in ("The ", "whole ", "answer."):
        tale.text(delta)
    tale.complete("The whole answer.")


def test_missing_words_are_marked_until_the_end_has_them() -> None:
    """A gap shows as one, and the final response replaces what was streamed."""
    story, tale = heard()
    tale.start()
    tale.text("one ")
    tale.hear = lambda envelope: None
    tale.text("two ")
    tale.hear = story.hear
    tale.text("three")
    assert lines(story) == ["one \n\n[…]\n\nthree"]
    tale.complete("one two three")
    assert lines(story) == ["one two three"]


def test_late_events_after_the_end_change_nothing() -> None:
    """Late deltas, calls and questions of a run that ended are of no use to anybody (bug B14)."""
    story, tale = heard()
    tale.start()
    tale.complete("Done.")
    before = lines(story)
    tale.text("late")
    tale.ask_call("Shell", {"command": "rm"})
    tale.ask("May it?", "rm")
    tale.fail("late", "late")
    assert (lines(story), story.question) == (before, None)


@pytest.mark.req("OAP-209")
def test_a_question_that_was_settled_is_never_put_again() -> None:
    """Bug B11: neither by a replay of its request, nor by a request that comes after its answer."""
    story, tale = heard()
    tale.start()
    asked = tale.ask("May it?", "x")
    assert story.question is not None
    tale.answer(granted=False)
    story.hear(asked)
    assert (story.question, lines(story)) == (None, ["? May it?: no"])
    late, told = Story(), Tale()
    told.start()
    question, answer = told.ask("May it?", "x"), told.answer(granted=True)
    for envelope in (told.told[0], answer, question):
        late.hear(envelope)
    assert (late.question, lines(late)) == (None, ["? May it?: yes"])


@pytest.mark.req("OAP-209")
def test_while_a_replay_catches_up_only_listed_questions_are_put() -> None:
    """Bug B11: a request in the replay may be settled a few events on; what the state lists is put at once."""
    tale = Tale()
    tale.start()
    old = tale.ask("Old?", "x", "q1")
    tale.answer(granted=True, question="q1")
    new = tale.ask("New?", "y", "q2")
    story = Story()
    story.saw(state(ActiveRun(run_id="r1", status="waiting_for_input", relationship="primary",
                              as_of_sequence=4, pending_interactions=("q2",))))  # fmt: skip
    story.hear(tale.told[0])
    story.hear(old)
    assert story.question is None
    story.hear(tale.told[2])
    story.hear(new)
    assert story.question is not None
    assert story.question.interaction_id == "q2"


@pytest.mark.req("OAP-209")
def test_a_run_and_a_question_that_are_not_listed_any_more_do_not_wait_for_ever() -> None:
    """Bug B12: what ended while the line was down is over, and its end is still told when it comes."""
    story, tale = heard()
    tale.start()
    tale.ask("May it?", "x")
    story.saw(state())
    assert (story.active_run_id, story.question) == (None, None)
    tale.complete("Done.")
    assert lines(story)[-1] == "Done."


def test_a_run_thought_to_be_over_goes_on_when_it_is_heard() -> None:
    """A state taken before the run began says nothing about it for long."""
    story, tale = heard()
    tale.start()
    story.saw(state())
    tale.text("still here")
    assert story.active_run_id == "r1"


def state(*runs: ActiveRun, model: str = "m/one") -> SessionState:
    return SessionState(session_id="s1", status="running", active_runs=runs, current_model_id=model)


@pytest.mark.req("OAP-209")
def test_what_waits_for_its_turn_is_listed_and_told_when_it_starts() -> None:
    """The queue in order; a run taken back before it began is shown as not sent."""
    story, tale = heard()
    story.said("one", "r1")
    tale.start("r1")
    story.said("two", "r2")
    story.said("three", "r3")
    story.said("four", "r4")
    assert [(each.position, each.text) for each in story.reservations] == [(1, "two"), (2, "three"), (3, "four")]
    tale.cancel("r3")
    tale.complete("Done.", "r1")
    tale.start("r2")
    assert [each.run_id for each in story.reservations] == ["r4"]
    assert lines(story) == ["> one", "> three (dropped)", "cancelled", "Done.", "> two"]


def test_the_queue_is_what_the_hub_lists() -> None:
    """Also runs that somebody else queued, and none that is gone."""
    story, tale = heard()
    tale.start("r1")
    story.said("mine", "r2")
    queued = ActiveRun(run_id="r9", status="queued", relationship="primary", queue_position=1)
    story.saw(state(ActiveRun(run_id="r1", status="running", relationship="primary"), queued))
    assert [(each.run_id, each.text) for each in story.reservations] == [("r9", "")]


def test_words_that_are_told_after_their_run_began_stand_at_its_head() -> None:
    """The answer to a submit may come after the run's first events."""
    story, tale = heard()
    tale.start()
    tale.text("Hello.")
    story.said("Hi", "r1")
    assert lines(story) == ["> Hi", "Hello."]


@pytest.mark.req("OAP-209")
def test_a_steer_is_taken_or_dropped() -> None:
    """Whether its end comes before or after the program says what was steered; a run's end drops the rest."""
    story, tale = heard()
    story.said("go", "r1")
    tale.start()
    for submission in ("u1", "u2", "u4"):
        story.said(submission, "r1", submission_id=submission)
    tale.settle_steer("u1")
    tale.settle_steer("u2", "too late")
    assert lines(story) == ["> go", "> u1", "> u2 (dropped)", "> u4 (steering)"]
    tale.complete("Done.")
    assert lines(story)[-2:] == ["> u4 (dropped)", "Done."]


def test_runs_side_by_side_keep_their_words_apart() -> None:
    """Deltas of two runs, turn about."""
    story, tale = heard()
    tale.start("r1")
    tale.start("r2")
    for at in range(3):
        tale.text(f"a{at}", "r1")
        tale.text(f"b{at}", "r2")
    assert lines(story) == ["a0a1a2", "b0b1b2"]
    assert story.active_run_id == "r1"


def test_a_call_ends_once() -> None:
    """The first end counts, whichever follows; one without a request is told too."""
    story, tale = heard()
    tale.start()
    tale.end_call("done", "c1")
    tale.fail_call("no", "c1")
    tale.start_call("Shell", "c1")
    assert lines(story) == ["a tool : completed done"]


def test_a_diff_is_found_in_preview_result_and_arguments() -> None:
    """In the question's text before the yes, then in the result."""
    story, tale = heard()
    tale.start()
    tale.ask_call("Edit", {"path": "a.py"})
    tale.ask("May Edit run?", DIFF)
    call = story.blocks[1]
    assert isinstance(call, CallBlock)
    assert call.diff == DIFF
    tale.end_call({"diff": DIFF.replace("+y", "+z")})
    assert "+z" in call.diff


def test_model_and_usage_are_known() -> None:
    """The session's model and its changes; tokens add up, and an unknown figure stays unknown."""
    story, tale = heard()
    tale.start(model="m/one")
    assert (story.model_id, story.tokens) == ("m/one", None)
    tale.complete("x", usage=Usage(input_tokens=90, output_tokens=10))
    tale.start("r2")
    tale.complete("y", "r2", usage=Usage(total_tokens=50))
    assert (story.tokens, story.context_tokens) == (150, 50)
    story.saw(state(model="m/two"))
    assert (story.model_id, lines(story)[-1]) == ("m/two", "m/two")


def test_another_sessions_events_are_not_this_story() -> None:
    """Where the story knows whose it is."""
    story = Story("another")
    Tale(story.hear).start()
    assert list(story.blocks) == []


def test_a_saved_conversation_is_recalled() -> None:
    """What was said, thought, called and answered; what was told to the model alone is left out."""
    story = Story()
    story.recall([
        Message(role="system", content="secret"),
        Message(role="user", content="Mend it"),
        Message(role="assistant", content=(
            ReasoningPart(reasoning="hm"), TextPart(text="I look."),
            ToolCallPart(tool_call_id="c1", name="Read", arguments_json={"path": "a"}),
        )),
        Message(role="tool", content=(ToolResultPart(tool_call_id="c1", result="x", is_error=True),)),
    ])  # fmt: skip
    assert lines(story) == ["> Mend it", "(hm)", "I look.", "Read a: failed x"]


@pytest.mark.req("OAP-209")
def test_a_message_of_ten_thousand_deltas_is_one_text() -> None:
    """Deltas are joined, not kept: what is held is about the text itself."""
    story, tale = heard()
    tale.told = Forgets()
    tale.start()
    for _ in range(10_000):
        tale.text("word ")
    (block,) = [each for each in story.blocks if isinstance(each, TextBlock)]
    pieces = block.writing._pieces
    assert len(pieces) < 256
    assert sum(map(sys.getsizeof, pieces)) < 2 * 50_000
    assert block.text == "word " * 10_000


def test_a_settled_question_lets_go_of_its_texts() -> None:
    """But still says who asked whom, for an answer that is on its way."""
    story, tale = heard()
    tale.start()
    tale.ask("May it?", "x" * 100_000)
    question = story.question
    assert question is not None
    tale.answer(granted=True)
    asked = question.asked.payload
    assert isinstance(asked, PermissionRequested)
    assert (asked.description, asked.interaction_id, asked.responded_by) == (UNSET, "q1", "user")


def test_a_long_session_is_about_as_large_as_its_words() -> None:
    """Two thousand messages of a hundred deltas: the words, and some hundred bytes for each."""
    story, tale = heard()
    tale.told = Forgets()
    tracemalloc.start()
    for at in range(1000):
        story.said("question", f"r{at}")
        tale.start(f"r{at}")
        for _ in range(100):
            tale.text("word ", f"r{at}")
        tale.complete("", f"r{at}")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2000 * (500 + 600)


class Forgets(list[Envelope[Wire]]):
    """Keeps nothing."""

    def append(self, envelope: Envelope[Wire]) -> None:
        pass


def test_changes_are_told_once() -> None:
    """Which blocks changed since they were last taken."""
    story, tale = heard()
    tale.start()
    tale.text("a")
    assert story.take_changes() == {0, 1}
    tale.text("b")
    assert story.take_changes() == {1}
    assert story.take_changes() == frozenset()


def indexes(blocks: Sequence[Block]) -> list[int]:
    return [block.index for block in blocks]


def test_a_block_knows_its_place() -> None:
    """`index` is where it stands."""
    story, tale = heard()
    whole_tale(tale)
    assert indexes(story.blocks) == list(range(len(story.blocks)))
