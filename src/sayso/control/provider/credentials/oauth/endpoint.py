"""Talking to an authorization server: one form sent, one JSON object read (RFC 6749, sections 3.2 and 5).

Nothing it says is repeated but the codes that the RFCs define: a description may quote what was sent to it. Redirects
are not followed, and the addresses are https; a name of a test internet leads to loopback by local settings only.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec

from sayso.control.provider.catalog.rows import OAuthFlow
from sayso.control.provider.credentials.values import LAST_SECOND, OAuthToken
from sayso.core import strictjson
from sayso.core.refusal import PeerRefused, Refused
from sayso.net.fetch import Fetcher

__all__ = ("Answered", "client_id_of", "post", "read_token", "refused_by_server")

_SECONDS = 20.0
_TOO_MANY = 429
_LONGEST = 16_384
_LONGEST_LIFE = 10 * 366 * 86_400
_CODES = frozenset(
    (
        "access_denied", "authorization_pending", "expired_token", "invalid_client", "invalid_grant", "invalid_request",
        "invalid_scope", "server_error", "slow_down", "temporarily_unavailable", "unauthorized_client",
        "unsupported_grant_type", "unsupported_response_type",
    )
)  # fmt: skip
_OWN_WORDS = {
    "bad_refresh_token": "invalid_grant",
    "device_flow_disabled": "unauthorized_client",
    "incorrect_client_credentials": "invalid_client",
    "incorrect_device_code": "expired_token",
    "refresh_token_expired": "invalid_grant",
    "refresh_token_invalidated": "invalid_grant",
    "refresh_token_reused": "invalid_grant",
}
"""What GitHub and OpenAI write where the RFCs have a code."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What a server answered. `error` is one of the RFCs' codes, or `unknown` for any other."""

    members: Mapping[str, strictjson.JsonValue]
    error: str | None

    def __repr__(self) -> str:
        return f"Answered(error={self.error})"

    def text(self, name: str, longest: int = _LONGEST) -> str | None:
        """A member that is printable ASCII text and not empty; None for anything else."""
        value = self.members.get(name)
        is_text = isinstance(value, str) and 0 < len(value) <= longest and value.isascii() and value.isprintable()
        return value if is_text and isinstance(value, str) else None

    def count(self, name: str, largest: int) -> int | None:
        """A member that is a whole number from 0, as a number or as digits; None for anything else."""
        value = self.members.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < len(str(largest)) + 1:
            value = int(value)
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return min(value, largest) if is_count and isinstance(value, int) else None


async def post(fetcher: Fetcher, url: str, form: Mapping[str, str]) -> Answered:
    """Sends a form. PeerUnreachable: no answer, or none that can be used now. Refused `endpoint_error`: an answer
    that is neither a JSON object nor a failure to wait for; `credential_rejected`: a redirect.
    """
    headers = (("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json"))
    try:
        answer = await fetcher.request("POST", url, headers=headers, body=urlencode(form).encode(), seconds=_SECONDS)
    except PeerRefused as refused:
        raise refused_by_server(refused.refusal.code) from None
    try:
        value = strictjson.parse(answer.body)
    except Refused:
        value = None
    said = value.get("error") if isinstance(value, dict) else None
    is_later = answer.status >= 500 or answer.status == _TOO_MANY
    code = _code_of(said, is_later=is_later)
    if not isinstance(value, dict) or (not answer.is_success and code is None):
        raise Refused.because(
            "provider_unavailable" if is_later else "endpoint_error",
            f"The sign-in server answered with status {answer.status} and no usable document",
        )
    if said is None:
        return Answered(members=value, error=None)
    return Answered(members=value, error=code if code in _CODES else "unknown")


def read_token(answered: Answered, now: int) -> OAuthToken:
    """A token out of a successful answer; `now` is seconds since 1970. Refused `endpoint_error` where it is none."""
    access = answered.text("access_token")
    kind = answered.text("token_type") or "bearer"
    if access is None or " " in access or kind.lower() != "bearer":
        raise Refused.because("endpoint_error", "The sign-in server's answer holds no bearer token")
    life = answered.count("expires_in", _LONGEST_LIFE)
    return OAuthToken(
        access_token=access,
        refresh_token=answered.text("refresh_token"),
        expires_at=min(now + life, LAST_SECOND) if life else None,
        scope=answered.text("scope"),
        base_url=_declared(answered),
    )


def client_id_of(flow: OAuthFlow, environ: Mapping[str, str]) -> str:
    """The client id: the entry's own, or the operator's. Refused `credential_missing`, reason `client_id`."""
    given = flow.client_id or environ.get(flow.client_id_env or "", "").strip()
    if not given or not given.isascii() or not given.isprintable():
        raise Refused.because(
            "credential_missing",
            "Signing in here needs a client id that the vendor gave to you, and there is none",
            reason="client_id",
            help=f"Set {flow.client_id_env} to the id of the application you registered with the vendor.",
        )
    return given


def refused_by_server(error: str) -> Refused:
    """A sign-in that the server ended, in our words."""
    code, reason, message = {
        "access_denied": ("credential_rejected", "denied", "The sign-in was denied"),
        "expired_token": ("credential_expired", "too_late", "The sign-in took too long, and its code has expired"),
        "invalid_grant": ("credential_expired", "invalid_grant", "The sign-in server no longer accepts this grant"),
        "invalid_client": ("credential_rejected", "client_id", "The sign-in server does not know this client id"),
        "server_error": ("provider_unavailable", "server", "The sign-in server failed"),
        "temporarily_unavailable": ("provider_unavailable", "server", "The sign-in server is not available now"),
    }.get(error, ("credential_rejected", "refused", f"The sign-in server refused ({error})"))
    return Refused.because(code, message, reason=reason, help="Sign in again: sayso auth login --provider ID")


def _code_of(said: strictjson.JsonValue, *, is_later: bool) -> str | None:
    """The code of an error. OpenAI's server writes an object that has it, for its own failures too: those, and being
    asked too often, say nothing of the grant.
    """
    if isinstance(said, dict):
        said = None if is_later else said.get("code")
    return _OWN_WORDS.get(said, said) if isinstance(said, str) else None


def _declared(answered: Answered) -> str | None:
    """Where the answer says the token is good for: `resource_url`, or `api` within `endpoints`."""
    within = answered.members.get("endpoints")
    inner = Answered(members=within, error=None).text("api", 2000) if isinstance(within, dict) else None
    return answered.text("resource_url", 2000) or inner
