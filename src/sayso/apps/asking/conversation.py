"""One conversation between a person and their agent, over any client of a hub.

Runs are read to their terminal; each question is given to the key app, which writes its own text from the document's
bytes, and comes back signed or as a no (`answering`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, cast

import msgspec

from sayso.apps.asking.answering import answer_question
from sayso.apps.asking.person import Person
from sayso.apps.prompting.person import question_text, read_answer
from sayso.control.client.agent import AgentClient
from sayso.control.protocol.consent import read_consent_question
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallCompleted,
    ActionCallFailed,
    ActionCallRequested,
    PermissionRequested,
)
from sayso.control.protocol.payloads.content import Message, TextPart
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputRequested
from sayso.control.protocol.payloads.run import RunCancelled, RunCompleted, RunFailed
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.core.refusal import PeerRefused, PeerUnreachable
from sayso.scheduling.keyapp.app import KeyApp, Shown

__all__ = ("Conversation", "Ending", "Outcome", "Step", "Telling")

OUTCOME_METADATA = "dev.sayso.outcome"


class Outcome(Enum):
    """How a run ended, as far as the person's wish goes."""

    DONE = "done"
    """What was asked for happened, or was answered."""
    ASKS = "asks"
    """The assistant needs an answer before it can do anything."""
    REFUSED = "refused"
    """Somebody said no, or it is impossible; nothing was agreed."""
    STOPPED = "stopped"
    """The person stopped it."""
    FAILED = "failed"
    """It broke on our side."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call that ended: its name and what it answered."""

    name: str
    result: Mapping[str, Any]
    failed: bool


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a run: what the assistant said, and what it did on the way."""

    outcome: Outcome
    text: str
    steps: Sequence[Step]


class Telling(Protocol):
    """How a run is told while it goes on."""

    def envelope(self, envelope: Envelope[Wire]) -> None:
        """Every event, as it comes."""
        ...

    def calling(self, name: str) -> None:
        """A tool is called."""
        ...

    def called(self, step: Step) -> None:
        """A tool call ended."""
        ...

    def signed(self, shown: Shown) -> None:
        """The key app signed something."""
        ...

    def not_signed(self, why: str) -> None:
        """The key app did not sign, for another reason than the person's no."""
        ...


class Conversation:
    """A session of one person. Runs one after another."""

    def __init__(self, client: AgentClient, session_id: str, key_app: KeyApp, person: Person, telling: Telling) -> None:
        self._client = client
        self._session_id = session_id
        self._key_app = key_app
        self._person = person
        self._telling = telling
        self._names: dict[str, str] = {}
        self._run: tuple[str, int] | None = None
        """The run under way and the last event of it that was read."""

    async def say(self, text: str) -> Ending:
        """Says something and follows the run to its end. Raises as the client does."""
        admitted = await self._client.submit(self._session_id, text)
        run_id = admitted.run_id or ""
        self._run = (run_id, 0)
        steps: list[Step] = []
        async for event in self._client.events(self._session_id, run_id=run_id, after=0):
            self._run = (run_id, event.sequence or 0)
            self._telling.envelope(event)
            if (step := self._step(event.payload)) is not None:
                steps.append(step)
                self._telling.called(step)
            elif isinstance(event.payload, PermissionRequested):
                await self._answer(cast(Envelope[PermissionRequested], event))
            elif isinstance(event.payload, UserInputRequested):
                await self._reply(cast(Envelope[UserInputRequested], event))
            elif (ending := _ending(event.payload, steps)) is not None:
                self._run = None
                return ending
        raise PeerUnreachable("the hub", "the run's events ended before the run did")

    async def cancel(self) -> None:
        """Ends the run that is under way, if one is, and returns once it has: by then what it held is given back."""
        if self._run is None:
            return
        run_id, seen = self._run
        with contextlib.suppress(PeerRefused):
            await self._client.cancel(self._session_id, run_id, reason="stopped by the person")
        async for event in self._client.events(self._session_id, run_id=run_id, after=seen):
            self._telling.envelope(event)
        self._run = None

    def _step(self, payload: Wire) -> Step | None:
        match payload:
            case ActionCallRequested(tool_call_id=call, name=name):
                self._names[call] = name
                self._telling.calling(name)
            case ActionCallCompleted(tool_call_id=call, result=result):
                return Step(name=self._names.get(call, ""), result=_mapping(result), failed=False)
            case ActionCallFailed(tool_call_id=call, error=error):
                result = (error.details or {}).get("result") if error.details is not UNSET else None
                return Step(name=self._names.get(call, ""), result=_mapping(result), failed=True)
            case _:
                pass
        return None

    async def _answer(self, event: Envelope[PermissionRequested]) -> None:
        question = read_consent_question(event)
        if question is None:
            # Nothing to sign means nothing that could be agreed to here.
            await self._client.resolve(event, granted=False, reason="this surface only says yes to what it can sign")
            return
        said = await answer_question(question.kind, question.document_bytes, self._key_app, self._person, self._telling)
        await self._client.resolve(event, granted=said.granted, signed=said.document, reason=said.reason)

    async def _reply(self, event: Envelope[UserInputRequested]) -> None:
        """The person's answers; a question that nobody answers is declined, or ends the run where it cannot be."""
        answers = await self._replies(event.payload)
        with contextlib.suppress(PeerRefused):
            if answers:
                await self._client.answer(event, answers)
            elif event.payload.allow_cancel is True:
                await self._client.decline(event)
            else:
                await self._client.cancel(self._session_id, event.payload.run_id, reason="nobody answered")

    async def _replies(self, asked: UserInputRequested) -> list[UserAnswer]:
        answers = []
        for question in asked.questions:
            said = await self._person.reply(question_text(question))
            answer = None if said is None else read_answer(question, said)
            if answer is not None:
                answers.append(answer)
            elif question.required is not False:
                return []
        return answers


def _ending(payload: Wire, steps: Sequence[Step]) -> Ending | None:
    match payload:
        case RunCompleted(final_response=message):
            return Ending(outcome=_outcome(message, steps), text=_text(message), steps=tuple(steps))
        case RunFailed(error=error):
            return Ending(outcome=Outcome.REFUSED, text=error.message, steps=tuple(steps))
        case RunCancelled():
            return Ending(outcome=Outcome.REFUSED, text="Stopped. Nothing more was done.", steps=tuple(steps))
        case _:
            return None


def _outcome(message: Message, steps: Sequence[Step]) -> Outcome:
    """What the model says of its own turn, where it says so; else what its last call came to."""
    said = message.metadata.get(OUTCOME_METADATA) if message.metadata is not UNSET else None
    if isinstance(said, str) and said in {each.value for each in Outcome}:
        return Outcome(said)
    return Outcome.REFUSED if steps and steps[-1].failed else Outcome.DONE


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(part.text for part in message.content if isinstance(part, TextPart))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {"result": value}
