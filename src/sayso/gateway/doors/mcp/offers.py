"""Which acts a door offers as tools to an agent, written once for each kind of agent and revision (GTW-030, GTW-040).

What a key does not allow, and what nobody would run, is not offered (`offered`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core.refusal import Refused
from sayso.core.strictjson import encode
from sayso.gateway.crossing import Agent
from sayso.gateway.doors.mcp.write.tools import tool_of
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.offered import can_run, offered
from sayso.governance.acts import Act, Registry

__all__ = ("Offers",)


class Offers:
    """The tools of one registry. Acts that are registered later are seen; none is ever taken back."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._written: dict[tuple[int, bool, bool, str], tuple[msgspec.Raw, ...]] = {}

    def find(self, name: str) -> Act:
        """The act behind a tool. Refused: `unknown_tool`."""
        try:
            act, _ = self._registry.find(name)
        except Refused:
            act = None
        if act is None or not can_run(act):
            raise Refused(refusal("unknown_tool", place="$.params.name"))
        return act

    def list(self, agent: Agent, version: str) -> Sequence[msgspec.Raw]:
        """The entries of tools/list, by name."""
        acts = self._registry.acts()
        key = (len(acts), "disclose" in agent.scopes, "propose" in agent.scopes, version)
        found = self._written.get(key)
        if found is None:
            shown = offered(acts, agent.scopes)
            found = self._written[key] = tuple(msgspec.Raw(encode(tool_of(act, version))) for act in shown)
        return found
