"""What the guest's side writes into the log: hashes and ids, with signed documents that verify offline."""

from __future__ import annotations

import pytest

from sayso.core.refusal import Refused
from sayso.ledger.rules.kinds import KINDS
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.identity import principal_urn
from sayso.store.statements import statement
from sayso.store.tables.ledger import ledger_evidence
from tests.scheduling.tools.household import HOLD, SAM

pytestmark = pytest.mark.anyio
LEDGER_KEY = PrivateKey.from_seed(b"l" * 32)


async def test_the_log_verifies_offline_with_every_signed_document_in_it(home):
    """Three mandates, one offer, one receipt, each against the key set beside it."""
    await home.booked()
    await home.ledger.seal()
    await home.ledger.checkpoint(LEDGER_KEY)
    verdict = await home.ledger.verify(LEDGER_KEY.public)
    assert verdict.records == len(await home.kinds())
    rows = await home.store.reading(lambda view: view.all(statement(ledger_evidence.select())))
    assert sorted(row[3] for row in rows if row[3]) == [
        "schcp-mandate+jwt",
        "schcp-mandate+jwt",
        "schcp-mandate+jwt",
        "schcp-offer+jwt",
        "schcp-receipt+jwt",
    ]


async def test_receipts_hold_hashes_and_no_words(home):
    """The offer's hash with the hold, the hash of the text shown with each signature."""
    held = await home.held()
    await home.call("approve_and_book", {"hold_id": held["hold_id"]})
    records = {record.kind: record for record in await home.ledger.records()}
    assert records["guest.hold_placed"].body["offer_sha256"] == held["offer_sha256"]
    signed = [record for record in await home.ledger.records() if record.kind == "guest.mandate_signed"]
    assert [record.body["text_sha256"] for record in signed] == [
        sha256_b64u(shown.text.encode()) for _, shown in home.questions
    ]
    assert [record.body["shape"] for record in signed] == ["buying", "closed", "management"]
    text = b"".join(record.data for record in await home.ledger.records())
    assert b"oil change" not in text
    assert b"89.27" not in text


async def test_every_kind_that_is_written_is_declared(home):
    """With a sentence."""
    await home.booked()
    assert set(await home.kinds()) <= set(KINDS)


async def test_a_preapproved_yes_is_told_apart_in_log_and_mandate(home):
    """A script that says yes never makes a person present."""
    held = await home.call("hold_slot", {**HOLD}, mode="preapproved")
    await home.call("approve_and_book", {"hold_id": held.result["hold_id"]}, mode="preapproved")
    signed = [record for record in await home.ledger.records() if record.kind == "guest.mandate_signed"]
    assert {record.body["mode"] for record in signed} == {"preapproved"}


async def test_an_altered_document_is_found(home):
    """One byte of a kept offer."""
    await home.booked()
    await home.ledger.checkpoint(LEDGER_KEY)
    change = statement(
        ledger_evidence.update().where(ledger_evidence.c.typ == "schcp-offer+jwt").values(data=b"e30.e30.c2ln")
    )
    await home.store.unit(lambda unit: unit.execute(change))
    with pytest.raises(Refused):
        await home.ledger.verify(LEDGER_KEY.public)


def test_the_person_is_named_by_their_key():
    """A guard: the household's person is the samples' Sam."""
    assert principal_urn(SAM.public).endswith(SAM.public.thumbprint)
