"""What an open may elect of a session of our own loop, read out of its request (OAP-157, OAP-163); pure.

Reasoning level and compaction policy are members of the protocol. What only this loop knows stands in the open's
`metadata.sayso`, closed: the permission mode, the workspace root and the output limit. `minimal` is a level no model
here has, so it runs as `low`; an SDK that must not mislead its caller refuses it (OAP-201).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from sayso.control.loop.contract import PermissionMode
from sayso.control.protocol.payloads.inference import ReasoningLevel, ReasoningRequest
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Ordinal, Text
from sayso.control.protocol.payloads.session import CompactionPolicy, SessionOpenRequest
from sayso.core.refusal import Refused

__all__ = ("OwnTerms", "SessionTerms", "read_terms", "reasoning_of")

_PLACE = "$.payload.metadata.sayso"
_ROOTED = re.compile(r"/|[A-Za-z]:[\\/]")


class OwnTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`metadata.sayso` of an open. `workspace` is an absolute path."""

    permission: Maybe[PermissionMode] = UNSET
    workspace: Maybe[Text] = UNSET
    max_output_tokens: Maybe[Ordinal] = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTerms:
    """What a session agreed to; UNSET is: nothing was elected."""

    permission: Maybe[PermissionMode] = UNSET
    workspace: Maybe[str] = UNSET
    max_output_tokens: Maybe[int] = UNSET
    reasoning_level: Maybe[ReasoningLevel] = UNSET
    compaction_policy: Maybe[CompactionPolicy] = UNSET


def read_terms(payload: SessionOpenRequest) -> SessionTerms:
    """Raises `Refused` `invalid_request` with the place of what cannot be taken."""
    own = _own(payload.metadata)
    if own.workspace is not UNSET and not _is_absolute(own.workspace):
        raise Refused.because("invalid_request", "a workspace is an absolute path", place=f"{_PLACE}.workspace")
    return SessionTerms(
        permission=own.permission,
        workspace=own.workspace,
        max_output_tokens=own.max_output_tokens,
        reasoning_level=payload.reasoning_level,
        compaction_policy=payload.compaction_policy,
    )


def _own(metadata: Maybe[Mapping[str, object]]) -> OwnTerms:
    said = UNSET if metadata is UNSET else metadata.get("sayso", UNSET)
    if said is UNSET:
        return OwnTerms()
    if isinstance(said, dict):
        known = OwnTerms.__struct_fields__
        for key in said:
            if key not in known:
                help_ = f"Known are {', '.join(known)}."
                raise Refused.because(
                    "invalid_request", "this loop has no such setting", place=f"{_PLACE}.{key}", help=help_
                )
    try:
        return msgspec.convert(said, OwnTerms, strict=True)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `$")
        raise Refused.because("invalid_request", text, place=_PLACE + place.rstrip("`")) from None


def _is_absolute(path: str) -> bool:
    return "\0" not in path and _ROOTED.match(path) is not None


def reasoning_of(level: Maybe[ReasoningLevel]) -> Maybe[ReasoningRequest]:
    """What a request to the model says of a level."""
    if level is UNSET:
        return UNSET
    if level == "off":
        return ReasoningRequest(enabled=False)
    return ReasoningRequest(enabled=True, effort="low" if level == "minimal" else level)
