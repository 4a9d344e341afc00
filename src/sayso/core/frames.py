"""Bytes cut into messages: LF-terminated lines, and server-sent events (WHATWG HTML, 9.2.6).

Both work on bytes and keep no text decoder: a character cut in two between chunks, or U+2028 inside a string, is no
concern of a framer. However a stream is cut into chunks, the same messages come out. Both hold at most their stated
bound in memory. What a line or an event means, and whether it is UTF-8, is judged by who reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sayso.core.refusal import Misuse, Refusal, Refused

__all__ = ("LineFramer", "LineTooLong", "SseDecoder", "SseEvent", "write_sse")

_LF = b"\n"
_CR = b"\r"
_BOM = b"\xef\xbb\xbf"
_EVENT_BOUND = 16 * 1024 * 1024


class LineTooLong(Refused):
    """A line over the bound; `lines` are the whole lines that came before it in the same chunk."""

    def __init__(self, size: int, bound: int, *, is_whole: bool, lines: list[bytes]) -> None:
        said = f"a line of {size} bytes" if is_whole else f"a line of more than {size - 1} bytes"
        details = {"size": size, "bound": bound, "is_whole": is_whole}
        super().__init__(Refusal(code="line_too_long", message=f"{said} is over the bound of {bound}", details=details))
        self.lines = lines


class LineFramer:
    """Cuts a byte stream at 0x0A and nowhere else; `limit` is the longest line in bytes, its LF not counted.

    A carriage return before the LF stays part of the line. After a line over the bound the stream cannot be trusted:
    every later call raises the same refusal.
    """

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise Misuse("a line may have at least one byte")
        self._limit = limit
        self._held: list[bytes] = []
        self._size = 0
        self._fault: LineTooLong | None = None

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without their LF.

        Raises `LineTooLong` (code "line_too_long"); details tell the size, exact if the line's end was seen.
        """
        if self._fault is not None:
            raise self._fault
        *whole, rest = chunk.split(_LF)
        if whole:
            whole[0] = b"".join((*self._held, whole[0]))
            self._held.clear()
            self._size = 0
        for index, line in enumerate(whole):
            if len(line) > self._limit:
                raise self._break(len(line), whole[:index], is_whole=True)
        if rest:
            self._held.append(rest)
            self._size += len(rest)
        if self._size > self._limit:
            raise self._break(self._size, whole, is_whole=False)
        return whole

    def close(self) -> bytes:
        """What came after the last LF: empty unless the stream ended in the middle of a line."""
        if self._fault is not None:
            raise self._fault
        rest = b"".join(self._held)
        self._held.clear()
        self._size = 0
        return rest

    def _break(self, size: int, lines: list[bytes], *, is_whole: bool) -> LineTooLong:
        self._held.clear()
        fault = LineTooLong(size, self._limit, is_whole=is_whole, lines=lines)
        self._fault = LineTooLong(size, self._limit, is_whole=is_whole, lines=[])
        return fault


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One server-sent event. `data` stays bytes, so that the strict reader judges them; `id` is the last one seen."""

    data: bytes
    event: str = "message"
    id: str | None = None


class SseDecoder:
    """Reads an event stream: CR, LF or CRLF end a line, a blank line ends an event, `bound` caps one event in bytes.

    A byte order mark may open the stream. Comments and unknown fields are skipped; an event that its stream leaves
    unfinished is dropped, as the standard says. `retry` is the reconnection time asked for, in milliseconds.
    """

    def __init__(self, bound: int = _EVENT_BOUND) -> None:
        self._bound = bound
        self._start = b""
        self._is_started = False
        self._after_cr = False
        self._line: list[bytes] = []
        self._line_size = 0
        self._data_size = 0
        self._data: list[bytes] = []
        self._event = ""
        self._id: str | None = None
        self.retry: int | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes; raises `Refused("event_too_long")` over the bound."""
        if not self._is_started:
            chunk = self._skip_bom(chunk)
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(_LF)
            self._after_cr = False
        self._after_cr = self._after_cr or chunk.endswith(_CR)
        events: list[SseEvent] = []
        for piece in chunk.splitlines(keepends=True):  # on bytes this cuts at CR, LF and CRLF only
            self._line_size += len(piece)
            if self._data_size + self._line_size > self._bound:
                raise Refused.because("event_too_long", f"an event is over the bound of {self._bound} bytes")
            if not piece.endswith((_CR, _LF)):
                self._line.append(piece)
                continue
            line = b"".join((*self._line, piece)).rstrip(_CR + _LF)
            self._line.clear()
            self._line_size = 0
            if line:
                self._field(line)
            else:
                events.extend(self._dispatch())
        return events

    def _skip_bom(self, chunk: bytes) -> bytes:
        start = self._start + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._start = start
            return b""
        self._start = b""
        self._is_started = True
        return start.removeprefix(_BOM)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
                self._data_size += len(value) + 1
            case b"event":
                self._event = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
            case b"retry" if value.isdigit() and len(value) < 10:
                self.retry = int(value)
            case _:
                pass  # comments have an empty name; the standard skips what it does not know

    def _dispatch(self) -> list[SseEvent]:
        data, event = self._data, self._event
        self._data, self._event, self._data_size = [], "", 0
        return [SseEvent(_LF.join(data), event or "message", self._id)] if data else []


def write_sse(event: SseEvent) -> bytes:
    """The bytes of one event. A CR, which the wire cannot carry inside data, and line ends in names are `Misuse`."""
    named = event.event + (event.id or "")
    if _CR in event.data or any(mark in named for mark in "\r\n\0"):
        raise Misuse("an event's data has no CR, its name and id no line end")
    head = b"" if event.event == "message" else b"event: " + event.event.encode() + _LF
    if event.id is not None:
        head += b"id: " + event.id.encode() + _LF
    body = b"".join(b"data: " + line + _LF for line in event.data.split(_LF))
    return head + body + _LF
