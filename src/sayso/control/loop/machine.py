"""One run of our own loop, as decisions: what was said or happened goes in, what to tell and do next comes out.

Theory. A run alternates between the model's turns and the calls they make, one call after the other. While it *thinks*
one inference is in flight; while it *calls* one tool is; while it *asks* nothing is, and the question stands in the
state until the person answers, for however long; while a call is *handed* over, the client runs a tool of its own and
says how that ended. Before a turn whose history has grown beyond the session's threshold, and where a compaction was
asked for, it is *compacting*: the inference in flight then summarises. Each of these can be left for *winding*: a
cancel, a failure or a broken provider stops what is in flight and waits until that has really stopped. Then,
*releasing*, the tool sources let go of what the run's calls still hold, what is open closes, and only then the terminal
is told. So nothing of a run happens after its end, and no hold outlives it.

A steer waits in the state for the next boundary, which is right before a request to the model: behind the results of a
turn's calls, or behind a turn that would have been the last, which it then is not. What was not applied is dropped
before the terminal.

A late report (an inference that was stopped, a tool that finished anyway) can come in every phase. While winding, a
call that finished is still told, because it happened; anywhere else a late report is dropped, by the table.

What calls do stands in `calls`, compactions in `summing`, the way to the end in `endings`; this file is the turns, and
the table of all of it. Coupled: the inference (`control.provider.machine`), judged on every envelope heard; the
legality of what is told (`control.protocol.machine`), judged by whoever carries it. The driver keeps time, tasks and
numbers. Ids a decision needs are made from the run's own id, so the same commands always give the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from sayso.control.adapters.choosing import may_call
from sayso.control.loop.calls import answered, next_call, replied, returned, returned_late, worded
from sayso.control.loop.compacting import Reported, history_tokens, is_due, text_tokens, threshold
from sayso.control.loop.controls import demanded, read_result
from sayso.control.loop.conversations import Said
from sayso.control.loop.endings import finish, release, stop, wind
from sayso.control.loop.history import calls_in, repair
from sayso.control.loop.reducer import TurnEnded, TurnFailed, add_usage, hear, spoken
from sayso.control.loop.run import (
    Abandoned,
    Answered,
    Broke,
    Cancel,
    Command,
    Decision,
    Effect,
    Heard,
    Infer,
    Keep,
    LoopRun,
    Lost,
    Phase,
    Replied,
    Returned,
    Shut,
    Steered,
    Tell,
    Unwound,
    Worded,
)
from sayso.control.loop.summing import compact, heard_summary, lost_summary
from sayso.control.protocol.codes import protocol_error
from sayso.control.protocol.payloads.content import Message, ToolCallPart, text_of
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.inference import InferenceCreateRequest, InferenceTool
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe
from sayso.control.protocol.payloads.steer import SteerBoundary
from sayso.control.provider.machine import Inference
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("TABLE", "begin", "decide")

_STOP_REASONS = {"stop": "end_turn", "tool_use": "end_turn"}
"""How a turn's stop reason is told as the run's; the others keep their names."""
_BROKEN = {"error": "endpoint_error", "aborted": "aborted"}
_MAY_CALL = ("tool_use", "stop")
_GO_ON = Message(role="user", content="Go on.")

# --- steps -----------------------------------------------------------------------------------------------------------


def begin(run: LoopRun) -> Decision:
    """The first decision of a run: its own messages join the conversation."""
    run = replace(run, messages=(*run.messages, *run.said))
    said = (Keep(Said(message=message)) for message in run.said)
    started = Tell(run.tell.started(run.model_ref))
    if run.work == "turns":
        return _think(run, "turn").after(*said, started)
    begun = compact(run, is_requested=True)
    return _onward(begun or Decision(run)).after(*said, started)


def decide(run: LoopRun, command: Command) -> Decision:
    """What one command changes; a pair outside the table is a late report and changes nothing."""
    act = TABLE.get((run.phase, type(command)))
    return _onward(act(run, command)) if act else Decision(run)


def _onward(decision: Decision) -> Decision:
    """Goes on where nothing is under way any more: behind the calls of a turn, behind a compaction."""
    run = decision.run
    if run.phase is Phase.CALLING and run.current is None:
        said = Message(role="tool", content=run.results)
        run = replace(run, messages=(*run.messages, said) if run.results else run.messages, results=())
        return _think(run, "tool_result").after(*decision.effects)
    if run.phase is Phase.COMPACTING and run.compaction is None:
        return _compacted(run).after(*decision.effects)
    return decision


# --- turns -----------------------------------------------------------------------------------------------------------


def _think(run: LoopRun, boundary: SteerBoundary) -> Decision:
    if run.turn >= run.max_turns:
        error = ProtocolError(code="turn_limit", message=f"the run used its {run.max_turns} turns without an answer")
        return release(replace(run, ending=run.tell.failed(error)))
    messages = (*run.messages[: run.sound], *repair(run.messages[run.sound :]))
    run = replace(run, messages=messages, sound=len(messages))
    steered = _take_steers(run, boundary)
    run = steered.run
    if run.tried != run.turn and _is_too_long(run):
        compacting = compact(replace(run, tried=run.turn), is_requested=False)
        if compacting is not None:
            return compacting.after(*steered.effects)
    turn = run.turn + 1
    request_id = f"{run.run_id}.{turn}"
    run = replace(run, phase=Phase.THINKING, turn=turn, inference=Inference(request_id=request_id))
    return Decision(run, (*steered.effects, Infer(request_id, _request(run))))


def _is_too_long(run: LoopRun) -> bool:
    if threshold(run.policy, run.window) is None:
        return False
    beside = 0
    if run.reported is None:
        specs = [(spec.description, dict(spec.input_schema)) for spec in (offer.spec for offer in run.offers.values())]
        said = f"{run.system or ''}{run.instructions or ''}{strictjson.encode(specs).decode()}"
        beside = text_tokens(said)
    return is_due(history_tokens(run.messages, run.reported, beside=beside), run.policy, run.window)


def _take_steers(run: LoopRun, boundary: SteerBoundary) -> Decision:
    effects: list[Effect] = []
    for steer in run.steers:
        run = replace(run, messages=(*run.messages, *steer.messages))
        effects += (Keep(Said(message=message)) for message in steer.messages)
        applied = run.tell.steer_applied(steer.submission_id, steer.request_id, steer.message_ids, boundary)
        effects.append(Tell(applied))
    return Decision(replace(run, steers=()), tuple(effects))


def _request(run: LoopRun) -> InferenceCreateRequest:
    system = tuple(Message(role="system", content=said) for said in (run.system, run.instructions) if said)
    specs = [offer.spec for offer in run.offers.values() if may_call(run.choice, offer.spec.name)]
    tools = tuple(
        InferenceTool(name=spec.name, description=spec.description, input_schema=spec.input_schema) for spec in specs
    )
    owed = demanded(run.choice, run.called)
    return InferenceCreateRequest(
        model_ref=run.model_ref,
        messages=(*system, *run.messages),
        tools=tools or UNSET,
        tool_choice=UNSET if owed is None or not tools else owed,
        max_output_tokens=run.max_output_tokens,
        output_schema=UNSET if run.schema is None else run.schema,
        stream=True,
        reasoning=run.reasoning,
    )


def _heard(run: LoopRun, command: Heard) -> Decision:
    try:
        heard = hear(run.inference, command.envelope)
    except Refused as refused:
        return wind(run, run.tell.failed(protocol_error(refused.refusal)))
    run = replace(run, inference=heard.inference)
    if isinstance(heard.end, TurnEnded):
        return _turn_ended(run, heard.end)
    if isinstance(heard.end, TurnFailed):
        run = replace(run, usage=add_usage(run.usage, heard.end.usage))
        return wind(run, run.tell.failed(heard.end.error))
    if heard.delta is None:
        return Decision(run)
    return Decision(run, (Tell(run.tell.delta(heard.delta, f"{run.run_id}.m{run.turn}")),))


def _turn_ended(run: LoopRun, end: TurnEnded) -> Decision:
    run = replace(run, usage=add_usage(run.usage, end.usage))
    if end.stop_reason in _BROKEN:
        return _fail(run, _BROKEN[end.stop_reason], f"the model stopped: {end.stop_reason}")
    message = _with_own_ids(end.message, run.used)
    calls = calls_in(message)
    run = replace(run, messages=(*run.messages, message))
    if calls:
        run = replace(run, used=run.used.union(call.tool_call_id for call in calls))
    if end.usage is not UNSET:
        run = replace(run, reported=Reported(end.usage, len(run.messages)))
    kept = Keep(Said(message=message))
    if calls and end.stop_reason in _MAY_CALL:
        return next_call(replace(run, phase=Phase.CALLING, queue=calls, results=())).after(kept)
    if run.steers:
        return _think(run, "turn").after(kept)
    return _answer(run, spoken(message), end.stop_reason).after(kept)


def _answer(run: LoopRun, final: Message, stop_reason: str) -> Decision:
    """The turn was the run's last, if what the submission demanded of it is there."""
    if demanded(run.choice, run.called) is not None:
        return _fail(run, "endpoint_error", "the model answered without the call that was demanded")
    result: Maybe[JsonObject] = UNSET
    if run.schema is not None:
        found = read_result(text_of(final.content), run.schema)
        if found is None:
            return _fail(run, "endpoint_error", "the model's answer is no object of the shape that was asked for")
        result = found
    final = msgspec.structs.replace(final, id=f"{run.run_id}.m{run.turn}")
    return _complete(run, final, _STOP_REASONS.get(stop_reason, stop_reason), result)


