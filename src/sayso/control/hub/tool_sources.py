"""Tool sources a client may attach: configured by the operator, named over a wire by their id alone (OAP-060..064).

A page in somebody's browser can reach a loopback port with a valid envelope, so a wire never chooses what is started:
a command, an argument or a value of a variable that comes over it is refused, and so is a description that differs from
the operator's. What a wire may add are bare names of variables the operator did not list; their values are this
process's. An id that nobody configured goes on to the adapter unless it claims `process`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import msgspec

from sayso.control.hub.registry_document import ToolSourceEntry, not_valid
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.capabilities import ToolSourceKind
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import SessionOpenRequest, ToolSourceAttachment
from sayso.core.refusal import Refused
from sayso.net.environment import child_environment

__all__ = ("ConfiguredSource", "configured_source", "resolve_attachments")

_KINDS = get_args(ToolSourceKind)
_FEATURE = "action.tool_sources.attach"
_DESCRIPTION = ("kind", "display_name", "protocol", "endpoint")


@dataclass(frozen=True, slots=True, repr=False)
class ConfiguredSource:
    """One source as its operator wrote it, its variables resolved. Has no `repr`: the values are secrets."""

    id: str
    entry: ToolSourceEntry
    environment: Mapping[str, str]


def configured_source(source_id: str, entry: ToolSourceEntry, environ: Mapping[str, str]) -> ConfiguredSource:
    """Checks an entry and resolves its variables. Refused `config_invalid`, naming the source and the member."""
    place = f"tool_sources.{source_id}"
    if entry.kind not in _KINDS:
        kinds = f"A source is one of: {', '.join(_KINDS)}."
        raise not_valid("shape", f"{entry.kind} is no kind of tool source", place=f"{place}.kind", hint=kinds)
    if entry.kind == "process" and not entry.command:
        raise not_valid("missing_member", "a process source has a command", place=f"{place}.command")
    try:
        environment = child_environment(entry.environment or (), environ, must_be_set=True)
    except Refused as refused:
        fault = refused.refusal
        optional = f"Set it, or write {fault.place}= where it may be empty." if fault.reason == "not_set" else None
        place = f"{place}.environment"
        raise not_valid(str(fault.reason), fault.message, place=place, hint=optional) from None
    return ConfiguredSource(source_id, entry, environment)


def resolve_attachments(
    request: Envelope[SessionOpenRequest], sources: Mapping[str, ConfiguredSource], environ: Mapping[str, str]
) -> Envelope[SessionOpenRequest]:
    """The request as the adapter gets it. Raises `Refused` `unsupported_feature`, naming the source and the member."""
    asked = request.payload.tool_sources
    if asked is UNSET:
        return request
    ids = [attachment.id for attachment in asked]
    if len(set(ids)) != len(ids):
        raise _no(next(each for each in ids if ids.count(each) > 1), "id", "one source is attached twice")
    attached = tuple(_resolve(attachment, sources.get(attachment.id), environ) for attachment in asked)
    payload = msgspec.structs.replace(request.payload, tool_sources=attached)
    return msgspec.structs.replace(request, payload=payload)


def _resolve(
    asked: ToolSourceAttachment, source: ConfiguredSource | None, environ: Mapping[str, str]
) -> ToolSourceAttachment:
    for member in ("command", "args"):
        if getattr(asked, member) is not UNSET:
            raise _no(asked.id, member, "a source is named by its id; what it runs is configured here")
    if any("=" in name for name in asked.environment or ()):
        raise _no(asked.id, "environment", "a variable is named, its value is never sent")
    if source is None:
        if asked.kind == "process":
            raise _no(asked.id, "id", "no process source of this id is configured here")
        return asked
    for member in _DESCRIPTION:
        if getattr(asked, member) not in (UNSET, getattr(source.entry, member)):
            raise _no(asked.id, member, "this source is configured otherwise")
    return _filled(source, asked, environ)


def _filled(source: ConfiguredSource, asked: ToolSourceAttachment, environ: Mapping[str, str]) -> ToolSourceAttachment:
    """The operator's source; a name it lists already is the operator's, so no variable reaches a child twice."""
    added = [name for name in asked.environment or () if name not in source.environment]
    try:
        more = child_environment(added, environ, must_be_set=True)
    except Refused as refused:
        raise _no(asked.id, "environment", refused.refusal.message) from None
    environment = tuple(f"{name}={value}" for name, value in sorted({**source.environment, **more}.items()))
    entry = source.entry
    return ToolSourceAttachment(
        id=source.id,
        kind=entry.kind,
        display_name=entry.display_name,
        protocol=entry.protocol,
        endpoint=entry.endpoint,
        command=entry.command,
        args=entry.args,
        environment=environment or UNSET,
    )


def _no(source_id: str, member: str, message: str) -> Refused:
    details = {"feature": _FEATURE, "reason": "unsatisfiable", "source": source_id, "field": member}
    return Refused.because("unsupported_feature", message, details=details)
