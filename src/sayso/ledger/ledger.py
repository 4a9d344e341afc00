"""One receipt log, as the rest of the house sees it.

A ledger writes into units of work, its own (`append`, `disclose`) or its caller's (`append_in`, `disclose_in`), so a
receipt and what it tells of become durable together. Any number of processes may write one log at the same time.
Exports and verdicts are of one consistent view and keep no writer waiting.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import anyio
import msgspec

from sayso.core import b64u
from sayso.core.clock import Clock
from sayso.core.refusal import Corrupt
from sayso.ledger import exporting, heads, reading, seal
from sayso.ledger.append import append
from sayso.ledger.evidence import put_evidence
from sayso.ledger.reading import DisclosureProof, RecordProof
from sayso.ledger.rules.batch import SEAL_AFTER
from sayso.ledger.rules.chain import Tip
from sayso.ledger.rules.export import RECORD_START
from sayso.ledger.rules.record import Disclosure, Draft, Record
from sayso.ledger.rules.replay import broken
from sayso.ledger.rules.verify import Verdict, verify_export
from sayso.proof.keys import PrivateKey, PublicKey
from sayso.store.unit import Reading, Store, Unit

__all__ = ("Ledger", "Standing")


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How far a log goes: chained records, disclosures in batches, and disclosures that wait for theirs."""

    log: str
    records: int
    sealed: int
    waiting: int


class Ledger:
    """A log by name, in a store."""

    def __init__(self, store: Store, log: str, clock: Clock) -> None:
        self.log = log
        self._store = store
        self._clock = clock
        self._tips: dict[str, Tip] = {}

    # -- writing

    def append_in(self, unit: Unit, draft: Draft) -> Record:
        """Chains a record in the caller's unit, whose last lock this is. Raises as `append.append`."""
        return append(unit, self.log, draft, tips=self._tips)

    def disclose_in(self, unit: Unit, draft: Draft) -> Disclosure:
        """Keeps a disclosure in the caller's unit, whose last lock this is. Raises as `seal.disclose`."""
        return seal.disclose(unit, self.log, draft, tips=self._tips)

    def put_evidence_in(self, unit: Unit, media_type: str, data: bytes, *, verified_by: str | None = None) -> str:
        """Keeps a document beside the receipts that refer to it; its SHA-256. Raises as `evidence.put_evidence`."""
        return put_evidence(unit, self.log, media_type, data, verified_by=verified_by)

    async def append(self, draft: Draft) -> Record:
        """Chains a record; returns once it is durable. Raises as `append.append` and `Store.unit`."""
        return await self._store.unit(lambda unit: append(unit, self.log, draft, tips=self._tips))

    async def disclose(self, draft: Draft) -> Disclosure:
        """Keeps a disclosure; returns once it is durable. Raises as `seal.disclose` and `Store.unit`."""
        return await self._store.unit(lambda unit: self.disclose_in(unit, draft))

    async def seal(self) -> list[Record]:
        """Seals every disclosure that waits; the records that do so."""
        return await self._store.unit(lambda unit: seal.seal(unit, self.log, tips=self._tips))

    async def checkpoint(self, key: PrivateKey) -> bytes:
        """The signed note over all records so far, kept for exports. Refused: `nothing_to_sign`."""
        return await self._store.unit(lambda unit: seal.checkpoint(unit, self.log, key))

    async def keep_sealed(self) -> NoReturn:
        """Seals disclosures a second after the first of them, until it is cancelled; then it seals what is left.

        What a crashed process has left waiting is sealed too. Run it in the house's task group.
        """
        channel = heads.channel(self.log)
        try:
            while True:
                mark = self._store.wake.mark(channel)
                head = await self._store.reading(lambda view: heads.read_head(view, self.log))
                if head.since is None:
                    await self._store.wake.wait(channel, mark)
                    continue
                await self._clock.sleep_until(head.since + SEAL_AFTER)
                await self._store.unit(lambda unit: seal.seal_due(unit, self.log, tips=self._tips))
        finally:
            with anyio.CancelScope(shield=True):
                await self.seal()

    # -- reading

    async def standing(self) -> Standing:
        """How far the log goes."""
        return await self._store.reading(self._standing)

    async def records(self, first: int = 0, end: int = 2**53) -> list[Record]:
        """Records `first` up to before `end`. Refused: `malformed_receipt` where stored bytes are damaged."""
        return await self._store.reading(lambda view: reading.read_records(view, self.log, first, end))

    async def disclosures(self, first: int = 0, end: int = 2**53) -> list[Disclosure]:
        """Disclosures `first` up to before `end`, sealed or not. Refused: `malformed_receipt`."""
        return await self._store.reading(lambda view: reading.read_disclosures(view, self.log, first, end))

    async def export(self, path: Path, *, with_evidence: bool = False) -> Standing:
        """Writes an export to `path`, which appears whole or not at all; the standing it was made at.

        Raises `Corrupt` where rows are missing, and `OSError`.
        """
        return await self._store.reading(lambda view: self._export(view, path, with_evidence=with_evidence))

    async def verify(self, key: PublicKey, *, kept: bytes | None = None) -> Verdict:
        """Verifies the log as it is stored, evidence included. Refused: as `rules.verify.verify_export`."""
        return await self._store.reading(lambda view: self._verify(view, key, kept))

    async def prove_record(self, seq: int, size: int | None = None) -> RecordProof:
        """A record's inclusion among the first `size`, all unless said. Refused: `no_such_receipt`."""
        return await self._store.reading(lambda view: reading.prove_record(view, self.log, seq, size))

    async def prove_consistency(self, first: int, second: int) -> list[bytes]:
        """A proof that the first `first` records begin the first `second`. Refused: `no_such_receipt`."""
        return await self._store.reading(lambda view: reading.prove_consistency(view, self.log, first, second))

    async def prove_disclosure(self, number: int) -> DisclosureProof:
        """A disclosure's inclusion in its batch. Refused: `no_such_receipt`, also while it is not sealed."""
        return await self._store.reading(lambda view: reading.prove_disclosure(view, self.log, number))

    def _standing(self, view: Reading) -> Standing:
        head = heads.read_head(view, self.log)
        return Standing(log=self.log, records=head.tip.size, sealed=head.sealed, waiting=head.waiting)

    def _export(self, view: Reading, path: Path, *, with_evidence: bool) -> Standing:
        standing = self._standing(view)
        fresh = path.with_name(f"{path.name}.part")
        records = 0
        try:
            with open(fresh, "wb", opener=_for_owner_alone) as file:
                for line in exporting.export_lines(view, self.log, with_evidence=with_evidence):
                    records += line.startswith(RECORD_START)
                    file.write(line)
            if records != standing.records:
                raise Corrupt(f"{standing.records - records} receipts are missing; verify tells which", self.log)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
        return standing

    def _verify(self, view: Reading, key: PublicKey, kept: bytes | None) -> Verdict:
        verdict = verify_export(exporting.export_lines(view, self.log, with_evidence=True), key=key, kept=kept)
        # An export's last record is held by a checkpoint only; here the stored head holds it too.
        if verdict.head != b64u.encode(heads.read_head(view, self.log).tip.head):
            last = verdict.records - 1
            raise broken("changed", f"Record {last} was changed: the log's head names another hash for it", seq=last)
        return verdict


def _for_owner_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
