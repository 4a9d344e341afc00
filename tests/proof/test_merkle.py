"""RFC 9162 trees: the known roots, every proof of every small tree, and no hash too many or too few."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Corrupt, Misuse, Refused
from sayso.proof.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root,
    verify_consistency,
    verify_inclusion,
)

VECTOR = [
    leaf_hash(bytes.fromhex(text))
    for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
LEAVES = [leaf_hash(bytes([number])) for number in range(40)]
OTHER = hashlib.sha256(b"other").digest()


def plain_root(leaves: Sequence[bytes]) -> bytes:
    """The definition of section 2.1.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = max(2**power for power in range(10) if 2**power < len(leaves))
    return hashlib.sha256(b"\x01" + plain_root(leaves[:k]) + plain_root(leaves[k:])).digest()


def plain_path(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """The definition of section 2.1.3.1."""
    if len(leaves) == 1:
        return []
    k = max(2**power for power in range(10) if 2**power < len(leaves))
    if m < k:
        return [*plain_path(m, leaves[:k]), plain_root(leaves[k:])]
    return [*plain_path(m - k, leaves[k:]), plain_root(leaves[:k])]


def plain_subproof(m: int, leaves: Sequence[bytes], is_known: bool) -> list[bytes]:
    """The definition of section 2.1.4.1."""
    if m == len(leaves):
        return [] if is_known else [plain_root(leaves)]
    k = max(2**power for power in range(10) if 2**power < len(leaves))
    if m <= k:
        return [*plain_subproof(m, leaves[:k], is_known), plain_root(leaves[k:])]
    return [*plain_subproof(m - k, leaves[k:], False), plain_root(leaves[:k])]


def refusal_of_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> str | None:
    with pytest.raises(Refused) as caught:
        verify_inclusion(leaf, index, size, path, root)
    assert caught.value.refusal.code == "proof_invalid"
    return caught.value.refusal.reason


def refusal_of_consistency(first: int, second: int, path: Sequence[bytes], old: bytes, new: bytes) -> str | None:
    with pytest.raises(Refused) as caught:
        verify_consistency(first, second, path, old, new)
    assert caught.value.refusal.code == "proof_invalid"
    return caught.value.refusal.reason


def test_the_known_roots_are_found() -> None:
    """The vector that every implementation of RFC 6962 and 9162 agrees on."""
    assert [root(VECTOR[:size]).hex() for size in range(9)] == [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]


def test_leaves_and_nodes_are_hashed_apart() -> None:
    """A node can never be shown as a leaf."""
    left, right = VECTOR[0], VECTOR[1]
    assert node_hash(left, right) != leaf_hash(left + right)
    assert leaf_hash(b"x") == hashlib.sha256(b"\x00x").digest()
    assert root([]) == EMPTY_ROOT


@pytest.mark.parametrize("size", range(1, 34))
def test_every_leaf_of_every_small_tree_is_proven(size: int) -> None:
    """Root and path as defined, verified, and refused as soon as anything differs."""
    leaves = LEAVES[:size]
    top = root(leaves)
    assert top == plain_root(leaves)
    for index in range(size):
        path = inclusion_proof(index, leaves)
        assert path == plain_path(index, leaves)
        assert verify_inclusion(leaves[index], index, size, path, top) == top
        assert refusal_of_inclusion(OTHER, index, size, path, top) == "root"
        assert refusal_of_inclusion(leaves[index], index, size, path, OTHER) == "root"
        assert refusal_of_inclusion(leaves[index], index, size, [*path, OTHER], top) == "hash_count"
        assert refusal_of_inclusion(leaves[index], index, size, [OTHER, *path], top) == "hash_count"
        if path:
            assert refusal_of_inclusion(leaves[index], index, size, path[1:], top) == "hash_count"
            assert refusal_of_inclusion(leaves[index], index, size, path[:-1], top) == "hash_count"
            assert refusal_of_inclusion(leaves[index], index, size, [OTHER, *path[1:]], top) == "root"
        for elsewhere in set(range(size)) - {index}:
            assert refusal_of_inclusion(leaves[index], elsewhere, size, path, top) in ("root", "hash_count")


def test_an_inner_node_is_not_proven_as_a_leaf_of_a_smaller_tree() -> None:
    """The size comes from the checkpoint: with another size the hash count gives the lie away."""
    top = root(LEAVES[:8])
    node = node_hash(LEAVES[0], LEAVES[1])
    path = inclusion_proof(0, LEAVES[:8])[1:]
    assert verify_inclusion(node, 0, 4, path, top) == top  # true of a tree of four such leaves
    assert refusal_of_inclusion(node, 0, 8, path, top) == "hash_count"


@pytest.mark.parametrize(("index", "size"), [(0, 0), (1, 1), (5, 4), (-1, 4), (2**70, 2**69)])
def test_an_index_outside_the_tree_is_refused(index: int, size: int) -> None:
    """Also where the arithmetic would go round."""
    assert refusal_of_inclusion(LEAVES[0], index, size, [], LEAVES[0]) == "range"


@pytest.mark.parametrize("second", range(1, 34))
def test_every_start_of_every_small_tree_is_proven(second: int) -> None:
    """The proof as defined, verified, and refused as soon as anything differs."""
    leaves = LEAVES[:second]
    new = root(leaves)
    for first in range(1, second + 1):
        old = root(leaves[:first])
        path = consistency_proof(first, leaves)
        assert path == plain_subproof(first, leaves, True)
        assert verify_consistency(first, second, path, old, new) == new
        assert refusal_of_consistency(first, second, path, old, OTHER) == "root"
        assert refusal_of_consistency(first, second, path, OTHER, new) == "root"
        assert refusal_of_consistency(first, second, [*path, OTHER], old, new) == "hash_count"
        assert refusal_of_consistency(first, second, [OTHER, *path], old, new) == "hash_count"
        for place in range(len(path)):
            assert refusal_of_consistency(first, second, path[:place] + path[place + 1 :], old, new) == "hash_count"
            changed = [*path[:place], OTHER, *path[place + 1 :]]
            assert refusal_of_consistency(first, second, changed, old, new) == "root"


def test_the_known_proofs_have_the_known_length() -> None:
    """Audit paths in a tree of seven, and proofs from each start to a tree of eight."""
    assert [len(inclusion_proof(index, VECTOR[:7])) for index in range(7)] == [3, 3, 3, 3, 3, 3, 2]
    assert [len(consistency_proof(first, VECTOR)) for first in range(1, 9)] == [3, 2, 4, 1, 4, 3, 4, 0]


def test_an_empty_tree_proves_nothing() -> None:
    """It is the start of every tree; and no tree starts with a larger one."""
    assert refusal_of_consistency(0, 4, [], EMPTY_ROOT, root(LEAVES[:4])) == "range"
    assert refusal_of_consistency(5, 4, [], OTHER, OTHER) == "range"
    for first in (0, 41):
        with pytest.raises(Misuse):
            consistency_proof(first, LEAVES)
    for index in (-1, 40):
        with pytest.raises(Misuse):
            inclusion_proof(index, LEAVES)


def test_equal_trees_have_equal_roots() -> None:
    """Two roots for one size are a fork of the log."""
    assert refusal_of_consistency(4, 4, [], root(LEAVES[:4]), OTHER) == "root"


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_hash_of_another_size_is_refused(size: int) -> None:
    """Joined hashes of odd sizes could be cut elsewhere."""
    odd = bytes(size)
    top = root(LEAVES[:2])
    assert refusal_of_inclusion(LEAVES[0], 0, 2, [odd], top) == "hash_size"
    assert refusal_of_inclusion(odd, 0, 2, [LEAVES[1]], top) == "hash_size"
    assert refusal_of_consistency(1, 2, [odd], LEAVES[0], top) == "hash_size"
    with pytest.raises(Misuse):
        Frontier().append(odd)


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_frontier_grows_to_the_same_tree_in_any_steps(first: int, more: int) -> None:
    """One by one, in batches, and through its bytes in between."""
    leaves = [leaf_hash(number.to_bytes(2, "big")) for number in range(first + more)]
    stored = Frontier().extend(leaves[:first]).to_bytes()
    grown = Frontier.from_bytes(stored).extend(leaves[first:])
    one_by_one = Frontier()
    for leaf in leaves:
        one_by_one = one_by_one.append(leaf)
    assert grown == one_by_one
    assert (grown.size, grown.root()) == (first + more, root(leaves))
    assert len(grown.peaks) == (first + more).bit_count()


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 7, (3).to_bytes(8, "big") + bytes(32), (1).to_bytes(8, "big") + bytes(33), bytes(8) + bytes(32)],
)
def test_a_stored_frontier_of_the_wrong_length_is_corrupt(data: bytes) -> None:
    """Our own bytes contradict themselves."""
    with pytest.raises(Corrupt):
        Frontier.from_bytes(data)


@given(st.integers(-1, 70), st.integers(-1, 70), st.lists(st.binary(min_size=31, max_size=33), max_size=8))
def test_no_proof_escapes_the_verifiers(first: int, second: int, path: list[bytes]) -> None:
    """Random numbers and hashes prove nothing and break nothing."""
    refusal_of_inclusion(LEAVES[0], first, second, path, OTHER)
    refusal_of_consistency(first, second, path, OTHER, LEAVES[1])
