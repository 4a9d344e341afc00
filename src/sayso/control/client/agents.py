"""The agent half of an SDK client: sessions of the loop, with the program's own tools in them (OAP-200, OAP-201)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, cast

import structlog
from anyio.abc import TaskGroup

from sayso.control.client.contract import OpenSettings, RunControls, Said
from sayso.control.client.endpoint import EndpointClient
from sayso.control.client.retrying import Retrying
from sayso.control.client.run import Answered, RunOutcome, outcome_of
from sayso.control.client.session import Session
from sayso.control.client.tools import Tool, answer_call, definitions
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallRequested, PermissionRequested
from sayso.control.protocol.payloads.inference import ReasoningLevel
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputRequested
from sayso.control.protocol.payloads.models import ModelsResponse, ModelSwitchResponse
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Wire
from sayso.control.protocol.payloads.session import CompactionPolicy, SessionState, ToolSourceAttachment
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused

__all__ = ("NOBODY", "AgentHalf", "AgentSession", "Asked", "SessionWishes")

_log = structlog.get_logger(__name__)

Permits = Callable[[Envelope[PermissionRequested]], Awaitable[Answered]]
Answers = Callable[[Envelope[UserInputRequested]], Awaitable[Sequence[UserAnswer] | None]]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who answers what an agent asks. Without `permit` every permission is refused; without `answer`, or where it gives
    None, a question is declined.
    """

    permit: Permits | None = None
    answer: Answers | None = None


NOBODY = Asked()


class SessionWishes(TypedDict, total=False):
    """What a session may be opened with; each is a feature the endpoint has to advertise."""

    session_id: str
    metadata: JsonObject
    reopen: bool
    tool_sources: Sequence[ToolSourceAttachment]
    reasoning_level: ReasoningLevel
    compaction_policy: CompactionPolicy
    allow_degraded_features: Sequence[str]


class AgentHalf:
    """Opens sessions. Raises as the client does: `ServerError`, `PeerUnreachable`, and `Refused` for what this side can
    see is wrong.
    """

    def __init__(self, client: EndpointClient, tasks: TaskGroup, retrying: Retrying) -> None:
        self._client = client
        self._tasks = tasks
        self._retrying = retrying

    async def open(
        self,
        *,
        model: str | None = None,
        tools: Sequence[Tool] = (),
        asked: Asked = NOBODY,
        temperature: None = None,
        **settings: Unpack[SessionWishes],
    ) -> AgentSession:
        """Opens a session over `model`, or over the one the endpoint takes. `tools` are run here when they are called.

        Refused `unsupported_feature`: tools where the endpoint takes none; a temperature, which is the loop's own; and
        minimal reasoning, which no loop promises.
        """
        _verify_agent(temperature, settings.get("reasoning_level"))
        chosen = cast("OpenSettings", {**settings})
        if tools:
            chosen["tools"] = definitions(tools, await self._client.capabilities(), self._client.participant)
        opened = await self._client.open(**chosen)
        session = AgentSession(
            self._client,
            opened,
            self._tasks,
            self._retrying,
            tools={tool.name: tool for tool in tools},
            asked=asked,
        )
        if model is not None:
            await session.switch_model(model)
        return session

    async def run(
        self,
        said: Said,
        *,
        model: str | None = None,
        tools: Sequence[Tool] = (),
        asked: Asked = NOBODY,
        temperature: None = None,
        **settings: Unpack[SessionWishes],
    ) -> RunOutcome:
        """One prompt in a session of its own, to its end."""
        session = await self.open(model=model, tools=tools, asked=asked, temperature=temperature, **settings)
        return await session.run(said)


