"""Models that use tools: each decides on the request it is sent, so it answers a real agent, turn after turn.

`tool_turn` reads README.md and quotes it, `write_turn` writes notes.txt, `shell_turn` runs `echo hello`; each then says
in Markdown what came of it. `slow_text` streams two thousand words, `hang` begins and never ends, `booking_turn` books
as the offline planner would. A tool is called with what its own schema asks for; where it is not among the tools, or
somebody refused the call, the model says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from sayso.control.protocol.payloads.content import Message, TextPart, ToolCallPart, ToolResultPart
from sayso.control.protocol.payloads.inference import InferenceCreateRequest, InferenceTool
from sayso.control.provider.planner.conversation import read_setting
from sayso.control.provider.planner.plan import plan
from sayso.control.provider.planner.steps import Call as PlannedCall
from sayso.core import strictjson
from sayso.core.zones import find_zone
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers.turns import Said

__all__ = ("SCRIPTS", "Ongoing", "Script")

_WORDS = 2000
_QUOTED = 400
_NOTE = "Written by the fixture model.\n"
_GUESSES: Mapping[str, object] = {"path": "README.md", "file": "README.md", "command": "echo hello", "content": _NOTE}


@dataclass(frozen=True, slots=True)
class Ongoing:
    """A turn that is begun and never ended: what is said before the model falls silent."""

    said: Said


Script = Callable[[InferenceCreateRequest], Said | Ongoing]


def tool_turn(request: InferenceCreateRequest) -> Said:
    """Reads README.md, then quotes its beginning."""
    return _one_call(request, "Read", {"path": "README.md"}, lambda text: f"`README.md` begins like this:\n\n{text}")


def write_turn(request: InferenceCreateRequest) -> Said:
    """Writes notes.txt, then says so."""
    wanted = {"path": "notes.txt", "content": _NOTE}
    return _one_call(request, "Write", wanted, lambda text: f"I wrote **notes.txt**. The tool says:\n\n{text}")


def shell_turn(request: InferenceCreateRequest) -> Said:
    """Runs `echo hello`, then shows what it printed."""
    return _one_call(request, "Shell", {"command": "echo hello"}, lambda text: f"`echo hello` printed:\n\n{text}")


def slow_text(_: InferenceCreateRequest) -> Said:
    """Two thousand words of Markdown: a heading, paragraphs, a list, a table, a block of code, over and over."""
    words: list[str] = []
    while len(words) < _WORDS:
        words += _page(len(words))
    return Said([Say(*words[:_WORDS])], counted=(12, _WORDS))


def hang(_: InferenceCreateRequest) -> Ongoing:
    """Begins a sentence."""
    return Ongoing(Said([Say("One moment, ", "I am still")]))


def booking_turn(request: InferenceCreateRequest) -> Said:
    """What the offline planner would do with the same conversation: the scheduling tools, one after the other."""
    now, zone = read_setting(request.messages)
    if now is None:
        return Said([Say("I have not been told what time it is.")])
    names = {tool.name for tool in request.tools or ()}
    step = plan(request.messages, names, now.astimezone(UTC), zone or find_zone("Etc/UTC"))
    if not isinstance(step, PlannedCall):
        return Said([Say(step.text)])
    said = [Say(step.said)] if step.said else []
    return Said([*said, Call(step.tool, dict(step.arguments), _call_id(request))])


SCRIPTS: Mapping[str, Script] = {
    each.__name__: each for each in (tool_turn, write_turn, shell_turn, slow_text, hang, booking_turn)
}


def _one_call(
    request: InferenceCreateRequest, name: str, wanted: Mapping[str, object], tell: Callable[[str], str]
) -> Said:
    """A thought and a call; with its result behind the person's last words, the answer."""
    found = _results(request.messages)
    if found:
        return Said([Say(*_pieces(_told(found[-1], tell)))], counted=(120, 40))
    tool = next((tool for tool in request.tools or () if tool.name == name), None)
    if tool is None:
        return Said([Say(f"There is no tool `{name}` here, ", "so I answer without it.")])
    steps = (
        Think(f"The person wants something done; {name} is the tool for it.", f"c2lnbmVk{_calls(request)}"),
        Say("Let me see. "),
        Call(name, _arguments(tool, wanted), _call_id(request)),
    )
    return Said(steps, counted=(80, 20))


def _told(result: ToolResultPart, tell: Callable[[str], str]) -> str:
    said = result.result if isinstance(result.result, str) else strictjson.encode(result.result).decode()
    quoted = "\n".join(f"> {line}" for line in said[:_QUOTED].splitlines()) or "> (nothing)"
    # Two of the wires have no member for it: there the result itself has to say so.
    is_error = result.is_error is True or (isinstance(result.result, dict) and "error" in result.result)
    if is_error:
        return f"That did not work:\n\n{quoted}\n"
    return f"{tell(quoted)}\n\nThat is all I was asked for.\n"


def _results(messages: Sequence[Message]) -> list[ToolResultPart]:
    """The results behind the last words of the person."""
    found: list[ToolResultPart] = []
    for message in messages:
        parts = () if isinstance(message.content, str) else message.content
        if message.role == "user" and any(isinstance(part, TextPart) for part in parts):
            found = []
        found += [part for part in parts if isinstance(part, ToolResultPart)]
    return found


def _calls(request: InferenceCreateRequest) -> int:
    return sum(
        isinstance(part, ToolCallPart)
        for message in request.messages
        if not isinstance(message.content, str)
        for part in message.content
    )


def _call_id(request: InferenceCreateRequest) -> str:
    """One that the conversation does not have yet."""
    return f"call_{_calls(request)}"


def _arguments(tool: InferenceTool, wanted: Mapping[str, object]) -> dict[str, object]:
    """The wanted arguments under the names of the tool's schema, and a guess for whatever else it requires."""
    schema: Any = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    properties = schema.get("properties") or {}
    made: dict[str, object] = {}
    for name, value in wanted.items():
        named = next((each for each in properties if each == name), None)
        named = named or next((each for each in properties if name in each or each in name), name)
        made[named] = value
    for name in schema.get("required") or ():
        if name not in made:
            guess = next((value for part, value in _GUESSES.items() if part in name), "fixture")
            made[name] = guess
    return made


def _pieces(text: str) -> list[str]:
    """As models stream it: word by word."""
    words = text.split(" ")
    return [*(f"{word} " for word in words[:-1]), words[-1]] if text else []


def _page(start: int) -> list[str]:
    number = start // 100 + 1
    text = (
        f"## Part {number}\n\nThis part has *words* that come one by one, and `code` among them, so that a screen has "
        f"something to do while it waits for the rest of the sentence.\n\n- first point of part {number}\n- second "
        f"point, with **weight**\n- third point\n\n| name | value |\n|---|---|\n| part | {number} |\n| words | many |"
        f"\n\n```python\ndef part_{number}(words):\n    return len(words)\n```\n\nAnd a last paragraph that ends part "
        f"{number} with a few more plain words than anybody would need.\n\n"
    )
    return _pieces(text)
