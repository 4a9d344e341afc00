"""What an open brings to a session of our own loop, held against what is there: attached sources, provided tools, and
a workspace (OAP-060, OAP-082, OAP-163). All of it or nothing.

A value that cannot be honoured is `unsupported_feature` with its key, `unsatisfiable` and the entry at fault.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from sayso.control.adapters.bringing import ATTACH, PROVIDE, verify_provided_tools, verify_sources
from sayso.control.adapters.choosing import unsatisfiable
from sayso.control.loop.contract import PermissionMode, SourceTerms
from sayso.control.loop.conversations import KeptConversation
from sayso.control.loop.history import repair
from sayso.control.loop.offering import MAX_PROVIDED_TOOLS, MAX_SOURCES, TOOL_NAME, TRANSPORTS
from sayso.control.loop.settings import Kept
from sayso.control.loop.sources import Toolbox
from sayso.control.loop.terms import SessionTerms
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.core.refusal import Refused

__all__ = ("going_on", "taken_up", "verify_attachments", "verify_ceiling", "verify_provided", "workspace_of")

_OPEN = "session.open"
_WORKSPACE = "metadata.sayso.workspace"
_PERMISSION = "metadata.sayso.permission"


def verify_attachments(attached: Sequence[ToolSourceAttachment], known: Collection[str]) -> None:
    """Raises `Refused` `unsupported_feature`."""
    if len(attached) > MAX_SOURCES:
        raise unsatisfiable(ATTACH, "tool_sources", f"at most {MAX_SOURCES} sources can be attached")
    verify_sources(attached, known, TRANSPORTS)


def verify_provided(provided: Sequence[ToolDefinition], toolbox: Toolbox, participant: str) -> None:
    """Raises `Refused` `unsupported_feature`."""
    if len(provided) > MAX_PROVIDED_TOOLS:
        raise unsatisfiable(PROVIDE, "tools", f"at most {MAX_PROVIDED_TOOLS} tools can be provided")
    sources = {source.id for source in toolbox.published}
    verify_provided_tools(provided, known=toolbox.offers, sources=sources, participant=participant, pattern=TOOL_NAME)


def going_on(elected: SessionTerms, kept: KeptConversation) -> SessionTerms:
    """The terms of a reopened session: what this open elects, else what the conversation had.

    The permission mode is not taken along: a standing yes is given to a session by whoever opens it, each time.
    """
    before = kept.settings
    return replace(
        elected,
        workspace=elected.workspace or kept.workspace or UNSET,
        max_output_tokens=elected.max_output_tokens or before.max_output_tokens,
        reasoning_level=elected.reasoning_level or before.reasoning_level,
        compaction_policy=before.compaction_policy if elected.compaction_policy is UNSET else elected.compaction_policy,
    )


def taken_up(kept: KeptConversation) -> Kept:
    """What a reopened session begins with. A call that was under way when its process ended may have been done, and the
    model is told so.
    """
    return Kept(kept.model_ref, repair(kept.messages, kept.unfinished), kept.used, is_recovered=True)


async def workspace_of(terms: SessionTerms, default: Path | None) -> Path | None:
    """The root that file tools are confined to, resolved. Raises `Refused` `invalid_request` for what is no folder."""
    if terms.workspace is UNSET:
        return None if default is None else Path(await anyio.Path(default).resolve())
    try:
        found = await anyio.Path(terms.workspace).resolve()
        is_folder = await found.is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        raise Refused.because("invalid_request", "a workspace is a folder that exists", place=f"$.payload.{_WORKSPACE}")
    return Path(found)


async def verify_ceiling(terms: SourceTerms, permission: PermissionMode, workspace: Path | None) -> None:
    """Holds what a session would get to the most that its host gives: never a standing yes where the host asks, and no
    folder but the host's and those inside it, links resolved. Raises `Refused` `unsupported_feature`.
    """
    if terms.permission == "bypass" and permission != "bypass":
        raise _beyond(_PERMISSION, "whoever runs this loop gives no standing yes")
    if terms.workspace is None:
        return
    root = None if workspace is None else Path(await anyio.Path(workspace).resolve())
    if root is None or not terms.workspace.is_relative_to(root):
        raise _beyond(_WORKSPACE, "whoever runs this loop gives no such folder")


def _beyond(member: str, why: str) -> Refused:
    details = {"feature": _OPEN, "reason": "unsatisfiable", "field": member}
    return Refused.because("unsupported_feature", why, place=f"$.payload.{member}", details=details)
