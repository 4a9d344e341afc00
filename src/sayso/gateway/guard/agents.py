"""Outside agents and their keys, as their owner keeps them (GTW-010, GTW-013).

A key is `osz_` and 43 characters of base64url: 256 random bits, shown once and stored as its SHA-256. Each act of the
owner is one unit with its receipt; the doors read the same rows, so that the very next request on any process meets
what was decided.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec
from sqlalchemy import bindparam, func, select, update

from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Refused
from sayso.gateway.crossing import Agent
from sayso.gateway.guard import standings
from sayso.gateway.guard.rules.limits import DEFAULTS, Limits
from sayso.gateway.guard.rules.standing import ACTIVE, SCOPES, SUSPENDED, counting_since, read_scopes, write_scopes
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256
from sayso.store.tables import from_micros, micros
from sayso.store.tables.gateway import gateway_agents, gateway_keys, gateway_rates, gateway_violations
from sayso.store.unit import Reading, Row, Store, Unit, insert, statement

__all__ = ("AgentRow", "Agents", "Issued", "KeyRow", "ViolationRow", "standing_of")

ISSUED = declare("agent.issued", "The owner let an outside agent in; its first key's id and what it may do.")
KEY_ISSUED = declare("agent.key_issued", "The owner gave an agent another key; its id.")
REVOKED = declare("agent.keys_revoked", "The owner took keys of an agent back; how many, or which.")
AGENT_SUSPENDED = declare("agent.suspended", "All keys of an agent stopped working; who or what did it.")
REISSUED = declare("agent.reissued", "The owner let a suspended agent in again, under one new key.")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_KEY_BYTES = 32
_LONGEST_REASON = 200

_a, _k, _v = (table.c for table in (gateway_agents, gateway_keys, gateway_violations))
_NEW_AGENT = statement(insert(gateway_agents).on_conflict_do_nothing())
_NEW_RATES = statement(insert(gateway_rates))
_NEW_KEY = statement(insert(gateway_keys))
_FIND = statement(
    select(_a.name, _a.scopes, _a.state).where(_a.owner == bindparam("owner"), _a.agent == bindparam("agent"))
)
_KEY_OWNER = statement(select(_k.agent).where(_k.owner == bindparam("owner"), _k.key_id == bindparam("key_id")))
_revoke = update(gateway_keys).where(_k.owner == bindparam("of"), _k.revoked_us.is_(None))
_REVOKE_ALL = statement(
    _revoke.where(_k.agent == bindparam("who")).values(revoked_us=bindparam("at"), revoked_by=bindparam("by"))
)
_REVOKE_ONE = statement(
    _revoke.where(_k.key_id == bindparam("which")).values(revoked_us=bindparam("at"), revoked_by=bindparam("by"))
)
_REISSUE = statement(
    update(gateway_agents)
    .where(_a.owner == bindparam("of"), _a.agent == bindparam("who"))
    .values(
        state=ACTIVE,
        term=_a.term + 1,
        reissued_us=bindparam("at"),
        suspended_us=None,
        suspended_by=None,
        suspended_for=None,
    )
)
_LIST = statement(
    select(
        _a.agent, _a.name, _a.state, _a.scopes, _a.created_us, _a.reissued_us, _a.suspended_us, _a.suspended_by,
        _a.suspended_for,
        select(func.count())
        .where(_v.owner == _a.owner, _v.agent == _a.agent, _v.term == _a.term, _v.at_us > bindparam("since"))
        .scalar_subquery(),
    )
    .where(_a.owner == bindparam("owner"))
    .order_by(_a.created_us, _a.name)
)  # fmt: skip
_KEYS = statement(
    select(_k.agent, _k.key_id, _k.issued_us, _k.issued_by, _k.revoked_us, _k.revoked_by)
    .where(_k.owner == bindparam("owner"))
    .order_by(_k.issued_us, _k.key_id)
)
_violations = (
    select(_v.agent, _v.code, _v.door, _v.at_us)
    .where(_v.owner == bindparam("owner"))
    .order_by(_v.at_us.desc(), _v.agent, _v.fingerprint)
    .limit(bindparam("limit"))
)
_VIOLATIONS = statement(_violations)
_VIOLATIONS_OF = statement(_violations.where(_v.agent == bindparam("agent")))


class Issued(msgspec.Struct, frozen=True, kw_only=True):
    """A key, this once in the clear."""

    agent: Agent
    key: str
    key_id: str


class KeyRow(msgspec.Struct, frozen=True, kw_only=True):
    """A key as it may be shown ever after."""

    key_id: str
    issued_at: datetime
    issued_by: str
    revoked_at: datetime | None
    revoked_by: str | None


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    """An agent with its keys, the newest last. `violations` are those that count now."""

    agent: Agent
    state: str
    created_at: datetime
    reissued_at: datetime
    suspended_at: datetime | None
    suspended_by: str | None
    suspended_for: str | None
    violations: int
    keys: tuple[KeyRow, ...]


class ViolationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One violation, counted or over."""

    agent_id: str
    code: str
    door: str
    at: datetime


