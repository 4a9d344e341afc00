"""From a wish and what the tools answered in this turn to the next step: the call, or what came of it.

Nothing is told that a tool did not say. What a person asked for once is done once: a result, whatever it is, ends the
turn. One thing is done in between: a file that exists is read before it is replaced, as the workspace demands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from sayso.control.protocol.payloads.content import Message
from sayso.control.provider.planner.conversation import Fact, Turn, read_turns
from sayso.control.provider.planner.steps import Call, Step, done, refused
from sayso.control.provider.planner.views import number_in, text_in
from sayso.control.provider.planner.workspace.wishes import EXAMPLES, TOOLS, Verb, Wish
from sayso.control.provider.planner.workspace.words import understand
from sayso.core.excerpt import both_ends

__all__ = ("tell_forms", "work")

BOOKING = frozenset((
    "discover_host", "find_slots", "hold_slot", "approve_and_book",
    "booking_status", "cancel_booking", "change_booking",
))  # fmt: skip
"""With one of these at hand an appointment may be meant."""

WHAT_IT_IS = "I am the offline planner: a fixed program, not a language model, so there is much I cannot do."
SIGN_IN = "For anything else sign in to a language model, which then answers in my place: `sayso auth login`."
_SHOWN = 8000
"""Characters of a result that are shown: an answer is to be read."""


def work(messages: Sequence[Message], tools: Collection[str]) -> Step | None:
    """The next step; None where no workspace is at hand, or where an appointment may be meant."""
    if not TOOLS.intersection(tools):
        return None
    is_alone = BOOKING.isdisjoint(tools)
    turns = read_turns(messages)
    wish = understand(turns[-1].said, is_alone=is_alone) if turns else None
    if wish is None:
        return refused(f"{WHAT_IT_IS} {tell_forms(tools)}") if is_alone else None
    if wish.verb not in tools:
        need = f"I cannot do that here: it needs the tool {wish.verb}, which this session does not have."
        return refused(f"{need} {tell_forms(tools)}")
    return _next(wish, turns[-1])


def tell_forms(tools: Collection[str]) -> str:
    """What it can do with these tools, and how to get more."""
    examples = [f"- {example}" for verb, each in EXAMPLES.items() if verb in tools for example in each]
    lead = "In this workspace I understand requests of these forms:"
    return "\n".join([lead, "", *examples, "", SIGN_IN]) if examples else ""


def _next(wish: Wish, turn: Turn) -> Step:
    answers = [fact for fact in turn.facts if fact.call == wish.call]
    if not answers:
        return wish.call
    last = answers[-1]
    if wish.verb is Verb.WRITE and len(answers) == 1 and text_in(last.result, "reason") == "not_read":
        look = Call(Verb.READ.value, {"path": wish.about, "limit": 1})
        looked = turn.find(look)
        if looked is None:
            return Call(look.tool, look.arguments, said=f"{wish.about} exists, so I look at it before I replace it.")
        if not looked.is_error:
            return wish.call
    return refused(_told_no(wish, last)) if last.is_error else done(_told(wish, last.result))


def _told_no(wish: Wish, fact: Fact) -> str:
    if text_in(fact.result, "error") == "permission_denied":
        why = text_in(fact.result, "reason").rstrip(".")
        doing = _DOING[wish.verb].format(wish.about)
        return f"This was not allowed, so I did not {doing}{f': {why}' if why else ''}."
    said = fact.result if isinstance(fact.result, str) else text_in(fact.result, "message")
    output = text_in(fact.result, "output")
    why = f": {said.rstrip('.')}" if said else ""
    return f"I could not {_DOING[wish.verb].format(wish.about)}{why}." + (f"\n\n{_fenced(output)}" if output else "")


_DOING: Mapping[Verb, str] = {
    Verb.READ: "read {}",
    Verb.WRITE: "write {}",
    Verb.EDIT: "change {}",
    Verb.SHELL: "run `{}`",
    Verb.GLOB: "look for files named {}",
    Verb.GREP: "search for {!r}",
}


def _told(wish: Wish, result: object) -> str:
    if wish.verb is Verb.SHELL:
        return _told_run(wish, result)
    if wish.verb in (Verb.WRITE, Verb.EDIT):
        return _told_change(wish, result)
    found = result if isinstance(result, str) else ""
    if not found:
        return f"The tool {wish.verb} answered with nothing that I can read."
    return f"{_LEADS[wish.verb].format(wish.about)}\n\n{_fenced(found)}"


_LEADS: Mapping[Verb, str] = {
    Verb.READ: "This is {}:",
    Verb.GLOB: "Files that match {}:",
    Verb.GREP: "Lines that hold {!r}:",
}


def _told_run(wish: Wish, result: object) -> str:
    code = number_in(result, "exit_code")
    output = text_in(result, "output")
    how = "It ran" if code is None else f"It ended with exit code {code}"
    shown = f" and printed:\n\n{_fenced(output)}" if output.strip() else " and printed nothing."
    return f"{how}{shown}"


def _told_change(wish: Wish, result: object) -> str:
    count = number_in(result, "replaced")
    path = text_in(result, "path") or wish.about
    diff = text_in(result, "diff")
    if wish.verb is Verb.EDIT:
        lead = f"I changed {path}" + (f" in {count} places" if count is not None and count != 1 else "")
    else:
        is_new = isinstance(result, Mapping) and result.get("created") is True
        lead = f"I created {path}" if is_new else f"I wrote {path}"
    return f"{lead}:\n\n{_fenced(diff)}" if diff else f"{lead}."


def _fenced(text: str) -> str:
    """A text as it stands, bounded, between fences that it cannot close."""
    text = both_ends(text, _SHOWN)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"
