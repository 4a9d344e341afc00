"""Tools and where they come from: catalogs, attachments, provided tools, and what calls say (OAP-058..060, OAP-082).

Exactly one catalog is in force for a session: the one it was served under the active revision, else the descriptor's. A
call names the source that catalog gives its tool, and none where it gives none; later events of the call stay with it.
What a session was opened with, attached sources and provided tools, never drops out of a later catalog and never
changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.validator.rules.scene import Heard, RunFacts, Scene, Session, ToolCatalog

__all__ = ("hear_call", "hear_tools", "judge_published", "judge_sources", "opened_with")

_ATTACHED_ONLY = ("command", "args", "environment")
_STATED = ("kind", "display_name", "protocol", "endpoint")


def judge_published(heard: Heard) -> None:
    """No published source carries what only an attachment may: read from the value as it came, as a reader that knows
    no such member has dropped it.
    """
    payload = heard.value.get("payload") if isinstance(heard.value, dict) else None
    if not isinstance(payload, dict):
        return
    layers = payload.get("layers")
    parts = [payload, *(layers.values() if isinstance(layers, dict) else ())]
    for part in parts:
        sources = part.get("sources") if isinstance(part, dict) else None
        for source in sources if isinstance(sources, list) else ():
            for member in _ATTACHED_ONLY:
                if isinstance(source, dict) and member in source:
                    heard.add(
                        "attachment_field_in_catalog", f"a published source carries `{member}`", "$.payload.sources"
                    )


# --- a served catalog ------------------------------------------------------------------------------------------------


def hear_tools(scene: Scene, heard: Heard) -> None:
    """An `action.tools.list.response`: consistent, of the scope that was asked, and in force from now on."""
    payload, asked = heard.payload, heard.request
    sources = {source.id for source in payload.sources or ()}
    for name in _twice(source.id for source in payload.sources or ()):
        heard.add("duplicate_tool_source", f"the source `{name}` is listed twice")
    for name in _twice(tool.name for tool in payload.tools):
        heard.add("duplicate_tool_name", f"the tool `{name}` is listed twice")
    for tool in payload.tools:
        if tool.source not in sources:
            said = "no source" if tool.source is UNSET else f"the source `{tool.source}`, which the catalog lacks"
            heard.add("unmatched_tool_source", f"the tool `{tool.name}` names {said}")
    if asked is not None:
        _judge_scope(heard)
    if payload.session_id is UNSET:
        return
    session = scene.session(payload.session_id)
    _judge_lifetime(session, heard)
    session.known_sources |= sources
    if heard.envelope.capability_revision == scene.revision and not scene.is_announced:
        session.tools = ToolCatalog(str(scene.revision), {tool.name: tool for tool in payload.tools})


def _judge_scope(heard: Heard) -> None:
    question, answer = heard.question, heard.payload.session_id
    if question is None:
        return
    asked = heard.request.session_id if heard.request.session_id is not UNSET else question.envelope.session_id
    told = answer if answer is not UNSET else heard.envelope.session_id
    if (asked is UNSET) != (told is UNSET):
        heard.add("scope_mismatch", "a catalog is of the session that was asked for, or of none where none was")


def _judge_lifetime(session: Session, heard: Heard) -> None:
    listed = {source.id: source for source in heard.payload.sources or ()}
    for name, attached in session.attached.items():
        if name not in listed:
            heard.add("catalog_mismatch", f"the attached source `{name}` is not listed")
        elif listed[name] != attached:
            heard.add("catalog_mismatch", f"the attached source `{name}` is described differently")
    tools = {tool.name: tool for tool in heard.payload.tools}
    for name, provided in session.provided.items():
        if name not in tools:
            heard.add("catalog_mismatch", f"the provided tool `{name}` is not listed")
        elif not _is_provided(provided, tools[name]):
            heard.add("catalog_mismatch", f"the provided tool `{name}` is listed differently")


def _is_provided(provided: ToolDefinition, listed: ToolDefinition) -> bool:
    """The listed tool is as it was provided; what it may add is how well its features are supported."""
    names = ("input_schema", "execution_owner", "description", "source", "annotations")
    return all(getattr(provided, name) == getattr(listed, name) for name in names)


def _twice(names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


# --- what a session was opened with ----------------------------------------------------------------------------------


def opened_with(scene: Scene, session: Session, heard: Heard) -> None:
    """A granted open that attached sources or provided tools: what its answer publishes is what holds from now on."""
    asked = heard.request
    if asked.tools or asked.tool_sources:
        scene.furnished[heard.payload.session_id] = session
    session.provided.update({tool.name: tool for tool in asked.tools or ()})
    published = {source.id: source for source in heard.payload.sources or ()}
    for attachment in asked.tool_sources or ():
        shown = published.get(attachment.id)
        if shown is None:
            heard.add("session_state_mismatch", f"the attached source `{attachment.id}` is not published")
            continue
        stated = {name: getattr(attachment, name) for name in _STATED}
        if any(value is not UNSET and value != getattr(shown, name) for name, value in stated.items()):
            heard.add("session_state_mismatch", f"the attached source `{attachment.id}` is published differently")
        session.attached[attachment.id] = shown
    session.known_sources |= published.keys()


def judge_sources(session: Session, heard: Heard) -> None:
    """A later state of a session that attached sources: the same sources, as they were published."""
    for name in _twice(source.id for source in heard.payload.sources or ()):
        heard.add("duplicate_tool_source", f"the source `{name}` is listed twice")
    session.known_sources |= {source.id for source in heard.payload.sources or ()}
    if not session.attached or heard.payload.sources is UNSET:
        return
    listed = {source.id: source for source in heard.payload.sources}
    for name, attached in session.attached.items():
        if listed.get(name) != attached:
            heard.add("session_state_mismatch", f"the attached source `{name}` is missing or described differently")


# --- calls -----------------------------------------------------------------------------------------------------------


def hear_call(scene: Scene, heard: Heard) -> None:
    """One event of a call: its attribution and its owner."""
    run = scene.runs.get(str(heard.envelope.run_id))
    if run is None:
        return
    name = str(heard.envelope.tool_call_id)
    if heard.envelope.type == "action.call.requested":
        session = scene.session(heard.envelope.session_id)
        _judge_attribution(scene, session, heard)
        run.sources[name] = heard.payload.source
        run.owners[name] = heard.payload.execution_owner
        return
    _judge_same_call(run, name, heard.payload, heard)


def _judge_same_call(run: RunFacts, name: str, payload: Any, heard: Heard) -> None:
    if name not in run.owners:
        return
    if payload.execution_owner != run.owners[name]:
        heard.add("wrong_tool_owner", "a call keeps the owner it was requested under")
    if payload.source is not UNSET and payload.source != run.sources[name]:
        heard.add("unmatched_tool_source", "a call keeps the source it was requested under")


def _judge_attribution(scene: Scene, session: Session, heard: Heard) -> None:
    capabilities = scene.in_hand
    if capabilities is None:
        return
    call = heard.payload
    served = session.tools if session.tools is not None and session.tools.revision == capabilities.revision else None
    catalog: Mapping[str, ToolDefinition] = capabilities.tools if served is None else served.tools
    tool = catalog.get(call.name)
    provided = session.provided.get(call.name)
    _judge_owner(tool or provided, provided, heard)
    if tool is not None and tool.source is not UNSET:
        if call.source is UNSET:
            if capabilities.offers("action.tools.list"):
                heard.add("unattributed_call", f"the catalog gives `{call.name}` the source `{tool.source}`")
        elif call.source != tool.source:
            heard.add("unmatched_tool_source", f"the catalog gives `{call.name}` the source `{tool.source}`")
    elif call.source is not UNSET:
        is_known = any(call.source in ids for ids in (capabilities.sources, session.known_sources, session.attached))
        if tool is not None or not is_known:
            heard.add("unmatched_tool_source", f"no catalog gives `{call.name}` the source `{call.source}`")


def _judge_owner(tool: ToolDefinition | None, provided: ToolDefinition | None, heard: Heard) -> None:
    call = heard.payload
    if tool is not None and call.execution_owner != tool.execution_owner:
        heard.add("wrong_tool_owner", f"`{call.name}` is run by `{tool.execution_owner}`")
    if provided is not None and UNSET in (call.interaction_id, call.responded_by):
        heard.add("illegal_tool_transition", "a call to a provided tool is an interaction, with who may resolve it")
