"""One spelling of base64url for every value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core import b64u
from sayso.core.refusal import Refused


@given(st.binary())
def test_every_value_has_a_text_and_comes_back(data: bytes) -> None:
    """Writing and reading are inverse."""
    assert b64u.decode(b64u.encode(data)) == data


@pytest.mark.parametrize(
    "text", ["AA==", "AA=", "AB", "AAB", "A", "A+A/", "AA AA", "AAAA\n", "AAAÀ", "AA*A", "====", "A=AA"]
)
def test_another_spelling_is_refused(text: str) -> None:
    """Padding, foreign characters, white space and trailing bits would be second names of one value."""
    with pytest.raises(Refused) as caught:
        b64u.decode(text)
    assert caught.value.refusal.code == "malformed_base64url"


@given(st.text(alphabet="ABCDwxyz0189-_+/= \n", max_size=12) | st.text(max_size=8))
def test_what_is_read_is_written_the_same(text: str) -> None:
    """Whatever is accepted is the one canonical text."""
    try:
        data = b64u.decode(text)
    except Refused:
        return
    assert b64u.encode(data) == text
