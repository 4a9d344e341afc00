"""One stretch of a run: its beats are played from where it stands to the next wait or its end.

What is told in one stretch is told at once; a wait is a phase in the run's state, never a suspended function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sayso.control.adapters.choosing import may_call
from sayso.control.adapters.reference.offering import AGENT, FIXED_RESULT, SOURCE, WINDOW
from sayso.control.adapters.reference.script import STREAMED, Beat, text_of_last
from sayso.control.adapters.reference.talk import Call, Gate, MemoryRun, MemorySession, Phase, tokens_of
from sayso.control.adapters.reference.telling import Teller
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.compaction import CompactionReason
from sayso.control.protocol.payloads.content import Message, ReasoningPart, TextPart, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.interaction import UserOption, UserQuestion
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe
from sayso.control.protocol.payloads.steer import SteerBoundary

__all__ = ("QUESTIONS", "Scene")

QUESTIONS = (
    UserQuestion(
        id="colour",
        prompt="Which colour?",
        kind="single_choice",
        required=True,
        options=(UserOption(id="red", label="Red"), UserOption(id="blue", label="Blue")),
    ),
    UserQuestion(id="why", prompt="Why?", kind="text", required=False),
)
_ASKS_FIRST = "write_note"
_AUTO_SHARE = 80


class Scene:
    """Plays one run of a session; afterwards `session` and `tellings` are what came of it."""

    def __init__(self, session: MemorySession, run: MemoryRun) -> None:
        self.session = session
        self.run = run
        self.tellings: list[tuple[str, Telling]] = []
        self._tell = Teller(session.session_id, run.run_id, run.responder)

    @property
    def tell(self) -> Teller:
        """Writes this run's tellings."""
        return self._tell

    def emit(self, *tellings: Telling) -> None:
        """Tells, and counts what was told."""
        for telling in tellings:
            self.tellings.append((self.run.run_id, telling))
            self.change(told=self.run.told + 1)

    def change(self, **members: Any) -> None:
        """Changes the run, in the session too."""
        self.run = replace(self.run, **members)
        self.session = self.session.with_run(self.run)

    def mint(self, prefix: str) -> str:
        """A fresh id."""
        name, self.session = self.session.mint(prefix)
        return name

    def play(self) -> None:
        """Beats, until one waits or ends the run."""
        self.change(phase=Phase.HOLDING)
        while self.run.beats:
            beat, *rest = self.run.beats
            self.change(beats=tuple(rest))
            if _BEATS[beat](self):
                return

    # --- text ---

    def _think(self) -> bool:
        level = self.session.reasoning_level
        if level != "off":
            self.emit(self._tell.delta(ReasoningPart(reasoning=f"Thinking, level {level}."), self.mint("m")))
        return False

    def _say(self) -> bool:
        self.emit(self._tell.delta(TextPart(text=f"Heard: {self._said}"), self.mint("m")))
        return False

    def _stream(self) -> bool:
        message_id = self.mint("m")
        self.emit(*(self._tell.delta(TextPart(text=f"{count} "), message_id) for count in range(1, STREAMED + 1)))
        return False

    @property
    def _said(self) -> str:
        return text_of_last(self.run.messages) if self.run.messages else "nothing new"

    # --- tools ---

    def _tool(self) -> bool:
        owned = [tool for tool in self.session.tools if tool.execution_owner == AGENT and self._may_call(tool)]
        tool = next((tool for tool in owned if tool.name == _ASKS_FIRST), owned[0] if owned else None)
        if tool is None:
            return False
        call = Call(self.mint("t"), tool, {"text": self._said} if tool.source == SOURCE else {})
        self.change(call=call, called=self.run.called + 1)
        self.emit(self._tell.call_requested(call))
        if tool.name == _ASKS_FIRST:
            gate = Gate(self.mint("i"), call.tool_call_id)
            self.change(gate=gate, phase=Phase.PERMITTING)
            self.emit(self._tell.permission_asked(gate, call), self._tell.status("waiting_for_input"))
            return True
        self.finish_call()
        return False

    def finish_call(self) -> None:
        """Runs the open tool of the endpoint and tells what it gave."""
        call = self.run.call
        if call is not None:
            result = {"tool": call.tool.name, "arguments": call.arguments}
            self.emit(self._tell.call_started(call), self._tell.call_completed(call, result))
            self.change(call=None)
            self.take_steers("tool_result")

    def _provided(self) -> bool:
        provided = [tool for tool in self.session.tools if tool.execution_owner != AGENT and self._may_call(tool)]
        if not provided:
            return False
        call = Call(self.mint("t"), provided[0], {"text": self._said})
        gate = Gate(self.mint("i"), call.tool_call_id)
        self.change(call=call, gate=gate, phase=Phase.CALLING, called=self.run.called + 1)
        self.emit(self._tell.call_requested(call, gate.interaction_id), self._tell.status("waiting_for_input"))
        return True

    def _may_call(self, tool: ToolDefinition) -> bool:
        return may_call(self.run.controls.choice, tool.name)

    def _owes_call(self) -> bool:
        return self.run.controls.choice.mode in ("required", "named") and not self.run.called

    # --- waits ---

    def _ask(self) -> bool:
        gate = Gate(self.mint("i"))
        self.change(gate=gate, phase=Phase.ASKING)
        self.emit(
            self._tell.questions_asked(gate, QUESTIONS), self._tell.status("waiting_for_input", gate.interaction_id)
        )
        return True

    def _hold(self) -> bool:
        return True

    def take_steers(self, boundary: SteerBoundary) -> None:
        """Applies every steer that waits; a compaction held open takes none."""
        for steer in self.run.steers:
            self.emit(self._tell.steer_applied(steer, boundary))
            self.change(heard=(*self.run.heard, steer.text))
        self.change(steers=())

    # --- compactions ---

    def _threshold(self) -> bool:
        limit = self._limit()
        return limit is not None and tokens_of(self.session.history) >= limit and self._compact("threshold")

    def _limit(self) -> int | None:
        policy = self.session.policy
        if policy.kind == "tokens":
            return int(policy.tokens or 0)
        share = policy.share_percent if policy.kind == "share" else _AUTO_SHARE
        return None if policy.kind == "off" else WINDOW * int(share or 0) // 100

    def _overflow(self) -> bool:
        return self._compact("overflow")

    def _requested(self) -> bool:
        return self._compact("requested")

    def _compact(self, reason: CompactionReason) -> bool:
        compaction_id = self.mint("c")
        self.change(compaction_id=compaction_id)
        self.emit(self._tell.compaction_started(compaction_id, reason, tokens_of(self.session.history)))
        if self.run.focus == "script: hold":
            self.change(phase=Phase.COMPACTING)
            return True
        self.change(compaction_id=None)
        if self.run.focus == "script: fail":
            error = ProtocolError(code="endpoint_error", message="the script says that the compaction fails")
            self.emit(self._tell.compaction_ended(compaction_id, "failed", error=error))
            return self._fail_with(error)
        about = f" about {self.run.focus}" if self.run.focus else ""
        text = f"Summary of {len(self.session.history)} messages{about}"
        summary = Message(id=self.mint("m"), role="assistant", content=text)
        self.session = replace(self.session, history=(summary,))
        self.change(summary=summary)
        tokens = tokens_of(self.session.history)
        self.emit(self._tell.compaction_ended(compaction_id, "completed", summary=summary, tokens=tokens))
        return False

    # --- ends ---

    def _fail(self) -> bool:
        return self._fail_with(ProtocolError(code="endpoint_error", message="the script says that the run fails"))

    def _fail_with(self, error: ProtocolError) -> bool:
        self.close_open()
        self.end(self._tell.failed(error), self.run.messages)
        return True

    def _compacted(self) -> bool:
        final = self.run.summary or Message(id=self.mint("m"), role="assistant", content="")
        self.end(self._tell.completed(final, "compacted", self.run.model_id, self._usage(final), UNSET), ())
        return True

    def _finish(self) -> bool:
        if self._owes_call():
            self.change(beats=(Beat.TOOL, Beat.PROVIDED, Beat.FINISH))
            return False
        self.take_steers("turn")
        parts = [f"Done: {self._said}"]
        if self.run.controls.instructions is not None:
            parts.append(f"As told: {self.run.controls.instructions}")
        parts += [f"Steered: {text}" for text in self.run.heard]
        final = Message(id=self.mint("m"), role="assistant", content="\n".join(parts))
        result: Maybe[JsonObject] = dict(FIXED_RESULT) if self.run.controls.has_schema else UNSET
        completed = self._tell.completed(final, "end_turn", self.run.model_id, self._usage(final), result)
        self.end(completed, (*self.run.messages, final))
        return True

    def _usage(self, final: Message) -> Usage:
        asked, said = tokens_of(self.session.history) + tokens_of(self.run.messages), tokens_of((final,))
        return Usage(input_tokens=asked, output_tokens=said, total_tokens=asked + said)

    def close_open(self) -> None:
        """Closes what is open, innermost first: questions, the call, a compaction, then steers."""
        run = self.run
        if run.gate is not None and run.phase is Phase.ASKING:
            self.emit(self._tell.questions_closed(run.gate, UNSET))
        if run.gate is not None and run.phase is Phase.PERMITTING:
            self.emit(self._tell.permission_closed(run.gate, "cancelled"))
        if run.call is not None:
            gate = run.gate if run.phase is Phase.CALLING else None
            self.emit(self._tell.call_cancelled(run.call, gate))
            self.settle(gate)
        if run.compaction_id is not None:
            self.emit(self._tell.compaction_ended(run.compaction_id, "cancelled"))
        self.emit(*(self._tell.steer_dropped(steer) for steer in run.steers))
        self.change(gate=None, call=None, compaction_id=None, steers=())

    def settle(self, gate: Gate | None) -> None:
        """Remembers the event just told as what settled the client's call."""
        if gate is not None:
            mark = f"{self.run.run_id}#{self.run.told}"
            self.change(settled={**self.run.settled, gate.interaction_id: mark})

    def end(self, terminal: Telling, said: tuple[Message, ...]) -> None:
        """Tells the terminal; `said` joins the history."""
        self.emit(terminal)
        self.change(phase=Phase.ENDED, ending=terminal.type, beats=())
        self.session = replace(self.session, history=(*self.session.history, *said))


_BEATS: Mapping[Beat, Callable[[Scene], bool]] = {
    Beat.THINK: Scene._think,
    Beat.SAY: Scene._say,
    Beat.STREAM: Scene._stream,
    Beat.THRESHOLD: Scene._threshold,
    Beat.OVERFLOW: Scene._overflow,
    Beat.TOOL: Scene._tool,
    Beat.PROVIDED: Scene._provided,
    Beat.ASK: Scene._ask,
    Beat.HOLD: Scene._hold,
    Beat.FAIL: Scene._fail,
    Beat.REQUESTED: Scene._requested,
    Beat.COMPACTED: Scene._compacted,
    Beat.FINISH: Scene._finish,
}
"""Each tells whether the run now waits or has ended."""
