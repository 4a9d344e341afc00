"""A credential as a value that never shows itself: no repr, no error and no log line has its text (OAP-154)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from sayso.core.instants import from_epoch
from sayso.core.refusal import Refused

__all__ = ("LAST_SECOND", "ApiKey", "Credential", "OAuthToken", "read_key")

LAST_SECOND = 253_402_300_799
"""The end of the year 9999, beyond which no calendar of ours goes."""

_LONGEST = 16_384
_EARLY = timedelta(seconds=60)


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="api_key"):
    """A key the person was given. `is_bearer`: it travels as a bearer token whatever its wire does with keys."""

    key: str
    is_bearer: bool = False

    def __repr__(self) -> str:
        return "ApiKey(...)"


class OAuthToken(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
    tag="oauth",
):
    """What a sign-in gave. `expires_at` is seconds since 1970; None is: it was not said. `base_url` is where the
    answer itself said that the token is good for.
    """

    access_token: str
    refresh_token: str | None = None
    expires_at: Annotated[int, Meta(ge=0, le=LAST_SECOND)] | None = None
    scope: str | None = None
    base_url: str | None = None

    def __repr__(self) -> str:
        return "OAuthToken(...)"

    def is_spent(self, now: datetime) -> bool:
        """Whether it has expired, or will before a request could be answered."""
        return self.expires_at is not None and from_epoch(self.expires_at) - _EARLY <= now


Credential: TypeAlias = ApiKey | OAuthToken


def read_key(text: str, place: str, *, is_bearer: bool = False) -> ApiKey:
    """A key as it was typed or stands in a variable, without the white space around it.

    Refused `invalid_request`, reason `key`: empty, too long, or with characters no header carries. The refusal names
    `place` and never the text.
    """
    key = text.strip()
    if not key or len(key) > _LONGEST or not key.isascii() or not key.isprintable() or " " in key:
        raise Refused.because("invalid_request", f"{place} holds no usable key", reason="key", place=place)
    return ApiKey(key=key, is_bearer=is_bearer)
