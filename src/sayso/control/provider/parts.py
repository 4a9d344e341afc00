"""The parts manager: what a vendor streams, as the parts of an inference in their only legal order (OAP-131, OAP-133).

Every wire's reducer tells it what arrived (more text, more reasoning, a piece of a call); it says which part began,
grew or ended. It holds the rules that wires share, so that they are kept once: which call a piece belongs to when
indexes are missing, repeated or drift; that a call's arguments are one whole JSON object or no call at all; that empty
arguments are `{}`; that text and reasoning end when something else begins. Pure: no I/O, no ids, no vendor's names.

Every refusal is `endpoint_error` with a reason: the vendor's stream is not what its format says.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sayso.control.protocol.payloads.content import ReasoningPart, TextPart, ToolCallPart
from sayso.control.protocol.payloads.inference import PartKind
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("Ended", "Grew", "Opened", "PartEvent", "Parts", "read_arguments")

_EMPTY: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Opened:
    """A part began; a tool call has its id and name from here on."""

    index: int
    kind: PartKind
    call_id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Grew:
    """More of a part."""

    index: int
    delta: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A part is whole."""

    index: int
    part: TextPart | ReasoningPart | ToolCallPart


PartEvent = Opened | Grew | Ended


@dataclass(slots=True)
class _Prose:
    """Text or reasoning under way."""

    index: int
    kind: Literal["text", "reasoning"]
    key: Hashable
    pieces: list[str] = field(default_factory=list)
    carry: Maybe[str] = UNSET


@dataclass(slots=True)
class _Call:
    """A call under way. It opens once its name is known; what came before is held back."""

    call_id: str | None
    name: str | None = None
    part: int | None = None
    given_id: str = ""
    pieces: list[str] = field(default_factory=list)
    carry: Maybe[str] = UNSET
    is_ended: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def is_partial(self) -> bool:
        """It has begun to say its arguments and has not finished."""
        return not self.is_ended and bool(self.text.strip()) and not _is_whole(self.text)


