"""Refusals as this protocol writes them (section 14): registered, with a way to reach the host without an agent."""

from __future__ import annotations

from sayso.core import strictjson
from sayso.core.refusal import Refusal
from sayso.scheduling.host.call import Answer
from sayso.scheduling.terms.codes import BY_REASON, registered
from sayso.scheduling.terms.discovery import Contact
from sayso.scheduling.terms.refusal import RefusalBody, WireRefusal
from sayso.scheduling.terms.wire import VERSION

__all__ = ("is_stored", "refusal_answer", "refuse")

_SIGNATURE = {
    "malformed_signature": "header_invalid",
    "malformed_key": "header_invalid",
    "malformed_target": "header_invalid",
    "key_mismatch": "signature_invalid",
    "bad_signature": "signature_invalid",
    "digest_mismatch": "digest_mismatch",
    "stale_signature": "signature_stale",
    "replayed_request": "replayed_nonce",
    "nonce_memory_full": "rate_limited",
    "private_key_received": "private_key_received",
}
_EDGE = {
    "cross_origin_request": "header_invalid",
    "foreign_host": "header_invalid",
    "repeated_header": "header_invalid",
    "malformed_length": "header_invalid",
    "content_encoding_refused": "header_invalid",
    "body_too_large": "too_large",
}
_LOWER = {**_SIGNATURE, **_EDGE}
_RETRY_SECONDS = 70
"""What to wait where nothing says: the time a nonce is remembered."""


def refuse(reason: str, *, place: str | None = None) -> Refusal:
    """A registered refusal as a value."""
    row = BY_REASON[reason]
    return Refusal(code=row.code, reason=row.reason, message=row.message, place=place, help=row.help)


def spoken(refusal: Refusal) -> Refusal:
    """What a lower floor refused, in this protocol's words; a registered refusal stays as it is."""
    reason = _LOWER.get(refusal.code)
    if reason is None:
        return registered(refusal)
    row = BY_REASON[reason]
    # The lower floor's message names what is wrong with the caller's own headers; it holds nothing of anybody else.
    return Refusal(
        code=row.code,
        reason=reason,
        message=f"{row.message} {refusal.message}",
        place=refusal.place,
        help=row.help,
        details=refusal.details,
    )


def is_stored(refusal: Refusal) -> bool:
    """Whether a retry with the same idempotency key gets this very answer again (SCH-066)."""
    row = BY_REASON.get(spoken(refusal).reason or "")
    return row is not None and row.stored


def refusal_answer(refusal: Refusal, contact: Contact) -> Answer:
    """The refusal as an answer, under its registered status. Alternatives and waiting times travel in `details`."""
    said = spoken(refusal)
    row = BY_REASON[said.reason or "internal"]
    retry_after = said.details.get("retry_after", _RETRY_SECONDS) if row.status == 429 else None
    wire = WireRefusal(
        code=row.code,
        reason=row.reason,
        message=said.message[:1000],
        contact=contact,
        help=said.help,
        place=said.place[:200] if said.place else None,
        alternatives=said.details.get("alternatives", ()),
        retry_after=retry_after,
        versions=(VERSION,) if row.reason == "unknown_version" else (),
    )
    return Answer(status=row.status, body=strictjson.encode(RefusalBody(refusal=wire)), retry_after=retry_after)
