"""Whether a call needs a person's yes before it is made (OAP-157).

`Permitting` stands in front of a source whose tools touch nobody but the person at this machine: a workspace, an MCP
server. A call to a tool that says `readOnlyHint` passes. Any other is shown to the person as the source's own preview
of it and made once they said yes; one yes is good for one call. In a session opened with `bypass` it passes too, except
where the preview says that a person must be asked all the same.

A preview may refuse: then nobody is asked about a call that could not be made. What the person saw is what is called:
the question keeps the call, and the source keeps whatever it has to compare when the yes comes.

`shown` is the one way untrusted text enters a preview. What a person reads must not hide, reorder or push out of sight
any part of what they agree to.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sayso.control.loop.contract import (
    PermissionMode,
    ToolAnswer,
    ToolAsks,
    ToolCall,
    ToolDone,
    ToolOutcome,
    ToolSource,
    ToolSpec,
)
from sayso.core import strictjson
from sayso.core.excerpt import both_ends
from sayso.core.refusal import Misuse

__all__ = ("DENIED", "Permitting", "Preview", "PreviewsCalls", "plain_preview", "shown")

DENIED = "permission_denied"

_ARGUMENTS_LIMIT = 16_384
"""Characters of a plain preview's arguments; both ends are kept, and the cut is told."""
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Letters and marks by their category that draw nothing: Hangul fillers, the empty braille cell, joiners, variation
# selectors.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_TITLE_LIMIT = 200
_PLAIN = re.compile(r"[\t\n\x20-\x7e]*")
_LONG_GAP = re.compile(r"(?<=\S)(?:[ \t]{24,}|(?: *\t){6}[ \t]*)|[ \t]{200,}|\n(?:[ \t]*\n){4,}")


@dataclass(frozen=True, slots=True)
class Preview:
    """What a person is shown before a call: a line, and the whole of it in words or as a diff.

    With `must_ask` the person is asked in every mode.
    """

    title: str
    text: str
    must_ask: bool = False


class PreviewsCalls(ToolSource, Protocol):
    """A source that can show a call before it is made."""

    async def preview(self, call: ToolCall) -> Preview:
        """What the call would do, without doing any of it. Refused: the call could not be made as it stands.

        Asked of no tool that says `readOnlyHint`. What has to be the same when the call comes the source keeps by
        `tool_call_id` until then, or until `abandon`, which a no is told by too.
        """
        ...


class Permitting:
    """A `ToolSource` that asks before it passes a call on. A call's first answer is its own, the others `inner`'s."""

    def __init__(self, inner: PreviewsCalls, mode: PermissionMode) -> None:
        self._inner = inner
        self._mode = mode
        self._asked: dict[str, ToolCall] = {}
        self._passed: set[str] = set()

    @property
    def id(self) -> str:
        return self._inner.id

    def tools(self) -> Sequence[ToolSpec]:
        return self._inner.tools()

    async def call(self, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        """The result, or the question. A no is an error result with `error` = `permission_denied`."""
        asked = self._asked.get(call.tool_call_id)
        if asked is not None:
            return await self._answered(asked, call, answers)
        if answers and call.tool_call_id not in self._passed:
            raise Misuse("an answer to a question that was not asked")
        if not answers and not self._is_read_only(call.name):
            preview = await self._inner.preview(call)
            if self._mode != "bypass" or preview.must_ask:
                self._asked[call.tool_call_id] = call
                return ToolAsks(_in_one_line(preview.title), preview.text)
        self._passed.discard(call.tool_call_id)
        outcome = await self._inner.call(call, answers)
        if isinstance(outcome, ToolAsks):
            self._passed.add(call.tool_call_id)
        return outcome

    async def abandon(self, call: ToolCall) -> None:
        self._asked.pop(call.tool_call_id, None)
        self._passed.discard(call.tool_call_id)
        await self._inner.abandon(call)

    async def _answered(self, asked: ToolCall, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        if call != asked or not answers:
            raise Misuse("the answer to a question belongs to the call that was asked about")
        del self._asked[call.tool_call_id]
        if not answers[0].granted:
            await self._inner.abandon(asked)
            return ToolDone(_denial(call.name, answers[0].reason), is_error=True)
        outcome = await self._inner.call(asked, answers[1:])
        if isinstance(outcome, ToolAsks):
            self._asked[call.tool_call_id] = asked
        return outcome

    def _is_read_only(self, name: str) -> bool:
        return any(spec.name == name and spec.annotations.get("readOnlyHint") is True for spec in self._inner.tools())


def plain_preview(call: ToolCall, *, title: str | None = None) -> Preview:
    """The preview of a call that has no better one: the tool and its arguments."""
    arguments = both_ends(strictjson.encode(call.arguments).decode(), _ARGUMENTS_LIMIT)
    return Preview(title or f"Call {shown(call.name)}", f"{shown(call.name)}\n{shown(arguments)}")


def shown(text: str) -> str:
    """`text` with everything written out that a terminal or a browser would not draw where it stands.

    Control and format characters (also those that turn the direction of writing), blanks that are not the space, and
    half surrogate pairs come as `\\u{202e}`; a gap wide or high enough to push text out of sight is told by its size.
    Line ends, tabs and spaces stay.
    """
    if not _PLAIN.fullmatch(text):
        text = "".join(map(_shown_character, text))
    return _LONG_GAP.sub(_shown_gap, text)


def _in_one_line(title: str) -> str:
    """A title that is one: what follows a line end could be taken for the words of whoever asks."""
    title = title.replace("\n", "\\u{a}")
    return title if len(title) <= _TITLE_LIMIT else f"{title[:_TITLE_LIMIT]}…"


def _shown_character(each: str) -> str:
    if each in "\n\t ":
        return each
    if unicodedata.category(each) in _UNSHOWN or _BLANK.fullmatch(each):
        return f"\\u{{{ord(each):x}}}"
    return each


def _shown_gap(gap: re.Match[str]) -> str:
    lines = gap[0].count("\n")
    return f"\n[{lines - 1} empty lines]\n" if lines else f" [{len(gap[0])} blanks] "


def _denial(name: str, reason: str | None) -> dict[str, object]:
    message = f"This call of {name} was not allowed"
    if not reason:
        return {"error": DENIED, "message": message}
    return {"error": DENIED, "message": f"{message}: {reason}", "reason": reason}
