"""Who answers what a run asks, at a terminal and without one."""

from __future__ import annotations

import io

import pytest

from sayso.apps.prompting.person import Answering
from sayso.control.protocol.payloads.action import PermissionChoice, PermissionRequested
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputRequested, UserOption, UserQuestion

WHO = {"requested_by": "agent", "responded_by": "user", "session_id": "s", "run_id": "r"}
CHOICES = (PermissionChoice(id="yes", label="Yes"), PermissionChoice(id="no", label="No"))
ASKED = PermissionRequested(
    interaction_id="q1", title="Write notes.txt", description="+ a\n+ b\x1b[2J", choices=CHOICES, **WHO
)
OPTIONS = tuple(UserOption(id=name, label=name.title()) for name in ("red", "green", "blue"))


class Typed:
    """A keyboard that a person sits at, with what they type."""

    is_persons = True

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.forgotten = 0

    def forget(self) -> None:
        self.forgotten += 1

    async def line(self) -> str:
        return self.lines.pop(0) if self.lines else ""


def questions(*asked: UserQuestion) -> UserInputRequested:
    return UserInputRequested(interaction_id="q1", title="Which?", questions=asked, **WHO)


@pytest.mark.anyio
@pytest.mark.req("OAP-157")
@pytest.mark.parametrize(
    ("typed", "granted"), [("y\n", True), ("YES\n", True), ("\n", False), ("yep\n", False), ("", False)]
)
async def test_only_a_plain_yes_allows_a_call(typed: str, granted: bool) -> None:
    """Enter, the end of input and anything else are a no; what was typed before the question is thrown away."""
    out, keyboard = io.StringIO(), Typed(typed)
    assert await Answering(keyboard, out).permits(ASKED) is granted
    assert keyboard.forgotten == 1
    assert "Write notes.txt\n    + a\n    + b?[2J\nAllow this once? [y/N] " in out.getvalue()


@pytest.mark.anyio
@pytest.mark.req("OAP-158")
async def test_each_kind_of_question_is_answered() -> None:
    """A text as typed, one option by its number, several by theirs; a wrong number is asked again."""
    asked = questions(
        UserQuestion(id="name", prompt="Name?", kind="text"),
        UserQuestion(id="one", prompt="One?", kind="single_choice", options=OPTIONS),
        UserQuestion(id="many", prompt="Many?", kind="multi_choice", options=OPTIONS),
    )
    keyboard = Typed("Ada\n", "4\n", "1 2\n", "2\n", "1, 1\n", "3, 1\n")
    answers = await Answering(keyboard, io.StringIO()).answers(asked)
    assert answers == (
        UserAnswer(question_id="name", text="Ada"),
        UserAnswer(question_id="one", selected_option_ids=("green",)),
        UserAnswer(question_id="many", selected_option_ids=("blue", "red")),
    )


@pytest.mark.anyio
async def test_an_optional_question_may_be_passed_over_and_a_required_one_declines() -> None:
    """An empty line gives no answer."""
    optional = UserQuestion(id="a", prompt="A?", kind="text", required=False)
    required = UserQuestion(id="b", prompt="B?", kind="text")
    asked = questions(optional, required)
    assert await Answering(Typed("\n", "yes\n"), io.StringIO()).answers(asked) == (
        UserAnswer(question_id="b", text="yes"),
    )
    assert await Answering(Typed("x\n", "\n"), io.StringIO()).answers(asked) is None
    assert await Answering(Typed("\n"), io.StringIO()).answers(questions(optional)) is None
