"""What a run of our own loop is made of: its phases, what can happen to it, what it can want done, its state; all
values. Nothing here decides; `loop.machine` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolOutcome, ToolSpec
from sayso.control.loop.telling import Teller
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import Message, ToolCallPart, ToolResultPart, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.inference import InferenceCreateRequest
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.provider.machine import Inference

__all__ = (
    "Abandon",
    "Abandoned",
    "Answered",
    "Broke",
    "CallTool",
    "Cancel",
    "Command",
    "Current",
    "Decision",
    "Effect",
    "Heard",
    "Infer",
    "LoopRun",
    "Lost",
    "OfferedTool",
    "Phase",
    "Returned",
    "StopFlight",
    "Tell",
    "Unwound",
)


class Phase(Enum):
    """What a run is doing."""

    THINKING = "thinking"
    """One inference is in flight."""
    CALLING = "calling"
    """One tool is in flight."""
    ASKING = "asking"
    """A question waits for the person; nothing is in flight."""
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
    """A tool source raised what it never may."""

    tool_call_id: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The person answered the open question; who and whether was judged before."""

    answer: ToolAnswer


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody wants the run to end."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Unwound:
    """What was in flight has stopped."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The tool sources have let go."""


Command = Heard | Lost | Returned | Broke | Answered | Cancel | Unwound | Abandoned

# --- effects: what to do ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell an event."""

    telling: Telling


@dataclass(frozen=True, slots=True)
class Infer:
    """Start an inference under this request id."""

    request_id: str
    request: InferenceCreateRequest


@dataclass(frozen=True, slots=True)
class CallTool:
    """Call a source."""

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


Effect = Tell | Infer | CallTool | StopFlight | Abandon

# --- state -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool and the source it belongs to."""

    spec: ToolSpec
    source: str


@dataclass(frozen=True, slots=True)
class Current:
    """The call under way: what was answered so far, and the question that is open."""

    call: ToolCall
    source: str
    is_started: bool = False
    answers: tuple[ToolAnswer, ...] = ()
    interaction_id: str | None = None


@dataclass(frozen=True, slots=True)
class LoopRun:
    """One run. `messages` is the conversation so far, `made` every call that reached a source, oldest first."""

    session_id: str
    run_id: str
    model_ref: str
    system: str | None
    offers: Mapping[str, OfferedTool]
    max_turns: int
    messages: tuple[Message, ...]
    phase: Phase = Phase.THINKING
    turn: int = 0
    asked: int = 0
    inference: Inference = field(default_factory=lambda: Inference(request_id=""))
    queue: tuple[ToolCallPart, ...] = ()
    results: tuple[ToolResultPart, ...] = ()
    current: Current | None = None
    made: tuple[ToolCall, ...] = ()
    usage: Maybe[Usage] = UNSET
    ending: Telling | None = None

    @property
    def tell(self) -> Teller:
        """The pen of this run."""
        return Teller(self.session_id, self.run_id)

    @property
    def interaction_id(self) -> str | None:
        """The question that waits for an answer."""
        return self.current.interaction_id if self.current else None


@dataclass(frozen=True, slots=True)
class Decision:
    """The run afterwards, and what to do, in order."""

    run: LoopRun
    effects: tuple[Effect, ...] = ()

    def after(self, *effects: Effect) -> Decision:
        """The same decision with these effects before its own."""
        return Decision(self.run, (*effects, *self.effects))
