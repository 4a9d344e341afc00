"""What an open brings along, entry by entry: attached tool sources and provided tools (OAP-060, OAP-061, OAP-082).

How many there may be each adapter counts for itself. Each refusal is `unsupported_feature` with the key,
`unsatisfiable` and the entry at fault.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from sayso.control.adapters.choosing import unsatisfiable
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import ToolSourceAttachment

__all__ = ("ATTACH", "PROVIDE", "verify_provided_tools", "verify_sources")

ATTACH = "action.tool_sources.attach"
PROVIDE = "action.tools.provide"


def verify_sources(
    attached: Sequence[ToolSourceAttachment], known: Collection[str], transports: Collection[str]
) -> None:
    """Each source is of a disclosed kind and new to those `known`. Raises `Refused`."""
    seen = set(known)
    for source in attached:
        if source.kind not in transports:
            raise unsatisfiable(ATTACH, "tool_sources", "this kind cannot be attached", source=source.id)
        if source.id in seen:
            raise unsatisfiable(ATTACH, "tool_sources", "two sources have this id", source=source.id)
        seen.add(source.id)
        variables = [entry.partition("=")[0] for entry in source.environment or ()]
        if len(set(variables)) != len(variables):
            raise unsatisfiable(ATTACH, "tool_sources", "a variable is named twice", source=source.id)


def verify_provided_tools(
    provided: Sequence[ToolDefinition],
    *,
    known: Collection[str],
    sources: Collection[str],
    participant: str,
    pattern: str,
) -> None:
    """Each tool is the opener's own, of a disclosed and free name, and of a declared source. Raises `Refused`."""
    seen = set(known)
    for tool in provided:
        if tool.execution_owner != participant:
            raise unsatisfiable(PROVIDE, "tools", "the opener alone provides tools", tool=tool.name)
        if not re.fullmatch(pattern, tool.name):
            raise unsatisfiable(PROVIDE, "tools", "this name does not have the disclosed form", tool=tool.name)
        if tool.name in seen:
            raise unsatisfiable(PROVIDE, "tools", "two tools have this name", tool=tool.name)
        # Tools are listed here, and a listing names a source for each, exactly as the tool was provided.
        if tool.source is UNSET:
            raise unsatisfiable(PROVIDE, "tools", "a provided tool names a declared source", tool=tool.name)
        if tool.source not in sources:
            raise unsatisfiable(PROVIDE, "tools", "nothing declares this source", tool=tool.name, source=tool.source)
        seen.add(tool.name)
