"""Ids that never repeat, and counted ones for golden files."""

from __future__ import annotations

import base64
import re

import pytest

from sayso.core import b64u
from sayso.core.ids import CountingIds, Ids, SystemIds


@pytest.mark.parametrize("ids", [SystemIds(), CountingIds()])
def test_ids_are_distinct_and_of_one_shape(ids: Ids) -> None:
    """A prefix for people and 26 characters behind it."""
    made = [ids.new("b") for _ in range(500)]
    assert len(set(made)) == 500
    assert all(re.fullmatch(r"b_[a-z0-9]{26}", name) for name in made)


def test_an_id_is_base32_of_128_bits() -> None:
    """As others may read it, and every letter is in use."""
    made = [SystemIds().new("b").removeprefix("b_") for _ in range(500)]
    for name in made:
        bits = base64.b32decode(f"{name.upper()}======")
        assert len(bits) == 16
        assert base64.b32encode(bits).decode().rstrip("=").lower() == name
    assert set("".join(made)) == set("abcdefghijklmnopqrstuvwxyz234567")
    assert {name[-1] for name in made} == set("aeimquy4")


@pytest.mark.parametrize("ids", [SystemIds(), CountingIds()])
def test_tokens_are_canonical_base64url_of_the_size_asked_for(ids: Ids) -> None:
    """As a nonce travels."""
    made = {ids.token() for _ in range(200)}
    assert len(made) == 200
    assert {len(b64u.decode(token)) for token in made} == {16}
    assert len(ids.random(32)) == 32


def test_counted_ids_repeat_from_run_to_run() -> None:
    """That is what they are for."""
    first, second = CountingIds(), CountingIds()
    assert [first.new("h"), first.token(), first.new("h")] == [second.new("h"), second.token(), second.new("h")]
    assert CountingIds().new("h") == "h_" + "0" * 25 + "1"
