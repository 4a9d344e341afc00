"""Proofs between any sizes and for any receipt, from the store's bytes to the signed root."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core import b64u
from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.ledger.append import append
from sayso.ledger.reading import (
    DisclosureProof,
    disclosure_data,
    list_logs,
    prove_consistency,
    prove_disclosure,
    prove_record,
    read_records,
    record_data,
)
from sayso.ledger.seal import disclose, seal
from sayso.proof.merkle import leaf_hash, root, verify_consistency, verify_inclusion
from sayso.store.unit import Store, Unit
from sayso.testing.store import START, fresh_store
from tests.ledger.logs import LOG, draft

SIZE = 37


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A log of 37 records, the last two of which seal batches of 9 and 1; a third batch waits."""
    folder: Path = tmp_path_factory.mktemp("filled")
    with fresh_store(folder, ManualClock(START)) as store:

        def fill(unit: Unit) -> None:
            for number in range(SIZE - 2):
                append(unit, LOG, draft(number))
            for batch in (9, 1):
                for number in range(batch):
                    disclose(unit, LOG, draft(number))
                seal(unit, LOG)
            disclose(unit, LOG, draft(1))

        store.run(fill)
        yield store


def leaves(store: Store) -> list[bytes]:
    return [leaf_hash(data) for _, data in store.read(lambda view: record_data(view, LOG, 0, SIZE))]


@pytest.mark.req("GTW-051")
@given(st.data())
def test_any_size_is_consistent_with_any_smaller_one(filled: Store, data: st.DataObject) -> None:
    """The proof leads from either root to the other, with exactly the hashes it needs."""
    second = data.draw(st.integers(1, SIZE))
    first = data.draw(st.integers(1, second))
    hashes = leaves(filled)
    path = filled.read(lambda view: prove_consistency(view, LOG, first, second))
    new = root(hashes[:second])
    assert verify_consistency(first, second, path, root(hashes[:first]), new) == new


@pytest.mark.req("GTW-051")
@given(st.data())
def test_any_record_is_in_the_tree_of_any_size_above_it(filled: Store, data: st.DataObject) -> None:
    """The proof leads from the record's bytes to the root that was signed at that size."""
    size = data.draw(st.integers(1, SIZE))
    seq = data.draw(st.integers(0, size - 1))
    hashes = leaves(filled)
    proof = filled.read(lambda view: prove_record(view, LOG, seq, size))
    whole = root(hashes[:size])
    assert verify_inclusion(hashes[seq], proof.seq, proof.size, proof.path, whole) == whole
    assert (proof.seq, proof.size) == (seq, size)


@pytest.mark.req("GTW-051")
@pytest.mark.parametrize("number", range(10))
def test_every_sealed_disclosure_is_in_its_batch(filled: Store, number: int) -> None:
    """The proof leads from the disclosure's bytes to the root that its sealing record states."""
    proof = filled.read(lambda view: prove_disclosure(view, LOG, number))
    (data,) = filled.read(lambda view: disclosure_data(view, LOG, number, number + 1))
    (record,) = filled.read(lambda view: read_records(view, LOG, proof.sealed_by, proof.sealed_by + 1))
    stated = b64u.decode(str(record.body["root"]))
    assert (record.kind, record.body["size"]) == ("batch.sealed", proof.size)
    assert verify_inclusion(leaf_hash(data), proof.index, proof.size, proof.path, stated) == stated


def test_a_batch_of_one_needs_no_hashes(filled: Store) -> None:
    """The leaf is the root."""
    assert filled.read(lambda view: prove_disclosure(view, LOG, 9)) == DisclosureProof(
        sealed_by=36, index=0, size=1, path=[]
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda view: prove_record(view, LOG, SIZE),
        lambda view: prove_record(view, LOG, -1),
        lambda view: prove_record(view, LOG, 3, SIZE + 1),
        lambda view: prove_consistency(view, LOG, 0, 5),
        lambda view: prove_consistency(view, LOG, 6, 5),
        lambda view: prove_consistency(view, LOG, 5, SIZE + 1),
        lambda view: prove_disclosure(view, LOG, 10),
        lambda view: prove_disclosure(view, LOG, 11),
        lambda view: prove_disclosure(view, LOG, -1),
        lambda view: prove_disclosure(view, "nobody.example", 0),
    ],
)
def test_what_is_not_there_is_not_proved(filled: Store, ask: object) -> None:
    """An unsealed disclosure and a size beyond the log are refused, never half proved."""
    with pytest.raises(Refused) as refused:
        filled.read(ask)
    assert refused.value.refusal.code == "no_such_receipt"


def test_logs_are_listed(filled: Store) -> None:
    """By name, each once."""
    assert filled.read(list_logs) == [LOG]
