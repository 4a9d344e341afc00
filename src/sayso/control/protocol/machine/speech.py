"""A run that speaks on: many events that move nothing but its number, taken as one step.

Theory. While nothing else is told, what the next event of a started run has to be is known beforehand: its run and
session, the next number, an id of its own. A `Speech` holds that and nothing else; whoever has one asks it first, and
closes it before anything else is stepped. What it takes, `step` would have taken without a fault.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sayso.control.protocol.conversation import Conversation
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.persistent import PersistentMap

__all__ = ("Speech",)


class Speech:
    """Goes on behind an event of a live run that was stepped without a fault and the short way."""

    __slots__ = ("_ids", "_known", "_last", "_revision", "_run_id", "_session_id")

    def __init__(self, state: Conversation, envelope: Envelope[Any]) -> None:
        self._run_id, self._session_id = envelope.run_id, envelope.session_id
        self._revision, self._last = envelope.capability_revision, envelope.sequence
        self._known, self._ids = state.ids, set[str]()

    def take(self, envelope: Envelope[Any]) -> bool:
        """Whether this is the next thing said; then it is counted."""
        payload, name = envelope.payload, envelope.id
        if (
            envelope.sequence != self._last + 1  # type: ignore[operator]
            or envelope.run_id != self._run_id
            or payload.run_id != self._run_id
            or envelope.session_id != self._session_id
            or payload.session_id != self._session_id
            or envelope.capability_revision != self._revision
            or envelope.in_reply_to is not UNSET
            or name in self._ids
            or name in self._known
        ):
            return False
        self._ids.add(name)
        self._last += 1  # type: ignore[operator]
        return True

    def close(self, state: Conversation) -> Conversation:
        """The conversation behind all that was taken; `state` is the one it began with."""
        if not self._ids:
            return state
        name = str(self._run_id)
        runs = state.runs.set(name, replace(state.runs[name], last=int(self._last)))  # type: ignore[arg-type]
        ids = state.ids
        if isinstance(ids, PersistentMap):
            return replace(state, ids=ids.with_all(self._ids, value=True), runs=runs)
        for each in self._ids:
            ids = ids.set(each, value=True)
        return replace(state, ids=ids, runs=runs)
