"""The calls of one turn, one after the other: opened, asked about, handed to the client, ended with a result.

Four kinds of call are told apart when they are opened: one the loop answers itself, because no such tool can be called
so; the loop's own tool, which asks the person; a tool of the client, which is handed over as an interaction; and any
other, which a source is called for. What the run's filter excludes is answered without a word to anybody but the
model: the run was admitted without those tools.

A decision that leaves a run calling without a call is the end of the turn's calls; `machine` goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from sayso.control.adapters.choosing import may_call
from sayso.control.loop.contract import ToolAsks, ToolCall, ToolDone
from sayso.control.loop.conversations import CallEnded, CallRequested
from sayso.control.loop.questions import ASK_USER, BUILT_IN, DECLINED, read_asking, result_of
from sayso.control.loop.run import (
    Answered,
    CallTool,
    Current,
    Decision,
    Effect,
    Keep,
    LoopRun,
    OfferedTool,
    Phase,
    Replied,
    Returned,
    Tell,
    Worded,
)
from sayso.control.loop.telling import AGENT, Owned, failure_of
from sayso.control.protocol.payloads.content import ToolCallPart, ToolResultPart
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.core.refusal import Refused

__all__ = ("answered", "next_call", "replied", "returned", "returned_late", "worded")

_EXCLUDED = {"error": "tool_not_allowed", "message": "this tool is not offered in this run"}

# --- opening ---------------------------------------------------------------------------------------------------------


def next_call(run: LoopRun) -> Decision:
    """Opens calls until one is under way, or none is left."""
    effects: tuple[Effect, ...] = ()
    while run.queue and run.current is None:
        part, run = run.queue[0], replace(run, queue=run.queue[1:], phase=Phase.CALLING)
        opened = _open(run, part)
        run, effects = opened.run, (*effects, *opened.effects)
    if run.current is None:
        run = replace(run, phase=Phase.CALLING)
    return Decision(run, effects)


def _open(run: LoopRun, part: ToolCallPart) -> Decision:
    given = part.arguments_json if isinstance(part.arguments_json, Mapping) else {}
    call = ToolCall(part.tool_call_id, part.name, given, run.session_id, run.run_id)
    if not may_call(run.choice, part.name):
        return _with_result(run, call, _EXCLUDED, is_error=True)
    offer = run.offers.get(part.name)
    if offer is None:
        return _refuse(run, part, call, "unknown_tool", f"there is no tool named {part.name}")
    run = replace(run, called=run.called | {part.name})
    if not isinstance(part.arguments_json, Mapping):
        return _refuse(run, part, call, "invalid_arguments", f"the arguments of {part.name} are no JSON object")
    if offer.source == BUILT_IN and part.name == ASK_USER.name:
        return _ask_questions(run, part, call)
    if offer.owner != AGENT:
        return _hand_over(run, call, offer)
    return _make(run, call, offer)


def _refuse(run: LoopRun, part: ToolCallPart, call: ToolCall, code: str, message: str) -> Decision:
    """The loop answers itself; no source sees the call."""
    offer = run.offers.get(part.name)
    by = Owned() if offer is None else Owned(offer.source)
    error = ProtocolError(code=code, message=message)
    requested = Tell(run.tell.call_requested(call, part.arguments_json, by))
    failed = Tell(run.tell.call_failed(call, error, by))
    ended = _with_result(run, call, {"error": code, "message": message}, is_error=True)
    return ended.after(requested, failed)


def _make(run: LoopRun, call: ToolCall, offer: OfferedTool) -> Decision:
    by = Owned(offer.source)
    starts = offer.spec.annotations.get("readOnlyHint") is True
    effects: list[Effect] = [Tell(run.tell.call_requested(call, call.arguments, by))]
    if starts:
        effects.append(Tell(run.tell.call_started(call, by)))
    run = replace(run, current=Current(call, by, is_started=starts), made=(*run.made, call))
    effects += (Keep(CallRequested(tool_call_id=call.tool_call_id)), CallTool(offer.source, call, ()))
    return Decision(run, tuple(effects))


def _ask_questions(run: LoopRun, part: ToolCallPart, call: ToolCall) -> Decision:
    try:
        asking = read_asking(call.arguments)
    except Refused as refused:
        return _refuse(run, part, call, refused.refusal.code, refused.refusal.message)
    by, tell = Owned(BUILT_IN), run.tell
    run, name = _with_interaction(run)
    current = Current(call, by, is_started=True, interaction_id=name, questions=asking.questions)
    title = asking.title or asking.questions[0].prompt
    return Decision(
        replace(run, phase=Phase.ASKING, current=current),
        (
            Tell(tell.call_requested(call, call.arguments, by)),
            Tell(tell.call_started(call, by)),
            Tell(tell.questions_asked(call, asking.questions, title, name)),
            Tell(tell.status("waiting_for_input", name)),
        ),
    )


def _hand_over(run: LoopRun, call: ToolCall, offer: OfferedTool) -> Decision:
    run, name = _with_interaction(run)
    by = Owned(offer.source, offer.owner, name)
    current = Current(call, by, interaction_id=name)
    return Decision(
        replace(run, phase=Phase.HANDED, current=current),
        (
            Keep(CallRequested(tool_call_id=call.tool_call_id)),
            Tell(run.tell.call_requested(call, call.arguments, by)),
            Tell(run.tell.status("waiting_for_input")),
        ),
    )


def _with_interaction(run: LoopRun) -> tuple[LoopRun, str]:
    number = run.asked + 1
    return replace(run, asked=number), f"{run.run_id}.q{number}"


def _with_result(run: LoopRun, call: ToolCall, result: object, *, is_error: bool) -> Decision:
    part = ToolResultPart(tool_call_id=call.tool_call_id, result=result, is_error=True if is_error else UNSET)
    return Decision(replace(run, current=None, results=(*run.results, part)), (Keep(CallEnded(result=part)),))


# --- what a source answers -------------------------------------------------------------------------------------------


def returned(run: LoopRun, command: Returned) -> Decision:
    """The source did its work, or says what a person must be asked."""
    current = run.current
    if current is None or command.tool_call_id != current.call.tool_call_id:
        return Decision(run)
    if isinstance(command.outcome, ToolDone):
        ended = _ended(run, current, command.outcome)
        return next_call(ended.run).after(*ended.effects)
    return _ask(run, current, command.outcome)


def returned_late(run: LoopRun, command: Returned) -> Decision:
    """A call that finished although it was told to stop has happened, and is told."""
    current = run.current
    if current is None or command.tool_call_id != current.call.tool_call_id or isinstance(command.outcome, ToolAsks):
        return Decision(run)
    return _ended(run, current, command.outcome)


def _ended(run: LoopRun, current: Current, done: ToolDone) -> Decision:
    """The run with the call ended as it really ended, and the telling of it."""
    tell, call = run.tell, current.call
    effects: tuple[Effect, ...]
    if done.is_error:
        last = current.answers[-1] if current.answers else None
        effects = (Tell(tell.call_failed(call, failure_of(done.result, last), current.by)),)
    else:
        effects = (Tell(tell.call_completed(call, done.result, current.by)),)
        if not current.is_started:
            effects = (Tell(tell.call_started(call, current.by)), *effects)
    ended = _with_result(run, call, done.result, is_error=done.is_error)
    return Decision(ended.run, (*ended.effects, *effects))


def _ask(run: LoopRun, current: Current, asks: ToolAsks) -> Decision:
    run, name = _with_interaction(run)
    after = replace(run, phase=Phase.ASKING, current=replace(current, interaction_id=name))
    asked = Tell(run.tell.asked(current.call, asks, name))
    return Decision(after, (asked, Tell(run.tell.status("waiting_for_input"))))


# --- what people and clients answer ----------------------------------------------------------------------------------


def answered(run: LoopRun, command: Answered) -> Decision:
    """A permission was answered: yes or no goes to the source, which decides what it means."""
    current, granted = run.current, command.answer.granted
    if current is None or current.interaction_id is None or current.questions is not None:
        return Decision(run)
    tell = run.tell
    effects: list[Effect] = [
        Tell(tell.answered(current.call, current.interaction_id, granted=granted)),
        Tell(tell.status("running")),
    ]
    answers = (*current.answers, command.answer)
    after = replace(current, interaction_id=None, answers=answers, is_started=current.is_started or granted)
    if after.is_started and not current.is_started:
        effects.append(Tell(tell.call_started(current.call, current.by)))
    effects.append(CallTool(current.source, current.call, answers))
    return Decision(replace(run, phase=Phase.CALLING, current=after), tuple(effects))


def replied(run: LoopRun, command: Replied) -> Decision:
    """The model's questions were answered, or not: either is the tool's result."""
    current, answers = run.current, command.answers
    if current is None or current.interaction_id is None or current.questions is None:
        return Decision(run)
    tell = run.tell
    result: object = DECLINED if answers is None else result_of(answers)
    closing: tuple[Effect, ...] = (
        Tell(tell.questions_closed(current.interaction_id, answers)),
        Tell(tell.status("running")),
        Tell(tell.call_completed(current.call, result, current.by)),
    )
    ended = _with_result(run, current.call, result, is_error=False)
    return next_call(ended.run).after(*ended.effects, *closing)


def worded(run: LoopRun, command: Worded) -> Decision:
    """The client says that its tool began, or how it ended."""
    current, word, request_id = run.current, command.word, command.request_id
    if current is None:
        return Decision(run)
    tell, call, by = run.tell, current.call, current.by
    started = Tell(tell.call_started(call, by, request_id))
    if word.started is not UNSET:
        return Decision(replace(run, current=replace(current, acknowledged=request_id, is_started=True)), (started,))
    closing: tuple[Effect, ...] = () if current.is_started else (started,)
    if word.error is not UNSET:
        closing = (*closing, Tell(tell.call_failed(call, word.error, by, request_id)))
        result: object = {"error": word.error.code, "message": word.error.message}
    else:
        closing = (*closing, Tell(tell.call_completed(call, word.result, by, request_id)))
        result = word.result
    ended = _with_result(run, call, result, is_error=word.error is not UNSET)
    return next_call(ended.run).after(*ended.effects, *closing, Tell(tell.status("running")))
