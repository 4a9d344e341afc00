"""The headers that sign a request to a gateway (GTW-010 to GTW-012).

A signature may be used once, and V1 covers the time and the body alone: two requests with the same body in the same
millisecond would be one signature. A `Signer` therefore never gives one body the same timestamp twice.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from threading import Lock

from sayso.core.clock import Clock, SystemClock
from sayso.core.refusal import Misuse
from sayso.proof.hashes import sha256
from sayso.proof.requestmac import sign_request_mac, sign_request_mac_v2

__all__ = ("KEY_HEADER", "Signer", "sign")

KEY_HEADER = "X-OSz-Agent-Key"
_UNSIGNED = frozenset({"GET", "HEAD"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_REMEMBERED = 1024


def sign(key: str, body: bytes, method: str, target: str, now: datetime) -> dict[str, str]:
    """The headers of one request. `target` is path and query as they are sent, `body` the bytes that are sent.

    A method that only reads is not signed and gets the key alone. Misuse: a key that is no visible ASCII, or a `now`
    without an offset.
    """
    if now.tzinfo is None:
        raise Misuse("a request is signed at an aware instant")
    return _sign(key, body, method, target, (now - _EPOCH) // _MILLISECOND)


def _sign(key: str, body: bytes, method: str, target: str, milliseconds: int) -> dict[str, str]:
    if not (key and key.isascii() and key.isprintable() and " " not in key):
        raise Misuse("an agent key is visible ASCII")
    headers = {KEY_HEADER: key}
    if method.upper() in _UNSIGNED:
        return headers
    stamp, secret = str(milliseconds).encode(), key.encode()
    headers["X-OSz-Timestamp"] = str(milliseconds)
    headers["X-OSz-Signature"] = sign_request_mac(secret, stamp, body)
    headers["X-OSz-Signature-V2"] = sign_request_mac_v2(secret, method.upper(), target.encode("ascii"), stamp, body)
    return headers


class Signer:
    """Signs requests with one key, each with a signature of its own. Shared by everything that uses the key, in any
    thread: two of one body in one millisecond would be a replay, which counts against the agent.
    """

    def __init__(self, key: str, clock: Clock | None = None) -> None:
        self._key = key
        self._clock = clock or SystemClock()
        self._last: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def __repr__(self) -> str:
        return "Signer(...)"

    def headers(self, body: bytes, method: str, target: str) -> dict[str, str]:
        """The headers of one request; arguments as `sign`."""
        return _sign(self._key, body, method, target, self._stamp(body))

    def _stamp(self, body: bytes) -> int:
        now = (self._clock.now() - _EPOCH) // _MILLISECOND
        digest = sha256(body)
        with self._lock:
            stamp = max(now, self._last.pop(digest, 0) + 1)
            self._last[digest] = stamp
            if len(self._last) > _REMEMBERED:
                self._last.popitem(last=False)
        return stamp