def _complete(run: LoopRun, final: Message, reason: str, result: Maybe[JsonObject] = UNSET) -> Decision:
    completed = run.tell.completed(final, reason, run.model_ref, run.usage, result)
    return Decision(replace(run, phase=Phase.ENDED), (Tell(completed),))


def _fail(run: LoopRun, code: str, message: str) -> Decision:
    return wind(run, run.tell.failed(ProtocolError(code=code, message=message)))


def _with_own_ids(message: Message, before: frozenset[str]) -> Message:
    """The message with no tool call id used twice in the session: some models count from zero in every turn."""
    if isinstance(message.content, str):
        return message
    used = set(before)
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


def _lost(run: LoopRun, command: Lost) -> Decision:
    return wind(run, run.tell.failed(command.error))


def _broke(run: LoopRun, command: Broke) -> Decision:
    return _fail(run, "internal", command.message)


# --- compactions -----------------------------------------------------------------------------------------------------


def _compacted(run: LoopRun) -> Decision:
    """A compaction is over: the run that was only asked for it ends with the summary, any other thinks."""
    if run.work == "compaction":
        final = run.summary or Message(role="assistant", content="", id=f"{run.run_id}.m0")
        return _complete(run, final, "compacted")
    is_asked = bool(run.messages) and run.messages[-1].role in ("user", "tool")
    if run.work == "compaction_then_turns" and not is_asked:
        run = replace(run, messages=(*run.messages, _GO_ON))
        return _think(run, "turn").after(Keep(Said(message=_GO_ON)))
    return _think(run, "turn")


