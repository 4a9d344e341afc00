"""The sessions of legacy clients, in the store, so that any process serves them (GTW-002; MCP 2025-11-25, transports).

A session belongs to the agent whose key opened it: to every other agent it does not exist. It ends when the client
deletes it, after a day, or when its agent has opened too many newer ones. A subscription remembers which move of a
proposal its client was told of, and under which event number: whichever stream raises that row is the one that tells,
so nothing is told on two streams, and a client that names the last event it saw is told again what got lost after it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import bindparam, delete, func, select, update

from sayso.core.refusal import Refused
from sayso.gateway.guard.rules.codes import refusal
from sayso.store.tables import micros
from sayso.store.tables.gateway_mcp import mcp_sessions, mcp_subscriptions
from sayso.store.unit import Reading, Store, Unit, insert, statement

__all__ = ("LASTS", "MOST_SESSIONS", "MOST_SUBSCRIPTIONS", "McpSession", "Sessions", "Subscribed", "channel")

LASTS = timedelta(days=1)
_ID = re.compile(r"[\x21-\x7e]{1,128}")
MOST_SESSIONS = 32
"""Open sessions of one agent; opening one more ends its oldest."""
MOST_SUBSCRIPTIONS = 64


@dataclass(frozen=True, slots=True)
class McpSession:
    """An open session."""

    id: str
    version: str


@dataclass(frozen=True, slots=True)
class Subscribed:
    """One subscription: the move its client was told of, and the number of the event that told it."""

    uri: str
    told: int
    event: int


_s, _u = mcp_sessions.c, mcp_subscriptions.c
_of_session = (_u.owner == bindparam("in_owner"), _u.session == bindparam("in_session"))
_this_session = (_s.owner == bindparam("in_owner"), _s.session == bindparam("in_session"))
_OPEN = statement(insert(mcp_sessions).values(events=0), "owner", "session", "agent", "version", "opened_us", "ends_us")
_FIND = statement(
    select(_s.version).where(*_this_session, _s.agent == bindparam("by_agent"), _s.ends_us > bindparam("now"))
)
_SURPLUS = statement(
    select(_s.session)
    .where(_s.owner == bindparam("in_owner"), _s.agent == bindparam("by_agent"))
    .order_by(_s.opened_us.desc(), _s.session)
    .limit(MOST_SESSIONS)
    .offset(MOST_SESSIONS)
)
_ENDED = statement(
    select(_s.session)
    .where(_s.owner == bindparam("in_owner"), _s.ends_us <= bindparam("now"))
    .order_by(_s.session)
    .limit(MOST_SESSIONS)
    .with_for_update(skip_locked=True)
)
_END = statement(delete(mcp_sessions).where(*_this_session))
_FORGET = statement(delete(mcp_subscriptions).where(*_of_session))
_COUNT = statement(select(func.count()).select_from(mcp_subscriptions).where(*_of_session))
_SUBSCRIBE = statement(
    insert(mcp_subscriptions).values(event=0).on_conflict_do_nothing(), "owner", "session", "uri", "told"
)
_UNSUBSCRIBE = statement(delete(mcp_subscriptions).where(*_of_session, _u.uri == bindparam("of_uri")))
_LIST = statement(select(_u.uri, _u.told, _u.event).where(*_of_session).order_by(_u.uri))
_NEXT = statement(
    update(mcp_sessions).where(*_this_session).values(events=mcp_sessions.c.events + 1).returning(_s.events)
)
_TELL = statement(
    update(mcp_subscriptions).where(*_of_session, _u.uri == bindparam("of_uri"), _u.told < bindparam("upto")),
    "told", "event",
)  # fmt: skip


def channel(session: str) -> str:
    """The wake channel of a session: its end, and changes of what it listens to."""
    return f"mcp session {session}"


class Sessions:
    """The sessions of one owner's gateway."""

    def __init__(self, store: Store, owner: str) -> None:
        self._store = store
        self._owner = owner

    def open_in(self, unit: Unit, session: str, agent: str, version: str) -> None:
        """Opens a session; the agent's oldest end where it has too many, and a few that have run out."""
        opened = micros(unit.now)
        row = {"owner": self._owner, "session": session, "agent": agent, "version": version}
        unit.execute(_OPEN, {**row, "opened_us": opened, "ends_us": micros(unit.now + LASTS)})
        old = unit.all(_SURPLUS, {"in_owner": self._owner, "by_agent": agent})
        for (each,) in [*old, *unit.all(_ENDED, {"in_owner": self._owner, "now": opened})]:
            self._end(unit, each)

    async def find(self, session: str, agent: str) -> McpSession:
        """An agent's open session. Refused: `unknown_session`, the same for another agent's."""
        version = await self._store.reading(lambda view: self._version(view, session, agent))
        return McpSession(session, version)

    def end_in(self, unit: Unit, session: str, agent: str) -> None:
        """Ends a session and every stream of it. Refused: `unknown_session`."""
        self._version(unit, session, agent)
        self._end(unit, session)

    def subscribe_in(self, unit: Unit, session: str, agent: str, uri: str, told: int) -> None:
        """Listens to a resource from move `told` on. Refused: `unknown_session`, `too_many_calls`."""
        self._version(unit, session, agent)
        found = unit.one(_COUNT, self._of(session))
        if found is not None and found[0] >= MOST_SUBSCRIPTIONS:
            message = f"A session listens to at most {MOST_SUBSCRIPTIONS} resources"
            raise Refused(refusal("too_many_calls", message))
        unit.execute(_SUBSCRIBE, {"owner": self._owner, "session": session, "uri": uri, "told": told})
        unit.wake(channel(session))

    def unsubscribe_in(self, unit: Unit, session: str, agent: str, uri: str) -> None:
        """Listens no longer; a resource that was not listened to is none too. Refused: `unknown_session`."""
        self._version(unit, session, agent)
        unit.execute(_UNSUBSCRIBE, {**self._of(session), "of_uri": uri})
        unit.wake(channel(session))

    async def subscriptions(self, session: str, agent: str) -> list[Subscribed]:
        """What a session listens to. Refused: `unknown_session`: that is how a stream learns that its session ended."""
        return await self._store.reading(lambda view: self._subscriptions(view, session, agent))

    async def tell(self, session: str, uri: str, upto: int) -> int | None:
        """Claims to tell of a resource up to a move: the event's number, or None where another stream told already."""
        return await self._store.unit(lambda unit: self._tell(unit, session, uri, upto))

    def _version(self, view: Reading, session: str, agent: str) -> str:
        # A session is looked up with its agent, so that another agent's is no session at all.
        asked = {**self._of(session), "by_agent": agent, "now": micros(view.now)}
        row = view.one(_FIND, asked) if _ID.fullmatch(session) else None
        if row is None:
            raise Refused(refusal("unknown_session", place="Mcp-Session-Id"))
        version: str = row[0]
        return version

    def _subscriptions(self, view: Reading, session: str, agent: str) -> list[Subscribed]:
        self._version(view, session, agent)
        return [Subscribed(*row) for row in view.all(_LIST, self._of(session))]

    def _tell(self, unit: Unit, session: str, uri: str, upto: int) -> int | None:
        row = unit.one(_NEXT, self._of(session))
        if row is None:
            return None
        number: int = row[0]
        told = {**self._of(session), "of_uri": uri, "upto": upto, "told": upto, "event": number}
        return number if unit.execute(_TELL, told) else None

    def _end(self, unit: Unit, session: str) -> None:
        # The session's row first, as whoever tells takes it: two units never wait for one another.
        unit.execute(_END, self._of(session))
        unit.execute(_FORGET, self._of(session))
        unit.wake(channel(session))

    def _of(self, session: str) -> dict[str, str]:
        return {"in_owner": self._owner, "in_session": session}
