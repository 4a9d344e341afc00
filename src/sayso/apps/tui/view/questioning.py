"""Questions as they come and go: each is put once, and never after it was settled (bugs B10, B11)."""

from __future__ import annotations

from typing import cast

import msgspec

from sayso.apps.tui.view.blocks import Question, QuestionBlock, QuestionKind
from sayso.apps.tui.view.calls import find_diff
from sayso.apps.tui.view.clean import clean_name
from sayso.apps.tui.view.page import Page
from sayso.apps.tui.view.spoken import Telling
from sayso.control.protocol.consent import ConsentQuestion, read_consent_question
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolved
from sayso.control.protocol.payloads.interaction import UserInputRequested, UserInputResolved
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.core.refusal import Refused

__all__ = ("ask", "settle_question", "waiting", "withdraw", "withdraw_all")

GONE = "withdrawn"


def ask(page: Page, telling: Telling, envelope: Envelope[Wire]) -> None:
    """A question of either kind; one that was settled before it came is shown with its outcome and never put."""
    payload = envelope.payload
    if not isinstance(payload, PermissionRequested | UserInputRequested):
        return
    if payload.interaction_id in telling.questions:
        return
    kind, consent = _kind(envelope)
    question = Question(
        interaction_id=payload.interaction_id,
        run_id=telling.run_id,
        kind=kind,
        asked=cast("Envelope[PermissionRequested] | Envelope[UserInputRequested]", envelope),
        consent=consent,
        outcome=telling.settled.get(payload.interaction_id),
    )
    telling.questions[question.interaction_id] = question
    if isinstance(payload, PermissionRequested):
        _preview(page, telling, payload)
    title = clean_name(payload.title)
    question.block = page.add(QuestionBlock(index=0, run_id=telling.run_id, question=question, title=title))
    if not question.is_open:
        _slim(question)


def settle_question(page: Page, telling: Telling, resolved: PermissionResolved | UserInputResolved) -> None:
    """It was answered, here or elsewhere, or cancelled: the first outcome counts."""
    outcome: str
    if isinstance(resolved, PermissionResolved):
        was_granted = resolved.outcome == "resolved" and resolved.granted is True
        was_answered = resolved.outcome in ("resolved", "rejected")
        outcome = ("yes" if was_granted else "no") if was_answered else resolved.outcome
    else:
        outcome = "answered" if resolved.status == "submitted" else "declined"
    telling.settled.setdefault(resolved.interaction_id, outcome)
    _close(page, telling.questions.get(resolved.interaction_id), outcome)


def withdraw(page: Page, telling: Telling, interaction_id: str) -> None:
    """Nobody waits for its answer any more."""
    _close(page, telling.questions.get(interaction_id), GONE)


def withdraw_all(page: Page, telling: Telling) -> None:
    """The run is over."""
    for question in telling.questions.values():
        _close(page, question, GONE)


def waiting(telling: Telling) -> list[Question]:
    """The run's questions that wait for the person.

    While a replay is on its way to where the state was taken, only what the state listed as pending is put: the answer
    to any other may be the next event.
    """
    has_caught_up = telling.hearing.latest >= telling.listed_at
    return [
        each
        for each in telling.questions.values()
        if each.is_open and (has_caught_up or each.interaction_id in telling.listed)
    ]


def _preview(page: Page, telling: Telling, asked: PermissionRequested) -> None:
    """What the call would change, where the question shows it."""
    call = None if asked.tool_call_id is UNSET else telling.calls.get(asked.tool_call_id)
    if call is not None and not call.diff and asked.description is not UNSET:
        call.diff = find_diff(asked.description)
        page.touch(call)


def _close(page: Page, question: Question | None, outcome: str) -> None:
    if question is not None and question.is_open:
        question.outcome = outcome
        _slim(question)
        page.touch(question.block)


def _slim(question: Question) -> None:
    """Nobody reads it in full any more: previews and documents of a long session would add up."""
    asked = question.asked
    if isinstance(asked.payload, PermissionRequested):
        payload = msgspec.structs.replace(asked.payload, description=UNSET, arguments_json=UNSET)
        question.asked = msgspec.structs.replace(asked, payload=payload)


def _kind(envelope: Envelope[Wire]) -> tuple[QuestionKind, ConsentQuestion | None]:
    if isinstance(envelope.payload, UserInputRequested):
        return "input", None
    try:
        consent = read_consent_question(envelope)
    except Refused:
        return "unreadable", None
    return ("permission", None) if consent is None else ("signed", consent)