# --- from outside ----------------------------------------------------------------------------------------------------


def _steered(run: LoopRun, command: Steered) -> Decision:
    return Decision(replace(run, steers=(*run.steers, command.steer)))


def _cancel(run: LoopRun, command: Cancel) -> Decision:
    return stop(run, run.tell.cancelled(command.reason)).after(Tell(run.tell.status("cancelling")))


def _shut(run: LoopRun, command: Shut) -> Decision:
    error = ProtocolError(code="session_closed", message="the session was closed")
    return stop(run, run.tell.failed(error))


# --- on the way to the end -------------------------------------------------------------------------------------------


def _heard_late(run: LoopRun, command: Heard) -> Decision:
    """While winding only the tokens of a stopped inference still count."""
    try:
        heard = hear(run.inference, command.envelope)
    except Refused:
        return Decision(run)
    spent = heard.end.usage if heard.end else UNSET
    return Decision(replace(run, inference=heard.inference, usage=add_usage(run.usage, spent)))


def _unwound(run: LoopRun, command: Unwound) -> Decision:
    return release(run)


def _abandoned(run: LoopRun, command: Abandoned) -> Decision:
    return finish(run)


# --- tables ----------------------------------------------------------------------------------------------------------

_UNDER_WAY = (Phase.THINKING, Phase.CALLING, Phase.ASKING, Phase.HANDED, Phase.COMPACTING)

TABLE: Mapping[tuple[Phase, type], Callable[[LoopRun, Any], Decision]] = {
    (Phase.THINKING, Heard): _heard,
    (Phase.THINKING, Lost): _lost,
    (Phase.CALLING, Returned): returned,
    (Phase.CALLING, Broke): _broke,
    (Phase.ASKING, Answered): answered,
    (Phase.ASKING, Replied): replied,
    (Phase.HANDED, Worded): worded,
    (Phase.COMPACTING, Heard): heard_summary,
    (Phase.COMPACTING, Lost): lost_summary,
    **{(phase, Steered): _steered for phase in _UNDER_WAY},
    **{(phase, Cancel): _cancel for phase in _UNDER_WAY},
    **{(phase, Shut): _shut for phase in _UNDER_WAY},
    (Phase.WINDING, Heard): _heard_late,
    (Phase.WINDING, Returned): returned_late,
    (Phase.WINDING, Unwound): _unwound,
    (Phase.RELEASING, Abandoned): _abandoned,
}
