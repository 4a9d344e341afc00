"""What JSON Schema has to be told about shapes whose members depend on one another, and about lists without repeats.

The typed payloads say the same in `__post_init__`; a test holds the two to the same verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sayso.control.protocol import packs
from sayso.control.protocol.payloads import (
    action,
    auth,
    capabilities,
    compaction,
    content,
    inference,
    interaction,
    models,
    provider,
    session,
)

__all__ = ("CONDITIONS", "OPEN_MEMBERS", "UNIQUE", "Schema")

Schema = dict[str, Any]


def _barred(*members: str) -> Schema:
    return {"properties": dict.fromkeys(members, False)}


def _when(member: str, values: Sequence[object], *, needs: Sequence[str] = (), bars: Sequence[str] = ()) -> Schema:
    """Where `member` has one of these values, these members must stand and those must not."""
    then: Schema = {}
    if needs:
        then["required"] = list(needs)
    if bars:
        then |= _barred(*bars)
    return {"if": {"properties": {member: {"enum": list(values)}}, "required": [member]}, "then": then}


def _one_of(*choices: tuple[str, ...]) -> Schema:
    """Exactly one of these groups of members stands, whole, and no member of another."""
    every = [member for group in choices for member in group]
    return {
        "oneOf": [
            {"required": list(group), **_barred(*(member for member in every if member not in group))}
            for group in choices
        ]
    }


UNIQUE: Mapping[type, tuple[str, ...]] = {
    action.ToolsListRequest: ("allow_degraded_features",),
    auth.AuthProvider: ("auth_kinds",),
    capabilities.FeatureLimits: ("transports",),
    capabilities.FeatureSupport: ("modes",),
    capabilities.Layer: ("requested_delivery_modes", "effective_delivery_modes"),
    capabilities.InitializeRequest: ("protocol_versions", "profiles"),
    capabilities.CapabilitiesResponse: ("protocol_versions", "profiles"),
    compaction.SessionCompactRequest: ("allow_degraded_features",),
    interaction.UserAnswer: ("selected_option_ids",),
    models.ModelsRequest: ("allow_degraded_features",),
    models.ModelSwitchRequest: ("allow_degraded_features",),
    models.ProviderAttachRequest: ("allow_degraded_features",),
    session.ActiveRun: (
        "admitted_submit_requests",
        "pending_interactions",
        "acknowledged_interactions",
        "pending_steers",
    ),
    session.SessionCapture: ("admitted_submit_requests",),
    session.ToolSourceAttachment: ("environment",),
    session.OpenMessage: ("allow_degraded_features",),
    session.SessionOpenRequest: ("allow_degraded_features",),
    session.MessageSubmitRequest: ("allow_degraded_features",),
    packs.PackDocument: ("schemas", "capability_keys", "error_codes"),
    packs.PackEnvelopeType: ("refusals",),
}
"""The lists that hold no value twice."""

CONDITIONS: Mapping[type, tuple[Schema, ...]] = {
    action.ActionCallResolveRequest: (_one_of(("started",), ("result",), ("error",)),),
    action.ActionCallResolveResponse: (
        _when("accepted", [True], bars=["reason", "details"]),
        _when("accepted", [False], needs=["reason"]),
        _when(
            "reason",
            ["unknown_interaction", "wrong_responder", "repeated_acknowledgement", "late_acknowledgement"],
            bars=["details"],
        ),
        _when("reason", ["already_resolved"], needs=["details"]),
    ),
    action.CallRefusal: ({"required": ["settlement_id"]},),
    auth.AuthLoginEvent: (_when("kind", ["url"], needs=["url"]), _when("kind", ["progress"], needs=["message"])),
    content.Image: (_one_of(("url",), ("data", "media_type")),),
    inference.InferenceCreateResponse: (
        _when("accepted", [True], needs=["honoured"], bars=["error"]),
        _when("accepted", [False], needs=["error"], bars=["honoured"]),
    ),
    inference.PartStarted: (
        _when("part_kind", ["tool_call"], needs=["tool_call_id", "name"]),
        _when("part_kind", ["text", "reasoning"], bars=["tool_call_id", "name"]),
    ),
    inference.SnapshotToolCall: (_one_of(("arguments_json",), ("arguments_partial",)),),
    inference.PartEnded: (
        _when("part_kind", ["tool_call"], needs=["tool_call"], bars=["text"]),
        _when("part_kind", ["text"], needs=["text"], bars=["tool_call", "carry"]),
        _when("part_kind", ["reasoning"], needs=["text"], bars=["tool_call"]),
    ),
    interaction.UserQuestion: (
        _when("kind", ["text"], bars=["options"]),
        {
            **_when("kind", ["single_choice", "multi_choice"]),
            "then": {"required": ["options"], "properties": {"options": {"minItems": 1}}},
        },
    ),
    interaction.UserAnswer: (_one_of(("text",), ("selected_option_ids",)),),
    interaction.UserInputResolved: (
        _when("status", ["submitted"], needs=["answers"]),
        _when("status", ["cancelled"], bars=["answers"]),
    ),
    models.ModelEventPosition: (_one_of(("run_id", "sequence"), ("switch_request_id",)),),
    provider.ProviderDescriptor: (
        _when("wire", ["openai-responses", "anthropic-messages", "openai-chat-completions"], bars=["wire_id"]),
    ),
    provider.CredentialGrantResponse: (
        _when("accepted", [True], needs=["credential_ref"], bars=["error"]),
        _when("accepted", [False], needs=["error"], bars=["credential_ref", "expires_at_ms"]),
    ),
    session.CompactionPolicy: (
        _when("kind", ["share"], needs=["share_percent"], bars=["tokens"]),
        _when("kind", ["tokens"], needs=["tokens"], bars=["share_percent"]),
        _when("kind", ["auto", "off"], bars=["share_percent", "tokens"]),
    ),
    session.SessionOpenRequest: (_when("reopen", [True], needs=["session_id"]),),
}

OPEN_MEMBERS: Mapping[tuple[type, str], type] = {
    (capabilities.FeatureSupport, "constraints"): capabilities.FeatureConstraints,
    (capabilities.FeatureSupport, "limits"): capabilities.FeatureLimits,
}
"""Objects that stay open and yet have members of a known shape."""
