"""What a body claims to be, and what it unpacks to."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refused
from sayso.net.content import Gunzip, is_acceptable, is_json, media_type


@pytest.mark.parametrize(
    ("value", "kind", "json"),
    [
        (None, "", False),
        ("", "", False),
        ("application/json", "application/json", True),
        (" Application/JSON ;charset=latin-1", "application/json", True),
        ("application/problem+json", "application/problem+json", True),
        ("text/json", "text/json", False),
        ("text/x+json", "text/x+json", False),
        ("application/json, text/html", "application/json, text/html", False),
        ("application/jsonx", "application/jsonx", False),
    ],
)
def test_a_media_type_is_read_without_its_parameters(value: str | None, kind: str, *, json: bool) -> None:
    """Letter case and parameters are of no account; only application types are JSON."""
    assert (media_type(value), is_json(value)) == (kind, json)


def test_only_the_type_asked_for_is_acceptable() -> None:
    """JSON takes every +json type; any other type takes itself."""
    assert is_acceptable("text/calendar; charset=utf-8", "text/calendar")
    assert not is_acceptable("application/json", "text/calendar")
    assert not is_acceptable(None, "text/calendar")
    assert is_acceptable("application/ld+json", "application/json")


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(1, 50))
def test_unpacking_gives_the_body_or_stops_at_the_bound(body: bytes, limit: int, step: int) -> None:
    """However the packed bytes are cut, at most the bound comes out, and a body within it comes out whole."""
    packed, out, gunzip = gzip.compress(body), bytearray(), Gunzip(limit)
    try:
        for start in range(0, len(packed), step):
            out += gunzip.feed(packed[start : start + step])
        gunzip.close()
    except Refused as refused:
        out += refused.refusal.code.encode()
    assert out == body if len(body) <= limit else out.endswith(b"body_too_large")
    assert len(out) <= limit + len(b"body_too_large")


@given(st.binary(max_size=200))
def test_any_bytes_unpack_or_are_refused(data: bytes) -> None:
    """No other failure leaves, whatever a peer calls gzip."""
    gunzip = Gunzip(1000)
    try:
        gunzip.feed(data)
        gunzip.close()
    except Refused as refused:
        code = refused.refusal.code
        assert code == "malformed_gzip"
