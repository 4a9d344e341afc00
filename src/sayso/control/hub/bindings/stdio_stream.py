"""A subscription as lines of the hub over stdio: events, and every ending a host could not otherwise see (OAP-122)."""

from __future__ import annotations

from typing import Any

from sayso.control.hub.bindings.stdio_lines import event_line
from sayso.control.hub.machine import Deliver, End, Ending
from sayso.control.protocol.signals import OVERFLOW, REPLAY_GAP, SUBSCRIBED

__all__ = ("StdioStream",)


class StdioStream:
    """One subscription as lines: where it stands, and whether it is over."""

    def __init__(self, request_id: int, session_id: str, limit: int) -> None:
        self._id = request_id
        self._session_id = session_id
        self._limit = limit
        self._run_id = ""
        self._last = 0
        self.is_over = False

    def lines(self, effect: Deliver | End, *, is_ending: bool) -> list[bytes]:
        if isinstance(effect, End):
            self.is_over = True
            return [] if is_ending else self._ending(effect)
        lines = []
        if effect.joined is not None:
            run_id, last = effect.joined
            lines.append(self._line(SUBSCRIBED, run_id=run_id, joined_after=last))
        for entry in effect.entries:
            line = event_line(
                "envelope", self._id, self._limit, entry.data, session_id=self._session_id, sequence=entry.sequence
            )
            if not line:
                self.is_over = True
                message = "an envelope is over the frame limit; resume behind it"
                over = self._line("oap-frame-limit", run_id=entry.run_id, sequence=entry.sequence, message=message)
                return [*lines, over]
            self._run_id, self._last = entry.run_id, entry.sequence
            lines.append(line)
        return lines

    def failed(self) -> bytes:
        """The line for a stream that broke."""
        message = "the stream broke off; resume behind this position"
        return self._line("oap-stream-failed", run_id=self._run_id, sequence=self._last, message=message)

    def _ending(self, end: End) -> list[bytes]:
        run_id, last = end.at or (self._run_id, self._last)
        match end.why:
            case Ending.OVERFLOW:
                return [self._line(OVERFLOW, run_id=run_id, last_sequence=last)]
            case Ending.GAP if end.bounds is not None:
                oldest, latest = end.bounds
                return [self._line(REPLAY_GAP, requested_after=last, oldest_available=oldest, latest_available=latest)]
            case Ending.CLOSED:
                return [self._line("oap-session-closed", message="the session was closed")]
            case _:
                return []

    def _line(self, event: str, **members: Any) -> bytes:
        return event_line(event, self._id, self._limit, session_id=self._session_id, **members)
