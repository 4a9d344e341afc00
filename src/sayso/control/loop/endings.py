"""How a run ends early: what is in flight stops, what is open closes, what the calls hold is let go, and then it ends.

The order is the one of OAP-013: interactions, calls, a compaction, steers, the terminal.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from sayso.control.loop.run import Abandon, Decision, Effect, LoopRun, Phase, StopFlight, Tell
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.payloads.content import Message, Usage
from sayso.control.protocol.payloads.scalars import Maybe

__all__ = ("finish", "release", "stop", "wind")


def stop(run: LoopRun, ending: Telling) -> Decision:
    """Somebody ends the run: its open prompts close at once, whatever is in flight is stopped first."""
    if run.phase not in (Phase.ASKING, Phase.HANDED):
        return wind(run, ending)
    run, closing = _let_be(run)
    return release(replace(run, ending=ending)).after(closing)


def _let_be(run: LoopRun) -> tuple[LoopRun, Effect]:
    """The run without the interaction that waited. A client's own call ends here, so that no later word can count."""
    current, tell = run.current, run.tell
    if current is None:
        raise AssertionError("a run that waits has a call")
    name = str(current.interaction_id)
    if run.phase is Phase.HANDED:
        return replace(run, current=None), Tell(tell.call_cancelled(current.call, current.by))
    run = replace(run, current=replace(current, interaction_id=None))
    if current.questions is not None:
        return run, Tell(tell.questions_closed(name, None))
    return run, Tell(tell.unanswered(current.call, name))


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
    if run.current is not None:
        effects.append(Tell(run.tell.call_cancelled(run.current.call, run.current.by)))
    if run.compaction is not None:
        effects.append(Tell(run.tell.compaction_ended(run.compaction.compaction_id, "cancelled")))
    effects += (Tell(run.tell.steer_dropped(steer.submission_id, steer.request_id)) for steer in run.steers)
    if run.results:
        run = replace(run, messages=(*run.messages, Message(role="tool", content=run.results)), results=())
    if run.ending is not None:
        effects.append(Tell(_with_usage(run.ending, run.usage)))
    ended = replace(run, phase=Phase.ENDED, current=None, compaction=None, steers=(), queue=())
    return Decision(ended, tuple(effects))


def _with_usage(ending: Telling, usage: Maybe[Usage]) -> Telling:
    """The terminal with the tokens spent until then."""
    return replace(ending, payload=msgspec.structs.replace(ending.payload, usage=usage))
