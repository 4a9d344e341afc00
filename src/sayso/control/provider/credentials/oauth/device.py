"""The device flow (RFC 8628): a code is shown, typed in on any device, and the server asked until it says yes or no."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import msgspec

from sayso.control.provider.catalog.rows import OAuthFlow
from sayso.control.provider.credentials.oauth.endpoint import (
    Answered,
    client_id_of,
    post,
    read_token,
    refused_by_server,
)
from sayso.control.provider.credentials.values import OAuthToken
from sayso.core.clock import Clock
from sayso.core.instants import epoch
from sayso.core.refusal import Misuse, PeerUnreachable, Refused
from sayso.net.fetch import Fetcher

__all__ = ("DeviceCode", "DeviceSignIn", "begin_on_a_device", "sign_in_on_a_device")

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_INTERVAL = 5
_SLOWER = 5
_LONGEST_INTERVAL = 300
_LIFE = 900
_LONGEST_LIFE = 3600


class DeviceCode(msgspec.Struct, frozen=True, kw_only=True):
    """What the person is shown: where to go, and what to type there."""

    user_code: str
    url: str
    minutes: int


async def sign_in_on_a_device(
    flow: OAuthFlow,
    environ: Mapping[str, str],
    *,
    fetcher: Fetcher,
    clock: Clock,
    show: Callable[[DeviceCode], None],
) -> OAuthToken:
    """Runs the flow to its end. Cancel it to stop asking. Errors as `begin_on_a_device` and `DeviceSignIn.finish`."""
    begun = await begin_on_a_device(flow, environ, fetcher=fetcher, clock=clock)
    show(begun.shown)
    return await begun.finish()


async def begin_on_a_device(
    flow: OAuthFlow, environ: Mapping[str, str], *, fetcher: Fetcher, clock: Clock
) -> DeviceSignIn:
    """Asks for a code to be typed elsewhere.

    Refused: `credential_rejected` (the client is not known), `credential_missing` (no client id), `endpoint_error`;
    PeerUnreachable where it could not begin.
    """
    if flow.device_endpoint is None:
        raise Misuse("this flow has no device endpoint")
    client = client_id_of(flow, environ)
    begun = await post(fetcher, flow.device_endpoint, {"client_id": client, "scope": " ".join(flow.scopes)})
    if begun.error is not None:
        raise refused_by_server(begun.error)
    device_code, shown, life = _read_codes(begun)
    form = {"grant_type": _GRANT, "device_code": device_code, "client_id": client}
    interval = max(1, begun.count("interval", _LONGEST_INTERVAL) or _INTERVAL)
    deadline = clock.now() + timedelta(seconds=life)
    return DeviceSignIn(shown, flow.token_endpoint, form, interval, deadline, fetcher, clock)


class DeviceSignIn:
    """A sign-in that waits for somebody to type its code; `shown` is for them, everything else stays here."""

    def __init__(
        self,
        shown: DeviceCode,
        url: str,
        form: Mapping[str, str],
        interval: int,
        deadline: datetime,
        fetcher: Fetcher,
        clock: Clock,
    ) -> None:
        self.shown = shown
        self._url = url
        self._form = form
        self._interval = interval
        self._deadline = deadline
        self._fetcher = fetcher
        self._clock = clock

    async def finish(self) -> OAuthToken:
        """Asks until the server says yes or no.

        Refused: `credential_rejected` (denied), `credential_expired` (nobody typed the code in time),
        `endpoint_error`.
        """
        interval, clock = self._interval, self._clock
        while True:
            due = clock.now() + timedelta(seconds=interval)
            if due >= self._deadline:
                raise refused_by_server("expired_token")
            await clock.sleep_until(due)
            answered = await _poll(self._fetcher, self._url, self._form)
            if answered is None:
                # Nobody answered: RFC 8628, section 3.5, asks for a longer wait, doubling.
                interval = min(interval * 2, _LONGEST_INTERVAL)
            elif answered.error is None:
                return read_token(answered, epoch(clock.now()))
            elif answered.error == "slow_down":
                interval = min(interval + _SLOWER, _LONGEST_INTERVAL)
            elif answered.error != "authorization_pending":
                raise refused_by_server(answered.error)


async def _poll(fetcher: Fetcher, url: str, form: Mapping[str, str]) -> Answered | None:
    try:
        return await post(fetcher, url, form)
    except PeerUnreachable:
        return None
    except Refused as refused:
        if refused.refusal.code == "provider_unavailable":
            return None
        raise


def _read_codes(begun: Answered) -> tuple[str, DeviceCode, int]:
    device_code, user_code = begun.text("device_code"), begun.text("user_code", 64)
    # Some servers still write the draft's `verification_url`.
    url = begun.text("verification_uri", 2000) or begun.text("verification_url", 2000)
    if device_code is None or user_code is None or url is None or not url.startswith("https://"):
        raise Refused.because("endpoint_error", "The sign-in server's answer holds no code to type in")
    life = begun.count("expires_in", _LONGEST_LIFE) or _LIFE
    return device_code, DeviceCode(user_code=user_code, url=url, minutes=max(1, life // 60)), life
