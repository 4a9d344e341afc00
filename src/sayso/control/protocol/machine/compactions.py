"""A compaction: a replacement of history, bracketed by two events of its run (OAP-072, OAP-073).

One at a time, each ended once under the id it started with, before the run ends. A run that a compaction request
admitted begins with exactly one `requested` compaction and settles as that one ended: completed with the summary as its
response, failed with its error, or, where a turn was asked for behind it, as that turn goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from sayso.control.protocol.conversation import Compaction, CompactionState, Run
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.payloads.content import text_of
from sayso.control.protocol.payloads.scalars import UNSET, Wire

__all__ = ("COMPACTION_TABLE", "CompactionMove", "compaction_event", "judge_settlement")


_UNASKED = ("messages", "unknown")
"""The work of runs that nobody asked to compact, as far as is known."""


class CompactionMove(Enum):
    """What an event does to a compaction."""

    START = "run.compaction.started"
    COMPLETE = "run.compaction.ended completed"
    FAIL = "run.compaction.ended failed"
    CANCEL = "run.compaction.ended cancelled"


COMPACTION_TABLE: Mapping[tuple[CompactionState, CompactionMove], CompactionState] = {
    (CompactionState.ABSENT, CompactionMove.START): CompactionState.OPEN,
    (CompactionState.OPEN, CompactionMove.COMPLETE): CompactionState.COMPLETED,
    (CompactionState.OPEN, CompactionMove.FAIL): CompactionState.FAILED,
    (CompactionState.OPEN, CompactionMove.CANCEL): CompactionState.CANCELLED,
}


def compaction_event(run: Run, envelope: Envelope[Wire], faults: Faults) -> Run:
    """The run after history began or ended to be replaced."""
    payload: Any = envelope.payload
    name = payload.compaction_id
    if envelope.type == "run.compaction.started":
        return _started(run, name, payload, envelope, faults)
    known = run.compactions.get(name)
    if known is None and run.is_met:
        return run
    before = CompactionState.ABSENT if known is None else known.state
    after = COMPACTION_TABLE.get((before, CompactionMove(f"run.compaction.ended {payload.outcome}")))
    if known is None or after is None:
        faults.add("illegal_run_transition", f"a compaction that is {before.value} cannot end")
        return run
    if payload.outcome == "failed" and payload.error is UNSET:
        faults.add("illegal_run_transition", "a failed compaction says why")
    ended = msgspec.structs.replace(known, state=after, ending=payload)
    return msgspec.structs.replace(run, compactions=run.compactions.set(name, ended), compacting=None)


def _started(run: Run, name: str, payload: Any, envelope: Envelope[Wire], faults: Faults) -> Run:
    if run.compacting is not None or name in run.compactions:
        faults.add("illegal_run_transition", "one compaction at a time, each under an id of its own")
        return run
    is_asked_for = run.work not in _UNASKED
    if payload.reason == "requested":
        if run.work == "messages" and not run.is_met:
            faults.add("illegal_run_transition", "nobody requested a compaction of this run")
        elif len(run.compactions):
            faults.add("illegal_run_transition", "a compaction is requested once")
    elif is_asked_for and not len(run.compactions):
        faults.add("illegal_run_transition", "the requested compaction comes first")
    if is_asked_for and not len(run.compactions) and run.last != 1:
        faults.add("illegal_run_transition", "the requested compaction is the first thing its run does")
    opened = run.compactions.set(name, Compaction(payload.reason))
    return msgspec.structs.replace(run, compactions=opened, compacting=name)


def judge_settlement(run: Run, envelope: Envelope[Wire], faults: Faults) -> None:
    """The terminal of a run that was asked to compact."""
    if run.work in _UNASKED or run.last == 0:
        return
    payload: Any = envelope.payload
    asked = next(iter(run.compactions.values()), None)
    if envelope.type == "run.completed":
        if asked is None or asked.state is not CompactionState.COMPLETED:
            faults.add("illegal_run_transition", "a compaction run completes behind its completed compaction")
        elif run.work == "compaction":
            _judge_summary(asked, payload, faults)
        return
    has_failed = envelope.type == "run.failed" and asked is not None and asked.state is CompactionState.FAILED
    if has_failed and asked is not None and payload.error != getattr(asked.ending, "error", UNSET):
        faults.add("illegal_run_transition", "the run fails with its compaction's error")


def _judge_summary(asked: Compaction, payload: Any, faults: Faults) -> None:
    if payload.stop_reason != "compacted":
        faults.add("illegal_run_transition", "a compaction run stops as `compacted`")
    summary = getattr(asked.ending, "summary", UNSET)
    expected = "" if summary is UNSET else text_of(summary.content)
    if text_of(payload.final_response.content) != expected:
        faults.add("illegal_run_transition", "the final response is the summary")
