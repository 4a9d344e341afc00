"""Vendors' failures as the thirteen codes of the profile: by HTTP status, and by what the error's body says (B18).

A vendor's words go no further than a short excerpt without control characters, never for a refused credential (vendors
quote part of it) and never with the credential in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sayso.control.protocol.payloads.inference import ProviderError, ProviderErrorCode
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.provider.wires.too_long import TOO_LONG, tells_of_length
from sayso.control.provider.wires.vendor_json import Fields, fields_of, list_in, object_in, text_in
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("Failure", "failure_in", "failure_of_status", "read_failure", "refused_as")

_EXCERPT = 300
_READ = 8192
"""How much of a vendor's words is looked at; the excerpt is cut once the credential has been taken out."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_SECONDS = re.compile(r"(\d{1,10}(?:\.\d{1,9})?)s")

_BY_STATUS: Mapping[int, ProviderErrorCode] = {
    400: "invalid_request",
    401: "credential_rejected",
    402: "resource_exhausted",
    403: "credential_rejected",
    404: "model_not_found",
    408: "provider_unavailable",
    410: "model_not_found",
    413: "invalid_request",
    415: "invalid_request",
    422: "invalid_request",
    429: "rate_limited",
    500: "endpoint_error",
    501: "unsupported_feature",
    502: "provider_unavailable",
    503: "provider_unavailable",
    504: "provider_unavailable",
    529: "provider_unavailable",
}
# What vendors write in an error's `type`, `code` or `status`; the body knows more than the status.
_BY_NAME: Mapping[str, ProviderErrorCode] = {
    "api_error": "endpoint_error",
    "api_key_invalid": "credential_rejected",
    "authentication_error": "credential_rejected",
    "billing_error": "resource_exhausted",
    "billing_hard_limit_reached": "resource_exhausted",
    "deadline_exceeded": "provider_unavailable",
    "exceeded_current_quota_error": "resource_exhausted",
    "expired_api_key": "credential_expired",
    "failed_precondition": "invalid_request",
    "insufficient_quota": "resource_exhausted",
    "internal": "endpoint_error",
    "internal_server_error": "endpoint_error",
    "invalid_api_key": "credential_rejected",
    "invalid_argument": "invalid_request",
    "invalid_prompt": "invalid_request",
    "invalid_request_error": "invalid_request",
    "model_not_found": "model_not_found",
    "not_found": "model_not_found",
    "not_found_error": "model_not_found",
    "overloaded_error": "provider_unavailable",
    "permission_denied": "credential_rejected",
    "permission_error": "credential_rejected",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "request_too_large": "invalid_request",
    "resource_exhausted": "rate_limited",
    "server_error": "endpoint_error",
    "server_is_overloaded": "provider_unavailable",
    "slow_down": "provider_unavailable",
    "timeout_error": "provider_unavailable",
    "token_expired": "credential_expired",
    "unauthenticated": "credential_rejected",
    "unavailable": "provider_unavailable",
    "usage_limit_reached": "resource_exhausted",
    "usage_not_included": "resource_exhausted",
}
_TRANSIENT = frozenset(("rate_limited", "provider_unavailable", "endpoint_error"))
_PASSING = (None, "no_terminal", "not_connected")
_ABOUT_CREDENTIALS = frozenset(("credential_rejected", "credential_expired"))
_ABOUT_REQUESTS = frozenset(("invalid_request", "endpoint_error"))


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an inference failed. `wait` is what the vendor asked us to wait, in seconds, as far as it said so."""

    code: ProviderErrorCode
    message: str
    reason: str | None = None
    status: int | None = None
    wait: float | None = None

    @property
    def is_retriable(self) -> bool:
        """Whether the same request may well succeed later."""
        return self.code in _TRANSIENT and self.reason in _PASSING

    def words(self, secret: str | None) -> str:
        """The message as it may leave: the credential is taken out wherever it stands, and then the rest is cut."""
        message = self.message.replace(secret, "[credential]") if secret else self.message
        return message[:_EXCERPT]

    def error(self, secret: str | None) -> ProviderError:
        """As the profile tells it; `secret` is the credential that was sent."""
        details: dict[str, object] = {}
        if self.reason is not None:
            details["reason"] = self.reason
        if self.status is not None:
            details["status"] = self.status
        if self.wait is not None:
            details["retry_after_ms"] = round(self.wait * 1000)
        return ProviderError(
            code=self.code, message=self.words(secret), retriable=self.is_retriable, details=details or UNSET
        )


def refused_as(refused: Refused) -> Failure:
    """A reducer's refusal as a failure; its codes are the profile's own."""
    refusal = refused.refusal
    if refusal.code not in _CODES:
        return Failure("endpoint_error", refusal.message, reason=refusal.code)
    return Failure(refusal.code, refusal.message, reason=refusal.reason)  # type: ignore[arg-type]


def failure_in(error: object, *, fallback: ProviderErrorCode = "endpoint_error") -> Refused:
    """An error object inside a stream of status 200, to be raised."""
    found = _judge(error, fallback)
    return Refused.because(found.code, found.message, reason=found.reason)


def failure_of_status(status: int, body: bytes, wait: float | None) -> Failure:
    """An answer that is no success. `wait` is its Retry-After, read."""
    fallback = _BY_STATUS.get(status, "invalid_request" if 400 <= status < 500 else "endpoint_error")
    if 300 <= status < 400:
        return Failure(
            "endpoint_error", "it answered with a redirect, and redirects are not followed", "redirect", status
        )
    error = read_failure(body)
    found = _judge(error, fallback, is_status=True)
    asked = wait if wait is not None else _asked_in(error)
    message = found.message if error else f"it answered with status {status}"
    reason = TOO_LONG if status == 413 else found.reason
    return Failure(found.code, message, reason, status, asked)


def read_failure(body: bytes) -> object:
    """The error in a JSON body: an object or a text; None where there is none."""
    try:
        value = strictjson.parse(body)
    except Refused:
        return None
    if isinstance(value, list) and value:
        value = value[0]  # what Google answers to a request that asked for a stream
    fields = fields_of(value)
    return fields.get("error") or (fields if "message" in fields else None) or fields.get("detail")


def _judge(error: object, fallback: ProviderErrorCode, *, is_status: bool = False) -> Failure:
    fields = fields_of(error)
    names = [str(fields.get(name, "")).lower() for name in ("code", "type", "status")]
    names += [text_in(detail, "reason").lower() for detail in list_in(fields, "details")]
    code = _named(names, fallback)
    number = fields.get("code")
    if not is_status and code is fallback and isinstance(number, int):
        code = _BY_STATUS.get(number, code)
    said = error if isinstance(error, str) else text_in(fields, "message")
    if code in _ABOUT_CREDENTIALS and "expired" in said.lower():
        code = "credential_expired"
    if code in _ABOUT_REQUESTS and tells_of_length(names, f"{said[:_READ]}\n{_quoted(fields)}"):
        return Failure("invalid_request", _words(code, said), TOO_LONG)
    return Failure(code, _words(code, said))


def _quoted(fields: Fields) -> str:
    """OpenRouter keeps the words of the vendor behind it in a member of its own."""
    return text_in(object_in(fields, "metadata"), "raw")[:_READ]


def _named(names: list[str], fallback: ProviderErrorCode) -> ProviderErrorCode:
    """The most telling name: a key named invalid inside an invalid request is about the key."""
    codes = [_BY_NAME[name] for name in names if name in _BY_NAME]
    if fallback in _ABOUT_CREDENTIALS:
        codes = [code for code in codes if code != "invalid_request"]
    for code in codes:
        if code in _ABOUT_CREDENTIALS or code in ("resource_exhausted", "model_not_found"):
            return code
    return codes[0] if codes else fallback


def _words(code: ProviderErrorCode, said: str) -> str:
    if code in _ABOUT_CREDENTIALS:
        return "the vendor did not accept the credential"
    excerpt = _UNPRINTABLE.sub(" ", said[:_READ]).strip()
    return f"the vendor says: {excerpt}" if excerpt else "the vendor reports an error and says nothing of it"


def _asked_in(error: object) -> float | None:
    """Google says in the body how long to wait (google.rpc.RetryInfo)."""
    for detail in list_in(fields_of(error), "details"):
        found = _SECONDS.fullmatch(text_in(detail, "retryDelay"))
        if found:
            return float(found.group(1))
    return None


_CODES = frozenset(_BY_STATUS.values()) | frozenset(_BY_NAME.values()) | {"credential_missing", "aborted"}
