"""Reading what a request presents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refused
from sayso.gateway.guard.rules.headers import AUTH_HEADERS, KEY, SIGNATURE, Presented, is_signed, read_presented


@pytest.mark.req("GTW-011")
def test_only_get_and_head_are_unsigned() -> None:
    """Anything else, known or not, is signed; names of methods are in capitals."""
    assert [is_signed(method) for method in ("GET", "HEAD", "POST", "DELETE", "get", "TRACE", "")] == [
        False,
        False,
        True,
        True,
        True,
        True,
        True,
    ]


def test_missing_and_empty_are_the_same_but_for_an_empty_second_signature() -> None:
    """An empty V2 is one that was given, and fits nothing."""
    assert read_presented(((KEY, b" \t"), (b"other", b"\xff"), (b"other", b"x"))) == Presented(None, None, None, None)
    assert read_presented(((b"x-osz-signature-v2", b""),)).signature_v2 == b""


@pytest.mark.req("GTW-013a")
@given(st.lists(st.tuples(st.sampled_from([*AUTH_HEADERS, b"host"]), st.binary(max_size=8)), max_size=6))
def test_headers_are_read_whole_or_refused_by_name(pairs: list[tuple[bytes, bytes]]) -> None:
    """Each value once and ASCII, or a refusal that names a header that is at fault."""
    mine = [(name, value.strip(b" \t")) for name, value in pairs if name in AUTH_HEADERS]
    names = [name for name, _ in mine]
    at_fault = {AUTH_HEADERS[name] for name, value in mine if names.count(name) > 1 or not value.isascii()}
    if at_fault:
        with pytest.raises(Refused) as no:
            read_presented(tuple(pairs))
        assert no.value.refusal.code in ("repeated_header", "malformed_header")
        assert no.value.refusal.place in at_fault
    else:
        assert read_presented(tuple(pairs)).signature == (dict(mine).get(SIGNATURE) or None)
