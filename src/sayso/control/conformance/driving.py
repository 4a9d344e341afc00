"""A run from its admission to where the script wants it, with every gate answered from the stream.

Permissions are granted, questions answered, calls of provided tools taken and ended. `Provoking` does so in the first
run only after a stranger has tried, and tries a second time afterwards: both have to be refused (OAP-017).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from sayso.control.conformance.checks import Gone, Silent
from sayso.control.conformance.host import Arrival, Value
from sayso.control.conformance.talk import STRANGER, Run, Talk
from sayso.control.protocol.payloads.action import ActionCallRequested, PermissionRequested
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.interaction import UserInputRequested, UserQuestion
from sayso.control.protocol.signals import TERMINALS

__all__ = ("Answering", "Declining", "Provoking", "drive", "is_terminal", "is_waiting")


class Answering:
    """Answers every gate as its declared responder."""

    async def meet(self, talk: Talk, arrival: Arrival) -> None:
        """Looks at one event, and answers it where it asks."""
        asked = arrival.envelope.payload if arrival.envelope is not None else None
        if isinstance(asked, PermissionRequested):
            await self.answer(talk, "permission", _permission(talk, asked, asked.responded_by))
        elif isinstance(asked, UserInputRequested):
            await self.answer(talk, "user_input", _answers(talk, asked, asked.responded_by))
        elif isinstance(asked, ActionCallRequested) and asked.interaction_id:
            await self.answer(talk, "client_tools", _call(talk, asked, started={}))
            await self.answer(talk, "client_tools", _call(talk, asked, result={"answer": "conformance"}))

    async def answer(self, talk: Talk, check: str, request: Value) -> None:
        """Gives one answer, which has to be taken."""
        arrival = await talk.host.ask(request)
        if not _is_taken(arrival):
            talk.note(check, f"the declared responder's answer was refused: {_refusal(arrival)}")


class Declining(Answering):
    """The same, and questions that allow it are not answered but cancelled; `declined` counts them."""

    def __init__(self) -> None:
        self.declined = 0

    async def meet(self, talk: Talk, arrival: Arrival) -> None:
        asked = arrival.envelope.payload if arrival.envelope is not None else None
        if not isinstance(asked, UserInputRequested) or asked.allow_cancel is not True:
            await super().meet(talk, arrival)
            return
        self.declined += 1
        payload = {**_scope(asked), "responded_by": asked.responded_by}
        await self.answer(talk, "decline", talk.request("user.input.cancel.request", payload, is_pinned=False))


class Provoking(Answering):
    """The same, with a stranger before each answer and a second answer behind it."""

    async def answer(self, talk: Talk, check: str, request: Value) -> None:
        talk.asked[check] = talk.asked.get(check, 0) + 1
        payload = request["payload"]
        stranger = {**request, "id": talk.ids.new("host"), "payload": {**payload, "responded_by": STRANGER}}
        arrival = await talk.host.ask(stranger, is_fault=True)
        if _is_taken(arrival):
            talk.note("wrong_responder", f"a stranger's answer to `{payload['interaction_id']}` was taken")
            return
        await super().answer(talk, check, request)
        again = await talk.host.ask({**request, "id": talk.ids.new("host")}, is_fault=True)
        if _is_taken(again):
            talk.note("second_answer", f"`{payload['interaction_id']}` was answered twice")


def is_terminal(arrival: Arrival) -> bool:
    """Whether this event ends its run."""
    return arrival.type in TERMINALS


def is_waiting(arrival: Arrival) -> bool:
    """Whether the run waits for somebody here, or is over."""
    asked = arrival.envelope.payload if arrival.envelope is not None else None
    is_call = isinstance(asked, ActionCallRequested) and bool(asked.interaction_id)
    return is_terminal(arrival) or is_call or isinstance(asked, PermissionRequested | UserInputRequested)


async def drive(
    talk: Talk, run: Run, gates: Answering | None = None, *, until: Callable[[Arrival], bool] = is_terminal
) -> Arrival:
    """The first event that is wanted; a gate among those that are wanted stays unanswered until the run is driven on.

    All of it has one budget. Raises `Silent`, `Gone`, `Failed` for a stream the endpoint says it lost.
    """
    gates = gates or Answering()
    with anyio.move_on_after(talk.host.budget):
        while True:
            if run.unmet is not None:
                unmet, run.unmet = run.unmet, None
                await gates.meet(talk, unmet)
            arrival = await talk.host.look(lambda: _next(talk, run), f"the end of run `{run.id}`")
            run.read += 1
            if until(arrival):
                run.unmet = arrival
                return arrival
            await gates.meet(talk, arrival)
    while (late := _next(talk, run)) is not None:
        run.read += 1
        if until(late):
            run.unmet = late
            return late
    last = talk.host.seen.runs.get(run.id, [])
    said = f"its last event is `{last[-1].type}`" if last else "it told nothing"
    raise Silent(f"run `{run.id}` did not come to its end within {talk.host.budget:g} s: {said}")


def _next(talk: Talk, run: Run) -> Arrival | None:
    events = talk.host.seen.runs.get(run.id, ())
    if run.read < len(events):
        return events[run.read]
    if run.id in talk.host.seen.lost:
        raise Gone(f"the stream of run `{run.id}` was lost: {talk.host.seen.lost[run.id].get('code')}")
    return None


# --- answers ---------------------------------------------------------------------------------------------------------


def _permission(talk: Talk, asked: PermissionRequested, responder: str) -> Value:
    answer: dict[str, Any] = {**_scope(asked), "responded_by": responder, "granted": True}
    if any(choice.id == "yes" for choice in asked.choices):
        answer["choice_id"] = "yes"
    return talk.request("action.permission.resolve.request", answer, is_pinned=False)


def _answers(talk: Talk, asked: UserInputRequested, responder: str) -> Value:
    answers = [_answer(question) for question in asked.questions]
    payload = {**_scope(asked), "responded_by": responder, "answers": answers}
    return talk.request("user.input.resolve.request", payload, is_pinned=False)


def _answer(question: UserQuestion) -> dict[str, Any]:
    if question.options:
        return {"question_id": question.id, "selected_option_ids": [question.options[0].id]}
    return {"question_id": question.id, "text": "conformance"}


def _call(talk: Talk, asked: ActionCallRequested, **said: Any) -> Value:
    payload = {**_scope(asked), "tool_call_id": asked.tool_call_id, "responded_by": asked.responded_by or "", **said}
    return talk.request("action.call.resolve.request", payload, is_pinned=False)


def _scope(asked: PermissionRequested | UserInputRequested | ActionCallRequested) -> dict[str, Any]:
    named = ("session_id", "run_id", "interaction_id", "requested_by")
    return {name: getattr(asked, name) for name in named}


def _is_taken(arrival: Arrival) -> bool:
    payload = arrival.payload
    return not isinstance(payload, ErrorResponse) and payload.accepted is True


def _refusal(arrival: Arrival) -> str:
    payload = arrival.payload
    if isinstance(payload, ErrorResponse):
        return f"{payload.error.code}, {payload.error.message}"
    return "`accepted` is false"
