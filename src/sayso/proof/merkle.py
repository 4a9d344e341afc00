"""Merkle trees of RFC 9162 section 2.1 over SHA-256: roots, proofs, and verifiers that demand the exact hash count.

Everything works on leaf hashes, 32 bytes each, made by `leaf_hash` from a record's stored bytes. A verifier is told
index and size by the signed checkpoint, never by the prover, and refuses a path with a hash too many or too few: that
count is fixed by index and size alone.

`Frontier` is the right edge of a growing tree: enough to append and to know the root, in O(log n) hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sayso.core.refusal import Corrupt, Misuse, Refused

__all__ = (
    "EMPTY_ROOT",
    "Frontier",
    "consistency_proof",
    "inclusion_proof",
    "leaf_hash",
    "node_hash",
    "root",
    "verify_consistency",
    "verify_inclusion",
)

_SIZE = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """The hash of one record's bytes; the prefix keeps leaves and nodes apart."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The root over leaf hashes; of none it is SHA-256 of nothing."""
    return Frontier().extend(leaves).root()


def inclusion_proof(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """The path from leaf `index` up to the root of exactly these leaf hashes, nearest sibling first (2.1.3.1)."""
    if not 0 <= index < len(leaves):
        raise Misuse(f"there is no leaf {index} among {len(leaves)}")
    path: list[bytes] = []
    start, end = 0, len(leaves)
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(root(leaves[middle:end]))
            end = middle
        else:
            path.append(root(leaves[start:middle]))
            start = middle
    return path[::-1]


def consistency_proof(first: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Shows that the tree over the first `first` leaves is the start of the tree over all of them (2.1.4.1)."""
    if not 0 < first <= len(leaves):
        raise Misuse(f"a tree of {first} is no start of one of {len(leaves)}")
    path: list[bytes] = []
    start, end = 0, len(leaves)
    while end != first:
        middle = start + _split(end - start)
        if first <= middle:
            path.append(root(leaves[middle:end]))
            end = middle
        else:
            path.append(root(leaves[start:middle]))
            start = middle
    if start:
        path.append(root(leaves[start:end]))
    return path[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bytes:
    """The root, if `leaf` is the leaf hash at `index` of the tree of `size` leaves with that root (2.1.3.2).

    Raises `Refused("proof_invalid")` with reason range, hash_size, hash_count or root.
    """
    _check_hashes((leaf, root, *path))
    if not 0 <= index < size:
        raise _invalid("range", f"there is no leaf {index} in a tree of {size}")
    # Below the level where leaf and right edge part, each level has a sibling; above, only where the edge goes left.
    inner = (index ^ (size - 1)).bit_length()
    if len(path) != inner + (index >> inner).bit_count():
        raise _invalid("hash_count", "the proof has a hash too many or too few")
    found = leaf
    for level, sibling in enumerate(path[:inner]):
        found = node_hash(sibling, found) if index >> level & 1 else node_hash(found, sibling)
    for sibling in path[inner:]:
        found = node_hash(sibling, found)
    return _check_root(found, root)


def verify_consistency(first: int, second: int, path: Sequence[bytes], first_root: bytes, second_root: bytes) -> bytes:
    """The second root, if the tree of `first` leaves is the start of the tree of `second` leaves (2.1.4.2).

    Raises `Refused("proof_invalid")` with reason range, hash_size, hash_count or root. `first` is at least 1: an empty
    tree is the start of every tree and proves nothing.
    """
    _check_hashes((first_root, second_root, *path))
    if not 0 < first <= second:
        raise _invalid("range", f"a tree of {first} is no start of one of {second}")
    if first == second:
        if path:
            raise _invalid("hash_count", "a tree needs no proof that it is its own start")
        return _check_root(first_root, second_root)
    # The proof climbs from the last complete subtree of the first tree; if that is the whole tree, its hash is known.
    shift = (first & -first).bit_length() - 1
    index = (first - 1) >> shift
    inner = (index ^ ((second - 1) >> shift)).bit_length()
    edge = (index >> inner).bit_count()
    is_whole = first == 1 << shift
    if len(path) != inner + edge + (0 if is_whole else 1):
        raise _invalid("hash_count", "the proof has a hash too many or too few")
    seed, rest = (first_root, list(path)) if is_whole else (path[0], list(path[1:]))
    old = new = seed
    for level, sibling in enumerate(rest[:inner]):
        if index >> level & 1:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
        else:
            new = node_hash(new, sibling)
    for sibling in rest[inner:]:
        old, new = node_hash(sibling, old), node_hash(sibling, new)
    _check_root(old, first_root)
    return _check_root(new, second_root)


@dataclass(frozen=True, slots=True)
class Frontier:
    """The roots of the complete subtrees of a tree of `size` leaves, largest first: one for each bit set in `size`."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> Frontier:
        """The tree with one more leaf hash."""
        return self.extend((leaf,))

    def extend(self, leaves: Iterable[bytes]) -> Frontier:
        """The tree with more leaf hashes, in order."""
        size, peaks = self.size, list(self.peaks)
        for leaf in leaves:
            if len(leaf) != _SIZE:
                raise Misuse("trees are made of leaf hashes, 32 bytes each")
            height = size
            found = leaf
            while height & 1:
                found = node_hash(peaks.pop(), found)
                height >>= 1
            peaks.append(found)
            size += 1
        return Frontier(size, tuple(peaks))

    def root(self) -> bytes:
        """The root of the whole tree."""
        if not self.peaks:
            return EMPTY_ROOT
        found = self.peaks[-1]
        for peak in self.peaks[-2::-1]:
            found = node_hash(peak, found)
        return found

    def to_bytes(self) -> bytes:
        """Eight bytes of size, then the peaks."""
        return self.size.to_bytes(8, "big") + b"".join(self.peaks)

    @classmethod
    def from_bytes(cls, data: bytes) -> Frontier:
        """Reads what `to_bytes` wrote and we stored; raises `Corrupt` for anything else."""
        size = int.from_bytes(data[:8], "big")
        peaks = tuple(data[start : start + _SIZE] for start in range(8, len(data), _SIZE))
        if len(data) != 8 + _SIZE * size.bit_count():
            raise Corrupt("the right edge of a tree has the wrong length", f"size {size}")
        return cls(size, peaks)


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def _check_hashes(hashes: Iterable[bytes]) -> None:
    if any(len(value) != _SIZE for value in hashes):
        raise _invalid("hash_size", "a hash is 32 bytes")


def _check_root(found: bytes, root: bytes) -> bytes:
    if found != root:
        raise _invalid("root", "the proof leads to another root")
    return found


def _invalid(reason: str, message: str) -> Refused:
    return Refused.because("proof_invalid", message, reason=reason)
