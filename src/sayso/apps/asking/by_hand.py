"""One act, done by hand: the same arguments, kernel and questions as an assistant's call, without an assistant.

The person types what an assistant would have chosen; what is signed, receipted and refused is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sayso.apps.asking.answering import Tells, answer_question
from sayso.apps.asking.person import Person
from sayso.apps.house import House
from sayso.governance.consent import Answer
from sayso.governance.kernel import ActCall, Done

__all__ = ("act_by_hand",)


async def act_by_hand(house: House, person: Person, tells: Tells, name: str, arguments: Mapping[str, Any]) -> Done:
    """Runs an act to its end, putting each of its questions to the person. A no comes back as a refusal in `Done`."""
    call = ActCall(call_id=house.ids.new("t"), name=name, arguments=arguments, actor=house.guest.agent)
    answers: list[Answer] = []
    while True:
        outcome = await house.kernel.call(call, answers)
        if isinstance(outcome, Done):
            return outcome
        question = outcome.question
        answers.append(await answer_question(question.kind, question.document, house.key_app, person, tells))
