"""What a run of our own loop is made of: its phases, what can happen to it, what it can want done, its state; all
values. Nothing here decides; `loop.machine` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import msgspec

from sayso.control.adapters.choosing import ANY_TOOL, ToolChoice
from sayso.control.loop.compacting import Cut, Reported
from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolOutcome, ToolSpec
from sayso.control.loop.conversations import Step
from sayso.control.loop.telling import AGENT, PERSON, Owned, Teller
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.action import ActionCallResolveRequest
from sayso.control.protocol.payloads.content import Message, ToolCallPart, ToolResultPart, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.inference import InferenceCreateRequest, ReasoningRequest
from sayso.control.protocol.payloads.interaction import UserAnswer, UserQuestion
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Wire
from sayso.control.protocol.payloads.session import CompactionPolicy
from sayso.control.provider.machine import Inference

__all__ = (
    "Abandon",
    "Abandoned",
    "Answered",
    "Broke",
    "CallTool",
    "Cancel",
    "Command",
    "Compaction",
    "Current",
    "Decision",
    "Effect",
    "Heard",
    "Infer",
    "Keep",
    "LoopRun",
    "Lost",
    "OfferedTool",
    "Phase",
    "Replied",
    "Returned",
    "Shut",
    "Steer",
    "Steered",
    "StopFlight",
    "Tell",
    "Unwound",
    "Worded",
    "Work",
)

Work = Literal["turns", "compaction", "compaction_then_turns"]
"""What a run was admitted for."""


class Phase(Enum):
    """What a run is doing."""

    THINKING = "thinking"
    """One inference is in flight."""
    CALLING = "calling"
    """One tool is in flight."""
    ASKING = "asking"
    """A permission, or questions of the model, wait for the person; nothing is in flight."""
    HANDED = "handed"
    """The client runs one of its own tools."""
    COMPACTING = "compacting"
    """The inference that summarises history is in flight."""
    WINDING = "winding"
    """What was in flight is being stopped."""
    RELEASING = "releasing"
    """The tool sources let go of what they hold."""
    ENDED = "ended"


# --- commands: what happened -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heard:
    """The provider sent an envelope."""

    envelope: ProviderEnvelope[Wire]


@dataclass(frozen=True, slots=True)
class Lost:
    """The provider's stream ended without a terminal, or broke."""

    error: ProtocolError


@dataclass(frozen=True, slots=True)
class Returned:
    """A tool source answered."""

    tool_call_id: str
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class Broke:
    """A tool source raised what it never may, or the conversation could not be kept before its call."""

    tool_call_id: str
    message: str = "a tool broke in a way that is a fault of this program"


@dataclass(frozen=True, slots=True)
class Answered:
    """The person answered the open permission; who and whether was judged before."""

    answer: ToolAnswer


@dataclass(frozen=True, slots=True)
class Replied:
    """The person answered the open questions, and the answers fit; None is that they did not want to."""

    answers: tuple[UserAnswer, ...] | None


@dataclass(frozen=True, slots=True)
class Worded:
    """The client said something about its own tool that counts; `request_id` is the envelope it said it in."""

    request_id: str
    word: ActionCallResolveRequest


@dataclass(frozen=True, slots=True)
class Steered:
    """A steer was admitted into this run."""

    steer: Steer


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody wants the run to end."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Shut:
    """The session ends, and with it the run; nobody cancelled it."""


@dataclass(frozen=True, slots=True)
class Unwound:
    """What was in flight has stopped."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The tool sources have let go."""


Command = Heard | Lost | Returned | Broke | Answered | Replied | Worded | Steered | Cancel | Shut | Unwound | Abandoned

# --- effects: what to do ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell an event."""

    telling: Telling


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep a step of the conversation."""

    step: Step


@dataclass(frozen=True, slots=True)
class Infer:
    """Start an inference under this request id."""

    request_id: str
    request: InferenceCreateRequest


@dataclass(frozen=True, slots=True)
class CallTool:
    """Call a source, once everything kept so far is written."""

    source: str
    call: ToolCall
    answers: tuple[ToolAnswer, ...]


@dataclass(frozen=True, slots=True)
class StopFlight:
    """Stop what is in flight, and report `Unwound` once it has stopped."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """Let the sources release these calls, in this order, and report `Abandoned`."""

    calls: tuple[ToolCall, ...]


Effect = Tell | Keep | Infer | CallTool | StopFlight | Abandon

# --- state -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool, the source it belongs to, and who runs it. The source of a client's tool is a name and nothing more."""

    spec: ToolSpec
    source: str
    owner: str = AGENT


