"""What stands in the way before any tool is asked: dates that do not exist, times gone by, words that contradict one
another. Each becomes one plain question; and each refusal of a tool becomes one plain sentence.
"""

from __future__ import annotations

from sayso.control.provider.planner.conversation import Fact
from sayso.control.provider.planner.found import read_no
from sayso.control.provider.planner.language.understood import Intent, Problem
from sayso.control.provider.planner.request import Request, Setting
from sayso.control.provider.planner.spoken import sentence, spoken_day, spoken_list, spoken_window
from sayso.control.provider.planner.steps import Choice, Outcome, Say, Topic, asks, refused

__all__ = ("SAID_NO", "UNREACHABLE", "find_denial", "find_trouble", "no_of")

UNREACHABLE = frozenset(("host_unreachable", "peer_unreachable", "PEER_UNREACHABLE", "UNREACHABLE"))
SAID_NO = frozenset(("consent_refused", "CONSENT_REFUSED", "permission_denied"))


_NOTHING = "On these words I have booked, moved and cancelled nothing."


def find_denial(request: Request) -> Say | None:
    """What to say to a message that asks for nothing to be done, or may ask it; no tool is called on one."""
    problems = request.seen.problems
    if Problem.CALLED_OFF in problems:
        return refused(f"All right, I leave it. {_NOTHING}")
    if request.seen.intent is Intent.UNKNOWN:
        return None
    if Problem.UNDECIDED in problems:
        return Say(
            f"Whether to do it is for you to say. {_NOTHING} If you want it, tell me what to do and when.", Outcome.ASKS
        )
    if Problem.DENIED in problems:
        return Say(
            f"You say what is not to be, and I cannot tell what that leaves. {_NOTHING} What is it you do want?",
            Outcome.ASKS,
        )
    return None


def find_trouble(request: Request, setting: Setting) -> Say | None:
    """The first thing about the wish itself that has to be asked. Whether hours are of the morning or the afternoon can
    still be told by when the host is open, so that is asked later.
    """
    problems, seen = request.seen.problems, request.seen
    if Problem.CONTRADICTION in problems:
        return asks(
            "I could not put that together into one wish with one day and one time, so I have done nothing. Please say "
            "it again with one of each.",
            Topic.DAY,
        )
    if Problem.IMPOSSIBLE in problems:
        return asks("There is no such date or time. Which day and time do you mean?", Topic.DAY)
    if Problem.RECURRING in problems:
        return asks(
            "I can only arrange one appointment at a time, not a series. Which day shall the first be?", Topic.DAY
        )
    if Problem.PAST in problems and _is_ahead_wanted(request, setting):
        return asks(f"{_past(request)} has already gone by. Which later day and time do you mean?", Topic.DAY)
    if Problem.PRICE in problems and seen.price is None:
        return asks("What is the most you want to pay? I need an upper limit, such as: at most 50.", Topic.PRICE)
    return _ask_which_day(request) if Problem.WHICH_DAY in problems and len(seen.days) > 1 else None


def _is_ahead_wanted(request: Request, setting: Setting) -> bool:
    """Whether what lies behind us is the time wished for, and not only the one that tells an old booking."""
    seen = request.seen
    if not (seen.from_days or seen.from_times):
        return True
    return bool(seen.days) and seen.days[-1] <= setting.now.astimezone(setting.zone).date()


def _past(request: Request) -> str:
    said = [spoken_day(day) for day in request.seen.days[:1]]
    said += [spoken_window(window) for window in request.seen.times[:1]]
    return " ".join(filter(None, said)) or "That time"


def _ask_which_day(request: Request) -> Say:
    """Names the days that the words may mean."""
    days = request.seen.days
    choices = tuple(Choice(day.isoformat(), spoken_day(day)) for day in days[:4])
    return asks(f"Which day do you mean: {spoken_list([choice.label for choice in choices])}?", Topic.DAY, choices)


def no_of(fact: Fact, *, then: str) -> Say:
    """A tool's refusal as a sentence, and what follows from it."""
    no = read_no(fact)
    if no.reason in SAID_NO:
        return refused(f"You did not say yes, so I stopped. {then}")
    return refused(f"{sentence(no.message)} {then}".strip())
