"""Questions that are no permission, answered by keys: pure, one question at a time, until the last is answered."""

from __future__ import annotations

from collections.abc import Sequence

from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputRequested, UserOption, UserQuestion
from sayso.control.protocol.payloads.scalars import UNSET

__all__ = ("Form",)

_DIGITS = "123456789"


class Form:
    """Where the person is in a list of questions, and what they answered so far."""

    def __init__(self, asked: UserInputRequested) -> None:
        self._questions = asked.questions
        self._at = 0
        self._answers: dict[str, UserAnswer] = {}
        drafts = () if asked.draft_answers is UNSET else asked.draft_answers
        self._drafts = {draft.question_id: draft for draft in drafts}
        self.complaint = ""
        """Why the last key did not answer the question."""
        self.cursor = 0
        """The option the next Enter takes."""
        self.chosen: set[str] = set()
        """The options ticked so far, where several may be."""
        self._begin()

    @property
    def question(self) -> UserQuestion:
        """The question to answer now."""
        return self._questions[min(self._at, len(self._questions) - 1)]

    @property
    def position(self) -> tuple[int, int]:
        """Which question this is, from 1, and of how many."""
        return min(self._at + 1, len(self._questions)), len(self._questions)

    @property
    def options(self) -> Sequence[UserOption]:
        """What can be chosen; nothing where a text is asked for."""
        return () if self.question.options is UNSET else self.question.options

    @property
    def draft(self) -> str:
        """The text to begin with."""
        draft = self._drafts.get(self.question.id)
        return "" if draft is None or draft.text is UNSET else draft.text

    @property
    def is_complete(self) -> bool:
        """Whether every question was answered or skipped."""
        return self._at >= len(self._questions)

    @property
    def answers(self) -> tuple[UserAnswer, ...]:
        """One answer for each question that was answered."""
        return tuple(self._answers.values())

    def press(self, key: str) -> bool:
        """A key at a choice; whether it meant anything here."""
        self.complaint = ""
        if key == "tab":
            self.skip()
        elif key in ("up", "down"):
            self.cursor = (self.cursor + (1 if key == "down" else -1)) % max(1, len(self.options))
        elif key in _DIGITS and int(key) <= len(self.options):
            self._take(int(key) - 1)
        elif key == "space" and self.question.kind == "multi_choice":
            self._tick(self.cursor)
        elif key == "enter":
            self._enter()
        else:
            return False
        return True

    def write(self, text: str) -> None:
        """The whole answer to a question for a text; nothing skips it."""
        self.complaint = ""
        if text:
            self._answer(UserAnswer(question_id=self.question.id, text=text))
        else:
            self.skip()

    def skip(self) -> None:
        """Goes on without an answer where one is not required."""
        if self.question.required is True:
            self.complaint = "This one needs an answer."
        else:
            self._next()

    def _take(self, at: int) -> None:
        self.cursor = at
        if self.question.kind == "multi_choice":
            self._tick(at)
        else:
            self._choose((self.options[at].id,))

    def _tick(self, at: int) -> None:
        self.chosen ^= {self.options[at].id}

    def _enter(self) -> None:
        if self.question.kind == "single_choice":
            self._choose((self.options[self.cursor].id,))
        elif self.chosen:
            self._choose(tuple(option.id for option in self.options if option.id in self.chosen))
        else:
            self.skip()

    def _choose(self, ids: tuple[str, ...]) -> None:
        self._answer(UserAnswer(question_id=self.question.id, selected_option_ids=ids))

    def _answer(self, answer: UserAnswer) -> None:
        self._answers[answer.question_id] = answer
        self._next()

    def _next(self) -> None:
        self._at += 1
        self._begin()

    def _begin(self) -> None:
        draft = self._drafts.get(self.question.id)
        picked = () if draft is None or draft.selected_option_ids is UNSET else draft.selected_option_ids
        at = [n for n, option in enumerate(self.options) if option.id in picked]
        self.cursor = at[0] if at else 0
        self.chosen = {self.options[n].id for n in at} if self.question.kind == "multi_choice" else set()
