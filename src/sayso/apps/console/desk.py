"""All that the console and its commands act through, opened by whoever composes the house (GTW-007, GTW-060, GTW-061).

The console makes none of these parts and has no other way to state: what it changes goes through the same gate, guard,
feed and memory as every door, which judge and receipt it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.gateway.guard.agents import Agents
from sayso.gateway.guard.rules.limits import Limits
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.gateway.tasks import Tasks
from sayso.governance.acts import Registry
from sayso.governance.gate import AgentStanding, Gate, StandingOf
from sayso.ledger.ledger import Ledger
from sayso.proof.keys import PublicKey
from sayso.scheduling.keyapp.app import KeyApp
from sayso.store.unit import Reading, Store
from sayso.store.vault import Vault

__all__ = ("HOUSE_AGENT", "Desk", "with_the_house")

HOUSE_AGENT: Final = "console"
"""What the house itself asks for in the person's name, from the console: it waits at the Gate like anybody's."""


def with_the_house(standing: StandingOf) -> StandingOf:
    """How agents stand, and that the house itself does: what it asks for is decided by a person all the same."""

    def look(view: Reading, agent_id: str) -> AgentStanding | None:
        return "active" if agent_id == HOUSE_AGENT else standing(view, agent_id)

    return look


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One person's house, as its owner's surfaces see it.

    `owner` is the person's id, `title` what their house is called on the page, `zone` where they are. `key` is the
    vault's name of the key that signs for them, `ledger_key` the published half of their log's. `open_key_app` makes a
    key app for one question: it remembers what it presented for as long as it lives.
    """

    owner: str
    title: str
    zone: ZoneInfo
    clock: Clock
    ids: Ids
    store: Store
    ledger: Ledger
    ledger_key: PublicKey
    registry: Registry
    gate: Gate
    agents: Agents
    tasks: Tasks
    knowledge: Knowledge
    limits: Limits
    vault: Vault
    key: str
    open_key_app: Callable[[], KeyApp]
