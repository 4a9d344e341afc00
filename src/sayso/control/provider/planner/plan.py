"""The decision: from the conversation so far to the next step, and nothing else.

A pure function, so that the same conversation always gets the same answer. It keeps nothing between calls: turns are
read again from the messages, the wish is built up again from the person's words, and every step already taken is found
among the tools' results of this turn. A question is known to have been asked because deciding the earlier turn again
asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from sayso.control.protocol.payloads.content import Message
from sayso.control.provider.planner.answers import next_request
from sayso.control.provider.planner.booking import book
from sayso.control.provider.planner.conversation import Turn, read_turns
from sayso.control.provider.planner.language.understood import Intent
from sayso.control.provider.planner.offering import tell_offers
from sayso.control.provider.planner.owning import cancel, tell_status
from sayso.control.provider.planner.request import Request, Setting
from sayso.control.provider.planner.rescheduling import move
from sayso.control.provider.planner.steps import Call, Say, Step, refused
from sayso.control.provider.planner.telling_no import find_denial

__all__ = ("INTRODUCTION", "plan")

INTRODUCTION = (
    "I am the offline planner: a fixed program, not a language model, so there is much I cannot do. I understand "
    "requests in plain English to book, move, cancel or look up an appointment: what it is, which day, about what "
    "time, and the most it may cost. To talk about anything else, connect a language model: add a model provider's "
    "credential to this home, and it answers in my place."
)
_DROPPED = "All right, I have done nothing more."
_PUZZLED = "I did not understand that as an answer."

_Flow = Callable[[Request, Turn, Setting], Step]
_FLOWS: Mapping[Intent, _Flow] = {
    Intent.BOOK: book,
    Intent.MOVE: move,
    Intent.CANCEL: cancel,
    Intent.STATUS: tell_status,
    Intent.DISCOVER: tell_offers,
}


def plan(messages: Sequence[Message], tools: Collection[str], now: datetime, zone: ZoneInfo) -> Step:
    """What to do next.

    `tools` are the names of the tools at hand; a step that needs another one becomes a sentence that says so. `now` is
    aware; `zone` is the one the person's "today" and "tomorrow" are meant in.
    """
    setting = Setting(now, zone)
    request: Request | None = None
    step: Step = refused(INTRODUCTION)
    for turn in read_turns(messages):
        request = next_request(request, step if isinstance(step, Say) else None, turn.said, setting)
        step = _decide(request, turn, setting)
    return _within(step, tools)


def _decide(request: Request, turn: Turn, setting: Setting) -> Step:
    if request.is_dropped:
        return refused(_DROPPED)
    if denial := find_denial(request):
        return denial
    flow = _FLOWS.get(request.seen.intent)
    if flow is None:
        return refused(INTRODUCTION)
    step = flow(request, turn, setting)
    if request.is_puzzled and isinstance(step, Say):
        return replace(step, text=f"{_PUZZLED} {step.text}")
    return step


def _within(step: Step, tools: Collection[str]) -> Step:
    if isinstance(step, Call) and step.tool not in tools:
        return refused(f"I cannot do that here: it needs the tool {step.tool}, which this session does not have. "
                       f"{INTRODUCTION}")  # fmt: skip
    return step