class AgentSession:
    """A session whose client tools and questions are answered here while its runs are read. `session` has the rest."""

    def __init__(
        self,
        client: EndpointClient,
        opened: SessionState,
        tasks: TaskGroup,
        retrying: Retrying,
        *,
        tools: Mapping[str, Tool],
        asked: Asked,
    ) -> None:
        self.session = Session(client, opened.session_id, opened)
        self.id = opened.session_id
        self._client = client
        self._tasks = tasks
        self._retrying = retrying
        self._tools = tools
        self._asked = asked

    async def models(self) -> ModelsResponse:
        """The session's models."""
        return await self.session.models()

    async def switch_model(self, model: str) -> ModelSwitchResponse:
        """The model of later runs."""
        return await self.session.switch_model(model)

    async def run(self, said: Said, *, temperature: None = None, **controls: Unpack[RunControls]) -> RunOutcome:
        """Submits, and returns at the run's terminal. A run that failed at once for want of a credential is submitted
        again after a sign-in, once, where this client signs in at all; what was said then stands in the session twice,
        because a session keeps what was said to it whatever became of the run.
        """
        _verify_agent(temperature, None)
        may_retry = self._retrying.is_possible
        while True:
            told: list[Envelope[Wire]] = []
            async with aclosing(self.stream(said, **controls)) as events:
                told.extend([envelope async for envelope in events])
            outcome = outcome_of(told, self._client.pipe.peer)
            may_retry = may_retry and outcome.error is not None and not any(map(_is_work, told))
            if not may_retry or outcome.error is None or not await self._sign_in(outcome.error.code, controls):
                return outcome
            may_retry = False

    async def stream(
        self, said: Said, *, delivery: str = "auto", temperature: None = None, **controls: Unpack[RunControls]
    ) -> AsyncGenerator[Envelope[Wire]]:
        """Submits, and gives the run's events to its terminal. What the run asks is answered beside the reading, so
        that a reader who takes their time holds nothing up.
        """
        _verify_agent(temperature, None)
        admitted = await self.session.submit(said, delivery=delivery, **controls)
        async with aclosing(self.session.events(run_id=admitted.run_id, after=0)) as events:
            async for envelope in events:
                self._answer(envelope)
                yield envelope

    async def _sign_in(self, code: str, controls: RunControls) -> bool:
        model = controls.get("model_id") or (await self.session.state()).current_model_id or ""
        return await self._retrying.sign_in(code, model)

    def _answer(self, envelope: Envelope[Any]) -> None:
        payload = envelope.payload
        if isinstance(payload, ActionCallRequested):
            if payload.interaction_id is not UNSET and payload.execution_owner == self._client.participant:
                self._tasks.start_soon(_quietly, answer_call, self._client, envelope, self._tools)
        elif isinstance(payload, PermissionRequested):
            self._tasks.start_soon(_quietly, self._permit, envelope)
        elif isinstance(payload, UserInputRequested):
            self._tasks.start_soon(_quietly, self._reply, envelope)

    async def _permit(self, asked: Envelope[PermissionRequested]) -> None:
        if self._asked.permit is None:
            given = Answered(granted=False, reason="nobody is here to be asked")
        else:
            given = await self._asked.permit(asked)
        await self._client.resolve(asked, granted=given.granted, signed=given.signed, reason=given.reason)

    async def _reply(self, asked: Envelope[UserInputRequested]) -> None:
        answers = None if self._asked.answer is None else await self._asked.answer(asked)
        if answers is None:
            await self._client.decline(asked, reason="nobody is here to be asked")
        else:
            await self._client.answer(asked, answers)


def _verify_agent(temperature: object, reasoning_level: object) -> None:
    if temperature is not None:
        details = {"feature": "temperature", "reason": "unsatisfiable"}
        message = "an agent's sampling is its own: a temperature is for asking a model directly"
        raise Refused.because("unsupported_feature", message, details=details)
    if reasoning_level == "minimal":
        details = {"feature": "session.reasoning", "reason": "unsatisfiable"}
        raise Refused.because("unsupported_feature", "no agent promises minimal reasoning", details=details)


def _is_work(envelope: Envelope[Wire]) -> bool:
    """Whether the run had come to anything by then."""
    return envelope.type in ("content.delta", "action.call.requested")


async def _quietly(answer: Callable[..., Awaitable[None]], *arguments: Any) -> None:
    """An answer that came too late, or to an endpoint that is gone, is its run's to tell, not this task's."""
    try:
        await answer(*arguments)
    except (PeerRefused, PeerUnreachable) as error:
        _log.info("answer_not_taken", error=type(error).__name__)
