"""What a person reads of a tool call: one line for what it does, its arguments and result as text, its diff.

The text is cleaned strictly, since people decide by it, and kept up to a bound: a result of megabytes is the model's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from sayso.apps.tui.view.blocks import CallBlock, CallState
from sayso.apps.tui.view.clean import clean, clean_name, clean_strict
from sayso.apps.tui.view.page import Page
from sayso.control.protocol.payloads.content import ToolResultPart
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET

__all__ = (
    "argument_text",
    "ask_call",
    "diff_counts",
    "end_call",
    "end_call_by_part",
    "error_text",
    "find_diff",
    "result_text",
    "summary_line",
)

_OPEN: tuple[CallState, ...] = ("asked", "started")
_MOST_KEPT = 64 * 1024
_TELLING = ("command", "path", "file_path", "pattern", "query", "url", "name")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)


def ask_call(
    page: Page, calls: dict[str, CallBlock], call_id: str, run_id: str | None, name: str, arguments: object
) -> CallBlock:
    """The block of a call, made where there is none yet; arguments that come later are taken then."""
    block = calls.get(call_id)
    if block is None:
        block = calls[call_id] = page.add(CallBlock(index=0, run_id=run_id, call_id=call_id, name=clean_name(name)))
    if arguments is not UNSET and not block.arguments:
        block.summary, block.arguments = summary_line(arguments), argument_text(arguments)
        block.diff = find_diff(arguments)
    page.touch(block)
    return block


def end_call(page: Page, block: CallBlock, state: CallState, result: str, diff: str, at_ms: int | None) -> None:
    """The first end counts: nothing changes a call that is over."""
    if block.state not in _OPEN:
        return
    block.state, block.result, block.progress, block.ended_ms = state, result, "", at_ms
    block.diff = diff or block.diff
    page.touch(block)


def end_call_by_part(page: Page, block: CallBlock | None, part: ToolResultPart) -> None:
    """A result that came as a part of a message, as saved conversations and some loops have it."""
    if block is not None:
        state: CallState = "failed" if part.is_error is True else "completed"
        end_call(page, block, state, result_text(part.result), find_diff(part.result), None)


def summary_line(arguments: object) -> str:
    """The one argument that tells what a call is about, else all of them, on one line."""
    if isinstance(arguments, Mapping):
        for name in _TELLING:
            if isinstance(told := arguments.get(name), str) and told:
                return clean_name(told)
        if not arguments:
            return ""
    return clean_name(_json(arguments))


def argument_text(arguments: object, most: int = _MOST_KEPT) -> str:
    """Every argument with its name; texts as they are, with their lines, up to so many characters."""
    if not isinstance(arguments, Mapping):
        return _kept(_json(arguments), clean_strict, most)
    return _kept("\n".join(_argument(str(name), value) for name, value in arguments.items()), clean_strict, most)


def result_text(result: object) -> str:
    """A result as text: the text it is or carries, else JSON."""
    if isinstance(result, Mapping) and isinstance(told := result.get("text", result.get("output")), str):
        return _kept(told, clean)
    return _kept(result if isinstance(result, str) else _json(result), clean)


def error_text(error: ProtocolError) -> str:
    """Code and message, and what the tool itself said where the loop passes it on."""
    told = f"{clean_name(error.code)}: {_kept(error.message, clean)}"
    details = error.details
    if details is not UNSET and "result" in details:
        told += f"\n{result_text(details['result'])}"
    return told


def find_diff(*places: object) -> str:
    """The first unified diff among these values, and their members called `diff`."""
    for place in places:
        found = place.get("diff") if isinstance(place, Mapping) else place
        if isinstance(found, str) and _HUNK.search(found):
            return _kept(found, clean_strict)
    return ""


def diff_counts(diff: str) -> tuple[int, int]:
    """How many lines a unified diff adds, and takes away."""
    lines = [line for line in diff.split("\n") if not line.startswith(("+++", "---"))]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _argument(name: str, value: object) -> str:
    text = value if isinstance(value, str) else _json(value)
    if "\n" not in text:
        return f"{clean_name(name)}: {text}"
    return "\n".join([f"{clean_name(name)}:", *(f"  {line}" for line in text.split("\n"))])


def _json(value: object) -> str:
    # Not strictjson: what a peer sent may hold a lone surrogate, which has no bytes but can be shown.
    return json.dumps(value, ensure_ascii=False, default=str)


def _kept(text: str, cleaning: Callable[[str], str], most: int = _MOST_KEPT) -> str:
    if len(text) <= most:
        return cleaning(text)
    return f"{cleaning(text[:most])}\n… {len(text) - most} more characters"
