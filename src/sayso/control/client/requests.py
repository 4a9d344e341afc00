"""The envelopes a client sends, and what it takes from the answers; the same for every transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, Unpack

from sayso.control.client.contract import OpenSettings, RunControls, Said
from sayso.control.client.errors import ServerError
from sayso.control.protocol.consent import write_consent_answer
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallRequested,
    ActionCallResolveRequest,
    CallAcknowledgement,
    PermissionRequested,
    PermissionResolveRequest,
)
from sayso.control.protocol.payloads.capabilities import RequestedDelivery
from sayso.control.protocol.payloads.compaction import SessionCompactRequest
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.error import ErrorResponse, ProtocolError
from sayso.control.protocol.payloads.interaction import (
    UserAnswer,
    UserInputCancelRequest,
    UserInputRequested,
    UserInputResolveRequest,
)
from sayso.control.protocol.payloads.models import ModelSwitchRequest, ProviderAttachment, ProviderAttachRequest
from sayso.control.protocol.payloads.run import RunCancelRequest
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.protocol.payloads.session import MessageSubmitRequest, SessionOpenRequest
from sayso.core.ids import Ids
from sayso.core.refusal import Refusal, Refused

__all__ = (
    "ATTACHING",
    "USER",
    "answer_request",
    "answered",
    "attach_request",
    "call_request",
    "cancel_request",
    "compact_request",
    "decline_request",
    "open_request",
    "refusal_of",
    "resolve_request",
    "submit_request",
    "switch_request",
    "take_request",
)

USER = "user"
"""The participant a client answers as unless it says otherwise; it is who a hub is to its adapters."""
ATTACHING = ("tool_sources", "tools")
"""Settings that are written for what the adapter says it can do, so the open pins that (OAP-065)."""

T = TypeVar("T", bound=Wire)
_DELIVERIES: Mapping[str, RequestedDelivery] = {"auto": "auto", "queue": "queue", "steer": "steer", "btw": "btw"}


def open_request(
    ids: Ids, revision: str | None = None, **settings: Unpack[OpenSettings]
) -> Envelope[SessionOpenRequest]:
    """`session.open.request`; `revision` pins the capabilities it was written for."""
    return Envelope(
        type="session.open.request",
        id=ids.new("req"),
        payload=SessionOpenRequest(**_members(settings)),
        session_id=settings.get("session_id", UNSET),
        capability_revision=revision or UNSET,
    )


def submit_request(
    ids: Ids, session_id: str, said: Said, delivery: str, **controls: Unpack[RunControls]
) -> Envelope[MessageSubmitRequest]:
    """`session.message.submit.request`. Raises `Refused` `invalid_submission` for text that is no Unicode text."""
    message = Message(role="user", content=said) if isinstance(said, str) else said
    if isinstance(message.content, str):
        try:
            message.content.encode()
        except UnicodeEncodeError:
            raise Refused.because("invalid_submission", "the text holds half a character") from None
    payload = MessageSubmitRequest(
        session_id=session_id, messages=(message,), delivery=_delivery(delivery), **_members(controls)
    )
    return Envelope(type="session.message.submit.request", id=ids.new("req"), payload=payload, session_id=session_id)


def compact_request(
    ids: Ids, session_id: str, *, delivery: str = "auto", focus: str | None = None, go_on: bool = False
) -> Envelope[SessionCompactRequest]:
    """`session.compact.request`; `go_on` asks for a turn behind the summary."""
    payload = SessionCompactRequest(
        session_id=session_id,
        delivery=_delivery(delivery),
        focus=UNSET if focus is None else focus,
        continue_=True if go_on else UNSET,
    )
    return Envelope(type="session.compact.request", id=ids.new("req"), payload=payload, session_id=session_id)


def switch_request(ids: Ids, session_id: str, model_id: str) -> Envelope[ModelSwitchRequest]:
    """`session.model.switch.request`."""
    payload = ModelSwitchRequest(session_id=session_id, model_id=model_id)
    return Envelope(type="session.model.switch.request", id=ids.new("req"), payload=payload, session_id=session_id)


def attach_request(
    ids: Ids, session_id: str, name: str, provider_id: str, allow_degraded: Sequence[str]
) -> Envelope[ProviderAttachRequest]:
    """`session.provider.attach.request`: the models of `provider_id`, under a name of the client's."""
    payload = ProviderAttachRequest(
        session_id=session_id,
        provider=ProviderAttachment(id=name, provider_id=provider_id),
        allow_degraded_features=tuple(allow_degraded) or UNSET,
    )
    return Envelope(type="session.provider.attach.request", id=ids.new("req"), payload=payload, session_id=session_id)


def cancel_request(ids: Ids, session_id: str, run_id: str, reason: str | None) -> Envelope[RunCancelRequest]:
    """`run.cancel.request`."""
    payload = RunCancelRequest(session_id=session_id, run_id=run_id, reason=reason or UNSET)
    return Envelope(type="run.cancel.request", id=ids.new("req"), payload=payload, session_id=session_id, run_id=run_id)


