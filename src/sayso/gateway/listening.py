"""Whether somebody may still be told something: asked again before each thing that is told later than it was asked for.

A stream or a push goes on long after the request that opened it was judged. Keys are revoked and agents suspended in
the meantime, and what is told then would be told to nobody who may knock (GTW-010).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sqlalchemy import and_, bindparam, select

from sayso.gateway.crossing import Crossing
from sayso.gateway.guard.rules.headers import read_presented
from sayso.gateway.guard.rules.ladder import read_knock
from sayso.gateway.guard.rules.standing import ACTIVE
from sayso.gateway.guard.standings import read_standing
from sayso.store.tables.gateway import gateway_agents, gateway_keys
from sayso.store.unit import Reading, statement

__all__ = ("MayBeTold", "MayListen", "agent_may_be_told", "key_may_listen")

MayListen: TypeAlias = Callable[[Reading], bool]
"""Whether whoever opened a stream may still be told anything."""
MayBeTold: TypeAlias = Callable[[Reading, str], bool]
"""Whether an agent, by its id, may be told anything."""

_a, _k = gateway_agents.c, gateway_keys.c
_WORKING = statement(
    select(_k.key_id)
    .select_from(gateway_keys.join(gateway_agents, and_(_a.owner == _k.owner, _a.agent == _k.agent)))
    .where(
        _k.owner == bindparam("owner"),
        _k.agent == bindparam("agent"),
        _k.revoked_us.is_(None),
        _a.state == ACTIVE,
    )
    .limit(1)
)


def key_may_listen(owner: str, crossing: Crossing) -> MayListen:
    """Judges the key that an admitted request came with as it stands then, as the guard did when it came."""
    knock = read_knock(crossing, read_presented(crossing.headers))

    def may(view: Reading) -> bool:
        found = read_standing(view, owner, knock)
        return found.revoked_us is None and found.state == ACTIVE

    return may


def agent_may_be_told(owner: str) -> MayBeTold:
    """An agent that is not suspended and holds a key that works; one whose keys were all taken back is told nothing."""
    return lambda view, agent: view.one(_WORKING, {"owner": owner, "agent": agent}) is not None