# Inside the class below, `list` is its method.
AgentRows: TypeAlias = list[AgentRow]
ViolationRows: TypeAlias = list[ViolationRow]


class Agents:
    """The agents of one owner."""

    def __init__(
        self, store: Store, ledger: Ledger, owner: str, clock: Clock, ids: Ids, limits: Limits = DEFAULTS
    ) -> None:
        """`limits` say how long a violation counts."""
        self._store = store
        self._ledger = ledger
        self._owner = owner
        self._clock = clock
        self._ids = ids
        self._limits = limits

    async def issue(self, name: str, *, by: str, scopes: frozenset[str] = SCOPES) -> Issued:
        """Lets a new agent in. Refused: `malformed_agent` (a name's form, a scope that is none), `agent_exists`."""
        if not _NAME.fullmatch(name) or not scopes or not scopes <= SCOPES:
            raise Refused.because(
                "malformed_agent",
                "An agent has a name of up to 64 letters, digits, spaces, dots, hyphens, and at least one scope",
                help=f"The scopes are: {' '.join(sorted(SCOPES))}.",
            )
        agent = Agent(id=self._ids.new("agent"), name=name, owner=self._owner, scopes=scopes)

        def write(unit: Unit) -> None:
            now = micros(unit.now)
            standings.lock(unit, self._owner, agent.id)
            if not unit.execute(_NEW_AGENT, {
                "owner": self._owner, "agent": agent.id, "name": name, "state": ACTIVE, "scopes": write_scopes(scopes),
                "created_us": now, "term": 0,
                    "reissued_us": now,
                "suspended_us": None, "suspended_by": None, "suspended_for": None,
            }):  # fmt: skip
                raise Refused.because("agent_exists", "An agent has that name already", help="Rotate its key.")
            unit.execute(
                _NEW_RATES, {"owner": self._owner, "agent": agent.id, "coarse_us": 0, "minute_us": 0, "second_us": 0}
            )

        return await self._give(agent, ISSUED, write, by=by, facts={"scopes": write_scopes(scopes)})

    async def rotate(self, agent_id: str, *, by: str, keep_old: bool = False) -> Issued:
        """Gives an agent a new key; the old ones are revoked at once unless they are kept.

        Refused: `unknown_agent`; `agent_suspended`, whose way back is `reissue`.
        """
        agent, state = await self._find(agent_id)
        if state == SUSPENDED:
            raise Refused.because("agent_suspended", f"{agent.name} is suspended", help="Reissue its key.")

        def write(unit: Unit) -> None:
            standings.lock(unit, self._owner, agent.id)
            if not keep_old:
                self._revoke_all(unit, agent.id, by)

        return await self._give(agent, KEY_ISSUED, write, by=by, facts={"keeps_old": keep_old})

    async def reissue(self, agent_id: str, *, by: str) -> Issued:
        """Ends a suspension: every old key is revoked, one new key works, violations so far no longer count.

        Refused: `unknown_agent`.
        """
        agent, _ = await self._find(agent_id)

        def write(unit: Unit) -> None:
            standings.lock(unit, self._owner, agent.id)
            self._revoke_all(unit, agent.id, by)
            unit.execute(_REISSUE, {"of": self._owner, "who": agent.id, "at": micros(unit.now)})

        return await self._give(agent, REISSUED, write, by=by, facts={})

    async def revoke(self, which: str, *, by: str) -> int:
        """Takes back one key by its id, or all of an agent by the agent's; how many worked until now.

        Refused: `unknown_key_id`.
        """

        def write(unit: Unit) -> int:
            found = unit.one(_KEY_OWNER, {"owner": self._owner, "key_id": which})
            agent_id = which if found is None else str(found[0])
            if found is None and unit.one(_FIND, {"owner": self._owner, "agent": which}) is None:
                raise Refused.because("unknown_key_id", f"{which} is neither a key's id nor an agent's")
            standings.lock(unit, self._owner, agent_id)
            if found is None:
                gone = self._revoke_all(unit, agent_id, by)
            else:
                gone = unit.execute(_REVOKE_ONE, {"of": self._owner, "which": which, "at": micros(unit.now), "by": by})
            self._receipt(unit, REVOKED, by, {"agent": agent_id, "which": which, "keys": gone})
            return gone

        return await self._store.unit(write)

    async def suspend(self, agent_id: str, *, by: str, reason: str) -> bool:
        """Stops all keys of an agent until they are reissued; False where they were stopped already.

        Refused: `unknown_agent`.
        """
        await self._find(agent_id)

        def write(unit: Unit) -> bool:
            standings.lock(unit, self._owner, agent_id)
            if not standings.suspend(unit, self._owner, agent_id, by=by, reason=reason[:_LONGEST_REASON]):
                return False
            self._receipt(unit, AGENT_SUSPENDED, by, {"agent": agent_id, "cause": "owner"})
            return True

        return await self._store.unit(write)

    async def list(self) -> AgentRows:
        """Every agent, the oldest first."""
        return await self._store.reading(self._list)

    async def find(self, agent_id: str) -> AgentRow:
        """One agent. Refused: `unknown_agent`."""
        for row in await self.list():
            if row.agent.id == agent_id:
                return row
        raise _unknown(agent_id)

    async def violations(self, agent_id: str | None = None, limit: int = 50) -> ViolationRows:
        """The newest violations, of one agent or of all."""
        values: dict[str, object] = {"owner": self._owner, "limit": limit}
        if agent_id is not None:
            values["agent"] = agent_id
        which = _VIOLATIONS if agent_id is None else _VIOLATIONS_OF
        rows = await self._store.reading(lambda view: view.all(which, values))
        return [ViolationRow(agent_id=row[0], code=row[1], door=row[2], at=from_micros(row[3])) for row in rows]

    async def _give(
        self, agent: Agent, kind: str, write: Callable[[Unit], None], *, by: str, facts: dict[str, object]
    ) -> Issued:
        issued = Issued(agent=agent, key=f"osz_{self._ids.token(_KEY_BYTES)}", key_id=self._ids.new("key"))

        def give(unit: Unit) -> None:
            write(unit)
            unit.execute(_NEW_KEY, {
                "owner": self._owner, "key_sha256": sha256(issued.key.encode()), "key_id": issued.key_id,
                "agent": agent.id, "issued_us": micros(unit.now), "issued_by": by,
                "revoked_us": None, "revoked_by": None,
            })  # fmt: skip
            self._receipt(unit, kind, by, {"agent": agent.id, "key": issued.key_id, **facts})

        await self._store.unit(give)
        return issued

    async def _find(self, agent_id: str) -> tuple[Agent, str]:
        row = await self._store.reading(lambda view: view.one(_FIND, {"owner": self._owner, "agent": agent_id}))
        if row is None:
            raise _unknown(agent_id)
        return Agent(id=agent_id, name=row[0], owner=self._owner, scopes=read_scopes(row[1])), row[2]

    def _revoke_all(self, unit: Unit, agent_id: str, by: str) -> int:
        return unit.execute(_REVOKE_ALL, {"of": self._owner, "who": agent_id, "at": micros(unit.now), "by": by})

    def _receipt(self, unit: Unit, kind: str, by: str, facts: dict[str, object]) -> None:
        self._ledger.append_in(unit, Draft(kind=kind, actor=by, body=facts))  # type: ignore[arg-type]

    def _list(self, view: Reading) -> AgentRows:
        since = counting_since(self._limits, micros(view.now))
        keys: dict[str, list[KeyRow]] = {}
        for agent_id, *rest in view.all(_KEYS, {"owner": self._owner}):
            keys.setdefault(agent_id, []).append(_key_row(rest))
        rows = view.all(_LIST, {"owner": self._owner, "since": since})
        return [self._agent_row(row, tuple(keys.get(row[0], ()))) for row in rows]

    def _agent_row(self, row: Row, keys: tuple[KeyRow, ...]) -> AgentRow:
        agent_id, name, state, scopes, created, reissued, suspended, by, reason, violations = row
        return AgentRow(
            agent=Agent(id=agent_id, name=name, owner=self._owner, scopes=read_scopes(scopes)),
            state=state,
            created_at=from_micros(created),
            reissued_at=from_micros(reissued),
            suspended_at=None if suspended is None else from_micros(suspended),
            suspended_by=by,
            suspended_for=reason,
            violations=violations,
            keys=keys,
        )


def standing_of(owner: str) -> Callable[[Reading, str], Literal["active", "suspended"] | None]:
    """How an agent of the owner stands, for whoever decides over what it asked; None for an id that is no agent's."""

    def look(view: Reading, agent_id: str) -> Literal["active", "suspended"] | None:
        row = view.one(_FIND, {"owner": owner, "agent": agent_id})
        if row is None:
            return None
        return "suspended" if row[2] == SUSPENDED else "active"

    return look


def _key_row(row: list[object]) -> KeyRow:
    key_id, issued, by, revoked, revoked_by = row
    return KeyRow(
        key_id=str(key_id),
        issued_at=from_micros(issued),  # type: ignore[arg-type]
        issued_by=str(by),
        revoked_at=None if revoked is None else from_micros(revoked),  # type: ignore[arg-type]
        revoked_by=None if revoked_by is None else str(revoked_by),
    )


def _unknown(agent_id: str) -> Refused:
    return Refused.because("unknown_agent", f"No agent has the id {agent_id}", help="List the agents.")
