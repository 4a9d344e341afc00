"""Conversations of earlier: which there are, and how one is taken up again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import anyio.to_thread

from sayso.apps.tui.pickers import Entry
from sayso.apps.tui.seat import Seat
from sayso.apps.tui.talk import Talk
from sayso.control.client.contract import OpenSettings
from sayso.control.protocol.payloads.content import Message
from sayso.core.refusal import PeerRefused, Refused

__all__ = ("list_past", "take_up")

_MOST = 1000
_PAGE = 100


async def list_past(seat: Seat, now: datetime) -> list[Entry]:
    """What can be gone on with, newest first. Refused: `no_history`."""
    if seat.conversations is not None:
        entries = await anyio.to_thread.run_sync(seat.conversations.entries)
        return [
            Entry(
                each.native_id,
                each.title or "(untitled)",
                f"{_ago(each.updated_at_ms, now)} · {each.messages} messages · {each.model_ref}",
            )
            for each in entries
            if each.messages
        ]
    found: list[Entry] = []
    cursor: str | None = None
    history = getattr(seat.client, "history", None)
    if history is None:
        raise Refused.because("no_history", "this agent keeps no conversations here")
    while len(found) < _MOST:
        page = await history(limit=_PAGE, cursor=cursor)
        found += [
            Entry(each.session_id, each.session_id, f"{_ago(each.updated_at_ms, now)} · {each.state} · {each.adapter}")
            for each in page.sessions
            if each.adapter == seat.adapter
        ]
        if (cursor := page.next_cursor) is None:
            break
    return found


async def take_up(talk: Talk, seat: Seat, named: str, settings: OpenSettings) -> None:
    """Goes on with a conversation or session of this name; what was said in it is told to the story before
    anything else of it.

    Raises as the client does; Refused `unknown_session`.
    """
    session_id = await seat.session_of(named) or named
    native = await seat.native_of(session_id) or named
    kept = await _kept(seat, native)
    settings = {**settings, "session_id": session_id}
    try:
        await talk.open({**settings, "reopen": True})
    except PeerRefused as refused:
        if refused.refusal.code not in ("session_exists", "unsupported_feature"):
            raise
        # It is open in that hub: then it is joined as it stands.
        await talk.open(settings, attach=True)
    talk.story.recall(kept)


async def _kept(seat: Seat, native: str) -> Sequence[Message]:
    """What was said; nothing where it is not kept here."""
    if seat.conversations is None:
        return ()
    try:
        return (await anyio.to_thread.run_sync(seat.conversations.load, native)).messages
    except Refused as refused:
        if refused.refusal.code not in ("unsupported_feature", "unknown_session"):
            raise
        return ()


def _ago(at_ms: int, now: datetime) -> str:
    seconds = max(0, int(now.timestamp()) - at_ms // 1000)
    for size, word in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {word} ago"
    return "now"
