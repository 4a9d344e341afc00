"""A spent token exchanged for a fresh one (RFC 6749, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from sayso.control.provider.catalog.rows import OAuthFlow
from sayso.control.provider.credentials.oauth.endpoint import client_id_of, post, read_token, refused_by_server
from sayso.control.provider.credentials.values import OAuthToken
from sayso.core.instants import epoch
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher

__all__ = ("refresh",)


async def refresh(
    flow: OAuthFlow, environ: Mapping[str, str], token: OAuthToken, *, fetcher: Fetcher, now: datetime
) -> OAuthToken:
    """The fresh token; what the answer leaves out (refresh token, scope, where it is good for) stays as it was.

    Refused `credential_expired` where the grant is over, or there is nothing to refresh with; others as `post`.
    """
    if token.refresh_token is None:
        again = "Sign in again: sayso auth login --provider ID"
        raise Refused.because("credential_expired", "The sign-in has expired", help=again)
    form = {
        "grant_type": "refresh_token",
        "refresh_token": token.refresh_token,
        "client_id": client_id_of(flow, environ),
    }
    answered = await post(fetcher, flow.token_endpoint, form)
    if answered.error is not None:
        raise refused_by_server(answered.error)
    fresh = read_token(answered, epoch(now))
    return msgspec.structs.replace(
        fresh,
        refresh_token=fresh.refresh_token or token.refresh_token,
        scope=fresh.scope or token.scope,
        base_url=fresh.base_url or token.base_url,
    )
