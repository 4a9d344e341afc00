"""Writes the answer to a request: the response of its type, or `error.response`; scope and correlation come from it."""

from __future__ import annotations

from sayso.control.protocol.codes import protocol_error
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.protocol.types import AGENT_TYPES
from sayso.core.ids import Ids
from sayso.core.refusal import Refusal

__all__ = ("answer", "answer_query", "refuse", "refuse_query")


def answer(request: Envelope[Wire], payload: Wire, ids: Ids, revision: Maybe[str] = UNSET) -> Envelope[Wire]:
    """The success of a request. `revision` is what it was served under; a pin is repeated."""
    return Envelope(
        type=AGENT_TYPES[request.type].answer,
        id=ids.new("env"),
        payload=payload,
        in_reply_to=request.id,
        session_id=getattr(payload, "session_id", request.session_id),
        run_id=getattr(payload, "run_id", request.run_id),
        capability_revision=revision if request.capability_revision is UNSET else request.capability_revision,
    )


def refuse(request: Envelope[Wire], refusal: Refusal, ids: Ids) -> Envelope[Wire]:
    """The refusal of a request, in its scope."""
    return Envelope(
        type="error.response",
        id=ids.new("env"),
        payload=ErrorResponse(error=protocol_error(refusal)),
        in_reply_to=request.id,
        session_id=request.session_id,
        run_id=request.run_id,
    )


def answer_query(
    type_: str, payload: Wire, reply_to: str, ids: Ids, *, session_id: Maybe[str] = UNSET, revision: Maybe[str] = UNSET
) -> Envelope[Wire]:
    """The answer to a question that came without an envelope; `reply_to` was minted for it (OAP-103)."""
    return Envelope(
        type=type_,
        id=ids.new("env"),
        payload=payload,
        in_reply_to=reply_to,
        session_id=session_id,
        capability_revision=revision,
    )


def refuse_query(refusal: Refusal, reply_to: str, ids: Ids, *, session_id: Maybe[str] = UNSET) -> Envelope[Wire]:
    """The refusal of a question that came without an envelope, or with one that could not be read."""
    return Envelope(
        type="error.response",
        id=ids.new("env"),
        payload=ErrorResponse(error=protocol_error(refusal)),
        in_reply_to=reply_to,
        session_id=session_id,
    )
