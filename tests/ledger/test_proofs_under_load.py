"""Proofs and exports are of one consistent view, however fast others append meanwhile (GTW-051 to GTW-053)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.checkpoint import SignedCheckpoint, verify_signed_checkpoint
from sayso.ledger.rules.verify import verify_export
from sayso.proof.merkle import leaf_hash, verify_consistency, verify_inclusion
from tests.ledger.logs import KEY, LOG, draft

pytestmark = pytest.mark.anyio
ROUNDS = 25
CALLERS = 8


async def signed(ledger: Ledger) -> SignedCheckpoint:
    return verify_signed_checkpoint(await ledger.checkpoint(KEY), log=LOG, key=KEY.public)


@pytest.mark.req("GTW-051", "GTW-052", "GTW-053")
async def test_proofs_hold_while_appends_hammer(ledger: Ledger, tmp_path: Path) -> None:
    """Each round a checkpoint is signed, a record proved under it and the one before it; then an export is verified."""
    stop = asyncio.Event()
    appended = 0

    async def hammer() -> None:
        nonlocal appended
        while not stop.is_set():
            await (ledger.append(draft(appended)) if appended % 3 else ledger.disclose(draft(appended)))
            appended += 1

    await ledger.append(draft(0))
    async with asyncio.TaskGroup() as tasks:
        for _ in range(CALLERS):
            tasks.create_task(hammer())
        before = await signed(ledger)
        for round_ in range(ROUNDS):
            now = await signed(ledger)
            seq = round_ * (now.size - 1) // ROUNDS
            (record,) = await ledger.records(seq, seq + 1)
            proof = await ledger.prove_record(seq, now.size)
            verify_inclusion(leaf_hash(record.data), seq, now.size, proof.path, now.root)
            path = await ledger.prove_consistency(before.size, now.size)
            verify_consistency(before.size, now.size, path, before.root, now.root)
            before = now
        export = tmp_path / "log.jsonl"
        await ledger.export(export)
        stop.set()
    with export.open("rb") as lines:
        found = verify_export(lines, key=KEY.public)
    assert found.records >= before.size
    assert appended > ROUNDS
