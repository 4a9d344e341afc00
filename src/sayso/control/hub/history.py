"""Which sessions a hub has opened, and where each one runs: records, their list, and its pages (OAP-079..081, 099).

A *binding* says which adapter ran a session, under which name of its own, with which model and sources. It is recorded
when a session opens and when it closes; of a session the last record counts. What was secret in a request is in none of
them: no credential, no value of a variable, no environment. The list shows no name a harness has for a session, because
its readers may be trusted less than the file's.

`History` keeps them for the life of a process, `history_file` beyond it. Whether a session is live only a hub knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from sayso.control.protocol.payloads.scalars import OpaqueId, Text
from sayso.core import b64u, strictjson
from sayso.core.refusal import Refused

__all__ = ("Binding", "History", "HistoryEntry", "HistoryPage", "latest_bindings", "write_binding")

DEFAULT_LIMIT, MAX_LIMIT = 50, 100


class Binding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One record; `at_ms` is when it was written. Members a later version adds are passed over."""

    action: Literal["opened", "reopened", "closed"]
    session_id: OpaqueId
    adapter: Text
    at_ms: int
    native_session: str | None = None
    model: str | None = None
    sources: tuple[str, ...] = ()


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session as listed."""

    session_id: str
    adapter: str
    state: Literal["live", "closed"]
    updated_at_ms: int
    model: str | None = None


class HistoryPage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Newest first; `next_cursor` when there is more."""

    sessions: tuple[HistoryEntry, ...]
    next_cursor: str | None = None


class History:
    """The bindings of this process. `issuer` marks the cursors it gives out: nobody else's is understood."""

    def __init__(self, *, issuer: str) -> None:
        self._issuer = issuer
        self._latest: dict[str, Binding] = {}

    async def append(self, binding: Binding) -> None:
        """Adds a record."""
        self._latest[binding.session_id] = binding

    async def latest(self, session_id: str) -> Binding | None:
        """The record that counts for a session."""
        return self._latest.get(session_id)

    async def page(
        self, is_live: Callable[[str], bool], *, limit: int | None = None, cursor: str | None = None
    ) -> HistoryPage:
        """A page of sessions. Raises `Refused`: `invalid_request` for a limit outside 1 to 100, `invalid_cursor`."""
        size = DEFAULT_LIMIT if limit is None else limit
        if not 1 <= size <= MAX_LIMIT:
            raise Refused.because("invalid_request", f"a page has 1 to {MAX_LIMIT} sessions", place="$.limit")
        after = None if cursor is None else _read_cursor(cursor, self._issuer)
        ordered = sorted((-binding.at_ms, name) for name, binding in self._latest.items())
        rest = [row for row in ordered if after is None or row > after]
        sessions = tuple(_entry(self._latest[name], is_live) for _, name in rest[:size])
        if len(rest) <= size:
            return HistoryPage(sessions=sessions)
        position = strictjson.encode([self._issuer, *rest[size - 1]])
        return HistoryPage(sessions=sessions, next_cursor=b64u.encode(position))


def write_binding(binding: Binding) -> bytes:
    """One line, without its end."""
    return strictjson.encode(binding)


def latest_bindings(known: Mapping[str, Binding], lines: Iterable[bytes]) -> dict[str, Binding]:
    """What counts of each session after these lines too; a line that is no record says nothing."""
    latest = dict(known)
    for line in lines:
        try:
            binding = strictjson.decode(line, Binding)
        except Refused:
            continue
        latest[binding.session_id] = binding
    return latest


def _entry(binding: Binding, is_live: Callable[[str], bool]) -> HistoryEntry:
    return HistoryEntry(
        session_id=binding.session_id,
        adapter=binding.adapter,
        state="live" if is_live(binding.session_id) else "closed",
        updated_at_ms=binding.at_ms,
        model=binding.model,
    )


def _read_cursor(cursor: str, issuer: str) -> tuple[int, str]:
    try:
        named, moment, session_id = strictjson.decode(b64u.decode(cursor), tuple[str, int, str])
    except Refused:
        named, moment, session_id = "", 0, ""
    if named != issuer:
        raise Refused.because("invalid_cursor", "this hub did not give out that cursor", place="$.cursor")
    return moment, session_id
