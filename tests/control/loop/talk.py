"""A run of the loop driven by hand, for the tests of its decisions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sayso.control.loop.contract import ToolAnswer, ToolAsks, ToolSpec
from sayso.control.loop.conversations import Step
from sayso.control.loop.machine import begin, decide
from sayso.control.loop.questions import ASK_USER
from sayso.control.loop.run import (
    Abandon,
    Abandoned,
    CallTool,
    Cancel,
    Command,
    Decision,
    Effect,
    Heard,
    Infer,
    Keep,
    LoopRun,
    OfferedTool,
    Phase,
    Returned,
    StopFlight,
    Tell,
)
from sayso.control.loop.sources import BUILT_IN_OFFER
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.action import ActionCallResolveRequest
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.inference import InferenceCreateRequest, StopReason
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.writer import InferenceWriter
from sayso.core.ids import CountingIds

SPECS = {
    "look": ToolSpec("look", "looks", {"type": "object"}, {"readOnlyHint": True}),
    "book": ToolSpec("book", "books", {"type": "object"}),
}
OFFERS = {
    **{name: OfferedTool(spec, "tools") for name, spec in SPECS.items()},
    "hers": OfferedTool(ToolSpec("hers", "the client's", {"type": "object"}), "sayso", "user"),
    ASK_USER.name: BUILT_IN_OFFER,
}
QUESTIONS = {"questions": [{"id": "why", "prompt": "Why?", "kind": "text", "required": True}]}
ASKS = ToolAsks("May I?", "May I, in words", b"document", "text/plain", "limits")
YES, NO = ToolAnswer(True, "a.b.c"), ToolAnswer(False)


def new_run(**changes: Any) -> LoopRun:
    run = LoopRun(
        session_id="s1",
        run_id="r1",
        model_ref="m",
        system="now: noon",
        offers=OFFERS,
        max_turns=4,
        messages=(Message(role="user", content="go"),),
    )
    return replace(run, **changes)


def word(effect: Effect) -> str:
    """An effect in a word: what is told, or what is done."""
    match effect:
        case Tell(telling):
            return telling.type
        case Infer(request_id):
            return f"infer {request_id}"
        case CallTool(_, call, answers):
            return f"call {call.name}/{len(answers)}"
        case StopFlight():
            return "stop"
        case Abandon(calls):
            return f"abandon {' '.join(call.name for call in calls)}"
        case Keep(step):
            return f"keep {type(step).__name__}"


class Talk:
    """Drives a run by hand; `said` are the effects' words since the last look."""

    def __init__(self, **changes: Any) -> None:
        self.words: list[str] = []
        self.effects: list[Effect] = []
        self.kept: list[Step] = []
        self.keep(begin(new_run(**changes)))

    def keep(self, decision: Decision) -> None:
        self.run = decision.run
        self.effects += decision.effects
        self.words += [word(effect) for effect in decision.effects if not isinstance(effect, Keep)]
        self.kept += [effect.step for effect in decision.effects if isinstance(effect, Keep)]

    def send(self, command: Command) -> None:
        self.keep(decide(self.run, command))

    @property
    def said(self) -> list[str]:
        words, self.words = self.words, []
        return words

    def told(self) -> Any:
        """The last payload that was told."""
        return [effect.telling.payload for effect in self.effects if isinstance(effect, Tell)][-1]

    def turn(self, *parts: tuple[str, Any], reason: StopReason | None = None, usage: Any = None) -> None:
        """The model's whole turn: `("say", text)` or `(tool, arguments)`."""
        payload = InferenceCreateRequest(model_ref="m", messages=())
        request_id = self.run.inference.request_id
        request = ProviderEnvelope(type="inference.create.request", id=request_id, payload=payload)
        writer = InferenceWriter(request, CountingIds())
        written: list[ProviderEnvelope[Wire]] = [writer.accept(), writer.start()]
        for kind, content in parts:
            written += writer.text(content) if kind == "say" else writer.tool_call(kind, content, tool_call_id=kind)
        for envelope in (*written, writer.complete(reason, *([usage] if usage else []))):
            self.send(Heard(envelope))


def resolve(tool_call_id: str, **said: Any) -> ActionCallResolveRequest:
    """What the client says of its own tool in the run's first interaction."""
    return ActionCallResolveRequest(
        interaction_id="r1.q1",
        session_id="s1",
        run_id="r1",
        tool_call_id=tool_call_id,
        requested_by="agent",
        responded_by="user",
        **said,
    )


LONG = tuple(Message(role=role, content=f"{role} {number}") for number in range(3) for role in ("user", "assistant"))
"""A conversation of three turns: something to summarise."""


def at(phase: Phase, *, asks_questions: bool = False) -> LoopRun:
    """A run that has come to this phase."""
    talk = Talk(**({"work": "compaction_then_turns", "messages": LONG} if phase is Phase.COMPACTING else {}))
    if phase is Phase.HANDED:
        talk.turn(("hers", {}))
    elif asks_questions:
        talk.turn((ASK_USER.name, QUESTIONS))
    elif phase not in (Phase.THINKING, Phase.COMPACTING):
        talk.turn(("book", {}))
    if phase in (Phase.ASKING, Phase.RELEASING, Phase.ENDED) and not asks_questions:
        talk.send(Returned("book", ASKS))
    if phase in (Phase.WINDING, Phase.RELEASING, Phase.ENDED):
        talk.send(Cancel())
    if phase is Phase.ENDED:
        talk.send(Abandoned())
    assert talk.run.phase is phase
    return talk.run
