"""Principals, hosts and keys."""

from __future__ import annotations

import pytest

from sayso.core.refusal import Refused
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.identity import (
    bare_id,
    jwk_of,
    principal_urn,
    public_key,
    refuse_private_parts,
    vouching_domain,
)

KEY = PrivateKey.from_seed(b"s" * 32).public


@pytest.mark.req("SCH-016")
def test_a_principal_is_named_by_the_thumbprint_of_their_key():
    """And the key survives being written and read."""
    assert principal_urn(KEY) == f"urn:schcp:principal:jwk-thumbprint:{KEY.thumbprint}"
    assert public_key(jwk_of(KEY)) == KEY


@pytest.mark.req("SCH-028", "SCH-046")
def test_a_host_name_is_taken_apart_into_id_and_domain():
    """The domain is who vouches for it."""
    name = "fades-on-queen@chairly.example"
    assert (bare_id(name), vouching_domain(name)) == ("fades-on-queen", "chairly.example")
    for ask in (bare_id, vouching_domain):
        with pytest.raises(Refused):
            ask("fades-on-queen")


@pytest.mark.req("SCH-019")
@pytest.mark.parametrize("depth", [lambda key: key, lambda key: [key], lambda key: {"a": [{"b": key}]}])
def test_a_private_part_is_refused_at_any_depth(depth):
    """Wherever a key stands."""
    refuse_private_parts(depth(KEY.jwk()))
    with pytest.raises(Refused) as caught:
        refuse_private_parts(depth({**KEY.jwk(), "d": "x"}))
    assert caught.value.refusal.code == "private_key_received"
