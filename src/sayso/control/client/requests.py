"""The envelopes a client sends, and what it takes from the answers; the same for every transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sayso.control.client.contract import Said
from sayso.control.protocol.consent import write_consent_answer
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolveRequest
from sayso.control.protocol.payloads.capabilities import RequestedDelivery
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.run import RunCancelRequest
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Wire
from sayso.control.protocol.payloads.session import MessageSubmitRequest, SessionOpenRequest
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, Refusal, Refused

__all__ = ("answered", "cancel_request", "open_request", "refusal_of", "resolve_request", "submit_request")

T = TypeVar("T", bound=Wire)
_DELIVERIES: Mapping[str, RequestedDelivery] = {"auto": "auto", "queue": "queue", "steer": "steer", "btw": "btw"}


def open_request(ids: Ids, session_id: str | None, metadata: JsonObject | None) -> Envelope[SessionOpenRequest]:
    """`session.open.request`."""
    payload = SessionOpenRequest(session_id=session_id or UNSET, metadata=UNSET if metadata is None else metadata)
    return Envelope(type="session.open.request", id=ids.new("req"), payload=payload, session_id=session_id or UNSET)


def submit_request(ids: Ids, session_id: str, said: Said, delivery: str) -> Envelope[MessageSubmitRequest]:
    """`session.message.submit.request`. Raises `Refused` `invalid_submission` for text that is no Unicode text."""
    if delivery not in _DELIVERIES:
        raise Refused.because("invalid_submission", f"{delivery!r} is no delivery")
    message = Message(role="user", content=said) if isinstance(said, str) else said
    if isinstance(message.content, str):
        try:
            message.content.encode()
        except UnicodeEncodeError:
            raise Refused.because("invalid_submission", "the text holds half a character") from None
    payload = MessageSubmitRequest(session_id=session_id, messages=(message,), delivery=_DELIVERIES[delivery])
    return Envelope(type="session.message.submit.request", id=ids.new("req"), payload=payload, session_id=session_id)


def resolve_request(
    ids: Ids, asked: Envelope[PermissionRequested], *, granted: bool, signed: str | None, reason: str | None
) -> Envelope[PermissionResolveRequest]:
    """`action.permission.resolve.request`, in the scope of what was asked."""
    question = asked.payload
    payload = PermissionResolveRequest(
        interaction_id=question.interaction_id,
        requested_by=question.requested_by,
        responded_by=question.responded_by,
        session_id=question.session_id,
        run_id=question.run_id,
        granted=granted,
        choice_id="yes" if granted else "no",
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


def cancel_request(ids: Ids, session_id: str, run_id: str, reason: str | None) -> Envelope[RunCancelRequest]:
    """`run.cancel.request`."""
    payload = RunCancelRequest(session_id=session_id, run_id=run_id, reason=reason or UNSET)
    return Envelope(type="run.cancel.request", id=ids.new("req"), payload=payload, session_id=session_id, run_id=run_id)


def answered(envelope: Envelope[Wire], payload: type[T], peer: str) -> T:
    """The payload of an answer. Raises `PeerRefused` for an `error.response`, or for an answer of another type."""
    if isinstance(envelope.payload, payload):
        return envelope.payload
    if isinstance(envelope.payload, ErrorResponse):
        raise PeerRefused(peer, refusal_of(envelope.payload))
    raise PeerRefused(peer, Refusal(code="protocol_violation", message=f"`{envelope.type}` answers something else"))


def refusal_of(response: ErrorResponse) -> Refusal:
    """The hub's error as a refusal: `reason` and `place` come back out of its details."""
    error = response.error
    details = dict(error.details or {})
    reason, place = details.pop("reason", None), details.pop("place", None)
    return Refusal(
        code=error.code,
        message=error.message,
        reason=reason if isinstance(reason, str) else None,
        place=place if isinstance(place, str) else None,
        details=details,
    )
