"""Questions answered by keys: whichever are pressed, what comes out is an answer the protocol takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.apps.tui.view.form import Form
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputRequested, UserOption, UserQuestion

OPTIONS = tuple(UserOption(id=f"o{n}", label=f"Option {n}") for n in range(12))
KEYS = st.sampled_from(["up", "down", "space", "enter", "tab", "1", "3", "9", "x"])


def asked(*questions: UserQuestion, drafts: tuple[UserAnswer, ...] = ()) -> UserInputRequested:
    return UserInputRequested(
        interaction_id="q", requested_by="agent", responded_by="user", session_id="s", run_id="r", title="T",
        questions=questions, draft_answers=drafts,
    )  # fmt: skip


def choice(kind: str, required: bool = False) -> UserQuestion:
    return UserQuestion(id=f"{kind}", prompt="P", kind=kind, options=OPTIONS, required=required)  # type: ignore[arg-type]


@pytest.mark.req("OAP-209")
@given(st.lists(KEYS, max_size=20), st.booleans())
def test_any_keys_leave_answers_that_fit_their_questions(keys: list[str], required: bool) -> None:
    """Each question answered at most once, by its own options, one where one is asked for."""
    form = Form(asked(choice("single_choice", required), choice("multi_choice", required)))
    for key in keys:
        if not form.is_complete:
            form.press(key)
    known = {option.id for option in OPTIONS}
    for answer in form.answers:
        assert isinstance(answer.selected_option_ids, tuple)
        assert known.issuperset(answer.selected_option_ids)
        assert answer.question_id == "multi_choice" or len(answer.selected_option_ids) == 1
    if required and form.is_complete:
        assert [answer.question_id for answer in form.answers] == ["single_choice", "multi_choice"]


def test_a_number_chooses_and_arrows_reach_the_rest() -> None:
    """The twelfth option has no number of its own."""
    form = Form(asked(choice("single_choice")))
    form.press("up")
    form.press("enter")
    assert form.answers == (UserAnswer(question_id="single_choice", selected_option_ids=("o11",)),)


def test_drafts_are_where_it_begins() -> None:
    """Ticked options, a text; nothing is answered by them alone."""
    drafts = (
        UserAnswer(question_id="multi_choice", selected_option_ids=("o2",)),
        UserAnswer(question_id="t", text="hi"),
    )
    form = Form(asked(choice("multi_choice"), UserQuestion(id="t", prompt="P", kind="text"), drafts=drafts))
    assert (form.chosen, form.answers) == ({"o2"}, ())
    form.press("enter")
    assert form.draft == "hi"


def test_a_required_question_is_not_skipped() -> None:
    """It says so, until it is answered."""
    form = Form(asked(choice("multi_choice", required=True)))
    for key in ("tab", "enter"):
        form.press(key)
        assert (form.complaint, form.is_complete) == ("This one needs an answer.", False)
    form.press("1")
    form.press("enter")
    assert (form.complaint, form.is_complete) == ("", True)
