"""A run whose events come before the answer that admits it (OAP-011).

No order is promised between an answer and events, so what comes of an unknown run stands as long as a request is open
that may have admitted it: one for work, in the run's session, asked before the run's first event. Once none of them is
left and no answer named the run, nobody admitted it, and that is a fault of the answer that settled the last one.

A conversation that one party puts in order itself (`is_ordered`) knows no early runs.
"""

from __future__ import annotations

import msgspec

from sayso.control.protocol.conversation import Asked, Conversation, Work
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.payloads.scalars import UNSET

__all__ = ("admitting", "judge_early", "work_asked", "work_of")

_SUBMIT, _COMPACT, _OPEN = "session.message.submit.request", "session.compact.request", "session.open.request"
_STARTS_NOTHING = ("steer", "btw")


def admitting(state: Conversation, session_id: str) -> frozenset[str]:
    """The open requests whose answers may admit a run of this session."""
    if state.is_ordered or state.is_partial:
        return frozenset()
    return frozenset(name for name, asked in state.requests.items() if _may_admit(asked, session_id))


def _may_admit(asked: Asked, session_id: str) -> bool:
    envelope = asked.envelope
    if envelope.type == _OPEN:
        named = getattr(envelope.payload, "session_id", UNSET)
        return getattr(envelope.payload, "message", UNSET) is not UNSET and named in (UNSET, session_id)
    if envelope.session_id != session_id:
        return False
    return envelope.type == _COMPACT or (
        envelope.type == _SUBMIT and getattr(envelope.payload, "delivery", UNSET) not in _STARTS_NOTHING
    )


def work_of(state: Conversation, names: frozenset[str]) -> Work:
    """What a run does that one of these requests admits, where they agree."""
    asked = {work_asked(state.requests[name]) for name in names}
    return asked.pop() if len(asked) == 1 else "unknown" if asked else "messages"


def work_asked(asked: Asked | None) -> Work:
    """What a run does that this request admits."""
    if asked is None or asked.envelope.type != _COMPACT:
        return "messages"
    goes_on = getattr(asked.envelope.payload, "continue_", UNSET)
    return "compaction and a turn" if goes_on is True else "compaction"


def judge_early(state: Conversation, faults: Faults) -> Conversation:
    """The conversation behind an answer: early runs that no open request can have admitted are faults."""
    for run_id, names in list(state.early.items()):
        if not any(name in state.requests for name in names):
            faults.add("illegal_run_transition", f"the run `{run_id}` spoke, and no answer admitted it")
            state = msgspec.structs.replace(state, early=state.early.without(run_id))
    return state
