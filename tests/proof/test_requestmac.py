"""The two request signatures, against the standard library and against every change of what they cover."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refused
from sayso.proof.requestmac import (
    read_mac,
    sign_request_mac,
    sign_request_mac_v2,
    verify_request_mac,
    verify_request_mac_v2,
)

KEY = b"osz_" + b"k" * 43
STAMP = b"1760360400000"


@pytest.mark.req("GTW-011", "GTW-012")
def test_known_vectors() -> None:
    """Reckoned with hmac.new from the words of the specification."""
    body = b'{"a":1}'
    assert sign_request_mac(KEY, STAMP, body) == hmac.new(KEY, STAMP + b"." + body, hashlib.sha256).hexdigest()
    text = b"v2\nPOST\n/a?b=c\n" + STAMP + b"\n" + hashlib.sha256(body).hexdigest().encode()
    assert sign_request_mac_v2(KEY, "POST", b"/a?b=c", STAMP, body) == hmac.new(KEY, text, hashlib.sha256).hexdigest()


@pytest.mark.req("GTW-011")
def test_an_empty_body_is_the_empty_string() -> None:
    """A DELETE signs its timestamp and a dot."""
    assert sign_request_mac(KEY, STAMP, b"") == hmac.new(KEY, STAMP + b".", hashlib.sha256).hexdigest()


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_a_signature_fits_its_body_alone(body: bytes, other: bytes) -> None:
    """Verifying gives the mac back, or refuses."""
    mac = bytes.fromhex(sign_request_mac(KEY, STAMP, body))
    assert verify_request_mac(KEY, STAMP, body, mac) == mac
    if other != body:
        with pytest.raises(Refused, match="does not fit"):
            verify_request_mac(KEY, STAMP, other, mac)


@pytest.mark.req("GTW-011")
@pytest.mark.parametrize("place", range(32))
def test_a_signature_must_fit_to_its_last_byte(place: int) -> None:
    """One bit of it changed anywhere, and it does not fit."""
    mac = bytearray.fromhex(sign_request_mac(KEY, STAMP, b""))
    mac[place] ^= 1
    with pytest.raises(Refused):
        verify_request_mac(KEY, STAMP, b"", bytes(mac))


@pytest.mark.req("GTW-012")
@pytest.mark.parametrize(
    "changed",
    [
        (KEY + b"x", "POST", b"/a", STAMP, b"b"),
        (KEY, "PUT", b"/a", STAMP, b"b"),
        (KEY, "POST", b"/a?x", STAMP, b"b"),
        (KEY, "POST", b"/a", b"1760360400001", b"b"),
        (KEY, "POST", b"/a", STAMP, b"c"),
    ],
)
def test_the_second_signature_covers_method_target_time_and_body(
    changed: tuple[bytes, str, bytes, bytes, bytes],
) -> None:
    """Any of them changed, and it does not fit."""
    mac = bytes.fromhex(sign_request_mac_v2(KEY, "POST", b"/a", STAMP, b"b"))
    assert verify_request_mac_v2(KEY, "POST", b"/a", STAMP, b"b", mac) == mac
    with pytest.raises(Refused):
        verify_request_mac_v2(*changed, mac)


@pytest.mark.req("GTW-013a")
@pytest.mark.parametrize("text", [b"", b"0" * 63, b"0" * 65, b"g" * 64, b"0" * 63 + b"\xff", b" " + b"0" * 63])
def test_what_is_not_64_hex_digits_is_no_mac(text: bytes) -> None:
    """Whatever else it is, reading it raises nothing."""
    assert read_mac(text) is None


def test_hex_of_either_case_is_the_same_mac() -> None:
    """So both are one signature to the replay check."""
    assert read_mac(b"AB" * 32) == read_mac(b"ab" * 32) == b"\xab" * 32


@pytest.mark.req("GTW-012")
def test_a_question_mark_with_nothing_behind_it_is_not_signed() -> None:
    """A server is told the query without its question mark, so it cannot know of an empty one; any other stays."""
    empty, none = (sign_request_mac_v2(KEY, "POST", target, STAMP, b"b") for target in (b"/a?", b"/a"))
    others = {sign_request_mac_v2(KEY, "POST", target, STAMP, b"b") for target in (b"/a??", b"/a?b?", b"/a?b")}
    assert (empty == none, len(others), none in others) == (True, 3, False)
