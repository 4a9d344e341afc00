"""The legality of a conversation: which envelope may come after which.

Theory. A conversation is one party's whole view of what was asked, answered and told. Several machines run in it, a
file each with its table: a *run* (`runs`), the *order* of a session's admissions (`queue`), a tool *call* (`calls`) and
one *handed* to the control layer (`handed`), a *gate* (`gates`), a *steer* (`steers`), a *compaction* (`compactions`),
a *login* flow (`logins`). A request is open until one response names it, and each *domain* numbers its events: one for
each run, each flow and each session's own (`step`). Runs may be there before the conversation begins (`recovery`), and
speak before the answer that admits them (`early`); one that only speaks on can be taken as one step (`speech`).

The coupling: a run's calls, gates, steers and compactions close before its terminal, and nothing of the run follows it.

What the tables cannot say stands in the conditions beside them: numbers, scope, who answers a gate, and that an
accepted answer is the one its event reports.

These files do not know who is speaking (style of h11): hub, loop, client and validator obey one law. `step` never
raises and goes on after a fault in the way the fixtures of the specification expect, so a validator can list every
fault of a trace; `observe` raises at the first and moves nothing. A party that joined late or sees only one stream
declares a `partial` view: it cannot know what was admitted or accepted elsewhere, so those conditions are waived.

Not here: what an endpoint promised, in its capabilities and catalogs, and whether it kept it. Only a whole trace shows
that, so `control.validator.rules` judges it.
"""

from __future__ import annotations

from sayso.control.protocol.machine.calls import CALL_TABLE, CallMove
from sayso.control.protocol.machine.compactions import COMPACTION_TABLE, CompactionMove
from sayso.control.protocol.machine.gates import GATE_TABLE, GateMove
from sayso.control.protocol.machine.handed import HANDED_TABLE, HandedMove
from sayso.control.protocol.machine.logins import LOGIN_TABLE, LoginMove
from sayso.control.protocol.machine.queue import ADMISSIONS, DELIVERIES, is_busy
from sayso.control.protocol.machine.recovery import adopt
from sayso.control.protocol.machine.runs import COUPLED, RUN_FAULTS, RUN_TABLE, RunMove, run_of
from sayso.control.protocol.machine.speech import Speech
from sayso.control.protocol.machine.steers import STEER_TABLE, SteerMove
from sayso.control.protocol.machine.step import SPEECH, conclude, observe, resolve_fault, step

__all__ = (
    "ADMISSIONS",
    "CALL_TABLE",
    "COMPACTION_TABLE",
    "COUPLED",
    "DELIVERIES",
    "GATE_TABLE",
    "HANDED_TABLE",
    "LOGIN_TABLE",
    "RUN_FAULTS",
    "RUN_TABLE",
    "SPEECH",
    "STEER_TABLE",
    "CallMove",
    "CompactionMove",
    "GateMove",
    "HandedMove",
    "LoginMove",
    "RunMove",
    "Speech",
    "SteerMove",
    "adopt",
    "conclude",
    "is_busy",
    "observe",
    "resolve_fault",
    "run_of",
    "step",
)
