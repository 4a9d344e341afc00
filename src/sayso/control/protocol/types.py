"""Every envelope type this build speaks: its payload, whether it asks, answers or tells, and the scope it must carry.

A row is the whole truth about a type (OAP-005..008); the reader, the legality machine and the hub's bindings read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from sayso.control.protocol.payloads import (
    action,
    auth,
    capabilities,
    compaction,
    error,
    inference,
    interaction,
    models,
    provider,
    run,
    session,
    steer,
)
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.core.refusal import Refused

__all__ = ("AGENT_TYPES", "PROVIDER_TYPES", "Kind", "MessageType")


class Kind(Enum):
    """What an envelope does in a conversation."""

    REQUEST = "request"
    """Asks, and gets exactly one answer."""
    RESPONSE = "response"
    """Answers the request named by `in_reply_to`."""
    EVENT = "event"
    """Tells; never answers."""


@dataclass(frozen=True, slots=True)
class MessageType:
    """One row. `required` are the envelope members beyond the six of every envelope."""

    name: str
    payload: type[Wire]
    kind: Kind
    required: tuple[str, ...] = field(default=())

    def verify_scope(self, envelope: Wire) -> None:
        """Raises `Refused` `schema_invalid` for the first required member that is absent."""
        for member in self.required:
            if getattr(envelope, member) is UNSET:
                raise Refused.because("schema_invalid", f"`{self.name}` needs `{member}`", place=f"$.{member}")

    @property
    def answer(self) -> str:
        """The type that answers this request."""
        return f"{self.name.removesuffix('.request')}.response"


def _table(*rows: MessageType) -> dict[str, MessageType]:
    return {row.name: row for row in rows}


def _ask(name: str, payload: type[Wire], *scope: str) -> MessageType:
    return MessageType(name, payload, Kind.REQUEST, scope)


def _answer(name: str, payload: type[Wire], *scope: str) -> MessageType:
    return MessageType(name, payload, Kind.RESPONSE, ("in_reply_to", *scope))


def _tell(name: str, payload: type[Wire], *scope: str) -> MessageType:
    return MessageType(name, payload, Kind.EVENT, scope)


_INFERENCE = ("inference_id", "sequence")

_SESSION = ("session_id",)
_RUN = ("session_id", "run_id")
_RUN_EVENT = (*_RUN, "sequence")
_CALL_EVENT = (*_RUN_EVENT, "tool_call_id")

AGENT_TYPES: dict[str, MessageType] = _table(
    _ask("protocol.initialize.request", capabilities.InitializeRequest),
    _answer("protocol.initialize.response", capabilities.InitializeResponse),
    _ask("capabilities.request", capabilities.CapabilitiesRequest),
    _answer("capabilities.response", capabilities.CapabilitiesResponse, "capability_revision"),
    _tell("capabilities.updated", capabilities.CapabilitiesUpdated, "capability_revision", "sequence"),
    _ask("models.request", models.ModelsRequest, *_SESSION),
    _answer("models.response", models.ModelsResponse, *_SESSION, "capability_revision"),
    _ask("auth.providers.request", auth.AuthProvidersRequest),
    _answer("auth.providers.response", auth.AuthProvidersResponse),
    _ask("auth.login.start.request", auth.AuthLoginStartRequest),
    _answer("auth.login.start.response", auth.AuthLoginStartResponse),
    _tell("auth.login.event", auth.AuthLoginEvent, "sequence"),
    _ask("auth.login.cancel.request", auth.AuthLoginCancelRequest),
    _answer("auth.login.cancel.response", auth.AuthLoginCancelResponse),
    _tell("auth.login.completed", auth.AuthLoginCompleted, "sequence"),
    _ask("session.open.request", session.SessionOpenRequest),
    _answer("session.open.response", session.SessionState, *_SESSION),
    _ask("session.state.request", session.SessionStateRequest, *_SESSION),
    _answer("session.state.response", session.SessionState, *_SESSION),
    _tell("session.state.updated", session.SessionState, *_SESSION, "sequence"),
    _ask("session.model.switch.request", models.ModelSwitchRequest, *_SESSION),
    _answer("session.model.switch.response", models.ModelSwitchResponse, *_SESSION),
    _ask("session.provider.attach.request", models.ProviderAttachRequest, *_SESSION),
    _answer("session.provider.attach.response", models.ProviderAttachResponse, *_SESSION),
    _ask("session.message.submit.request", session.MessageSubmitRequest, *_SESSION),
    _answer("session.message.submit.response", session.MessageSubmitResponse, *_SESSION),
    _ask("session.compact.request", compaction.SessionCompactRequest, *_SESSION),
    _answer("session.compact.response", compaction.SessionCompactResponse, *_SESSION),
    _ask("run.cancel.request", run.RunCancelRequest, *_RUN),
    _answer("run.cancel.response", run.RunCancelResponse, *_RUN),
    _tell("run.steer.applied", steer.RunSteerApplied, *_RUN_EVENT),
    _tell("run.steer.dropped", steer.RunSteerDropped, *_RUN_EVENT),
    _tell("run.compaction.started", compaction.RunCompactionStarted, *_RUN_EVENT),
    _tell("run.compaction.ended", compaction.RunCompactionEnded, *_RUN_EVENT),
    _tell("run.started", run.RunStarted, *_RUN_EVENT),
    _tell("run.status.updated", run.RunStatusUpdated, *_RUN_EVENT),
    _tell("content.delta", run.ContentDelta, *_RUN_EVENT),
    _tell("run.completed", run.RunCompleted, *_RUN_EVENT),
    _tell("run.failed", run.RunFailed, *_RUN_EVENT),
    _tell("run.cancelled", run.RunCancelled, *_RUN_EVENT),
    _ask("action.tools.list.request", action.ToolsListRequest),
    _answer("action.tools.list.response", action.ToolsListResponse, "capability_revision"),
    _tell("action.call.requested", action.ActionCallRequested, *_CALL_EVENT),
    _tell("action.call.started", action.ActionCallStarted, *_CALL_EVENT),
    _tell("action.call.progress", action.ActionCallProgress, *_CALL_EVENT),
    _tell("action.call.completed", action.ActionCallCompleted, *_CALL_EVENT),
    _tell("action.call.failed", action.ActionCallFailed, *_CALL_EVENT),
    _tell("action.call.cancelled", action.ActionCallCancelled, *_CALL_EVENT),
    _ask("action.call.resolve.request", action.ActionCallResolveRequest, *_RUN),
    _answer("action.call.resolve.response", action.ActionCallResolveResponse, *_RUN),
    _tell("action.permission.requested", action.PermissionRequested, *_CALL_EVENT),
    _ask("action.permission.resolve.request", action.PermissionResolveRequest, *_RUN),
    _answer("action.permission.resolve.response", action.PermissionResolveResponse, *_RUN),
    _tell("action.permission.resolved", action.PermissionResolved, *_RUN_EVENT),
    _tell("user.input.requested", interaction.UserInputRequested, *_RUN_EVENT),
    _ask("user.input.resolve.request", interaction.UserInputResolveRequest, *_RUN),
    _answer("user.input.resolve.response", interaction.UserInputResolveResponse, *_RUN),
    _tell("user.input.resolved", interaction.UserInputResolved, *_RUN_EVENT),
    _ask("user.input.cancel.request", interaction.UserInputCancelRequest, *_RUN),
    _answer("user.input.cancel.response", interaction.UserInputCancelResponse, *_RUN),
    _answer("error.response", error.ErrorResponse),
)

PROVIDER_TYPES: dict[str, MessageType] = _table(
    _ask("provider.describe.request", provider.DescribeRequest),
    _answer("provider.describe.response", provider.DescribeResponse, "capability_revision"),
    _ask("provider.models.list.request", provider.ModelsListRequest),
    _answer("provider.models.list.response", provider.ModelsListResponse, "capability_revision"),
    _ask("provider.credential.grant.request", provider.CredentialGrantRequest),
    _answer("provider.credential.grant.channel", provider.CredentialGrantChannel),
    _answer("provider.credential.grant.response", provider.CredentialGrantResponse),
    _ask("inference.create.request", inference.InferenceCreateRequest),
    _answer("inference.create.response", inference.InferenceCreateResponse),
    _tell("inference.started", inference.InferenceStarted, *_INFERENCE),
    _tell("inference.part.started", inference.PartStarted, *_INFERENCE),
    _tell("inference.part.delta", inference.PartDelta, *_INFERENCE),
    _tell("inference.part.ended", inference.PartEnded, *_INFERENCE),
    _tell("inference.completed", inference.InferenceCompleted, *_INFERENCE),
    _tell("inference.failed", inference.InferenceFailed, *_INFERENCE),
    _ask("inference.cancel.request", inference.InferenceCancelRequest, "inference_id"),
    _answer("inference.cancel.response", inference.InferenceCancelResponse, "inference_id"),
    _ask("inference.sync.request", inference.InferenceSyncRequest, "inference_id"),
    _answer("inference.sync.response", inference.InferenceSyncResponse, "inference_id"),
)
