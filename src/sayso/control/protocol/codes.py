"""Every error code agent control answers with: its HTTP status, and whether trying again may help.

The hub's bindings render refusals from this table and the specification's table is printed from it. Names are the Open
Agent Protocol's where it has one; those of the loop's own stand in the last block. Diagnostics of a trace are another
set and live in `validator.diagnostics`.
"""

from __future__ import annotations

from dataclasses import dataclass

from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.core.refusal import Refusal

__all__ = ("CODES", "TRANSPORT_CODES", "Code", "protocol_error", "status_of")


@dataclass(frozen=True, slots=True)
class Code:
    """One row: what HTTP answers, and whether the same request may succeed later."""

    name: str
    status: int
    meaning: str
    retriable: bool = False


def _rows(*rows: Code) -> dict[str, Code]:
    return {row.name: row for row in rows}


CODES: dict[str, Code] = _rows(
    # The edge, judged on the head, and the body.
    Code("cross_origin_request", 403, "a request with an Origin header: no web page may drive the hub"),
    Code("unrecognized_host", 403, "the Host header names no loopback host"),
    Code("unsupported_media_type", 415, "a body is application/json"),
    Code("request_too_large", 413, "a body is at most 16 MiB"),
    Code("request_read", 400, "the body did not arrive whole"),
    # The envelope.
    Code("malformed_json", 400, "the body is not JSON, or JSON that two readers could read differently"),
    Code("schema_invalid", 400, "the envelope does not have the shape of its type"),
    Code("type_mismatch", 400, "this route takes another type of envelope"),
    Code("scope_mismatch", 400, "the ids on the address, the envelope and the payload differ"),
    Code("invalid_request", 400, "the request contradicts itself"),
    # Adapters and sessions.
    Code("unknown_adapter", 404, "no adapter has this name"),
    Code("probe_failed", 500, "the adapter could not say what it supports", retriable=True),
    Code("open_failed", 502, "the adapter could not open a session", retriable=True),
    Code("session_exists", 409, "a session with this id is open"),
    Code("unknown_session", 404, "no open session has this id"),
    Code("session_closed", 409, "the session closed while the request was served"),
    Code("state_failed", 500, "the adapter could not tell its state", retriable=True),
    Code("tools_failed", 502, "the adapter could not list its tools", retriable=True),
    Code("models_failed", 502, "the adapter could not list its models", retriable=True),
    Code("stale_capabilities", 409, "the request was written for another capability revision"),
    Code("unsupported_feature", 400, "the adapter does not offer what the request asks for"),
    Code("unavailable", 501, "this build does not have the backend, verb or role of this name"),
    Code("capability_degraded", 400, "the feature is degraded and the request did not allow it"),
    Code("model_not_found", 400, "no such model"),
    Code("provider_conflict", 409, "another provider has this id in the session"),
    Code("unknown_provider", 404, "no provider has this id"),
    Code("unknown_login", 404, "no login has this id"),
    Code("auth_input_unavailable", 409, "the login needs something typed in, and no prompt is here"),
    Code("login_cancelled", 409, "the login was stopped before it ended"),
    # Runs and interactions.
    Code("run_active", 409, "a run is under way", retriable=True),
    Code("invalid_submission", 400, "these messages cannot be submitted"),
    Code("invalid_steer_target", 409, "no started run takes this steer"),
    Code("run_terminated", 409, "the run ended before a steer was applied"),
    Code("run_not_found", 404, "the session never had this run"),
    Code("run_terminal", 409, "the run has ended"),
    Code("resolution_rejected", 409, "the interaction is unknown, settled, or another's to answer"),
    # Streams.
    Code("invalid_cursor", 400, "a cursor is an unsigned sequence number, and a run needs one"),
    Code("replay_cursor_future", 400, "the cursor is beyond the run's last event"),
    Code("no_run_to_resume", 409, "the session has had no run"),
    Code("replay_gap", 409, "the events after this cursor are no longer kept"),
    Code("overflow", 409, "the reader fell behind what is kept", retriable=True),
    # The endpoint over stdio alone.
    Code("unsupported_control", 400, "this endpoint does not know the control"),
    Code("run_already_terminal", 409, "the run has ended"),
    # The hub over stdio alone: a socket has back pressure instead (OAP-117).
    Code("unknown_op", 400, "there is no such op"),
    Code("busy", 503, "this connection serves as much as it may; send the request again", retriable=True),
    Code("response_too_large", 500, "the answer does not fit into a frame"),
    # Ourselves.
    Code("internal", 500, "a fault of this program; the operator's log has it"),
    # How a run of our own loop, or one the hub settled for an adapter, may fail.
    Code("adapter_failed", 502, "the adapter's stream ended before the run did", retriable=True),
    Code("protocol_violation", 502, "the other side broke the protocol"),
    Code("turn_limit", 409, "the model asked for more turns than a run has"),
    Code("rate_limited", 429, "the provider limits the rate", retriable=True),
    Code("provider_unavailable", 503, "the provider gave no usable answer", retriable=True),
    Code("resource_exhausted", 429, "the provider's quota is used up"),
    Code("endpoint_error", 502, "the provider failed"),
    Code("credential_expired", 401, "the provider's credential has expired"),
    Code("credential_missing", 401, "no credential for the provider"),
    Code("credential_rejected", 401, "the provider did not accept the credential"),
    Code("unsupported_version", 400, "the provider speaks another version"),
    Code("aborted", 409, "the inference was aborted"),
    # How a tool call may fail.
    Code("permission_denied", 403, "the person said no"),
    Code("tool_failed", 502, "the tool answered with an error"),
    Code("unknown_tool", 404, "no tool has this name"),
    Code("invalid_arguments", 400, "a tool's arguments are a JSON object"),
)

TRANSPORT_CODES = frozenset({"busy", "response_too_large", "unknown_op", "unsupported_control"})
"""What only a transport says of itself; no adapter may say it, and over HTTP nobody does (OAP-113)."""


def status_of(code: str) -> int:
    """The HTTP status of a code; one that is not registered is a fault of ours and answers 500."""
    row = CODES.get(code)
    return row.status if row else 500


def protocol_error(refusal: Refusal) -> ProtocolError:
    """A refusal as the wire's error object; an unregistered code leaves as `internal`, without its text."""
    row = CODES.get(refusal.code)
    if row is None:
        return ProtocolError(code="internal", message=CODES["internal"].meaning)
    details = dict(refusal.details)
    details.update({name: value for name, value in (("reason", refusal.reason), ("place", refusal.place)) if value})
    return ProtocolError(
        code=row.name,
        message=refusal.message or row.meaning,
        retriable=True if row.retriable else UNSET,
        details=details or UNSET,
    )
