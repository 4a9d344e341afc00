"""What is printed of a run: lines for a person, or every envelope as one JSON object a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO, Protocol, TextIO

from sayso.apps.asking.plain_text import plain, plain_lines
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallCancelled,
    ActionCallCompleted,
    ActionCallFailed,
    ActionCallRequested,
    PermissionResolved,
)
from sayso.control.protocol.payloads.compaction import RunCompactionEnded
from sayso.control.protocol.payloads.content import ReasoningPart, TextPart, Usage, text_of
from sayso.control.protocol.payloads.run import ContentDelta, RunCancelled, RunCompleted, RunFailed
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.core import strictjson

__all__ = ("JsonTelling", "LinesTelling", "Tells")

_SHOWN = 12
_WIDTH = 160


class Tells(Protocol):
    """Who is told of a run."""

    def hear(self, envelope: Envelope[Wire]) -> None:
        """Every event, as it comes."""
        ...

    def note(self, text: str) -> None:
        """A line of the program's own."""
        ...


class JsonTelling:
    """Every envelope as it stands, one a line; the program's own lines go to `errors`."""

    def __init__(self, out: BinaryIO, errors: TextIO) -> None:
        self._out = out
        self._errors = errors

    def hear(self, envelope: Envelope[Wire]) -> None:
        self._out.write(strictjson.encode(envelope) + b"\n")
        self._out.flush()

    def note(self, text: str) -> None:
        self._errors.write(f"{plain(text)}\n")
        self._errors.flush()


class LinesTelling:
    """For a person: the answer as it streams, a line for each call and for what came of it, and how the run ended.

    Reasoning is told as one line, since it is long and is not the answer.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_mid_line = False
        self._reasons = False
        self._streamed = False

    def note(self, text: str) -> None:
        self._line(text)

    def hear(self, envelope: Envelope[Wire]) -> None:
        match envelope.payload:
            case ContentDelta(part=TextPart(text=text)):
                self._reasons = False
                self._streamed = True
                self._write(text)
            case ContentDelta(part=ReasoningPart()):
                if not self._reasons:
                    self._reasons = True
                    self._line("… thinking")
            case ActionCallRequested(name=name, arguments_json=arguments):
                self._reasons = self._streamed = False
                self._line(f"> {name} {_short(arguments)}".rstrip())
            case ActionCallCompleted(result=result):
                self._block(result)
            case ActionCallFailed(error=error):
                self._line(f"  failed: {error.code}: {error.message}")
            case ActionCallCancelled():
                self._line("  cancelled")
            case PermissionResolved(granted=granted):
                self._line("  allowed" if granted is True else "  not allowed")
            case _:
                self._end(envelope.payload)

    def _end(self, payload: Wire) -> None:
        match payload:
            case RunCompactionEnded(outcome=outcome):
                self._line(f"(summarizing the conversation so far: {outcome})")
            case RunCompleted(final_response=final, stop_reason=reason, usage=usage):
                if not self._streamed:
                    self._write(text_of(final.content))
                self._break()
                if reason not in ("end_turn", UNSET):
                    self._line(f"(stopped early: {reason})")
                self._usage(usage)
            case RunFailed(error=error):
                self._line(f"failed: {error.code}: {error.message}")
            case RunCancelled():
                self._line("cancelled")
            case _:
                pass

    def _usage(self, usage: Maybe[Usage]) -> None:
        if usage is UNSET:
            return
        counted = [(usage.input_tokens, "in"), (usage.output_tokens, "out")]
        told = [f"{number:,} {way}" for number, way in counted if number is not UNSET]
        if told:
            self._line(f"({', '.join(told)} tokens)")

    def _block(self, result: object) -> None:
        lines = _readable(result).splitlines() or ["done"]
        for line in lines[:_SHOWN]:
            self._line(f"  {_cut(line)}")
        if len(lines) > _SHOWN:
            self._line(f"  … {len(lines) - _SHOWN} more lines")

    def _write(self, text: str) -> None:
        safe = plain_lines(text)
        self._out.write(safe)
        self._out.flush()
        self._is_mid_line = not safe.endswith("\n") if safe else self._is_mid_line

    def _break(self) -> None:
        if self._is_mid_line:
            self._out.write("\n")
            self._is_mid_line = False

    def _line(self, text: str) -> None:
        self._break()
        self._out.write(f"{plain_lines(' '.join(text.splitlines()))}\n")
        self._out.flush()


def _short(arguments: object) -> str:
    """The arguments of a call on one line, each cut."""
    if not isinstance(arguments, Mapping):
        return ""
    return _cut(
        ", ".join(str(value) if len(arguments) == 1 else f"{name}: {value}" for name, value in arguments.items())
    )


def _readable(result: object) -> str:
    """A tool's result: its own text where it has one, else as JSON."""
    if isinstance(result, str):
        return result
    if isinstance(result, Mapping):
        for name in ("text", "content", "output", "diff", "message"):
            if isinstance(found := result.get(name), str):
                return found
    return strictjson.encode(result).decode()


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
