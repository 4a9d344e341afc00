"""What a run of the memory adapter does, beat by beat, and how a message chooses it.

The text of a submission's last message may begin with `script: NAME`; otherwise the run follows `gates`. A
compaction's focus chooses in the same way between going through, `hold` and `fail`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from sayso.control.protocol.payloads.content import Message, text_of

__all__ = ("SCRIPTS", "STREAMED", "Beat", "compaction_beats", "script_of", "text_of_last")


class Beat(Enum):
    """One step of a script."""

    THINK = "reasoning, where the session's level is not off"
    SAY = "text"
    STREAM = "text in many pieces"
    THRESHOLD = "a compaction, where the history has reached the policy's point"
    OVERFLOW = "a compaction, as if a provider had refused the history"
    TOOL = "a tool of the endpoint, which may ask for permission"
    PROVIDED = "a tool of the client, where it provided one"
    ASK = "two questions to the person"
    HOLD = "nothing, until a steer or a cancel"
    FAIL = "the run fails"
    REQUESTED = "the compaction that was asked for"
    COMPACTED = "the run completes with the summary"
    FINISH = "the run completes with its reply"


STREAMED = 200
"""Pieces of text of the script `stream`."""

SCRIPTS: Mapping[str, tuple[Beat, ...]] = {
    "gates": (Beat.THINK, Beat.SAY, Beat.TOOL, Beat.PROVIDED, Beat.ASK, Beat.FINISH),
    "plain": (Beat.THINK, Beat.SAY, Beat.FINISH),
    "tools": (Beat.SAY, Beat.TOOL, Beat.PROVIDED, Beat.FINISH),
    "stream": (Beat.STREAM, Beat.FINISH),
    "hold": (Beat.SAY, Beat.HOLD, Beat.FINISH),
    "stubborn": (Beat.SAY, Beat.HOLD, Beat.FINISH),
    "fail": (Beat.SAY, Beat.FAIL),
    "overflow": (Beat.SAY, Beat.OVERFLOW, Beat.FINISH),
}
"""`stubborn` takes a cancel and completes all the same."""

_PREFIX = "script:"


def text_of_last(messages: tuple[Message, ...]) -> str:
    """The text of the last message."""
    return text_of(messages[-1].content)


def script_of(text: str) -> str:
    """The name of the script a text chooses; a name that is none is `gates`."""
    name = text.removeprefix(_PREFIX).split()[:1] if text.startswith(_PREFIX) else []
    return name[0] if name and name[0] in SCRIPTS else "gates"


def compaction_beats(*, continues: bool) -> tuple[Beat, ...]:
    """The beats of a compaction that was asked for."""
    return (Beat.REQUESTED, Beat.SAY, Beat.FINISH) if continues else (Beat.REQUESTED, Beat.COMPACTED)
