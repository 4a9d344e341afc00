"""Who answers what a run asks: somebody at the terminal, or nobody.

A permission needs a `y`; Enter, the end of input and anything else is a no. Where no terminal is, every question is
answered with a no that says so, and nothing waits for an answer that cannot come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from sayso.apps.asking.keyboard import Keyboard
from sayso.apps.asking.plain_text import plain, plain_lines
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputRequested, UserQuestion

__all__ = ("NOBODY", "Answering", "question_text", "read_answer")

NOBODY = "nobody is at a terminal to answer"
_YES = ("y", "yes")


class Answering:
    """Asks on `out`, reads the keyboard."""

    def __init__(self, keyboard: Keyboard, out: TextIO) -> None:
        self._keyboard = keyboard
        self._out = out

    @property
    def is_there(self) -> bool:
        """Whether somebody can be asked."""
        return self._keyboard.is_persons

    async def permits(self, asked: PermissionRequested) -> bool:
        """Whether they say yes to this one call."""
        self._keyboard.forget()
        self._write(f"\n{plain(asked.title)}\n")
        if asked.description:
            self._write("".join(f"    {line}\n" for line in plain_lines(asked.description).splitlines()))
        return (await self._ask("Allow this once? [y/N] ")).lower() in _YES

    async def answers(self, asked: UserInputRequested) -> tuple[UserAnswer, ...] | None:
        """Their answers; None when they gave none, which declines."""
        self._keyboard.forget()
        self._write(f"\n{plain(asked.title)}\n")
        if asked.description:
            self._write(f"{plain_lines(asked.description)}\n")
        given = []
        for question in asked.questions:
            answer = await self._answer(question)
            if answer is not None:
                given.append(answer)
            elif question.required is not False:
                return None
        return tuple(given) or None

    async def _answer(self, question: UserQuestion) -> UserAnswer | None:
        self._write(f"{question_text(question)}\n")
        while said := await self._ask(_PROMPTS[question.kind]):
            if (answer := read_answer(question, said)) is not None:
                return answer
            self._write(f"Write {'numbers' if question.kind == 'multi_choice' else 'one number'} of the list.\n")
        return None

    async def _ask(self, prompt: str) -> str:
        self._write(prompt)
        line = await self._keyboard.line()
        if not line.endswith("\n"):
            self._write("\n")
        return line.strip()

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


_PROMPTS = {"text": "> ", "single_choice": "number> ", "multi_choice": "numbers> "}


def question_text(question: UserQuestion) -> str:
    """The question as a person reads it, its options numbered from 1."""
    lines = [plain(question.prompt)]
    for number, option in enumerate(question.options or (), 1):
        more = f": {plain(option.description)}" if option.description else ""
        lines.append(f"  {number}  {plain(option.label)}{more}")
    return "\n".join(lines)


def read_answer(question: UserQuestion, said: str) -> UserAnswer | None:
    """What a person wrote, as an answer; None where it names no option of the question."""
    if not question.options:
        return UserAnswer(question_id=question.id, text=said)
    chosen = _chosen(said, len(question.options), is_many=question.kind == "multi_choice")
    if not chosen:
        return None
    ids = tuple(question.options[number - 1].id for number in chosen)
    return UserAnswer(question_id=question.id, selected_option_ids=ids)


def _chosen(said: str, count: int, *, is_many: bool) -> Sequence[int]:
    """The numbers somebody wrote, each once and of the list; none when one is not."""
    words = said.replace(",", " ").split()
    numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
    is_good = len(numbers) == len(words) == len(set(numbers)) and all(1 <= number <= count for number in numbers)
    return numbers if is_good and (is_many or len(numbers) == 1) else ()
