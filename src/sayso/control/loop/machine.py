"""One run of our own loop, as decisions: what was said or happened goes in, what to tell and do next comes out.

Theory. A run alternates between the model's turns and the calls they make, one call after the other. While it *thinks*
one inference is in flight; while it *calls* one tool is; while it *asks* nothing is, and the question stands in the
state until the person answers, for however long. Each of the three can be left for *winding*: a cancel, a failure or a
broken provider stops what is in flight and waits until that has really stopped. Then, *releasing*, the tool sources
let go of what the run's calls still hold, the open call closes, and only then the terminal is told. So nothing of a run
happens after its end, and no hold outlives it.

A late report (an inference that was stopped, a tool that finished anyway) can come in every phase. While winding, a
call that finished is still told, because it happened; anywhere else a late report is dropped, by the table.

Coupled: the inference (`control.provider.machine`), judged on every envelope heard; the legality of what is told
(`control.protocol.machine`), judged by whoever carries it. The driver keeps time, tasks and numbers. Ids a decision
needs are made from the run's own id, so the same commands always give the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from sayso.control.loop.contract import ToolAsks, ToolCall, ToolDone
from sayso.control.loop.history import calls_in, repair
from sayso.control.loop.reducer import TurnEnded, TurnFailed, add_usage, hear, spoken
from sayso.control.loop.run import (
    Abandon,
    Abandoned,
    Answered,
    Broke,
    CallTool,
    Cancel,
    Command,
    Current,
    Decision,
    Effect,
    Heard,
    Infer,
    LoopRun,
    Lost,
    Phase,
    Returned,
    StopFlight,
    Tell,
    Unwound,
)
from sayso.control.loop.telling import failure_of
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.codes import protocol_error
from sayso.control.protocol.payloads.content import Message, ToolCallPart, ToolResultPart, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.inference import InferenceCreateRequest, InferenceTool
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.control.provider.machine import Inference
from sayso.core.refusal import Refused

__all__ = ("TABLE", "begin", "decide")

_STOP_REASONS = {"stop": "end_turn", "tool_use": "end_turn"}
"""How a turn's stop reason is told as the run's; the others keep their names."""
_BROKEN = {"error": "endpoint_error", "aborted": "aborted"}
_MAY_CALL = ("tool_use", "stop")

# --- steps -----------------------------------------------------------------------------------------------------------


def begin(run: LoopRun) -> Decision:
    """The first decision of a run."""
    return _think(run).after(Tell(run.tell.started(run.model_ref)))


def decide(run: LoopRun, command: Command) -> Decision:
    """What one command changes; a pair outside the table is a late report and changes nothing."""
    act = TABLE.get((run.phase, type(command)))
    return act(run, command) if act else Decision(run)


def _think(run: LoopRun) -> Decision:
    if run.turn >= run.max_turns:
        error = ProtocolError(code="turn_limit", message=f"the run used its {run.max_turns} turns without an answer")
        return _release(replace(run, ending=run.tell.failed(error)))
    turn = run.turn + 1
    request_id = f"{run.run_id}.{turn}"
    after = replace(run, phase=Phase.THINKING, turn=turn, inference=Inference(request_id=request_id))
    return Decision(after, (Infer(request_id, _request(after)),))


def _request(run: LoopRun) -> InferenceCreateRequest:
    system = (Message(role="system", content=run.system),) if run.system else ()
    specs = [offer.spec for offer in run.offers.values()]
    tools = tuple(
        InferenceTool(name=spec.name, description=spec.description, input_schema=spec.input_schema) for spec in specs
    )
    return InferenceCreateRequest(
        model_ref=run.model_ref, messages=(*system, *repair(run.messages)), tools=tools or UNSET, stream=True
    )


def _heard(run: LoopRun, command: Heard) -> Decision:
    try:
        heard = hear(run.inference, command.envelope)
    except Refused as refused:
        return _wind(run, run.tell.failed(protocol_error(refused.refusal)))
    run = replace(run, inference=heard.inference)
    if isinstance(heard.end, TurnEnded):
        return _turn_ended(run, heard.end)
    if isinstance(heard.end, TurnFailed):
        run = replace(run, usage=add_usage(run.usage, heard.end.usage))
        return _wind(run, run.tell.failed(heard.end.error))
    if heard.delta is None:
        return Decision(run)
    return Decision(run, (Tell(run.tell.delta(heard.delta, f"{run.run_id}.m{run.turn}")),))


def _turn_ended(run: LoopRun, end: TurnEnded) -> Decision:
    run = replace(run, usage=add_usage(run.usage, end.usage))
    if end.stop_reason in _BROKEN:
        error = ProtocolError(code=_BROKEN[end.stop_reason], message=f"the model stopped: {end.stop_reason}")
        return _wind(run, run.tell.failed(error))
    message = _with_own_ids(end.message, run.messages)
    run = replace(run, messages=(*run.messages, message))
    calls = calls_in(message)
    if calls and end.stop_reason in _MAY_CALL:
        return _next_call(replace(run, phase=Phase.CALLING, queue=calls, results=()))
    final = msgspec.structs.replace(spoken(message), id=f"{run.run_id}.m{run.turn}")
    reason = _STOP_REASONS.get(end.stop_reason, end.stop_reason)
    ended = replace(run, phase=Phase.ENDED)
    return Decision(ended, (Tell(run.tell.completed(final, reason, run.model_ref, run.usage)),))


def _with_own_ids(message: Message, before: tuple[Message, ...]) -> Message:
    """The message with no tool call id used twice in the session: some models count from zero in every turn."""
    used = {call.tool_call_id for earlier in before for call in calls_in(earlier)}
    if isinstance(message.content, str):
        return message
    parts = []
    for part in message.content:
        if isinstance(part, ToolCallPart):
            name, count = part.tool_call_id, 1
            while name in used:
                count += 1
                name = f"{part.tool_call_id}.{count}"
            used.add(name)
            part = msgspec.structs.replace(part, tool_call_id=name)
        parts.append(part)
    return msgspec.structs.replace(message, content=tuple(parts))


def _next_call(run: LoopRun) -> Decision:
    effects: list[Effect] = []
    while run.queue:
        part, run = run.queue[0], replace(run, queue=run.queue[1:])
        offer, arguments = run.offers.get(part.name), part.arguments_json
        given = arguments if isinstance(arguments, Mapping) else {}
        call = ToolCall(part.tool_call_id, part.name, given, run.session_id, run.run_id)
        source: Maybe[str] = UNSET if offer is None else offer.source
        effects.append(Tell(run.tell.call_requested(call, arguments, source)))
        if offer is None or not isinstance(arguments, Mapping):
            error = _refused_call(part, is_known=offer is not None)
            effects.append(Tell(run.tell.call_failed(call, error, source)))
            run = _with_result(run, call, {"error": error.code, "message": error.message}, is_error=True)
            continue
        starts = offer.spec.annotations.get("readOnlyHint") is True
        if starts:
            effects.append(Tell(run.tell.call_started(call, source)))
        current = Current(call, offer.source, is_started=starts)
        run = replace(run, phase=Phase.CALLING, current=current, made=(*run.made, call))
        return Decision(run, (*effects, CallTool(offer.source, call, ())))
    said = Message(role="tool", content=run.results)
    return _think(replace(run, messages=(*run.messages, said), results=())).after(*effects)


def _refused_call(part: ToolCallPart, *, is_known: bool) -> ProtocolError:
    if is_known:
        return ProtocolError(code="invalid_arguments", message=f"the arguments of {part.name} are no JSON object")
    return ProtocolError(code="unknown_tool", message=f"there is no tool named {part.name}")


def _with_result(run: LoopRun, call: ToolCall, result: object, *, is_error: bool) -> LoopRun:
    part = ToolResultPart(tool_call_id=call.tool_call_id, result=result, is_error=True if is_error else UNSET)
    return replace(run, results=(*run.results, part))


def _returned(run: LoopRun, command: Returned) -> Decision:
    current = run.current
    if current is None or command.tool_call_id != current.call.tool_call_id:
        return Decision(run)
    if isinstance(command.outcome, ToolDone):
        after, effects = _closed(run, current, command.outcome)
        return _next_call(after).after(*effects)
    return _ask(run, current, command.outcome)


def _closed(run: LoopRun, current: Current, done: ToolDone) -> tuple[LoopRun, tuple[Effect, ...]]:
    """The run with the call ended as it really ended, and the telling of it."""
    tell, call = run.tell, current.call
    if done.is_error:
        last = current.answers[-1] if current.answers else None
        effects: tuple[Effect, ...] = (Tell(tell.call_failed(call, failure_of(done.result, last), current.source)),)
    else:
        effects = (Tell(tell.call_completed(call, done.result, current.source)),)
        if not current.is_started:
            effects = (Tell(tell.call_started(call, current.source)), *effects)
    return _with_result(replace(run, current=None), call, done.result, is_error=done.is_error), effects


def _ask(run: LoopRun, current: Current, asks: ToolAsks) -> Decision:
    number = run.asked + 1
    interaction_id = f"{run.run_id}.q{number}"
    after = replace(run, phase=Phase.ASKING, asked=number, current=replace(current, interaction_id=interaction_id))
    tell = run.tell
    asked = Tell(tell.asked(current.call, asks, interaction_id))
    return Decision(after, (asked, Tell(tell.status("waiting_for_input"))))


def _answered(run: LoopRun, command: Answered) -> Decision:
    current, granted = run.current, command.answer.granted
    if current is None or current.interaction_id is None:
        return Decision(run)
    tell = run.tell
    effects: list[Effect] = [
        Tell(tell.answered(current.call, current.interaction_id, granted=granted)),
        Tell(tell.status("running")),
    ]
    answers = (*current.answers, command.answer)
    after = replace(current, interaction_id=None, answers=answers, is_started=current.is_started or granted)
    if after.is_started and not current.is_started:
        effects.append(Tell(tell.call_started(current.call, current.source)))
    effects.append(CallTool(current.source, current.call, answers))
    return Decision(replace(run, phase=Phase.CALLING, current=after), tuple(effects))


def _lost(run: LoopRun, command: Lost) -> Decision:
    return _wind(run, run.tell.failed(command.error))


def _broke(run: LoopRun, command: Broke) -> Decision:
    error = ProtocolError(code="internal", message="a tool broke in a way that is a fault of this program")
    return _wind(run, run.tell.failed(error))


def _cancel(run: LoopRun, command: Cancel) -> Decision:
    status, ending = Tell(run.tell.status("cancelling")), run.tell.cancelled(command.reason)
    if run.phase is not Phase.ASKING or run.current is None:
        return _wind(run, ending).after(status)
    closed = run.tell.unanswered(run.current.call, str(run.current.interaction_id))
    run = replace(run, current=replace(run.current, interaction_id=None), ending=ending)
    return _release(run).after(status, Tell(closed))


def _wind(run: LoopRun, ending: Telling) -> Decision:
    return Decision(replace(run, phase=Phase.WINDING, ending=ending), (StopFlight(),))


def _heard_late(run: LoopRun, command: Heard) -> Decision:
    """While winding only the tokens of a stopped inference still count."""
    try:
        heard = hear(run.inference, command.envelope)
    except Refused:
        return Decision(run)
    spent = heard.end.usage if heard.end else UNSET
    return Decision(replace(run, inference=heard.inference, usage=add_usage(run.usage, spent)))


def _returned_late(run: LoopRun, command: Returned) -> Decision:
    """A call that finished although it was told to stop has happened, and is told."""
    current = run.current
    if current is None or command.tool_call_id != current.call.tool_call_id or isinstance(command.outcome, ToolAsks):
        return Decision(run)
    return Decision(*_closed(run, current, command.outcome))


def _unwound(run: LoopRun, command: Unwound) -> Decision:
    return _release(run)


def _release(run: LoopRun) -> Decision:
    run = replace(run, phase=Phase.RELEASING)
    return Decision(run, (Abandon(tuple(reversed(run.made))),)) if run.made else _finish(run)


def _abandoned(run: LoopRun, command: Abandoned) -> Decision:
    return _finish(run)


def _finish(run: LoopRun) -> Decision:
    effects: list[Effect] = []
    if run.current is not None:
        effects.append(Tell(run.tell.call_cancelled(run.current.call, run.current.source)))
    if run.results:
        run = replace(run, messages=(*run.messages, Message(role="tool", content=run.results)), results=())
    if run.ending is not None:
        effects.append(Tell(_with_usage(run.ending, run.usage)))
    return Decision(replace(run, phase=Phase.ENDED, current=None, queue=()), tuple(effects))


def _with_usage(ending: Telling, usage: Maybe[Usage]) -> Telling:
    """The terminal with the tokens spent until then."""
    return replace(ending, payload=msgspec.structs.replace(ending.payload, usage=usage))


# --- tables ----------------------------------------------------------------------------------------------------------

TABLE: Mapping[tuple[Phase, type], Callable[[LoopRun, Any], Decision]] = {
    (Phase.THINKING, Heard): _heard,
    (Phase.THINKING, Lost): _lost,
    (Phase.THINKING, Cancel): _cancel,
    (Phase.CALLING, Returned): _returned,
    (Phase.CALLING, Broke): _broke,
    (Phase.CALLING, Cancel): _cancel,
    (Phase.ASKING, Answered): _answered,
    (Phase.ASKING, Cancel): _cancel,
    (Phase.WINDING, Heard): _heard_late,
    (Phase.WINDING, Returned): _returned_late,
    (Phase.WINDING, Unwound): _unwound,
    (Phase.RELEASING, Abandoned): _abandoned,
}
