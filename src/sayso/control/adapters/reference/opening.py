"""What a session starts with: provided tools, attached sources and settings, all or nothing; or what it had before.

The third rung of an open's ladder stands here: a value that cannot be honoured is `unsupported_feature` with the lower
of its keys, `unsatisfiable` and the entry at fault. Nothing is rounded: a level or policy is taken as asked or refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sayso.control.adapters.bringing import ATTACH, PROVIDE, verify_provided_tools, verify_sources
from sayso.control.adapters.choosing import unsatisfiable
from sayso.control.adapters.reference.offering import (
    AGENT,
    MAX_PROVIDED_TOOLS,
    MAX_SOURCES,
    REASONING_LEVELS,
    SOURCE,
    TOOL_NAME,
    TOOLS,
    TRANSPORTS,
)
from sayso.control.adapters.reference.talk import MemorySession
from sayso.control.protocol.payloads.capabilities import ToolDefinition, ToolSourceDescriptor
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import SessionOpenRequest, ToolSourceAttachment

__all__ = ("created", "reopened")


def created(payload: SessionOpenRequest, session_id: str, participant: str) -> MemorySession:
    """A new session. Raises `Refused` `unsupported_feature`."""
    bare = MemorySession(session_id=session_id, tools=TOOLS, sources=(ToolSourceDescriptor(id=SOURCE, kind="native"),))
    return _with_settings(_provisioned(payload, bare, participant), payload)


def reopened(payload: SessionOpenRequest, kept: MemorySession, participant: str) -> MemorySession:
    """A closed session with its history, model, settings, sources and tools, and without a run; what the request
    attaches and provides is added. Raises `Refused` `unsupported_feature`.
    """
    bare = replace(
        kept,
        runs={},
        live=(),
        earlier=kept.earlier | set(kept.runs),
        switched_by=None,
        is_recovered=True,
        is_closed=False,
    )
    return _with_settings(_provisioned(payload, bare, participant), payload)


def _provisioned(payload: SessionOpenRequest, session: MemorySession, participant: str) -> MemorySession:
    attached = payload.tool_sources or ()
    _verify_sources(attached, [source.id for source in session.sources])
    sources = (*session.sources, *(_published(source) for source in attached))
    tools = (*session.tools, *(_tool_of(source) for source in attached))
    provided = payload.tools or ()
    _verify_tools(provided, tools, [source.id for source in sources], participant)
    return replace(session, sources=sources, tools=(*tools, *provided))


def _with_settings(session: MemorySession, payload: SessionOpenRequest) -> MemorySession:
    if payload.compaction_policy is not UNSET:
        session = replace(session, policy=payload.compaction_policy)
    if payload.reasoning_level is not UNSET:
        if payload.reasoning_level not in REASONING_LEVELS:
            raise unsatisfiable("session.reasoning", "reasoning_level", "this level is not offered")
        session = replace(session, reasoning_level=payload.reasoning_level)
    return session


def _verify_sources(attached: Sequence[ToolSourceAttachment], known: Sequence[str]) -> None:
    if len(attached) + len(set(known) - {SOURCE}) > MAX_SOURCES:
        raise unsatisfiable(ATTACH, "tool_sources", f"at most {MAX_SOURCES} sources can be attached")
    verify_sources(attached, known, TRANSPORTS)


def _verify_tools(
    provided: Sequence[ToolDefinition], known: Sequence[ToolDefinition], sources: Sequence[str], participant: str
) -> None:
    if len(provided) + sum(tool.execution_owner != AGENT for tool in known) > MAX_PROVIDED_TOOLS:
        raise unsatisfiable(PROVIDE, "tools", f"at most {MAX_PROVIDED_TOOLS} tools can be provided")
    verify_provided_tools(
        provided,
        known=[tool.name for tool in known],
        sources=sources,
        participant=participant,
        pattern=TOOL_NAME,
    )


def _published(source: ToolSourceAttachment) -> ToolSourceDescriptor:
    """What a catalog may say of a source: never its command, arguments or environment (OAP-060)."""
    return ToolSourceDescriptor(
        id=source.id,
        kind=source.kind,
        display_name=source.display_name,
        protocol=source.protocol,
        endpoint=source.endpoint,
    )


def _tool_of(source: ToolSourceAttachment) -> ToolDefinition:
    """The one scripted tool of an attached source."""
    return ToolDefinition(
        name=f"{source.id}__ping",
        description="Answers with what it was asked",
        input_schema={"type": "object"},
        execution_owner=AGENT,
        source=source.id,
    )
