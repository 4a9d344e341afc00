"""A compaction inside a run: one inference that summarises what is old, bracketed by two events (OAP-072, OAP-162).

History changes only when it completed. One that was requested and failed fails its run with the same error; one that a
threshold wanted does not: the turn it stood before is tried as things are. What is cut, asked for and put in its place
is `compacting`. A decision that leaves a run compacting without a compaction is the end of it; `machine` goes on.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from sayso.control.loop.compacting import cut_of, history_tokens, replaced, summary_of, summary_request
from sayso.control.loop.endings import wind
from sayso.control.loop.history import repair
from sayso.control.loop.reducer import TurnEnded, TurnFailed, add_usage, hear
from sayso.control.loop.run import Compaction, Decision, Heard, Infer, Keep, LoopRun, Lost, Phase, Tell
from sayso.control.protocol.codes import protocol_error
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.provider.machine import Inference
from sayso.core.refusal import Refused

__all__ = ("compact", "heard_summary", "lost_summary")


def compact(run: LoopRun, *, is_requested: bool) -> Decision | None:
    """Begins a compaction; None where a threshold wants one and there is nothing worth it.

    A requested one of nothing is told as completed at once, without a summary.
    """
    messages = repair(run.messages)
    cut = cut_of(messages, window=run.window, requested=is_requested)
    if cut is None and not is_requested:
        return None
    number = run.compacted + 1
    name, tokens = f"{run.run_id}.c{number}", history_tokens(messages, run.reported)
    started = Tell(run.tell.compaction_started(name, "requested" if is_requested else "threshold", tokens))
    run = replace(run, messages=messages, phase=Phase.COMPACTING, compacted=number)
    if cut is None:
        return Decision(run, (started, Tell(run.tell.compaction_ended(name, "completed", tokens=tokens))))
    request = summary_request(
        messages,
        cut,
        model_ref=run.model_ref,
        window=run.window,
        focus=run.focus,
        max_output_tokens=run.max_output_tokens,
    )
    compaction = Compaction(name, cut, is_requested=is_requested)
    run = replace(run, compaction=compaction, inference=Inference(request_id=name))
    return Decision(run, (started, Infer(name, request)))


def heard_summary(run: LoopRun, command: Heard) -> Decision:
    """The provider sent an envelope of the summary. Its text streams nowhere: it is told whole."""
    try:
        heard = hear(run.inference, command.envelope)
    except Refused as refused:
        return _failed(run, protocol_error(refused.refusal), is_over=False)
    run = replace(run, inference=heard.inference)
    if heard.end is None:
        return Decision(run)
    run = replace(run, usage=add_usage(run.usage, heard.end.usage))
    if isinstance(heard.end, TurnFailed):
        return _failed(run, heard.end.error, is_over=True)
    return _summarised(run, heard.end)


def lost_summary(run: LoopRun, command: Lost) -> Decision:
    """The provider broke off."""
    return _failed(run, command.error, is_over=True)


def _summarised(run: LoopRun, end: TurnEnded) -> Decision:
    compaction = run.compaction
    if compaction is None:
        return Decision(run)
    try:
        summary = summary_of(end.message, end.stop_reason, replaces=compaction.cut.tokens)
    except Refused as refused:
        return _failed(run, protocol_error(refused.refusal), is_over=True)
    summary = msgspec.structs.replace(summary, id=f"{compaction.compaction_id}.m")
    messages, step = replaced(run.messages, compaction.cut, summary)
    ended = run.tell.compaction_ended(
        compaction.compaction_id, "completed", summary=summary, tokens=history_tokens(messages)
    )
    run = replace(run, messages=messages, sound=0, reported=None, summary=summary, compaction=None)
    return Decision(run, (Keep(step), Tell(ended)))


def _failed(run: LoopRun, error: ProtocolError, *, is_over: bool) -> Decision:
    """`is_over` tells whether the provider has stopped by itself: only then another inference may follow."""
    compaction = run.compaction
    if compaction is None:
        return Decision(run)
    ended = Tell(run.tell.compaction_ended(compaction.compaction_id, "failed", error=error))
    run = replace(run, compaction=None)
    if compaction.is_requested or not is_over:
        return wind(run, run.tell.failed(error)).after(ended)
    return Decision(run, (ended,))
