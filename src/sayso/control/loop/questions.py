"""The built-in tool `request_user_input`: the model asks its person, and gets answers that fit (OAP-158).

What it may ask is what `user.input.requested` can carry: texts, single and multiple choices. Questions that cannot be
asked are an error result the model can read; answers that do not fit are refused to whoever gave them, and the question
stays open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.control.loop.contract import ToolSpec
from sayso.control.protocol.payloads.interaction import UserAnswer, UserQuestion
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Text
from sayso.core.refusal import Refused

__all__ = ("ASK_USER", "BUILT_IN", "DECLINED", "Asking", "misfit", "read_asking", "result_of")

BUILT_IN = "sayso"
"""The source of what the loop itself offers."""
_MOST = 16

_OPTION = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "label": {"type": "string"}, "description": {"type": "string"}},
    "required": ["id", "label"],
    "additionalProperties": False,
}
_QUESTION = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "prompt": {"type": "string"},
        "kind": {"enum": ["text", "single_choice", "multi_choice"]},
        "required": {"type": "boolean"},
        "options": {"type": "array", "items": _OPTION, "minItems": 1},
    },
    "required": ["id", "prompt", "kind"],
    "additionalProperties": False,
}
ASK_USER = ToolSpec(
    "request_user_input",
    "Asks the person who is served, when only they can say. A choice question has options, a text question has none. "
    "Never ask for a password or another secret.",
    {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "questions": {"type": "array", "items": _QUESTION, "minItems": 1, "maxItems": _MOST},
        },
        "required": ["questions"],
        "additionalProperties": False,
    },
    {"readOnlyHint": True},
)
DECLINED: Mapping[str, object] = {"declined": True, "message": "the person did not want to answer"}
"""What the tool gives when the questions were cancelled."""


class Asking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the model wants to know."""

    questions: Annotated[tuple[UserQuestion, ...], Meta(min_length=1, max_length=_MOST)]
    title: Maybe[Text] = UNSET

    def __post_init__(self) -> None:
        names = [question.id for question in self.questions]
        if len(set(names)) != len(names):
            raise ValueError("two questions have one id")
        for question in self.questions:
            options = [option.id for option in question.options or ()]
            if len(set(options)) != len(options):
                raise ValueError(f"two options of `{question.id}` have one id")


def read_asking(arguments: Mapping[str, object]) -> Asking:
    """Raises `Refused` `invalid_arguments`."""
    try:
        return msgspec.convert(arguments, Asking, strict=True)
    except msgspec.ValidationError as error:
        raise Refused.because("invalid_arguments", f"these questions cannot be asked: {error}") from None


def misfit(questions: Sequence[UserQuestion], answers: Sequence[UserAnswer]) -> str | None:
    """Why these answers do not fit these questions, or None (OAP-017)."""
    asked = {question.id: question for question in questions}
    given = [answer.question_id for answer in answers]
    if len(set(given)) != len(given):
        return "a question is answered twice"
    for answer in answers:
        question = asked.get(answer.question_id)
        if question is None:
            return f"`{answer.question_id}` was not asked"
        if not _fits(question, answer):
            return f"this is no answer to `{answer.question_id}`"
    missing = [each.id for each in questions if each.required is True and each.id not in given]
    return f"`{missing[0]}` must be answered" if missing else None


def _fits(question: UserQuestion, answer: UserAnswer) -> bool:
    if question.kind == "text":
        return answer.text is not UNSET and (question.required is not True or bool(answer.text.strip()))
    chosen = answer.selected_option_ids or ()
    offered = {option.id for option in question.options or ()}
    return bool(chosen) and set(chosen) <= offered and (len(chosen) == 1 or question.kind == "multi_choice")


def result_of(answers: Sequence[UserAnswer]) -> dict[str, object]:
    """What the tool gives for answers that fit."""
    return {"answers": [_told(answer) for answer in answers]}


def _told(answer: UserAnswer) -> dict[str, object]:
    if answer.text is not UNSET:
        return {"question_id": answer.question_id, "text": answer.text}
    return {"question_id": answer.question_id, "selected_option_ids": list(answer.selected_option_ids or ())}
