"""What a model says in one turn, before a vendor's format is put on it; and one server-sent event as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sayso.core import strictjson
from sayso.core.frames import SseEvent, write_sse
from sayso.testing.provider import Call, Say, Think

__all__ = ("Ending", "Said", "arguments_of", "frame", "pieces_of")

Ending = Literal["stop", "length", "filter"]


@dataclass(frozen=True, slots=True)
class Said:
    """A turn: its steps, how it ends, and the tokens counted (None: the vendor counts nothing)."""

    steps: Sequence[Say | Think | Call]
    ending: Ending = "stop"
    counted: tuple[int, int] | None = (7, 3)

    @property
    def has_calls(self) -> bool:
        return any(isinstance(step, Call) for step in self.steps)


def frame(data: object, event: str = "message") -> bytes:
    """One event whose data is JSON, or a text as it is."""
    raw = data.encode() if isinstance(data, str) else strictjson.encode(data)
    return write_sse(SseEvent(raw, event))


def arguments_of(call: Call) -> str:
    """A call's arguments as text; a text is taken as it stands, so that a script can be wrong."""
    return call.arguments if isinstance(call.arguments, str) else strictjson.encode(call.arguments).decode()


def pieces_of(text: str, size: int = 7) -> list[str]:
    """A text as models stream it."""
    return [text[start : start + size] for start in range(0, len(text), size)]
