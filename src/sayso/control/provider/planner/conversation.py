"""The conversation so far as the planner needs it: turns, each with the person's words and what the tools answered
since, and the `now:` and `zone:` lines of the system message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from sayso.control.protocol.payloads.content import Message, ToolCallPart, ToolResultPart, text_of
from sayso.control.provider.planner.steps import Call
from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone

__all__ = ("Fact", "Turn", "read_setting", "read_turns")

_LINE = re.compile(r"^(now|zone): *(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fact:
    """One tool call and what it answered."""

    call: Call
    result: object
    is_error: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """What the person said, and what was found out and done since."""

    said: str
    facts: tuple[Fact, ...] = ()

    def find(self, call: Call) -> Fact | None:
        """The latest answer to exactly this call."""
        same = (fact for fact in reversed(self.facts) if _is_same(fact.call, call))
        return next(same, None)


def _is_same(one: Call, other: Call) -> bool:
    return one.tool == other.tool and dict(one.arguments) == dict(other.arguments)


def read_turns(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """The turns of a conversation, oldest first; tool results are paired with their calls by id."""
    turns: list[Turn] = []
    calls: dict[str, Call] = {}
    for message in messages:
        if message.role == "user":
            turns.append(Turn(text_of(message.content)))
        if isinstance(message.content, str) or not turns:
            continue
        for part in message.content:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = Call(part.name, _object(part.arguments_json))
            elif isinstance(part, ToolResultPart) and part.tool_call_id in calls:
                fact = Fact(calls[part.tool_call_id], part.result, part.is_error is True)
                turns[-1] = Turn(turns[-1].said, (*turns[-1].facts, fact))
    return tuple(turns)


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def read_setting(messages: Sequence[Message]) -> tuple[datetime | None, ZoneInfo | None]:
    """The last readable `now:` and `zone:` of the system messages; None for one that is missing or no such thing."""
    now: datetime | None = None
    zone: ZoneInfo | None = None
    for message in messages:
        if message.role not in ("system", "developer"):
            continue
        for name, value in _LINE.findall(text_of(message.content)):
            try:
                if name == "now":
                    now = parse_instant(value)
                else:
                    zone = find_zone(value)
            except Refused:
                continue
    return now, zone