# --- answers to interactions, each in the scope of what was asked ----------------------------------------------------


def resolve_request(
    ids: Ids,
    asked: Envelope[PermissionRequested],
    *,
    granted: bool,
    signed: str | None,
    reason: str | None,
    participant: str = USER,
) -> Envelope[PermissionResolveRequest]:
    """`action.permission.resolve.request`."""
    question = asked.payload
    payload = PermissionResolveRequest(
        interaction_id=question.interaction_id,
        requested_by=question.requested_by,
        responded_by=participant,
        session_id=question.session_id,
        run_id=question.run_id,
        granted=granted,
        choice_id=_choice(question, granted=granted),
        reason=reason or UNSET,
    )
    return Envelope(
        type="action.permission.resolve.request",
        id=ids.new("req"),
        payload=payload,
        session_id=question.session_id,
        run_id=question.run_id,
        tool_call_id=question.tool_call_id,
        extensions=write_consent_answer(signed),
    )


def _choice(question: PermissionRequested, *, granted: bool) -> Maybe[str]:
    """Our own loop offers a yes and a no; which of another's choices is which only a person can read."""
    name = "yes" if granted else "no"
    return name if any(choice.id == name for choice in question.choices) else UNSET


def answer_request(
    ids: Ids, asked: Envelope[UserInputRequested], answers: Sequence[UserAnswer], participant: str = USER
) -> Envelope[UserInputResolveRequest]:
    """`user.input.resolve.request`."""
    question = asked.payload
    payload = UserInputResolveRequest(
        interaction_id=question.interaction_id,
        requested_by=question.requested_by,
        responded_by=participant,
        session_id=question.session_id,
        run_id=question.run_id,
        answers=tuple(answers),
    )
    return _within("user.input.resolve.request", ids, question, payload)


def decline_request(
    ids: Ids, asked: Envelope[UserInputRequested], reason: str | None, participant: str = USER
) -> Envelope[UserInputCancelRequest]:
    """`user.input.cancel.request`: the question will not be answered."""
    question = asked.payload
    payload = UserInputCancelRequest(
        interaction_id=question.interaction_id,
        requested_by=question.requested_by,
        responded_by=participant,
        session_id=question.session_id,
        run_id=question.run_id,
        reason=reason or UNSET,
    )
    return _within("user.input.cancel.request", ids, question, payload)


def take_request(
    ids: Ids, asked: Envelope[ActionCallRequested], participant: str = USER
) -> Envelope[ActionCallResolveRequest]:
    """`action.call.resolve.request`: this client has begun to run its tool."""
    return call_request(ids, asked, {"started": CallAcknowledgement()}, participant)


def call_request(
    ids: Ids, asked: Envelope[ActionCallRequested], said: Mapping[str, Any], participant: str = USER
) -> Envelope[ActionCallResolveRequest]:
    """`action.call.resolve.request`; `said` is exactly one of `started`, `result` and `error`."""
    call = asked.payload
    if call.interaction_id is UNSET:
        raise Refused.because("resolution_rejected", "this call is not the client's to run")
    payload = ActionCallResolveRequest(
        interaction_id=call.interaction_id,
        session_id=call.session_id,
        run_id=call.run_id,
        tool_call_id=call.tool_call_id,
        requested_by=call.requested_by,
        responded_by=participant,
        **said,
    )
    return _within("action.call.resolve.request", ids, call, payload)


def _within(name: str, ids: Ids, asked: UserInputRequested | ActionCallRequested, payload: T) -> Envelope[T]:
    return Envelope(
        type=name,
        id=ids.new("req"),
        payload=payload,
        session_id=asked.session_id,
        run_id=asked.run_id,
        tool_call_id=asked.tool_call_id,
    )


# --- what comes back -------------------------------------------------------------------------------------------------


def answered(envelope: Envelope[Wire], payload: type[T], peer: str) -> T:
    """The payload of an answer. Raises `ServerError` for an `error.response`, or for an answer of another type."""
    if isinstance(envelope.payload, payload):
        return envelope.payload
    if isinstance(envelope.payload, ErrorResponse):
        raise ServerError(peer, refusal_of(envelope.payload))
    raise ServerError(peer, Refusal(code="protocol_violation", message=f"`{envelope.type}` answers something else"))


def refusal_of(response: ErrorResponse) -> Refusal:
    """The hub's error as a refusal: `reason` and `place` come back out of its details."""
    error: ProtocolError = response.error
    details = dict(error.details or {})
    reason, place = details.pop("reason", None), details.pop("place", None)
    return Refusal(
        code=error.code,
        message=error.message,
        reason=reason if isinstance(reason, str) else None,
        place=place if isinstance(place, str) else None,
        details=details,
    )


def _delivery(name: str) -> RequestedDelivery:
    if name not in _DELIVERIES:
        raise Refused.because("invalid_submission", f"{name!r} is no delivery")
    return _DELIVERIES[name]


def _members(given: Mapping[str, Any]) -> dict[str, Any]:
    """Sequences as the tuples a Struct holds; an absent member stays absent."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
