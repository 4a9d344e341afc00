"""Disclosures, their seals, and checkpoints, in a store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse, Refused
from sayso.ledger.append import append
from sayso.ledger.exporting import export_lines
from sayso.ledger.heads import Head, read_head
from sayso.ledger.reading import read_disclosures
from sayso.ledger.rules.chain import START
from sayso.ledger.rules.checkpoint import verify_signed_checkpoint
from sayso.ledger.rules.record import Draft
from sayso.ledger.rules.verify import Verdict, verify_export
from sayso.ledger.seal import checkpoint, disclose, seal, seal_due
from sayso.store.unit import Store, Unit
from tests.ledger.logs import KEY, LOG, OTHER_KEY, draft


def counts(store: Store) -> tuple[int, int, int]:
    """Records, sealed disclosures, waiting disclosures."""
    head = store.read(lambda view: read_head(view, LOG))
    return head.tip.size, head.sealed, head.waiting


def verdict(store: Store) -> Verdict:
    return verify_export(store.read(lambda view: list(export_lines(view, LOG, with_evidence=False))), key=KEY.public)


def disclose_many(store: Store, count: int) -> None:
    def many(unit: Unit) -> None:
        for number in range(count):
            disclose(unit, LOG, draft(number))

    store.run(many)


@pytest.mark.req("GTW-051", "GTW-053")
def test_a_disclosure_is_durable_before_it_is_sealed(store: Store) -> None:
    """It is a row of its own when its unit is answered, and no record yet."""
    kept = store.run(lambda unit: disclose(unit, LOG, draft(1)))
    assert store.read(lambda view: read_disclosures(view, LOG, 0, 9)) == [kept]
    assert counts(store) == (0, 0, 1)


@pytest.mark.req("GTW-051")
def test_a_seal_chains_what_waits_and_only_that(store: Store) -> None:
    """Two batches after one another hold each disclosure once."""
    disclose_many(store, 3)
    (first,) = store.run(lambda unit: seal(unit, LOG))
    disclose_many(store, 2)
    (second,) = store.run(lambda unit: seal(unit, LOG))
    assert (first.kind, first.seq, first.body["first"], first.body["size"]) == ("batch.sealed", 0, 0, 3)
    assert (second.seq, second.body["first"], second.body["size"]) == (1, 3, 2)
    assert (counts(store), verdict(store).receipts) == ((2, 5, 0), 7)


def test_nothing_is_sealed_where_nothing_waits(store: Store) -> None:
    """An empty batch would be a record that says nothing."""
    assert store.run(lambda unit: seal(unit, LOG)) == []
    assert store.run(lambda unit: seal_due(unit, LOG)) == []


@pytest.mark.req("GTW-051")
def test_the_256th_disclosure_seals_the_batch_with_it(store: Store) -> None:
    """Nobody has to look: the unit that fills a batch seals it."""
    disclose_many(store, 255)
    assert counts(store) == (0, 0, 255)
    disclose_many(store, 2)
    assert (counts(store), verdict(store).disclosures) == ((1, 256, 1), 256)


def test_a_batch_is_due_a_second_after_its_first_disclosure(store: Store, clock: ManualClock) -> None:
    """Later disclosures do not put it off."""
    disclose_many(store, 1)
    clock.advance(timedelta(milliseconds=600))
    disclose_many(store, 1)
    clock.advance(timedelta(milliseconds=399))
    assert store.run(lambda unit: seal_due(unit, LOG)) == []
    clock.advance(timedelta(milliseconds=1))
    assert [record.body["size"] for record in store.run(lambda unit: seal_due(unit, LOG))] == [2]
    clock.advance(timedelta(hours=1))
    assert store.run(lambda unit: seal_due(unit, LOG)) == []


def test_a_failed_unit_gives_its_disclosures_number_back(store: Store) -> None:
    """Numbers have no gap, whoever fails."""

    def regret(unit: Unit) -> None:
        disclose(unit, LOG, draft(1))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.run(regret)
    assert store.run(lambda unit: disclose(unit, LOG, draft(2))).number == 0


def test_nobody_else_discloses_a_seal(store: Store) -> None:
    """The kind belongs to the ledger among disclosures too."""
    with pytest.raises(Misuse):
        store.run(lambda unit: disclose(unit, LOG, Draft(kind="batch.sealed", actor="a")))


def test_records_and_disclosures_come_in_any_order(store: Store) -> None:
    """A log that began with a disclosure goes on with a record, and is whole."""
    disclose_many(store, 1)
    store.run(lambda unit: append(unit, LOG, draft(7)))
    disclose_many(store, 1)
    store.run(lambda unit: seal(unit, LOG))
    assert (counts(store), verdict(store).receipts) == ((2, 2, 0), 4)


@pytest.mark.req("GTW-052")
def test_a_checkpoint_is_signed_over_all_records(store: Store, clock: ManualClock) -> None:
    """Its size, root and head are the log's, its time the unit's."""
    last = [store.run(lambda unit, number=number: append(unit, LOG, draft(number))) for number in range(5)][-1]
    note = store.run(lambda unit: checkpoint(unit, LOG, KEY))
    found = verify_signed_checkpoint(note, log=LOG, key=KEY.public)
    tip = store.read(lambda view: read_head(view, LOG)).tip
    assert (found.size, found.root, found.head, found.at) == (5, tip.frontier.root(), last.hash, clock.now())
    assert verdict(store).checkpoint == found


def test_a_size_is_signed_once(store: Store, clock: ManualClock) -> None:
    """Asking again gives the note that is kept, so two notes of one size never disagree."""
    store.run(lambda unit: append(unit, LOG, draft(1)))
    first = store.run(lambda unit: checkpoint(unit, LOG, KEY))
    clock.advance(timedelta(days=1))
    assert store.run(lambda unit: checkpoint(unit, LOG, KEY)) == first


def test_a_log_keeps_its_key(store: Store) -> None:
    """Two keys in one log, and no single published key would verify the whole of it."""
    store.run(lambda unit: append(unit, LOG, draft(1)))
    store.run(lambda unit: checkpoint(unit, LOG, KEY))
    store.run(lambda unit: append(unit, LOG, draft(2)))
    with pytest.raises(Refused) as refused:
        store.run(lambda unit: checkpoint(unit, LOG, OTHER_KEY))
    assert refused.value.refusal.code == "other_log_key"


def test_an_empty_log_signs_nothing(store: Store) -> None:
    """A signature over nothing would look like a proof."""
    with pytest.raises(Refused) as refused:
        store.run(lambda unit: checkpoint(unit, LOG, KEY))
    assert refused.value.refusal.code == "nothing_to_sign"


def test_an_unknown_log_is_empty(store: Store) -> None:
    """A log begins with its first receipt; nothing sets it up."""
    assert store.read(lambda view: read_head(view, "nobody.example")) == Head(tip=START)