class Parts:
    """The parts of one inference. `name_call` gives a call its id, told the vendor's own or None: it makes one where
    there is none, or where that one stands for another call already.
    """

    def __init__(self, name_call: Callable[[str | None], str]) -> None:
        self._name_call = name_call
        self._count = 0
        self._prose: _Prose | None = None
        self._calls: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._by_index: dict[Hashable, _Call] = {}
        self._last: _Call | None = None

    @property
    def has_calls(self) -> bool:
        """Whether a call has been told of, whole or not."""
        return bool(self._calls)

    # --- text and reasoning ------------------------------------------------------------------------------------------

    def text(self, delta: str, key: Hashable = None) -> list[PartEvent]:
        """More text. Another `key` is another part; nothing is nothing."""
        return self._say("text", delta, key) if delta else []

    def think(self, delta: str, key: Hashable = None, *, carry: Maybe[str] = UNSET) -> list[PartEvent]:
        """More reasoning, and the token that must come back with it; a part may be a token alone."""
        if not delta and carry is UNSET:
            return []
        events = self._say("reasoning", delta, key)
        if carry is not UNSET and self._prose is not None:
            self._prose.carry = carry
        return events

    def end_prose(self) -> list[PartEvent]:
        """The text or reasoning under way is whole."""
        prose, self._prose = self._prose, None
        if prose is None:
            return []
        said = "".join(prose.pieces)
        if prose.kind == "text":
            return [Ended(prose.index, TextPart(text=said))]
        return [Ended(prose.index, ReasoningPart(reasoning=said, carry=prose.carry))]

    def _say(self, kind: Literal["text", "reasoning"], delta: str, key: Hashable) -> list[PartEvent]:
        events: list[PartEvent] = []
        prose = self._prose
        if prose is None or (prose.kind, prose.key) != (kind, key):
            events += self.end_prose()
            prose = self._prose = _Prose(self._take_index(), kind, key)
            events.append(Opened(prose.index, kind))
        if delta:
            prose.pieces.append(delta)
            events.append(Grew(prose.index, delta))
        return events

    # --- calls -------------------------------------------------------------------------------------------------------

    def call(
        self,
        delta: str = "",
        *,
        call_id: str | None = None,
        index: Hashable = None,
        name: str | None = None,
        carry: Maybe[str] = UNSET,
    ) -> list[PartEvent]:
        """A piece of a call. Which call (B21): a known id decides whatever the index says; a new id is a new call; an
        index continues its call; neither continues the one under way. Refused `ambiguous_tool_call` where a piece
        could belong to more than one, `unnamed_tool_call` where a call says its arguments and never its name.
        """
        events = self.end_prose()
        call = self._find(call_id or None, index, name or None, delta)
        if carry is not UNSET:
            call.carry = carry
        if name and call.name is None:
            call.name = name
        elif name and name != call.name:
            raise _fault("ambiguous_tool_call", "a call changed its name while it was told")
        if delta:
            call.pieces.append(delta)
        if call.part is not None:
            return [*events, Grew(call.part, delta)] if delta else events
        return [*events, *self._open(call)]

    def end_call(
        self, *, call_id: str | None = None, index: Hashable = None, arguments: str | None = None
    ) -> list[PartEvent]:
        """The vendor ends the call; `arguments`, where it says them again at the end, replace what was streamed. A call
        that is not whole by now stays open: `finish` judges it, because only the vendor's last word says why.
        """
        call = self._by_id.get(call_id or "") or self._by_index.get(index)
        if call is None or call.is_ended:
            return []
        if arguments is not None:
            call.pieces = [arguments]
        return [self._end(call)] if call.name is not None and _is_whole(call.text) else []

    def finish(self, *, is_cut: bool = False) -> list[PartEvent]:
        """The vendor has said its last word: whatever is open ends. With `is_cut` (a limit or a filter stopped the
        model) a call that is not whole is left open, so it is no part of the message; otherwise it is refused
        `truncated_tool_call` (B20).
        """
        events = self.end_prose()
        for call in self._calls:
            if call.is_ended or (is_cut and not _is_whole(call.text)):
                continue
            if call.part is None:
                if is_cut:
                    continue
                raise _fault("unnamed_tool_call", "a call has no name")
            events.append(self._end(call))
        return events

    def _find(self, call_id: str | None, index: Hashable, name: str | None, delta: str) -> _Call:
        known = self._by_id.get(call_id) if call_id else None
        if known is None and call_id:
            held = self._by_index.get(index) if index is not None else None
            is_held = (
                held is not None and held.call_id is None and not held.is_ended and (held.name is None or name is None)
            )
            known = held if held is not None and is_held else self._begin(call_id)
            known.call_id = call_id
            self._by_id[call_id] = known
        if known is None:
            known = self._continued(index, name, delta)
        if known.is_ended and (delta.strip() or not call_id):
            raise _fault("ambiguous_tool_call", "a call that has ended goes on")
        if index is not None:
            self._by_index[index] = known
        self._last = known
        return known

    def _continued(self, index: Hashable, name: str | None, delta: str) -> _Call:
        """The call a piece without an id belongs to."""
        if index is not None and index in self._by_index:
            call = self._by_index[index]
            if name and call.name not in (None, name):
                raise _fault("ambiguous_tool_call", "two calls without ids share an index")
            return call
        last = self._last
        if name is not None:
            if index is None and last is not None and last.name in (None, name):
                raise _fault("ambiguous_tool_call", "a name without id and index may be a call or the same again")
            return self._begin(None)
        if last is None:
            if index is not None or not delta.strip():
                return self._begin(None)
            raise _fault("unnamed_tool_call", "arguments came before any call")
        others = [call for call in self._calls if call is not last and not call.is_ended]
        is_torn = len(others) > 0 if index is not None else any(call.is_partial for call in others)
        if is_torn or last.is_ended or (index is not None and _is_whole(last.text) and last.text.strip()):
            raise _fault("ambiguous_tool_call", "arguments came that may belong to more than one call")
        return last

    def _begin(self, call_id: str | None) -> _Call:
        call = _Call(call_id)
        self._calls.append(call)
        return call

    def _open(self, call: _Call) -> list[PartEvent]:
        if call.name is None:
            return []
        call.part = self._take_index()
        call.given_id = self._name_call(call.call_id)
        opened = Opened(call.part, "tool_call", call.given_id, call.name)
        return [opened, Grew(call.part, call.text)] if call.text else [opened]

    def _end(self, call: _Call) -> Ended:
        if call.part is None or call.name is None:
            raise _fault("unnamed_tool_call", "a call has no name")
        arguments = read_arguments(call.text)
        call.is_ended = True
        part = ToolCallPart(tool_call_id=call.given_id, name=call.name, arguments_json=arguments, carry=call.carry)
        return Ended(call.part, part)

    def _take_index(self) -> int:
        self._count += 1
        return self._count - 1


def read_arguments(text: str) -> Mapping[str, object]:
    """A call's arguments: one JSON object with nothing but white space around it; blank means `{}` (B22). Refused
    `truncated_tool_call` for anything else: nothing is repaired, and nothing stands in for text that is not whole.
    """
    if not text.strip():
        return _EMPTY
    try:
        value = strictjson.parse(text.encode())
    except Refused as refused:
        reason = "trailing_arguments" if refused.refusal.reason == "trailing_data" else "truncated_tool_call"
        raise _fault(reason, "a call's arguments are not one whole JSON object") from None
    if not isinstance(value, dict):
        raise _fault("truncated_tool_call", "a call's arguments are no JSON object")
    return value


def _is_whole(text: str) -> bool:
    try:
        read_arguments(text)
    except Refused:
        return False
    return True


def _fault(reason: str, message: str) -> Refused:
    return Refused.because("endpoint_error", message, reason=reason)