@dataclass(frozen=True, slots=True)
class Steer:
    """An admitted steer that has not settled; its messages have ids."""

    submission_id: str
    request_id: str
    messages: tuple[Message, ...]

    @property
    def message_ids(self) -> tuple[str, ...]:
        """The ids of its messages, in order."""
        return tuple(str(message.id) for message in self.messages)


class Current(msgspec.Struct, frozen=True):
    """The call under way: what was answered so far, and the interaction that is open.

    `questions` are those of the model where it asks the person; `acknowledged` is the envelope in which the client said
    that it began to run its own tool.
    """

    call: ToolCall
    by: Owned
    is_started: bool = False
    answers: tuple[ToolAnswer, ...] = ()
    interaction_id: str | None = None
    questions: tuple[UserQuestion, ...] | None = None
    acknowledged: str | None = None

    @property
    def source(self) -> str:
        """The source that is called."""
        return str(self.by.source)


@dataclass(frozen=True, slots=True)
class Compaction:
    """The compaction under way, and what it summarises."""

    compaction_id: str
    cut: Cut
    is_requested: bool


class LoopRun(msgspec.Struct, frozen=True):
    """One run; a Struct, because a new one is made at every piece of an answer.

    `messages` is the conversation so far, `said` what this run brings to it, `made` every call that reached a source,
    oldest first, `called` the names of all tools called, `used` the ids of all calls of the session, `reported` what
    the vendor last said that history takes up, `window` the model's context window in tokens, `tried` the turn before
    which a compaction was last tried, `summary` what the last one became, `sound` how many messages of history were
    made sound and sent like that.
    """

    session_id: str
    run_id: str
    model_ref: str
    system: str | None
    offers: Mapping[str, OfferedTool]
    max_turns: int
    messages: tuple[Message, ...]
    said: tuple[Message, ...] = ()
    responder: str = PERSON
    work: Work = "turns"
    focus: str | None = None
    instructions: str | None = None
    choice: ToolChoice = ANY_TOOL
    schema: JsonObject | None = None
    reasoning: Maybe[ReasoningRequest] = UNSET
    max_output_tokens: Maybe[int] = UNSET
    policy: Maybe[CompactionPolicy] = UNSET
    window: int | None = None
    reported: Reported | None = None
    phase: Phase = Phase.THINKING
    turn: int = 0
    asked: int = 0
    compacted: int = 0
    tried: int = -1
    inference: Inference = Inference(request_id="")
    queue: tuple[ToolCallPart, ...] = ()
    results: tuple[ToolResultPart, ...] = ()
    current: Current | None = None
    compaction: Compaction | None = None
    summary: Message | None = None
    steers: tuple[Steer, ...] = ()
    made: tuple[ToolCall, ...] = ()
    called: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()
    sound: int = 0
    usage: Maybe[Usage] = UNSET
    ending: Telling | None = None

    @property
    def tell(self) -> Teller:
        """The pen of this run."""
        return Teller(self.session_id, self.run_id, self.responder)

    @property
    def interaction_id(self) -> str | None:
        """The interaction that waits for an answer."""
        return self.current.interaction_id if self.current else None

    @property
    def is_steerable(self) -> bool:
        """Whether another turn can come that would hear a steer."""
        return self.work != "compaction" and self.phase not in (Phase.WINDING, Phase.RELEASING, Phase.ENDED)


@dataclass(frozen=True, slots=True)
class Decision:
    """The run afterwards, and what to do, in order."""

    run: LoopRun
    effects: tuple[Effect, ...] = ()

    def after(self, *effects: Effect) -> Decision:
        """The same decision with these effects before its own."""
        return Decision(self.run, (*effects, *self.effects))
