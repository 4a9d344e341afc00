"""Questions to a person that are not permissions (interaction.schema.json); neither kind stands in for the other."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sayso.control.protocol.payloads.scalars import UNSET, Maybe, OpaqueId, Text, Texts, Wire, refuse_repeats

__all__ = (
    "UserAnswer",
    "UserInputCancelRequest",
    "UserInputCancelResponse",
    "UserInputRequested",
    "UserInputResolveRequest",
    "UserInputResolveResponse",
    "UserInputResolved",
    "UserOption",
    "UserQuestion",
)


class UserOption(Wire, frozen=True, kw_only=True):
    """One option of a choice question."""

    id: Text
    label: Text
    description: Maybe[str] = UNSET


class UserQuestion(Wire, frozen=True, kw_only=True):
    """One question; a choice has options, a text has none."""

    id: Text
    prompt: Text
    kind: Literal["text", "single_choice", "multi_choice"]
    required: Maybe[bool] = UNSET
    options: Maybe[tuple[UserOption, ...]] = UNSET

    def __post_init__(self) -> None:
        if self.kind == "text":
            if self.options is not UNSET:
                raise ValueError("a text question has no `options`")
        elif not self.options:
            raise ValueError("a choice question has `options`")


class UserAnswer(Wire, frozen=True, kw_only=True):
    """One answer: a text, or the options chosen; never both."""

    question_id: Text
    text: Maybe[str] = UNSET
    selected_option_ids: Maybe[Annotated[Texts, Meta(min_length=1)]] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "selected_option_ids")
        if (self.text is UNSET) == (self.selected_option_ids is UNSET):
            raise ValueError("an answer has either `text` or `selected_option_ids`")


Answers = Annotated[tuple[UserAnswer, ...], Meta(min_length=1)]


class UserInputRequested(Wire, frozen=True, kw_only=True):
    """`user.input.requested`."""

    interaction_id: OpaqueId
    requested_by: OpaqueId
    responded_by: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    title: Text
    questions: Annotated[tuple[UserQuestion, ...], Meta(min_length=1)]
    tool_call_id: Maybe[OpaqueId] = UNSET
    description: Maybe[str] = UNSET
    allow_cancel: Maybe[bool] = UNSET
    draft_answers: Maybe[tuple[UserAnswer, ...]] = UNSET


class UserInputResolveRequest(Wire, frozen=True, kw_only=True):
    """`user.input.resolve.request`."""

    interaction_id: OpaqueId
    requested_by: OpaqueId
    responded_by: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    answers: Answers


class UserInputResolveResponse(Wire, frozen=True, kw_only=True):
    """`user.input.resolve.response`."""

    interaction_id: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    accepted: bool


class UserInputResolved(Wire, frozen=True, kw_only=True):
    """`user.input.resolved`: submitted with answers, or cancelled without."""

    interaction_id: OpaqueId
    requested_by: OpaqueId
    responded_by: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    status: Literal["submitted", "cancelled"]
    answers: Maybe[Answers] = UNSET

    def __post_init__(self) -> None:
        if (self.status == "submitted") != (self.answers is not UNSET):
            raise ValueError("`submitted` has `answers`, `cancelled` has none")


class UserInputCancelRequest(Wire, frozen=True, kw_only=True):
    """`user.input.cancel.request`."""

    interaction_id: OpaqueId
    requested_by: OpaqueId
    responded_by: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    reason: Maybe[str] = UNSET


class UserInputCancelResponse(Wire, frozen=True, kw_only=True):
    """`user.input.cancel.response`."""

    interaction_id: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    accepted: bool
