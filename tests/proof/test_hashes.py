"""One hash in three spellings."""

from __future__ import annotations

import pytest

from sayso.proof.hashes import sha256, sha256_b64u, sha256_hex


@pytest.mark.req("SCH-170")
def test_the_three_spellings_are_of_one_hash() -> None:
    """The known digest of "abc" (FIPS 180-4), and the text of a token hashed by its ASCII bytes."""
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha256(b"abc") == bytes.fromhex(digest)
    assert sha256_hex(b"abc") == digest
    assert sha256_b64u("abc") == sha256_b64u(b"abc") == "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"


def test_text_beyond_ascii_has_no_bytes_to_hash() -> None:
    """Nobody guesses an encoding."""
    with pytest.raises(UnicodeEncodeError):
        sha256_b64u("é")
