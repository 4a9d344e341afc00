"""How a run ends early: what is in flight stops, what is open closes, what the calls hold is let go, and then it ends.

The order is the one of OAP-013: interactions, calls, a compaction, steers, the terminal.
"""

from __future__ import annotations

import dataclasses

import msgspec
from msgspec.structs import replace

from sayso.control.loop.conversations import CallEnded
from sayso.control.loop.history import interrupted
from sayso.control.loop.run import Abandon, Current, Decision, Effect, Keep, LoopRun, Phase, StopFlight, Tell
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.payloads.content import Message, Usage
from sayso.control.protocol.payloads.scalars import Maybe

__all__ = ("finish", "release", "stop", "wind")


def stop(run: LoopRun, ending: Telling) -> Decision:
    """Somebody ends the run: its open prompts close at once, whatever is in flight is stopped first."""
    if run.phase not in (Phase.ASKING, Phase.HANDED):
        return wind(run, ending)
    waiting = _let_be(run)
    return release(replace(waiting.run, ending=ending)).after(*waiting.effects)


def _let_be(run: LoopRun) -> Decision:
    """The run without the interaction that waited. A client's own call ends here, so that no later word can count.

    A call that waited for its person's word did nothing yet; what the client was handed it may have done.
    """
    current, tell = run.current, run.tell
    if current is None:
        raise AssertionError("a run that waits has a call")
    name = str(current.interaction_id)
    if run.phase is Phase.HANDED:
        cut = _cut_off(run, current, is_begun=True)
        closing = (*cut.effects, Tell(tell.call_cancelled(current.call, current.by)))
        return Decision(replace(cut.run, current=None), closing)
    cut = _cut_off(replace(run, current=replace(current, interaction_id=None)), current, is_begun=False)
    closed = tell.unanswered(current.call, name) if current.questions is None else tell.questions_closed(name, None)
    return Decision(cut.run, (*cut.effects, Tell(closed)))


def wind(run: LoopRun, ending: Telling) -> Decision:
    """What is in flight is stopped, and then the run ends so."""
    return Decision(replace(run, phase=Phase.WINDING, ending=ending), (StopFlight(),))


def release(run: LoopRun) -> Decision:
    """Nothing is in flight any more: the sources let go, the latest call first."""
    run = replace(run, phase=Phase.RELEASING)
    return Decision(run, (Abandon(tuple(reversed(run.made))),)) if run.made else finish(run)


def finish(run: LoopRun) -> Decision:
    """Closes what is left open and tells the terminal."""
    effects: list[Effect] = []
    if (current := run.current) is not None:
        cut = _cut_off(run, current, is_begun=True)
        run, effects = cut.run, [*cut.effects, Tell(run.tell.call_cancelled(current.call, current.by))]
    if run.compaction is not None:
        effects.append(Tell(run.tell.compaction_ended(run.compaction.compaction_id, "cancelled")))
    effects += (Tell(run.tell.steer_dropped(steer.submission_id, steer.request_id)) for steer in run.steers)
    if run.results:
        run = replace(run, messages=(*run.messages, Message(role="tool", content=run.results)), results=())
    if run.ending is not None:
        effects.append(Tell(_with_usage(run.ending, run.usage)))
    ended = replace(run, phase=Phase.ENDED, current=None, compaction=None, steers=(), queue=())
    return Decision(ended, tuple(effects))


def _cut_off(run: LoopRun, current: Current, *, is_begun: bool) -> Decision:
    """The run with what the model will read of a call that was cut off, unless that is there already."""
    name = current.call.tool_call_id
    if any(result.tool_call_id == name for result in run.results):
        return Decision(run)
    result = interrupted(name, (name,) if is_begun else ())
    return Decision(replace(run, results=(*run.results, result)), (Keep(CallEnded(result=result)),))


def _with_usage(ending: Telling, usage: Maybe[Usage]) -> Telling:
    """The terminal with the tokens spent until then."""
    return dataclasses.replace(ending, payload=msgspec.structs.replace(ending.payload, usage=usage))
