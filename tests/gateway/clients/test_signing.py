"""The headers that clients sign with, against the door's own verifier."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import httpx
import httpx2
import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse
from sayso.gateway.clients import Signer, sign
from sayso.gateway.clients.for_httpx import SigningAuth as HttpxAuth
from sayso.gateway.clients.for_httpx2 import SigningAuth as Httpx2Auth
from sayso.proof.requestmac import read_mac, verify_request_mac, verify_request_mac_v2

KEY = "osz_" + "k" * 43
NOW = datetime(2026, 10, 13, 13, 0, 0, 123_999, tzinfo=UTC)
MILLISECONDS = "1791896400123"


def mac(text: str) -> bytes:
    found = read_mac(text.encode())
    assert found is not None
    return found


@pytest.mark.req("GTW-011", "GTW-012")
@pytest.mark.parametrize("body", [b"", b'{"a": 1}\n', b"\xff\x00"])
def test_a_request_is_signed_as_the_door_verifies_it(body: bytes) -> None:
    """Milliseconds in 13 digits, V1 over time and body, V2 over method and path as well."""
    headers = sign(KEY, body, "delete", "/a/b?c=d%20e", NOW)
    assert headers["X-OSz-Agent-Key"] == KEY
    assert headers["X-OSz-Timestamp"] == MILLISECONDS
    stamp = MILLISECONDS.encode()
    verify_request_mac(KEY.encode(), stamp, body, mac(headers["X-OSz-Signature"]))
    v2 = mac(headers["X-OSz-Signature-V2"])
    verify_request_mac_v2(KEY.encode(), "DELETE", b"/a/b?c=d%20e", stamp, body, v2)


def test_the_signature_is_the_one_the_reference_describes() -> None:
    """hex(HMAC-SHA256(key, timestamp "." body)), reckoned by the standard library."""
    expected = hmac.new(KEY.encode(), MILLISECONDS.encode() + b".{}", hashlib.sha256).hexdigest()
    assert sign(KEY, b"{}", "POST", "/", NOW)["X-OSz-Signature"] == expected


@pytest.mark.req("GTW-011")
@pytest.mark.parametrize("method", ["GET", "HEAD", "get"])
def test_what_only_reads_shows_the_key_alone(method: str) -> None:
    """There is nothing to sign."""
    assert sign(KEY, b"", method, "/", NOW) == {"X-OSz-Agent-Key": KEY}


@pytest.mark.req("GTW-012")
def test_one_body_is_never_signed_twice_alike() -> None:
    """The clock stands still, the signatures differ; another body keeps the present time."""
    signer = Signer(KEY, ManualClock(NOW))
    stamps = [int(signer.headers(b"same", "POST", "/")["X-OSz-Timestamp"]) for _ in range(3)]
    assert stamps == [int(MILLISECONDS), int(MILLISECONDS) + 1, int(MILLISECONDS) + 2]
    assert signer.headers(b"other", "POST", "/")["X-OSz-Timestamp"] == MILLISECONDS


def test_the_clock_catches_up() -> None:
    """Once time has passed, the present is used again."""
    clock = ManualClock(NOW)
    signer = Signer(KEY, clock)
    signer.headers(b"", "POST", "/")
    clock.advance(timedelta(seconds=1))
    assert int(signer.headers(b"", "POST", "/")["X-OSz-Timestamp"]) == int(MILLISECONDS) + 1000


@pytest.mark.parametrize("key", ["", "with space", "ümlaut", "line\n"])
def test_a_key_that_no_header_can_carry_is_a_bug(key: str) -> None:
    """Before anything is sent."""
    with pytest.raises(Misuse):
        sign(key, b"", "GET", "/", NOW)


def test_an_instant_without_an_offset_is_a_bug() -> None:
    """It would be off by hours."""
    with pytest.raises(Misuse):
        sign(KEY, b"", "POST", "/", NOW.replace(tzinfo=None))


def test_no_key_is_ever_shown() -> None:
    """Not in a traceback's locals either."""
    for shown in (Signer(KEY), HttpxAuth(KEY), Httpx2Auth(KEY)):
        assert KEY not in repr(shown)


@pytest.mark.req("GTW-002", "GTW-011")
def test_both_auth_objects_sign_the_bytes_that_are_sent() -> None:
    """Method, path with its query, and body, for either library."""
    clock = ManualClock(NOW)
    for auth, library in ((HttpxAuth(KEY, clock), httpx), (Httpx2Auth(KEY, clock), httpx2)):
        seen = []

        def answer(request: object, seen: list[object] = seen, library: object = library) -> object:
            seen.append(request)
            return library.Response(200)  # type: ignore[attr-defined]

        transport = library.MockTransport(answer)  # type: ignore[arg-type]
        with library.Client(auth=auth, transport=transport) as client:  # type: ignore[arg-type]
            client.post("http://gate.example/a b?x=1", json={"text": "größe"})
        (request,) = seen
        stamp = request.headers["x-osz-timestamp"].encode()  # type: ignore[attr-defined]
        v2 = mac(request.headers["x-osz-signature-v2"])  # type: ignore[attr-defined]
        body = request.content  # type: ignore[attr-defined]
        verify_request_mac_v2(KEY.encode(), "POST", b"/a%20b?x=1", stamp, body, v2)
