"""A descriptor as the rules read it: one effective feature map, one tool catalog, one set of sources (OAP-018).

A feature stands at the top or in a layer; the top wins, then the layers in the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sayso.control.protocol.payloads.capabilities import (
    CapabilitiesResponse,
    FeatureSupport,
    ToolDefinition,
    ToolSourceDescriptor,
)
from sayso.control.protocol.payloads.scalars import UNSET

__all__ = ("INPUT", "PERMISSIONS", "TOOLS", "Capabilities", "read_capabilities")

TOOLS = ("tools", "action.tools", "action.tools.execute", "action.tools.provide")
PERMISSIONS = ("permissions", "action.permissions")
INPUT = ("user_input", "user.input")
_OFFERED = ("native", "emulated", "degraded")


class Capabilities(msgspec.Struct, frozen=True):
    """One revision's descriptor."""

    revision: str
    features: Mapping[str, FeatureSupport]
    tools: Mapping[str, ToolDefinition]
    """By name; a name that two entries claim attributes nothing and is left out."""
    sources: Mapping[str, ToolSourceDescriptor]
    max_active: int | None = None
    max_queued: int | None = None

    def level(self, key: str) -> str | None:
        """The level of one key; None when the descriptor does not name it."""
        support = self.features.get(key)
        return None if support is None else support.level

    def offers(self, *keys: str) -> bool:
        """Whether any of these keys is advertised above `unavailable`."""
        return any(self.level(key) in _OFFERED for key in keys)

    def has_mode(self, key: str, mode: str) -> bool:
        """Whether a key discloses a mode."""
        support = self.features.get(key)
        return support is not None and support.modes is not UNSET and mode in support.modes

    def scope(self, key: str) -> str | None:
        """How long a selection lasts, where the key says so."""
        support = self.features.get(key)
        return None if support is None or support.scope is UNSET else support.scope

    def limit(self, key: str, name: str) -> Any:
        """A limit a key discloses, or None."""
        support = self.features.get(key)
        return None if support is None or support.limits is UNSET else support.limits.get(name)


def parts_of(payload: CapabilitiesResponse) -> Iterator[Any]:
    """The descriptor and its layers, in the order in which they count."""
    yield payload
    for _, layer in sorted((payload.layers or {}).items()):
        yield layer


def read_capabilities(revision: str, payload: CapabilitiesResponse) -> Capabilities:
    """The descriptor of a `capabilities.response`."""
    features: dict[str, FeatureSupport] = {}
    tools: dict[str, ToolDefinition] = {}
    sources: dict[str, ToolSourceDescriptor] = {}
    ambiguous: set[str] = set()
    for part in parts_of(payload):
        for key, support in (part.features or {}).items():
            features.setdefault(key, support)
        for tool in part.tools or ():
            if tools.setdefault(tool.name, tool) != tool:
                ambiguous.add(tool.name)
        for source in part.sources or ():
            sources.setdefault(source.id, source)
    limits = payload.limits
    return Capabilities(
        revision,
        features,
        {name: tool for name, tool in tools.items() if name not in ambiguous},
        sources,
        None if limits is UNSET or limits.max_active_runs_per_session is UNSET else limits.max_active_runs_per_session,
        None if limits is UNSET or limits.max_queued_runs_per_session is UNSET else limits.max_queued_runs_per_session,
    )
