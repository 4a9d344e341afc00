"""The MCP revisions of this door, and the methods each era has (GTW-001, GTW-002).

Legacy revisions open a session with `initialize`; the modern one says everything with each request. Both are served on
one address and told apart by how a request opens (MCP 2026-07-28, basic/versioning).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = (
    "BATCHING",
    "CAPABILITIES_KEY",
    "LEGACY",
    "METHODS",
    "MODERN",
    "NEWEST_LEGACY",
    "SERVED",
    "SERVER_INFO_KEY",
    "SUBSCRIPTION_KEY",
    "VERSION_KEY",
    "Era",
    "Method",
    "agree",
    "has",
)

Era: TypeAlias = Literal["legacy", "modern"]

BATCHING = "2025-03-26"
"""The one revision with JSON-RPC batches, and the one meant where a legacy request names none."""
LEGACY = (BATCHING, "2025-06-18", "2025-11-25")
NEWEST_LEGACY = LEGACY[-1]
MODERN = "2026-07-28"
SERVED = (MODERN, *reversed(LEGACY))
"""Newest first, as errors and `server/discover` list them."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """One method: in which eras it exists, and how much of the class rate it takes (GTW-020a)."""

    name: str
    eras: frozenset[Era]
    charges: int


def _method(name: str, charges: int, *eras: Era) -> tuple[str, Method]:
    return name, Method(name=name, eras=frozenset(eras or ("legacy", "modern")), charges=charges)


METHODS = dict(
    (
        # The handshake is `initialize`, "then discover" (protocol reference): finding out what there is takes nothing.
        _method("initialize", 0, "legacy"),
        _method("ping", 0, "legacy"),
        _method("server/discover", 0, "modern"),
        _method("tools/list", 0),
        _method("resources/list", 0),
        _method("resources/templates/list", 0),
        _method("prompts/list", 0),
        # Using what there is does.
        _method("tools/call", 1),
        _method("resources/read", 1),
        _method("prompts/get", 1),
        _method("completion/complete", 1),
        _method("resources/subscribe", 1, "legacy"),
        _method("resources/unsubscribe", 0, "legacy"),
        _method("subscriptions/listen", 1, "modern"),
    )
)
"""Every method of the door. What is not here does not exist: nothing is classified by default (GTW-030)."""


def agree(asked: str) -> str:
    """The revision that `initialize` is answered with: the one asked for, or the newest legacy one."""
    return asked if asked in LEGACY else NEWEST_LEGACY


def has(version: str, since: str) -> bool:
    """Whether a revision is `since` or later; revisions are dates."""
    return version >= since
